"""Groups of people, such as households: what guarantees count besides people."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError, InfeasibleError, LimitError, PolicyError
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.policy.suggestions import look_at
from tests.methods.test_people import _covers, reached
from tests.oracles import outsider_people as crowd

COUNTING = [name for name, kind in METHODS.items() if kind.can.count_people]
ROLES = {
    "quasi": ["zip", "age"],
    "sensitive": ["diagnosis"],
    "person": ["person"],
    "groups": {"household": ["home"]},
    "plain": ["row"],
}
FAMILY = pl.DataFrame(
    {
        "person": list("ABCCDE"),
        "home": ["x", "x", "x", "x", "y", "z"],
        "zip": ["02139"] * 6,
        "age": [31] * 6,
        "diagnosis": ["flu", "flu", "flu", "asthma", "flu", "asthma"],
        "row": range(6),
    }
)


def test_a_family_is_no_crowd():
    """Five people of three households: x has flu and asthma, y flu, z asthma."""
    rules = {"l": {"probabilistic": 1.1, "entropy": 1.1, "distinct": 2}, "alpha": 0.9}
    made = shoal.anonymize(FAMILY, seed=1, k=3, **rules, **ROLES)
    found = {verdict.model: verdict.reached for verdict in made.verdicts}
    assert found["3-anonymity"] == 5
    assert found["3-anonymity, counted by household"] == 3
    # Four of five people have flu, and two of three households.
    assert found["probabilistic 1.1-diversity of diagnosis"] == pytest.approx(5 / 4)
    assert found["probabilistic 1.1-diversity of diagnosis, counted by household"] == pytest.approx(3 / 2)
    assert found["entropy 1.1-diversity of diagnosis, counted by household"] == pytest.approx(2)
    assert found["(0.9, k)-anonymity of diagnosis, counted by household"] == pytest.approx(2 / 3)
    # Which values a class shows is the same, whoever is counted.
    assert [name for name in found if name.startswith("distinct")] == ["distinct 2-diversity of diagnosis"]
    assert made.groups_of_people == {"household": {"count": 3, "suppressed": 0, "fewest": 3}}
    assert made.whose.endswith("by household: 3, at least 3 in every class")
    assert made.record["groups_of_people"]["household"]["fewest"] == 3
    assert not {"home", "person"} & set(made.table.columns)
    with pytest.raises(InfeasibleError, match="6 rows of the table belong to 3 different groups of the kind"):
        shoal.anonymize(FAMILY, seed=1, k=4, **ROLES)
    assert reached(shoal.anonymize(FAMILY, seed=1, k=4, **{**ROLES, "groups": {}, "drop": ["home"]})) == {
        "4-anonymity": 5
    }


def test_the_card_says_what_is_counted_and_not_how_many():
    made = shoal.anonymize(FAMILY, seed=1, k=3, **ROLES)
    told = {entry["model"]: entry["reached"] for entry in made.card["guarantees"]}
    assert told == {"3-anonymity": "at least 3", "3-anonymity, counted by household": "at least 3"}
    home = next(column for column in made.card["columns"] if column["name"] == "home")
    assert home["published"] == "removed; guarantees count by household"


@st.composite
def homes(draw):
    """Up to eight people with up to four rows each, in up to five households, in any order. Some move."""
    rows = []
    for person in range(draw(st.integers(2, 8))):
        home, zip_code = draw(st.integers(0, 4)), draw(st.integers(0, 3))
        for _ in range(draw(st.integers(1, 4))):
            moved = home if draw(st.integers(0, 5)) else draw(st.integers(0, 4))
            rows.append(
                (
                    f"p{person}",
                    f"h{moved}",
                    f"0213{zip_code}",
                    draw(st.integers(20, 26)),
                    draw(st.sampled_from("abc")),
                )
            )
    rows = draw(st.permutations(rows))
    table = pl.DataFrame(rows, schema=["person", "home", "zip", "age", "diagnosis"], orient="row")
    return table.with_columns(row=pl.int_range(len(rows)))


def by(owner: str, table: pl.DataFrame, release: pl.DataFrame) -> list[crowd.Seen]:
    """The rows of a release, each with its person or its household."""
    whose = dict(zip(table["row"], table[owner], strict=True))
    return [
        crowd.Seen((str(row["zip"]), str(row["age"])), whose[int(row["row"])], row["diagnosis"])
        for row in release.iter_rows(named=True)
    ]


RULES = [
    {},
    {"l": {"probabilistic": 1.5}},
    {"l": {"entropy": 1.5}},
    {"l": {"recursive": (2.0, 2)}},
    {"t": {"equal": 0.4}},
    {"alpha": 0.7},
    {"l": {"distinct": 2}, "p": 2},
]


@pytest.mark.parametrize("method", COUNTING)
@settings(max_examples=20, deadline=None)
@given(table=homes(), k=st.integers(2, 3), rule=st.sampled_from(RULES), share=st.sampled_from([0.0, 0.3]))
def test_releases_keep_what_an_outsider_counts(method, table, k, rule, share):
    """Of people and of households, whether people are named or each row is a person of its own."""
    for roles in (ROLES, {**ROLES, "person": [], "drop": ["person"]}):
        try:
            made = shoal.anonymize(table, seed=3, method=method, suppression=share, k=k, **rule, **roles)
        except (InfeasibleError, LimitError):
            few = table["person"].n_unique() if roles["person"] else table.height
            assert rule or share or min(table["home"].n_unique(), few) < k
            continue
        for owner in ("person" if roles["person"] else "row", "home"):
            seen, whole = by(owner, table, made.table), by(owner, table, table)
            if not seen:
                continue
            assert crowd.k(seen) >= k
            checks = {
                "probabilistic": lambda need: crowd.probabilistic_l(seen) >= Fraction(need),  # noqa: B023
                "entropy": lambda need: crowd.entropy_l(seen) >= need - 1e-9,  # noqa: B023
                "recursive": lambda need: crowd.recursive_c(seen, need[1]) < need[0],  # noqa: B023
                "equal": lambda need: crowd.t_equal(seen, whole) <= need + 1e-9,  # noqa: B023
                "alpha": lambda need: 1 / crowd.probabilistic_l(seen) <= Fraction(need) + Fraction(1, 10**9),  # noqa: B023
                "distinct": lambda need: crowd.distinct_l(seen) >= need,  # noqa: B023
                "p": lambda need: crowd.distinct_l(seen) >= need,  # noqa: B023
            }
            for key, value in rule.items():
                for kind, need in value.items() if isinstance(value, dict) else [(key, value)]:
                    assert checks[kind](need), (owner, kind, need)


@settings(max_examples=80, deadline=None)
@given(table=homes(), people=st.booleans())
def test_figures_are_those_of_an_outsider(table, people):
    roles = ROLES if people else {**ROLES, "person": [], "drop": ["person"]}
    assume(table["home"].n_unique() >= 2)
    made = shoal.anonymize(table, seed=3, k=2, **roles)
    weak = {"k": 2, "l": {"probabilistic": 1.1, "entropy": 1.1}, "t": {"equal": 0.9}, "beta": {"basic": 5.0}}
    found = {v.model: v.reached for v in shoal.audit(made, original=table, **weak, **roles).verdicts}
    seen, whole = by("home", table, made.table), by("home", table, table)
    assert found["2-anonymity, counted by household"] == crowd.k(seen)
    assert found["probabilistic 1.1-diversity of diagnosis, counted by household"] == pytest.approx(
        float(crowd.probabilistic_l(seen))
    )
    assert found["entropy 1.1-diversity of diagnosis, counted by household"] == pytest.approx(
        crowd.entropy_l(seen)
    )
    assert found["0.9-closeness (equal) of diagnosis, counted by household"] == pytest.approx(
        crowd.t_equal(seen, whole), abs=1e-12
    )
    assert found["basic 5-likeness of diagnosis, counted by household"] == pytest.approx(
        crowd.beta(seen, whole), abs=1e-9
    )


@settings(max_examples=40, deadline=None)
@given(table=homes(), people=st.booleans(), strict=st.booleans())
def test_attacks_count_households(table, people, strict):
    roles = {
        **(ROLES if people else {**ROLES, "person": [], "drop": ["person"]}),
        "hierarchies": {"zip": "none"},
    }
    assume(table["home"].n_unique() >= 2)
    made = shoal.anonymize(table, seed=3, k=2, method={"name": "mondrian", "strict": strict}, **roles)
    shown = list(made.table.iter_rows(named=True))
    fits = {
        row["row"]: {at for at, cells in enumerate(shown) if _covers(cells, row)}
        for row in table.iter_rows(named=True)
    }
    seen = by("home", table, made.table)
    counts = crowd.candidates(
        fits, [one.owner for one in seen], dict(table.select("row", "home").iter_rows())
    )
    linked = shoal.attack(
        made, original=table, adversary="some", options={"group": "household"}, k=2, **roles
    )
    assert linked.figures["candidates"]["least"] == min(counts.values())
    assert len(linked.chances) == len(counts) == table["home"].n_unique()
    assert linked.at_risk == 0
    told = crowd.disclosed(fits, seen, dict(zip(table["row"], by("home", table, table), strict=True)))
    found = shoal.attack(
        made, original=table, name="attribute-disclosure", options={"group": "household"}, k=2, **roles
    )
    assert found.success == pytest.approx(float(sum(own for _, own in told.values())) / len(told))
    assert "household groups" in repr(found) or found.holds


def crowded(people=200, seed=4):
    random = np.random.default_rng(seed)
    owner = random.permutation(np.repeat(np.arange(people), np.minimum(1 + random.geometric(0.5, people), 6)))
    return pl.DataFrame(
        {
            "person": [f"p{one}" for one in owner],
            "home": [f"h{one // 3}" for one in owner],
            "zip": (owner // 3 % 7).astype(str),
            "age": 20 + owner % 31,
            "diagnosis": random.choice(list("abcd"), len(owner)),
            "row": range(len(owner)),
        }
    )


def test_a_release_that_counts_people_fails_the_audit_that_counts_households():
    table = crowded()
    people = {**ROLES, "groups": {}, "drop": ["home"]}
    made = shoal.anonymize(table, seed=1, k=4, **people)
    audit = shoal.audit(made, original=table, k=4, **ROLES)
    assert [(verdict.model, verdict.holds) for verdict in audit.verdicts[:2]] == [
        ("4-anonymity", True),
        ("4-anonymity, counted by household", False),
    ]
    attacked = shoal.attack(made, original=table, k=4, options={"group": "household"}, **ROLES)
    assert attacked.at_risk > 0
    assert "household groups" in repr(attacked)
    both = shoal.anonymize(table, seed=1, k=4, **ROLES)
    assert both.groups_of_people["household"]["fewest"] >= 4
    assert both.measures["lm"] > made.measures["lm"]


def test_files_are_audited_by_the_original_or_the_record(tmp_path):
    table = crowded()
    roles = {**ROLES, "method": "full-domain", "suppression": 0.3}
    table.write_csv(tmp_path / "in.csv")
    made = shoal.anonymize(tmp_path / "in.csv", seed=1, k=4, **roles)
    made.table.write_csv(tmp_path / "out.csv")
    audit = shoal.audit(tmp_path / "out.csv", original=tmp_path / "in.csv", k=4, **roles)
    assert audit.holds
    assert audit.groups_of_people == made.groups_of_people
    table, roles = crowded(600), {**ROLES, "method": {"name": "hilbert", "show": "ranges"}}
    hidden = shoal.anonymize(table, seed=1, k=4, **roles)
    unknown = shoal.audit(hidden.table, original=table, k=4, **roles).verdicts[1]
    assert (unknown.holds, unknown.detail[:20]) == (None, "could not be checked")
    assert shoal.audit(hidden.table, original=table, record=hidden.record, k=4, **roles).holds
    assert not shoal.audit(hidden.table, k=4, **roles).holds


def test_households_of_rows_do_not_hide_how_many_rows_a_class_has():
    """If every row is a person of its own, k of people follows from the rows, and k of households may not."""
    table = crowded().unique("person", maintain_order=True)
    made = shoal.anonymize(table, seed=1, k=4, method={"name": "hilbert", "show": "ranges"}, **ROLES)
    assert made.people is None
    people, households = shoal.audit(made.table, original=table, k=4, **ROLES).verdicts[:2]
    assert people.holds
    assert people.reached >= 4
    assert not households.holds


def test_several_columns_name_a_household_together():
    table = FAMILY.with_columns(street=pl.Series(["1", "2", "2", "2", "1", "1"]))
    roles = {**ROLES, "groups": {"household": ["home", "street"], "street": []}}
    made = shoal.anonymize(table, seed=1, k=3, **roles)
    assert made.groups_of_people["household"]["count"] == 4
    kinds = {**ROLES, "groups": {"household": ["home"], "street": ["street"]}}
    both = shoal.anonymize(table, seed=1, k=2, **kinds)
    assert {name: own["count"] for name, own in both.groups_of_people.items()} == {
        "household": 3,
        "street": 2,
    }


def test_a_policy_names_households_in_its_columns(tmp_path):
    text = """
