"""What cannot be known is neither satisfied nor violated: it could not be checked, and has an exit code of its own."""

from __future__ import annotations

import json

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.errors import ViolationError
from shoal.release.verdict import UNCHECKED, Verdict, all_hold, exit_code, in_words, worst
from tests.fuzz import people

ROWS = pl.DataFrame(
    {
        "age": ["20-29"] * 4 + ["30-39"] * 4,
        "ill": ["a", "b", "a", "b", "a", "a", "b", "b"],
    }
)
MODELS = {
    "t": {"t": {"equal": 0.2}},
    "beta": {"beta": {"enhanced": 1}},
    "delta": {"delta": {"present": 2}},
    "k-map": {"k_map": 9},
    "risk": {"risk": {"highest": 0.2, "by": "journalist"}},
    "presence": {"presence": [0, 0.5]},
}


def policy(privacy: dict, **utility) -> shoal.Policy:
    columns = {"age": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    population = {"column": "member"} if {"k_map", "risk", "presence"} & privacy.keys() else None
    return shoal.Policy.from_dict(
        {"columns": columns, "privacy": privacy, "utility": utility}
        | ({"population": population} if population else {})
    )


@pytest.mark.parametrize("name", MODELS)
def test_without_the_original_it_could_not_be_checked(name):
    found = shoal.audit(ROWS, policy(MODELS[name], suppression=0.5))
    (verdict,) = [one for one in found.verdicts if one.model != "suppression"]
    assert (verdict.holds, verdict.reached, found.holds) == (None, None, None)
    assert verdict.detail.startswith("could not be checked: ")
    assert "original" in verdict.detail or "population" in verdict.detail
    assert "could not check" in repr(found)
    assert "violates" not in repr(found)
    assert found.summary()["holds"] is None
    assert found.failing == [verdict, suppression(found)]
    assert "not checked" in found._repr_html_()


@pytest.mark.parametrize("name", ["t", "beta", "delta"])
def test_published_rows_stand_for_the_table_only_if_the_record_says_that_none_is_missing(name):
    asked = policy(MODELS[name])
    made = shoal.anonymize(ROWS, asked)
    assert shoal.audit(made.table, asked, record=made.record).holds is True
    assert shoal.audit(made.table, asked).holds is None
    uneven = ROWS.with_columns(ill=pl.Series(["a"] * 4 + ["b"] * 4))
    assert shoal.audit(uneven, policy({"t": {"equal": 0.2}}), original=uneven).holds is False


def test_a_mark_of_suppressed_rows_that_no_row_shows_proves_nothing():
    found = shoal.audit(ROWS, policy({"k": 2}, suppression=0.5), suppressed_as="zzz")
    assert suppression(found).holds is None


def test_columns_without_a_role_could_name_people():
    asked = shoal.Policy.from_dict(
        {"columns": {"age": "quasi", "ill": "sensitive", "name": "identifier"}, "privacy": {"k": 2}}
    )
    rows = ROWS.select("age", "ill")
    assert shoal.audit(rows, asked).holds is True
    found = shoal.audit(rows.with_columns(Name=pl.lit("Laila")), asked)
    (verdict,) = [one for one in found.verdicts if one.model == "identifiers removed"]
    assert (verdict.holds, found.holds) == (None, None)
    assert "Name" in verdict.detail
    assert shoal.audit(rows.with_columns(name=pl.lit("Laila")), asked).holds is False


def test_what_is_enough_without_the_population_holds():
    assert shoal.audit(ROWS, policy({"k_map": 4})).holds is True


SUPPRESSED = pl.DataFrame({"age": [21, 22, 23, 24, 25, 26, 27, 99], "ill": ["a", "b"] * 4})
ASKED = {
    "quasi": ["age"],
    "sensitive": ["ill"],
    "k": 2,
    "suppression": 0.2,
    "hierarchies": {"age": {"widths": [10]}},
}


def suppression(found: shoal.Audit) -> Verdict:
    (verdict,) = [one for one in found.verdicts if one.model == "suppression"]
    return verdict


def test_how_many_rows_were_suppressed_is_known_from_the_original_or_the_record():
    made = shoal.anonymize(SUPPRESSED, method="full-domain", **ASKED)
    assert made.suppressed == 1
    for more in ({"original": SUPPRESSED}, {"record": made.record}):
        found = shoal.audit(made.table, **ASKED, **more)
        own = suppression(found)
        assert (own.holds, own.reached, own.detail) == (True, 1 / 8, "1 of 8 rows")
        assert (found.rows, found.suppressed) == (8, 1)
    tight = {**ASKED, "suppression": 0.1}
    assert suppression(shoal.audit(made.table, **tight, record=made.record)).holds is False
    found = shoal.audit(made.table, **ASKED)
    own = suppression(found)
    assert (own.holds, own.reached, found.holds, found.suppressed) == (None, None, None, None)
    assert own.detail.startswith("could not be checked: only the original or the record shows how many rows")
    assert found.summary()["suppressed"] is None
    assert "suppressed" not in repr(found).partition(";")[0]


def test_marked_rows_are_counted_and_a_limit_of_all_rows_is_always_kept():
    marked = pl.concat([ROWS, pl.DataFrame({"age": ["*"] * 2, "ill": ["a", "b"]})])
    asked = {"quasi": ["age"], "sensitive": ["ill"], "k": 4}
    for limit, holds in ((0.2, True), (0.1, False)):
        own = suppression(shoal.audit(marked, **asked, suppression=limit, suppressed_as="*"))
        assert (own.holds, own.reached) == (holds, 0.2)
    assert suppression(shoal.audit(ROWS, **asked, suppression=1.0)).holds is True


def test_how_many_people_were_suppressed_is_not_known_from_the_rows():
    rows = [("p1", 20, "a"), ("p2", 20, "b"), ("p3", 20, "a"), ("p4", 20, "b"), ("p5", 90, "a")]
    data = pl.DataFrame(rows, schema=["person", "age", "ill"], orient="row")
    asked = {**ASKED, "person": ["person"], "publish": {"person": "pseudonym"}, "method": "full-domain"}
    made = shoal.anonymize(data, **asked)
    assert made.people_suppressed == 1
    assert shoal.audit(made.table, **asked, original=data).people_suppressed == 1
    assert shoal.audit(made.table, **asked).people_suppressed is None
    assert shoal.audit(made.table, **{**asked, "suppression": 0}).people_suppressed == 0


@pytest.mark.parametrize("rule", [{"l": {"distinct": 2}}, {"p": 2}, {"ke": (2, 1.0)}])
def test_rows_that_can_be_followed_are_not_judged_as_rows_if_pseudonyms_are_wrong(rule):
    """Everybody with the two rows has both values, but every row by itself shows one."""
    rows = [("t1", 20, 1), ("t1", 30, 2), ("t2", 20, 1), ("t2", 30, 2)]
    release = pl.DataFrame(rows, schema=["person", "age", "ill"], orient="row")
    roles = {"quasi": ["age"], "sensitive": ["ill"], "person": ["person"], "publish": {"person": "pseudonym"}}
    theirs = release.with_columns(person=pl.Series(["a", "a", "b", "b"]))
    others = release.with_columns(person=pl.Series(["a", "b", "c", "d"]))
    asked = {**roles, "k": 2, **rule}
    for original, holds in ((None, True), (theirs, True), (others, None)):
        found = shoal.audit(release, **asked, original=original)
        assert [one.holds for one in found.verdicts[:2]] == [holds] * 2, found.verdicts


def test_the_command_ends_with_a_code_of_its_own(tmp_path):
    ROWS.write_csv(tmp_path / "out.csv")
    (tmp_path / "p.toml").write_text(policy(MODELS["t"], suppression=0.5).to_toml())
    words = ["audit", str(tmp_path / "out.csv"), "-p", str(tmp_path / "p.toml")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == UNCHECKED == 9
    assert "could not be checked against all of its policy" in " ".join(done.output.split())
    assert "violates" not in done.output
    told = CliRunner().invoke(main, [*words, "--json"])
    assert told.exit_code == UNCHECKED
    assert json.loads(told.output)["holds"] is None


def test_violations_come_first():
    held, broken, unknown = (
        Verdict("m", 1, reached, holds) for reached, holds in ((1, True), (0, False), (None, None))
    )
    assert [all_hold(own) for own in ([], [held], [held, unknown], [unknown, broken])] == [
        True,
        True,
        None,
        False,
    ]
    assert worst([held, unknown]) is unknown
    assert worst([unknown, broken]) is broken
    assert [exit_code(own) for own in (True, None, False)] == [0, UNCHECKED, ViolationError.exit_code]
    assert len({in_words(own) for own in (True, None, False)}) == 3


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_audits_with_more_and_with_less_never_contradict_each_other(first):
    """Releases of people as they were made, and changed; `tests.fuzz.people` runs more."""
    found = [people.tried(4, number) for number in range(first, first + 20)]
    assert [one.problems for one in found if one.problems] == []
    assert sum(one.said["releases"] for one in found)
