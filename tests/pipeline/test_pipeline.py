"""From a frame to a defended release, and the audit of anybody's."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.errors import PolicyError
from shoal.judging.models import Model
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.release.record import card_markdown
from shoal.release.verdict import Verdict

PEOPLE = pl.DataFrame(
    {
        "name": [f"Person {i}" for i in range(40)],
        "age": [20 + (i * 7) % 30 for i in range(40)],
        "zip": [f"0{1000 + (i * 13) % 5}" for i in range(40)],
        "sex": ["f" if i % 3 else "m" for i in range(40)],
        "disease": [("flu", "cold", "cancer", "asthma")[(i * 5) % 4] for i in range(40)],
        "stay": [i % 5 for i in range(40)],
    }
)
ROLES = {
    "quasi": ["age", "zip", "sex"],
    "sensitive": ["disease"],
    "identifier": ["name"],
    "plain": ["stay"],
    "hierarchies": {"zip": {"mask": "right"}, "age": {"widths": [5, 10, 20]}},
}


def test_dropped_columns_are_not_published_and_are_nobodys_secret(tmp_path):
    """`drop` is like `identifier`, except that a release of another tool may have the column."""
    roles = {**ROLES, "plain": [], "drop": ["stay"]}
    result = shoal.anonymize(PEOPLE, **roles, k=5)
    assert result.table.columns == ["age", "zip", "sex", "disease"]
    told = {column["name"]: (column["role"], column["published"]) for column in result.card["columns"]}
    assert told["stay"] == ("drop", "not published")
    assert told["name"] == ("identifier", "removed")
    judged = shoal.audit(result.table, original=PEOPLE, **roles, k=5)
    assert judged.holds
    assert not any("stay" in note for note in judged.notes)
    with_it = result.table.with_columns(stay=pl.Series([1] * 40))
    for more in ({}, {"original": PEOPLE}):
        judged = shoal.audit(with_it, **roles, **more, k=5)
        assert judged.holds
        assert "the policy drops columns that the release has, so they were not judged: stay" in judged.notes
        assert not any("the original lacks" in note for note in judged.notes)
    PEOPLE.write_csv(tmp_path / "in.csv")
    words = ["--quasi", "age,zip", "--identifier", "name", "--drop", "sex,stay,disease", "--k", "5"]
    done = CliRunner().invoke(main, ["anonymize", f"{tmp_path}/in.csv", "-o", f"{tmp_path}/out.csv", *words])
    assert done.exit_code == 0, done.output
    assert pl.read_csv(tmp_path / "out.csv").columns == ["age", "zip"]


@pytest.mark.parametrize("key", ["hierarchy", "limit", "weight", "protected"])
def test_nothing_is_asked_of_dropped_columns(key):
    entry = {"hierarchy": "auto", "limit": 1, "weight": 2.0, "protected": ["x"]}[key]
    with pytest.raises(PolicyError, match=f"columns.stay.{key}: .*but the column is drop"):
        Policy.from_dict(
            {"columns": {"age": "quasi", "stay": {"role": "drop", key: entry}}, "privacy": {"k": 2}}
        )


# Methods whose releases consist of equivalence classes; others have contract tests of their own.
HOMOGENEOUS = ("mondrian", "full-domain", "incognito")


def smallest_class(rows: pl.DataFrame, quasi=("age", "zip", "sex")) -> int:
    return rows.group_by([pl.col(name).cast(pl.String) for name in quasi]).len()["len"].min()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_what_it_does(method):
    assert METHODS[method].name == method
    assert 20 < len(METHODS[method].summary) < 160
    assert METHODS[method].paper


@pytest.mark.parametrize("method", HOMOGENEOUS)
@pytest.mark.parametrize("k", [2, 5, 40])
def test_every_method_makes_a_release_that_holds(method, k):
    result = shoal.anonymize(PEOPLE, **ROLES, k=k, method=method)
    assert result.table.columns == ["age", "zip", "sex", "disease", "stay"]
    assert smallest_class(result.table) >= k
    assert result.holds
    assert len(result.table) + result.suppressed == 40


@pytest.mark.parametrize("method", HOMOGENEOUS)
def test_diversity_holds_in_every_class(method):
    result = shoal.anonymize(PEOPLE, **ROLES, k=3, l={"distinct": 3}, method=method)
    values = result.table.group_by(["age", "zip", "sex"]).agg(pl.col("disease").n_unique())["disease"]
    assert values.min() >= 3


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (PEOPLE, pl.DataFrame),
        (PEOPLE.lazy(), pl.LazyFrame),
        (PEOPLE.to_pandas(), pd.DataFrame),
        (PEOPLE.to_arrow(), pa.Table),
    ],
    ids=["polars", "lazy", "pandas", "pyarrow"],
)
def test_the_kind_that_was_given_comes_back(frame, kind):
    assert isinstance(shoal.anonymize(frame, **ROLES, k=3).table, kind)


def test_pandas_labels_are_not_positions():
    frame = PEOPLE.to_pandas()
    frame.index = [7] * len(frame)
    result = shoal.anonymize(frame, **ROLES, k=3)
    assert len(result.table) == 40
    assert result.table.index.tolist() == list(range(40))


@pytest.mark.parametrize("method", ["full-domain", "incognito"])
def test_rows_are_suppressed_within_the_limit_even_if_only_quasi_identifiers_are_published(method):
    frame = pl.DataFrame({"a": ["x"] * 9 + ["y"], "b": [1, 2] * 5})
    result = shoal.anonymize(frame, quasi=["a", "b"], k=4, suppression=0.1, method=method)
    assert result.suppressed == 1
    assert len(result.table) == 9
    assert sorted(result.table["b"]) == [1] * 5 + [2] * 4
    assert result.verdicts[-1].model == "suppression"


def test_rows_are_shuffled_and_sensitive_values_kept():
    result = shoal.anonymize(PEOPLE, **ROLES, k=3)
    assert sorted(result.table["disease"]) == sorted(PEOPLE["disease"])
    assert result.table["stay"].to_list() != PEOPLE["stay"].to_list()


def test_a_seed_repeats_the_order_and_forbids_publication():
    first, second = (shoal.anonymize(PEOPLE, **ROLES, k=3, seed=1) for _ in range(2))
    assert first.table.equals(second.table)
    assert "not for publication" in first.notes[0]
    assert first.card["for_publication"] is False
    assert "not for publication" in card_markdown(first.card)
    assert shoal.anonymize(PEOPLE, **ROLES, k=3).card["for_publication"] is True


def test_null_quasi_identifiers_are_values():
    """A checker that drops nulls once reported k = 3 for a table with a unique row."""
    frame = pl.DataFrame({"a": ["x"] * 3 + [None], "s": ["1", "2", "3", "4"]})
    report = shoal.audit(frame, quasi=["a"], sensitive=["s"], k=3)
    assert not report.holds
    assert report.verdicts[0].reached == 1


def test_infeasible_requirements_are_explained_before_the_work():
    with pytest.raises(shoal.InfeasibleError, match="10") as caught:
        shoal.anonymize(PEOPLE, **ROLES, k=3, p=10)
    assert "disease" in str(caught.value)
    assert "4 values" in str(caught.value)
    with pytest.raises(shoal.InfeasibleError, match="40 rows"):
        shoal.anonymize(PEOPLE, **ROLES, k=41)


def test_a_release_that_fails_is_refused(monkeypatch):
    from shoal.methods.partitioning.mondrian import Mondrian
    from shoal.release import Release

    def careless(self, table, requirements, run):
        return Release(*_everyone_alone(table))

    monkeypatch.setattr(Mondrian, "anonymize", careless)
    with pytest.raises(shoal.ViolationError, match="5-anonymity: required 5"):
        shoal.anonymize(PEOPLE, **ROLES, k=5)


def _everyone_alone(table):
    import numpy as np

    return np.arange(table.rows, dtype=np.int32), table.quasi.wide.copy(), table.quasi.wide.copy()


def test_audit_agrees_with_what_was_made():
    result = shoal.anonymize(PEOPLE, **ROLES, k=4)
    report = shoal.audit(result.table, **ROLES, k=4, original=PEOPLE)
    assert report.holds
    assert report.classes == result.classes
    for name in ("lm", "gcp", "entropy", "dm", "avg"):
        assert report.measures[name] == pytest.approx(result.measures[name])


def test_audit_needs_no_original():
    result = shoal.anonymize(PEOPLE, **ROLES, k=4)
    report = shoal.audit(result.table, **ROLES, k=4)
    assert report.holds
    assert report.measures["dm"] == pytest.approx(result.measures["dm"])
    assert any("not measured" in note for note in report.notes)


def test_starred_rows_of_other_tools_are_rows_unless_the_user_says_that_they_were_suppressed():
    frame = pl.DataFrame({"a": ["x"] * 18 + ["*"] * 2, "s": list("ab") * 10})
    asked = {"quasi": ["a"], "sensitive": ["s"], "k": 3}
    as_they_are = shoal.audit(frame, **asked, suppression=0.1)
    assert as_they_are.holds is False
    assert (as_they_are.suppressed, as_they_are.classes) == (None, 2)
    assert any("2 rows show *" in note and "suppressed_as=" in note for note in as_they_are.notes)
    within = shoal.audit(frame, **asked, suppression=0.1, suppressed_as="*")
    assert within.holds
    assert (within.suppressed, within.classes, within.notes) == (2, 1, as_they_are.notes[1:])
    beyond = shoal.audit(frame, **asked, suppression=0.05, suppressed_as="*")
    assert [verdict.model for verdict in beyond.verdicts if not verdict.holds] == ["suppression"]
    other = shoal.audit(frame, **asked, suppression=1.0, suppressed_as="x")
    assert other.suppressed == 18


def test_record_is_private_and_card_is_public():
    result = shoal.anonymize(PEOPLE, **ROLES, k=4)
    assert result.record["for_publication"] is True
    assert "k = 4" in result.record["policy"]
    assert set(result.record["versions"]) >= {"shoal", "polars", "numba"}
    text = json.dumps(result.card) + card_markdown(result.card)
    for value in PEOPLE["name"]:
        assert value not in text
    assert "| age | quasi | generalized |" in card_markdown(result.card)
    assert "| name | identifier | removed |" in card_markdown(result.card)


def test_public_names():
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    assert {"anonymize", "audit", "Policy", "Release", "Result"} <= set(shoal.__all__)
    with pytest.raises(AttributeError):
        shoal.nothing  # noqa: B018


@pytest.mark.parametrize(("method", "notion"), [("k-k", "k-k"), ("ring", "probabilistic-k")])
def test_risk_by_class_is_not_told_of_releases_without_classes(method, notion):
    result = shoal.anonymize(PEOPLE, **ROLES, k=3, notion=notion, method=method)
    assert result.holds
    sizes = result.table.group_by("age", "zip", "sex").len()["len"]
    assert sizes.min() < 3
    assert not [name for name in result.measures if name.startswith("risk-")]
    assert "risk-prosecutor-max" in shoal.anonymize(PEOPLE, **ROLES, k=3).measures


# --- two originals, one card ------------------------------------------------------------------------------------


def made_with(last: dict[str, object], privacy: dict[str, object]) -> shoal.Result:
    """24 people in two classes of ages, and a last one of whom nothing is published."""
    ages = {"role": "quasi", "hierarchy": {"cuts": [[35, 80]]}, "limit": 1}
    rows = pl.DataFrame(
        {
            "age": [30, 31, 32, 33] * 3 + [40] * 12 + [last.get("age", 90)],
            "disease": ["flu"] * 6 + ["hiv"] * 4 + ["gout"] * 2 + ["flu"] * 5 + ["hiv"] * 4 + ["gout"] * 3
            + [last.get("disease", "flu")],
        }
    )  # fmt: skip
    policy = shoal.Policy.from_dict(
        {
            "columns": {"age": ages, "disease": "sensitive"},
            "privacy": privacy,
            "utility": {"suppression": 0.05},
            "method": {"name": "full-domain"},
        }
    )
    made = shoal.anonymize(rows, policy)
    assert made.suppressed == 1
    return made


def test_the_card_does_not_tell_what_a_person_has_who_was_left_out():
    made = [
        made_with({"disease": disease}, {"k": 5, "t": {"equal": 0.4}}) for disease in ("flu", "hiv", "gout")
    ]
    cards = [one.card for one in made]
    assert cards[0] == cards[1] == cards[2]
    assert cards[0]["guarantees"][1]["reached"] == "at most 0.4"
    assert "| at most 0.4 |" in card_markdown(cards[0])
    # The second class has 5 flu, 4 hiv and 3 gout of 12; the whole table 12, 8 and 5 of 25 where the last has flu:
    # 1/3 - 8/25 too much hiv and 1/4 - 1/5 too much gout. The record tells, and the card would have.
    exact = [one.record["verdicts"][1]["reached"] for one in made]
    assert exact[0] == pytest.approx(1 / 75 + 1 / 20)
    assert len(set(exact)) == 3


def test_the_card_does_not_tell_how_old_a_person_is_who_was_left_out():
    made = [made_with({"age": age}, {"k": 5}) for age in (90, 103)]
    assert made[0].card == made[1].card
    # Widths are shares of the width of the domain, up to the oldest.
    assert made[0].record["measures"]["gcp"] != made[1].record["measures"]["gcp"]


def test_the_card_does_not_count_people_in_small_groups():
    def made(south: int) -> shoal.Result:
        rows = pl.DataFrame({"region": ["north"] * (50 - south) + ["south"] * south})
        return shoal.anonymize(rows, quasi=["region"], k=5)

    assert made(1).table["region"].unique().to_list() == ["*"]
    assert made(1).card == made(2).card == made(3).card
    # Of 50 people 1 is unique; the record keeps that.
    assert made(1).record["measures"]["unique-before"] == 1 / 50
    assert made(2).record["measures"]["unique-before"] == 0


def test_nothing_is_hidden_on_the_card_where_nobody_was_left_out():
    rows = pl.DataFrame({"a": ["x"] * 4, "s": ["f", "f", "g", "g"]})
    made = shoal.anonymize(rows, quasi=["a"], sensitive=["s"], k=4, t={"equal": 0.5})
    assert made.card["guarantees"][1]["reached"] == 0


def test_probabilities_given_the_original_are_bounded_on_cards():
    from shoal.judging.models import MODELS

    complete, cut = SimpleNamespace(suppressed=0), SimpleNamespace(suppressed=1)
    test = MODELS["alpha-hybrid"](alpha=0.05)
    assert test.verdict(complete, 0.3, True).told == "at least 0.05"
    assert test.verdict(complete, 0.03, False).told == "less than 0.05"
    for name in ("t-equal", "t-ordered", "t-hierarchical"):
        model = MODELS[name](t=0.25, column=0, column_name="a -hybrid")
        assert model.verdict(cut, 0.2, True).told == "at most 0.25"
        assert model.verdict(cut, 0.3, False).told == "more than 0.25"
        assert model.verdict(complete, 0.2, True).told == 0.2


def test_what_depends_on_more_than_published_rows_is_bounded_on_cards():
    """How many people a row matches, how many cells are false and who is likely present depend on the exact values of
    the original or on the population, with suppressed rows or without."""
    from shoal.judging.models import MODELS

    place = {"column": 0, "column_name": "s"}
    for rows in (SimpleNamespace(suppressed=0), SimpleNamespace(suppressed=1)):
        for name in ("1-k", "k-1", "k-k", "global-1-k", "probabilistic-k"):
            assert MODELS[name](k=3).verdict(rows, 7, True).told == "at least 3"
        assert MODELS["candidate-l"](l=2, **place).verdict(rows, 3, True).told == "at least 2"
        assert MODELS["slicing-l"](l=2, **place).verdict(rows, 2.5, True).told == "at least 2"
        assert MODELS["hybrid-k"](budget=0.05).verdict(rows, 0.01, True).told == "at most 0.05"
        present = MODELS["delta-presence"](low=0.1, high=0.5)
        assert present.verdict(rows, [0.2, 0.4], True).told == "within 0.1 to 0.5"
        assert present.verdict(rows, [0.2, 0.8], False).told == "outside 0.1 to 0.5"
        assert MODELS["k-anonymity"](k=3).verdict(rows, 7, True).told == 7


def test_what_is_reached_is_secret_unless_somebody_says_otherwise():
    assert Model.public == "never"
    assert Verdict("a new model", 3, 3.25, True).told == "at least 3"


def test_a_card_does_not_tell_how_long_a_suppressed_value_is():
    cards = []
    for odd in ("999", "9999999999"):
        data = pl.DataFrame(
            {"code": ["111", "112", "113", "121", "122", "123"] * 2 + [odd], "s": list("abcabcabcabcx")}
        )
        result = shoal.anonymize(
            data,
            quasi=["code"],
            sensitive=["s"],
            k=6,
            suppression=0.1,
            method="full-domain",
            hierarchies={"code": {"mask": "right"}},
        )
        assert result.suppressed == 1
        assert result.record["levels"]
        cards.append(result.card)
    assert cards[0] == cards[1]
    assert cards[0]["levels"] is None
    assert not {"precision", "ag", "lm"} & set(cards[0]["measures"])