[columns]
person = "person"
home = { role = "person", group = "household" }
zip = "quasi"
age = "quasi"
diagnosis = "sensitive"
row = "plain"

[privacy]
k = 3
"""
    policy = Policy.from_toml(text)
    assert policy.groups == ("household",)
    assert Policy.from_toml(policy.to_toml()) == policy
    assert policy == Policy.from_keywords(k=3, **ROLES)
    assert shoal.anonymize(FAMILY, policy, seed=1).groups_of_people["household"]["fewest"] == 3
    with pytest.raises(PolicyError, match="goes with the role person"):
        Policy.from_toml(text.replace('role = "person", group', 'role = "drop", group'))
    with pytest.raises(PolicyError, match="counted only where rows cannot be followed"):
        Policy.from_keywords(k=3, publish={"person": "pseudonym"}, **ROLES)
    with pytest.raises(PolicyError, match="which people belong together"):
        Policy.from_keywords(k=3, publish={"home": "pseudonym"}, **ROLES)
    with pytest.raises(PolicyError, match="has two roles"):
        Policy.from_keywords(k=3, **{**ROLES, "groups": {"household": ["zip"]}})


def test_the_command_line_counts_households(tmp_path):
    FAMILY.drop("row").write_csv(tmp_path / "in.csv")
    out, whole = tmp_path / "out.csv", ["--original", str(tmp_path / "in.csv")]
    roles = [
        "--quasi",
        "zip,age",
        "--sensitive",
        "diagnosis",
        "--person",
        "person",
        "--group",
        "household=home",
    ]
    made = CliRunner().invoke(
        main, ["anonymize", str(tmp_path / "in.csv"), "-o", str(out), *roles, "--k", "3"]
    )
    assert made.exit_code == 0, made.output
    assert "by household: 3, at least 3 in every class" in " ".join(made.output.split())
    audited = CliRunner().invoke(main, ["audit", str(out), *whole, *roles, "--k", "3", "--json"])
    assert audited.exit_code == 0, audited.output
    assert json.loads(audited.output)["groups_of_people"]["household"]["count"] == 3
    (tmp_path / "p.toml").write_text(Policy.from_keywords(k=3, **{**ROLES, "plain": []}).to_toml())
    attack = ["attack", str(out), *whole, "-p", str(tmp_path / "p.toml"), "--group"]
    attacked = CliRunner().invoke(main, [*attack, "household"])
    assert attacked.exit_code == 0, attacked.output
    assert "counted by household" in attacked.output
    wrong = CliRunner().invoke(main, [*attack, "houshold"])
    assert wrong.exit_code
    assert "household" in wrong.output
    assert (
        CliRunner().invoke(main, ["audit", str(out), *whole, "--quasi", "zip", "--group", "home"]).exit_code
        == 2
    )


def test_rows_without_a_household_are_refused_with_their_number():
    table = FAMILY.with_columns(home=pl.Series(["x", None, "x", None, "y", "z"]))
    with pytest.raises(
        DataError, match=r"'home' says to which household a row belongs, but it is empty in 2 of 6"
    ):
        shoal.anonymize(table, k=2, **ROLES)


def test_cells_that_name_no_household_are_refused():
    """Blank text, and what is no number: neither names anybody."""
    for cells in (["x", "", "x", " ", "y", "z"], [1.0, float("nan"), 1.0, float("nan"), 2.0, 3.0]):
        with pytest.raises(
            DataError, match="'home' says to which household a row belongs, but it is empty in 2 of 6"
        ):
            shoal.anonymize(FAMILY.with_columns(home=pl.Series(cells)), k=2, **ROLES)


def test_a_group_without_a_name_is_refused():
    for word in ("", " "):
        with pytest.raises(PolicyError, match=r"columns\.home\.group: is blank"):
            shoal.anonymize(FAMILY, k=2, **{**ROLES, "groups": {word: ["home"]}})


def test_init_says_where_a_key_of_households_repeats():
    table = crowded().rename({"home": "household_id"}).with_columns(family_size=pl.col("age") % 4)
    told = {guess.name: guess.warning for guess in look_at(table).columns}
    assert 'group = "household"' in told["household_id"]
    assert not told["family_size"]
    assert not told["zip"]
