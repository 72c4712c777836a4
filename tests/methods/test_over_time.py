"""Several releases of the same people: what they leave open together, and releases that keep enough open."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError, InfeasibleError, LimitError, OutputError, PolicyError
from shoal.judging.linking import left_open
from shoal.methods import METHODS
from shoal.pipeline.anonymize import anonymize_file
from shoal.pipeline.explanation.relaxations import relaxations
from shoal.policy import Policy
from tests.fuzz import series as random_series
from tests.oracles import outsider_over_time as over_time
from tests.oracles.outsider_over_time import Row, Shown

ROLES = {
    "quasi": ["zip", "age"],
    "sensitive": ["disease", "drug"],
    "person": ["who"],
    "hierarchies": {
        "zip": {"tree": {"1*": ["11", "12"], "2*": ["21", "22"]}},
        "age": {"tree": {"3*": ["31", "32"], "4*": ["41"]}},
    },
}
WITHOUT = {**ROLES, "person": [], "drop": ["who"]}
ASKED = {"k": 2, "l": {"disease": {"distinct": 2}}}


def frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(
        [(row.person, *row.known, *row.values) for row in rows],
        schema=dict.fromkeys(("who", "zip", "age", "disease", "drug"), pl.String),
        orient="row",
    )


def published(rows: list[Shown]) -> pl.DataFrame:
    return frame([Row("", row.cells, row.values) for row in rows]).drop("who")


def record(original: list[Row], release: list[Shown]) -> dict[str, object]:
    return {
        "policy": Policy.from_keywords(**ROLES, **ASKED).to_toml(),
        "method": "mondrian",
        "seed": None,
        "input": {"rows": len(original)},
        "suppressed": len(original) - len(release),
        "owners": " ".join(str(row.of) for row in release),
    }


@st.composite
def months(draw, rows_each: int = 3):
    """Two or three tables of up to six people, and a release of each whose rows are generalized by chance."""
    originals, releases = [], []
    home = {who: draw(st.sampled_from(["11", "12", "21"])) for who in "abcdef"}
    for _ in range(draw(st.integers(2, 3))):
        rows = [
            Row(
                who,
                (draw(st.sampled_from([home[who], home[who], "22"])), draw(st.sampled_from(["31", "32"]))),
                (draw(st.sampled_from("xyz")), draw(st.sampled_from("pq"))),
            )
            for who in "abcdef"
            for _ in range(draw(st.integers(0, rows_each)))
        ]
        assume(rows)
        shown = [
            Shown(
                tuple(_masked(value, draw(st.sampled_from([0, 1, 1, 2, 2]))) for value in row.known),
                row.values,
                of,
            )
            for of, row in enumerate(rows)
            if draw(st.integers(0, 5))
        ]
        originals.append(rows)
        releases.append(shown)
    assume(all(releases))
    return originals, releases


def _masked(value: str, level: int) -> str:
    return "*" if level == len(value) else value[: len(value) - level] + "*" * level


def expected(found: dict[str, list[over_time.Left]], k: int, needed: int) -> dict[str, object]:
    """The figures that the attack reports, per adversary, from what is left of each person."""

    def people(which) -> int:
        return sum(any(which(one) for one in own) for own in found.values())

    out: dict[str, object] = {
        "in_several": len(found),
        "one_value": people(lambda one: 1 in one.values),
        "one_value_and_true": people(lambda one: 1 in one.values and one.right),
        "value_changed": people(lambda one: 0 in one.values),
    }
    for adversary in ("some", "members"):

        def counted(one: over_time.Left, adversary: str = adversary) -> int:
            return one.candidates if adversary == "some" else min(one.candidates, one.crowd)

        out[adversary] = {
            "together": {
                "least_candidates": min(
                    (counted(one) for own in found.values() for one in own), default=None
                ),
                "below_k": people(lambda one: counted(one) < k),
                "below_l": people(lambda one: one.values[0] < needed),
            },
            "at_risk": people(lambda one: counted(one) < k or one.values[0] < needed),
        }
    return out


def compared(
    found: dict[str, list[over_time.Left]], attack, adversaries: tuple[str, ...] = ("some", "members")
) -> None:
    wanted = expected(found, 2, 2)
    for adversary in adversaries:
        got = attack(adversary)
        assert got.at_risk == wanted[adversary]["at_risk"]
        assert got.figures["together"] == wanted[adversary]["together"]
        for name in ("in_several", "one_value", "one_value_and_true", "value_changed"):
            assert got.figures[name] == wanted[name], name


@settings(max_examples=120, deadline=None)
@given(drawn=months())
def test_intersections_are_those_of_enumeration(drawn):
    originals, releases = drawn
    before = [
        {"release": published(shown), "original": frame(rows), "record": record(rows, shown)}
        for rows, shown in list(zip(originals, releases, strict=True))[:-1]
    ]
    people = [{rows[one.of].person for one in shown} for rows, shown in zip(originals, releases, strict=True)]
    assume(all({row.person for row in originals[-1]} & one for one in people[:-1]))
    found = over_time.by_people(originals, releases)

    def attack(adversary: str):
        return shoal.attack(
            published(releases[-1]),
            original=frame(originals[-1]),
            record=record(originals[-1], releases[-1]),
            earlier=before,
            adversary=adversary,
            **ROLES,
            **ASKED,
        )

    compared(found, attack)


@settings(max_examples=120, deadline=None)
@given(drawn=months(rows_each=1))
def test_without_a_person_column_everybody_who_matches_may_be_in_both(drawn):
    originals, releases = drawn
    table = originals[-1]
    assume(all(any(over_time.matching(shown, row.known) for row in table) for shown in releases))
    found = over_time.by_rows(table, releases)

    def attack(adversary: str):
        return shoal.attack(
            published(releases[-1]),
            original=frame(table),
            earlier=[
                {"release": published(shown), "original": frame(rows)}
                for rows, shown in list(zip(originals, releases, strict=True))[:-1]
            ],
            adversary=adversary,
            **WITHOUT,
            **ASKED,
        )

    compared(found, attack, ("some",))
    with pytest.raises(
        DataError, match="who is in which class cannot be known, because no column names people"
    ):
        attack("members")


# --- bad input ------------------------------------------------------------------------------------------------


def table(values: str = "xyxyxyxy", who: str = "abcdefgh") -> pl.DataFrame:
    zips, ages = ["11", "12", "21", "22"] * 2, ["31", "32", "31", "41"] * 2
    return frame(
        [
            Row(*one)
            for one in zip(who, zip(zips, ages, strict=True), zip(values, "p" * 8, strict=True), strict=True)
        ]
    )


def test_an_earlier_release_of_another_table_is_refused(tmp_path):
    first, second = table(), table("yxyxyxyx")
    made = shoal.anonymize(first, **ROLES, **ASKED, seed=1)
    good = {"release": made.table, "original": first, "record": made.record}

    def attack(**changed):
        return shoal.attack(second, original=second, earlier=[{**good, **changed}], **ROLES, **ASKED)

    assert attack().figures["in_several"] == 8
    with pytest.raises(DataError, match=r"earlier release 1 is of another table: .*age.*no such column"):
        attack(release=made.table.drop("age"))
    odd = made.table.with_columns(zip=pl.lit("north"))
    with pytest.raises(
        DataError, match="earlier release 1: 8 cells of `zip` are not in the hierarchies of the policy"
    ):
        attack(release=odd)
    with pytest.raises(DataError, match="original of earlier release 1 is another table"):
        attack(original=first.drop("age"))
    with pytest.raises(DataError, match=r"counts people .who., and only the original of that release"):
        attack(original=None)
    strangers = table(who="stuvwxyz")
    with pytest.raises(DataError, match="earlier release 1: nobody of the table can be in it"):
        attack(original=strangers)
    with pytest.raises(DataError, match="has 8 rows, more than the 7 of its original"):
        attack(original=first.head(7))
    with pytest.raises(DataError, match="earlier release 1: the record is about a table of 8 rows"):
        attack(release=made.table.head(7), original=first.head(7))
    with pytest.raises(DataError, match=r"january.csv: there is no such file"):
        attack(release=tmp_path / "january.csv")
    with pytest.raises(DataError, match="an earlier release has 'table'"):
        attack(table=first)
    with pytest.raises(DataError, match="no earlier release is given"):
        shoal.attack(second, original=second, name="intersection", **ROLES, **ASKED)
    nobody = first.with_columns(who=pl.when(pl.col("who") == "a").then(None).otherwise(pl.col("who")))
    with pytest.raises(DataError, match="empty in 1 of 8 rows of an earlier original"):
        attack(original=nobody)


def test_values_that_change_are_not_intersected_if_the_policy_says_so():
    """The drug changes with everybody; with it, no combination is left."""
    first = table()
    second = first.with_columns(drug=pl.lit("q"))
    before = [{"release": first, "original": first}]
    both = shoal.attack(second, original=second, earlier=before, **ROLES, **ASKED)
    assert both.figures["value_changed"] == 8
    one = shoal.attack(second, original=second, earlier=before, lasting=["disease"], **ROLES, **ASKED)
    assert one.figures["value_changed"] == 0
    assert one.figures["one_value_and_true"] == 8
    with pytest.raises(PolicyError, match="'drugs' is not a sensitive column"):
        shoal.attack(second, original=second, earlier=before, lasting=["drugs"], **ROLES, **ASKED)


def test_the_command_intersects_files(tmp_path):
    first, second = table(), table("yxyxyxyx")
    policy = tmp_path / "policy.toml"
    policy.write_text(Policy.from_keywords(**ROLES, **ASKED).to_toml())
    for name, rows in (("january", first), ("february", second)):
        rows.write_csv(tmp_path / f"{name}.csv")
        rows.drop("who").write_csv(tmp_path / f"{name}-release.csv")
    place = {
        name: str(tmp_path / f"{name}.csv")
        for name in ("january", "february", "february-release", "january-release")
    }
    begin = ["attack", place["february-release"], "--original", place["february"], "-p", str(policy)]
    said = CliRunner().invoke(
        main,
        [*begin, "--earlier", place["january-release"], "--earlier-original", place["january"], "--json"],
    )
    assert said.exit_code == 5, said.output
    found = json.loads(said.output)
    assert found["attack"] == "intersection"
    assert found["in_several"] == 8
    assert found["each_alone"][0]["release"].endswith("january-release.csv")
    said = CliRunner().invoke(
        main,
        [*begin, *("--earlier", place["january-release"]) * 2, "--earlier-original", place["january"]],
    )
    assert said.exit_code != 0
    assert "--earlier-original: is given 1 times, but --earlier 2 times" in said.output


# --- a requirement --------------------------------------------------------------------------------------------

HEEDING = [name for name, kind in METHODS.items() if kind.can.keep_earlier]


def shown_rows(release: pl.DataFrame, told: dict[str, object]) -> list[Shown]:
    """The rows of a release of ours, with the rows of the original that its private record names."""
    owners = [int(one) for one in str(told["owners"]).split()]
    return [
        Shown((_cell(row["zip"]), _cell(row["age"])), (row["disease"], row["drug"]), of)
        for row, of in zip(release.iter_rows(named=True), owners, strict=True)
    ]


def _cell(shown):
    return tuple(shown) if isinstance(shown, list) else shown


@st.composite
def two_months(draw, rows_each: int = 2):
    """Two tables of up to nine people, many of whom come twice and with the same disease."""
    ill = {who: draw(st.sampled_from("wxyz")) for who in "abcdefghi"}
    home = {who: draw(st.sampled_from(["11", "12", "21", "22"])) for who in ill}
    out = []
    for _ in range(2):
        rows = [
            Row(
                who,
                (home[who], draw(st.sampled_from(["31", "32", "41"]))),
                (ill[who] if draw(st.integers(0, 3)) else draw(st.sampled_from("wxyz")), "p"),
            )
            for who in ill
            for _ in range(draw(st.integers(0 if draw(st.booleans()) else 1, rows_each)))
        ]
        assume(rows)
        out.append(rows)
    return out


def safe(left: over_time.Left, adversary: str, k: int = 2, needed: int = 2) -> bool:
    candidates = left.candidates if adversary == "some" else min(left.candidates, left.crowd)
    return candidates >= k and left.values[0] >= needed


def must_go(originals, earlier, adversary: str) -> set[str]:
    """The people whose rows no class can hold: even all rows as one class leave them too little, again and again."""
    gone: set[str] = set()
    while True:
        shown = [
            Shown(("*", "*"), row.values, of) for of, row in enumerate(originals[1]) if row.person not in gone
        ]
        found = over_time.by_people(originals, [earlier, shown]) if shown else {}
        bad = {who for who, own in found.items() if not all(safe(one, adversary) for one in own)}
        if not bad:
            return gone
        gone |= bad


@pytest.mark.parametrize("method", HEEDING)
@settings(max_examples=25, deadline=None)
@given(
    drawn=two_months(),
    adversary=st.sampled_from(["some", "members"]),
    share=st.sampled_from([0.0, 0.5]),
    wide=st.sampled_from([left_open.WIDE, 0]),
)
def test_a_release_with_earlier_ones_leaves_enough_open(method, drawn, adversary, share, wide):
    first, second = drawn
    try:
        before = shoal.anonymize(frame(first), seed=1, **ROLES, **ASKED)
    except (InfeasibleError, LimitError):
        assume(False)
    assume({row.person for row in first} & {row.person for row in second})
    earlier = shown_rows(before.table, before.record)
    gone = must_go(drawn, earlier, adversary)
    rows = sum(row.person in gone for row in second)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        before.table.write_csv(place / "release.csv")
        frame(first).write_csv(place / "table.csv")
        (place / "record.json").write_text(json.dumps(before.record))
        asked = {
            "earlier": [{"release": "release.csv", "original": "table.csv", "record": "record.json"}],
            "earlier_adversary": adversary,
        }
        policy = Policy.from_keywords(**ROLES, **ASKED, **asked, method=method, suppression=share, base=place)
        try:
            with pytest.MonkeyPatch.context() as patch:
                # Both ways to judge groups: by tables of counts first, or by lists alone.
                patch.setattr(left_open, "WIDE", wide)
                made, refusal = shoal.anonymize(frame(second), policy, seed=2), ""
        except (InfeasibleError, LimitError) as error:
            made, refusal = None, str(error)
    if made is None:
        if "intersecting" in refusal:
            assert rows > int(share * len(second)) or rows == len(second)
            assert f"{len(gone):,} p" in refusal
        return
    assert rows <= int(share * len(second))
    left = over_time.by_people(drawn, [earlier, shown_rows(made.table, made.record)])
    assert all(safe(one, adversary) for own in left.values() for one in own)
    published = {second[row.of].person for row in shown_rows(made.table, made.record)}
    assert not published & gone


@settings(max_examples=40, deadline=None)
@given(drawn=two_months(rows_each=1))
def test_a_release_without_a_person_column_protects_everybody_who_matches(drawn):
    first, second = drawn
    try:
        before = shoal.anonymize(frame(first), seed=1, **WITHOUT, **ASKED)
    except (InfeasibleError, LimitError):
        assume(False)
    earlier = [
        Shown((_cell(row["zip"]), _cell(row["age"])), (row["disease"], row["drug"]), -1)
        for row in before.table.iter_rows(named=True)
    ]
    assume(any(over_time.matching(earlier, row.known) for row in second))
    with tempfile.TemporaryDirectory() as folder:
        before.table.write_csv(Path(folder) / "release.csv")
        policy = Policy.from_keywords(
            **WITHOUT,
            **ASKED,
            earlier=["release.csv"],
            base=folder,
        )
        try:
            made = shoal.anonymize(frame(second), policy, seed=2)
        except (InfeasibleError, LimitError):
            return
    now = [
        Shown((_cell(row["zip"]), _cell(row["age"])), (row["disease"], row["drug"]), -1)
        for row in made.table.iter_rows(named=True)
    ]
    left = over_time.by_rows(second, [earlier, now])
    assert all(safe(one, "some") for own in left.values() for one in own)


def written(folder: Path, **asked) -> Policy:
    """Two months, the first one released; return the policy for the second."""
    first = table()
    before = shoal.anonymize(first, seed=1, **ROLES, **ASKED)
    before.table.write_csv(folder / "release.csv")
    first.write_csv(folder / "table.csv")
    (folder / "record.json").write_text(json.dumps(before.record))
    given = {"release": "release.csv", "original": "table.csv", "record": "record.json"}
    return Policy.from_keywords(**{**ROLES, **ASKED, "earlier": [given], "base": folder, **asked})


def test_the_verdict_is_in_everything_that_speaks_of_a_release(tmp_path):
    policy = written(tmp_path)
    assert Policy.from_toml(policy.to_toml(), tmp_path) == policy
    second = table("yxyxyxyx")
    made = shoal.anonymize(second, policy, seed=1)
    (verdict,) = (one for one in made.verdicts if "earlier" in one.model)
    assert verdict.holds
    assert not verdict.public
    assert made.record["owners"]
    # The card says that it holds, and nothing about people.
    (told,) = (one for one in made.card["guarantees"] if "earlier" in one["model"])
    assert "8 people" not in json.dumps(made.card)
    assert told["model"] == "people exposed by intersecting earlier releases"
    audited = shoal.audit(made.table, policy, original=second, record=made.record)
    assert [one.reached for one in audited.verdicts if "earlier" in one.model] == [0]
    # Without the original nobody can tell, so it does not hold.
    alone = shoal.audit(made.table, policy)
    assert [one.holds for one in alone.verdicts if "earlier" in one.model] == [None]
    report = shoal.report(made, policy, original=second, edition="private")
    assert "intersection of releases, knows some people" in report.html
    assert "people exposed by intersecting earlier releases" in report.html
    assert shoal.attack(made, policy, original=second, name="intersection").holds


def test_a_release_that_exposes_somebody_is_not_accepted(tmp_path):
    """Everybody is alone in one of the two, so that only they are in both classes."""
    policy = written(tmp_path)
    second = table("yxyxyxyx")
    found = shoal.audit(second.drop("who"), policy, original=second)
    (verdict,) = (one for one in found.verdicts if "earlier" in one.model)
    assert not verdict.holds
    assert verdict.reached == 8
    assert "8 people in several of 2 releases" in verdict.detail


def test_a_policy_with_earlier_releases_is_checked(tmp_path):
    with pytest.raises(PolicyError, match=r"privacy.earlier\[0\].release: there is no file .*nothing.csv"):
        written(tmp_path, earlier=["nothing.csv"])
    with pytest.raises(PolicyError, match="probabilistic-l has no meaning for several releases together"):
        written(tmp_path, l={"probabilistic": 2})
    with pytest.raises(
        PolicyError, match=r"t-equal|t-closeness.* has no meaning for several releases together"
    ):
        written(tmp_path, t={"equal": 0.3})
    with pytest.raises(PolicyError, match=r"privacy.earlier_adversary: there are no earlier releases"):
        written(tmp_path, earlier=None, earlier_adversary="members")
    with pytest.raises(PolicyError, match="full-domain does not heed earlier releases"):
        shoal.anonymize(table(), written(tmp_path, method="full-domain"))
    table().write_csv(tmp_path / "second.csv")
    policy = written(tmp_path)
    with pytest.raises(OutputError, match="would replace an earlier release"):
        anonymize_file(tmp_path / "second.csv", policy, tmp_path / "release.csv", force=True)


def test_an_earlier_release_that_breaks_the_policy_is_refused(tmp_path):
    policy = written(tmp_path, k=5)
    with pytest.raises(
        DataError, match=r"release.csv does not keep this policy by itself: .*fewer than 5 candidates"
    ):
        shoal.anonymize(table("yxyxyxyx"), policy)


def test_nobody_can_be_protected_whose_values_are_all_new(tmp_path):
    policy = written(tmp_path)
    with pytest.raises(
        InfeasibleError, match=r"8 people with 8 rows would be exposed .* only 0 of 8 rows may be"
    ):
        shoal.anonymize(table("vuvuvuvu"), policy)


def test_several_earlier_releases_and_a_gap(tmp_path):
    """Half of the people are in the first and the third release, and all of them in the second one."""
    policy = written(tmp_path)
    second = table("yxyxyxyx")
    made = shoal.anonymize(second, policy, seed=1)
    made.table.write_csv(tmp_path / "release2.csv")
    second.write_csv(tmp_path / "table2.csv")
    (tmp_path / "record2.json").write_text(json.dumps(made.record))
    one = {"release": "release.csv", "original": "table.csv", "record": "record.json"}
    two = {"release": "release2.csv", "original": "table2.csv", "record": "record2.json"}
    both = written(tmp_path, earlier=[one, two])
    third = table("xxxxyyyy", who="abcdwxyz")
    released = shoal.anonymize(third, both, seed=1)
    found = shoal.attack(released, both, original=third, name="intersection")
    assert found.holds
    assert found.figures["in_several"] == 4
    assert found.figures["not_in_earlier"] == 4


def test_who_knows_all_members_is_not_judged_by_guesses_about_rows(tmp_path):
    """Everybody has one row, but classes overlap: who may have a row in a class need not have one."""
    before = table()
    cells = {"a": "**", "b": "**", "e": "13", "f": "13"}
    rows = [Row(who, (zip_code, age), (disease, drug)) for who, zip_code, age, disease, drug in before.rows()]
    shown = [
        Shown(
            {"**": ("*", "*"), "13": ("1*", "3*")}.get(cells.get(row.person, ""), row.known), row.values, of
        )
        for of, row in enumerate(rows)
    ]
    release, told = published(shown), record(rows, shown)

    def attack(adversary, newest, first):
        given = {"release": release, "original": before, "record": first}
        return shoal.attack(
            release, original=before, record=newest, earlier=[given], adversary=adversary, **ROLES, **ASKED
        )

    assert attack("some", None, None).figures["in_several"] == 8
    assert attack("members", told, told).figures["in_several"] == 8
    with pytest.raises(DataError, match="earlier release 1: who is in which class cannot be known"):
        attack("members", told, None)
    with pytest.raises(DataError, match="the newest release: who is in which class cannot be known"):
        attack("members", None, told)
    release.write_csv(tmp_path / "release.csv")
    before.write_csv(tmp_path / "table.csv")
    asked = {"k": 2, "earlier": [{"release": "release.csv", "original": "table.csv"}], "base": tmp_path}
    assert shoal.anonymize(before, **ROLES, **asked).holds
    with pytest.raises(DataError, match=r"release.csv: who is in which class cannot be known"):
        shoal.anonymize(before, **ROLES, **asked, earlier_adversary="members")


def test_explain_says_what_earlier_releases_cost(tmp_path):
    second = table("yxyxyxyx")
    told = [step.what for step in relaxations(written(tmp_path))]
    assert "earlier" in told
    steps = {step.what: step for step in relaxations(written(tmp_path, earlier_adversary="members"))}
    assert steps["earlier_adversary"].policy.privacy.earlier_adversary == "some"
    weaker = {step.what: step for step in relaxations(written(tmp_path))}["earlier"].policy
    assert weaker.privacy.earlier is None
    assert (
        shoal.anonymize(second, weaker, seed=1).classes
        >= shoal.anonymize(second, written(tmp_path), seed=1).classes
    )


def test_labels_are_one_set_although_the_search_over_levels_has_no_rows(tmp_path):
    policy = written(tmp_path, levels="uniform")
    made = shoal.anonymize(table("yxyxyxyx"), policy, seed=1)
    assert all(one.holds for one in made.verdicts)


@pytest.mark.parametrize("of_people", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2, 37, 60])
def test_an_audit_does_not_take_suppressed_people_for_exposed_ones(seed, of_people, tmp_path):
    """With the record an audit says what anonymize said; without it, it says at most that it could not be checked."""
    random = Random(seed)
    places = [(zip_, age) for zip_ in ("11", "12", "21", "22") for age in ("31", "32", "41")]
    people = {f"p{at}": random.choice(places) for at in range(12)}
    # Some values change, so that some people have to be suppressed.
    months = [
        frame(
            [Row(name, people[name], (random.choice("xyz"), "d")) for name in people if random.random() < 0.8]
        )
        for _ in range(2)
    ]
    asked = {**(ROLES if of_people else WITHOUT), "k": 2, "suppression": 0.5, "method": "mondrian"}
    first = shoal.anonymize(months[0], seed=seed, **asked)
    months[0].write_csv(tmp_path / "original.csv")
    first.table.write_csv(tmp_path / "release.csv")
    (tmp_path / "record.json").write_text(json.dumps(first.record))
    files = {"release": "release.csv", "original": "original.csv", "record": "record.json"}
    policy = Policy.from_keywords(**asked, earlier=[files if of_people else "release.csv"], base=tmp_path)
    made = shoal.anonymize(months[1], policy, seed=seed)
    own = {verdict.model: (verdict.reached, verdict.holds) for verdict in made.verdicts}
    found = shoal.audit(made.table, policy, original=months[1], record=made.record)
    assert {name: (one.reached, one.holds) for one in found.verdicts if (name := one.model) in own} == own
    assert shoal.attack(
        made.table, policy, original=months[1], record=made.record, name="intersection", seed=1
    ).holds
    assert shoal.audit(made.table, policy, original=months[1]).holds is not False


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_verdicts_about_series_are_those_of_enumeration(first, tmp_path):
    """Releases, audits with the record, with the original only and without both; `tests.fuzz.series` runs more."""
    said: Counter[str] = Counter()
    for number in range(first, first + 20):
        found = random_series.tried(random_series.series(5, number), tmp_path)
        assert found.problems == [], number
        said += found.said
    assert said["releases with earlier ones"] > said["releases that expose somebody"] > 0


@pytest.mark.parametrize(("seed", "number"), [(7, 3093), (8, 505), (9, 608), (9, 2293)])
def test_who_knows_all_members_rules_out_people_who_only_may_be_in_a_class(seed, number, tmp_path):
    """Classes overlap and no column names people: an audit said that nobody is exposed, but the maker knows better."""
    found = random_series.tried(random_series.series(seed, number), tmp_path)
    assert found.problems == []
    assert found.said["releases that expose somebody"] == 1
    assert found.said["audit with record: None"] == found.said["audit with original: None"] == 1


def test_without_a_person_column_nobody_knows_who_left(tmp_path):
    """Ann and Bob are one class in January. In February Bob is gone, and Cem is like Ann: the new class has both, but
    who knows that Cem was not there in January knows which row is Ann's. To the files, Cem may have been."""
    months = [
        frame([Row(who, ("11", "31"), (value, "d")) for who, value in rows])
        for rows in (["ax", "by"], ["ax", "cy"])
    ]
    months[0].drop("who").write_csv(tmp_path / "release.csv")
    months[0].write_csv(tmp_path / "table.csv")
    shown = months[1].drop("who")
    asked = {"k": 2, "base": tmp_path}

    def judge(roles, given, **adversary):
        policy = Policy.from_keywords(**roles, **asked, earlier=[given], **adversary)
        found = shoal.audit(shown, policy, original=months[1])
        return next(one for one in found.verdicts if "earlier" in one.model)

    files = {"release": "release.csv", "original": "table.csv"}
    verdict = judge(ROLES, files, earlier_adversary="members")
    assert (verdict.holds, verdict.reached) == (False, 1)
    assert judge(WITHOUT, "release.csv").holds
    verdict = judge(WITHOUT, "release.csv", earlier_adversary="members")
    assert (verdict.holds, verdict.reached) == (None, None)
    assert "no column names people" in verdict.detail
    policy = Policy.from_keywords(**WITHOUT, **asked, earlier=["release.csv"], earlier_adversary="members")
    with pytest.raises(DataError, match="no column names people: give the person ID column the role person"):
        shoal.anonymize(months[1], policy)
