"""How a release was made is a fact of the release: taken from its record or its rows, never from the policy at hand."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError, ShoalError
from shoal.policy import Policy
from shoal.release.layout import Shuffling
from shoal.release.received import combinations
from shoal.release.received.shuffled_columns import INTACT, Making
from shoal.release.verdict import Verdict, worst
from tests.judging.test_membership import P2

QUASI = ["a", "b", "c"]
PERMUTING = {
    "bucketization": "bucketization",
    "slice-columns": "slice-columns",
    "anatomy": "anatomy",
    "anatomy, shuffled": {"name": "anatomy", "permute": True, "partitioner": "mondrian"},
    "slicing": {"name": "slicing", "groups": [["a", "b"]]},
    "slicing with s": {"name": "slicing", "groups": [["a", "s"], ["b", "c"]]},
    "slicing, computed": "slicing",
    "permute-generalize": "permute-generalize",
}
AT_HAND = ("mondrian", "bucketization", "slice-columns", "slicing", "anatomy")
"""Methods of the policy that a user happens to audit with."""


def people(rows: int, seed: int, values: int = 8) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table, and the population of twice as many people that it is from."""
    random = np.random.default_rng(seed)
    everybody = pl.DataFrame({name: random.integers(0, values, 2 * rows) for name in QUASI})
    return everybody[:rows].with_columns(s=pl.Series(random.choice(["x", "y", "z", "w"], rows))), everybody


def asked(method: object, *, presence: bool = True) -> dict:
    more = {"presence": [0.0, 0.99]} if presence else {}
    return {
        "quasi": QUASI, "sensitive": ["s"], "method": method,
        "l": {"distinct": 2, "probabilistic": 1.1, "slicing": 1.1}, "t": {"equal": 0.97}, **more,
    }  # fmt: skip


def made_by(
    method: str, table: pl.DataFrame, everybody: pl.DataFrame, seed: int = 1
) -> tuple[shoal.Result, bool]:
    """A release, and whether it keeps who is in the table secret."""
    for presence in (True, False):
        try:
            wanted = asked(PERMUTING[method], presence=presence)
            return shoal.anonymize(table, population=everybody, seed=seed, **wanted), presence
        except ShoalError:
            continue
    raise LookupError("no release of so few rows")


# --- a false all-clear ------------------------------------------------------------------------------------


def test_the_method_of_the_policy_at_hand_does_not_hide_who_is_in_the_table(tmp_path):
    """Columns were shuffled; read as rows, nobody of the table would seem to be in it."""
    everybody = pl.DataFrame({"zip": [z for z, _ in P2.values()], "age": [a for _, a in P2.values()]})
    table = everybody[[0, 2, 3, 5]].with_columns(salary=pl.Series([15, 40, 42, 50]))
    everybody.write_csv(tmp_path / "people.csv")
    table.write_csv(tmp_path / "in.csv")
    policy = Policy.from_keywords(quasi=["zip", "age"], sensitive=["salary"], l=2)
    (tmp_path / "p.toml").write_text(policy.to_toml())

    def run(*words: object) -> dict:
        done = CliRunner().invoke(main, [*map(str, words), "--json"])
        assert done.exit_code in (0, 5), done.output
        return json.loads(done.stdout)

    files = (tmp_path / "out.csv", "-p", tmp_path / "p.toml", "--original", tmp_path / "in.csv")
    record = ("--record", tmp_path / "r.json")
    made = ("-o", tmp_path / "out.csv", "--method", "slice-columns", "--force", *record)
    run("anonymize", tmp_path / "in.csv", "-p", tmp_path / "p.toml", *made, "--seed", 3)
    for more in ((), record, ("--set", "method.name=bucketization"), ("--set", "method.name=slice-columns")):
        words = ("attack", *files, "--name", "membership", "--population", tmp_path / "people.csv", *more)
        found = run(*words)
        assert found["certainly_in"] == 4, (more, found)
        assert not found["holds"]
        assert run("audit", *files, *more)["holds"]
        run("report", *files, *more, "-o", tmp_path / "r.html", "--force")


# --- honest releases --------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_hand", AT_HAND)
@pytest.mark.parametrize("method", PERMUTING)
def test_honest_releases_satisfy_with_the_original_or_with_the_record(method, at_hand):
    # Few values, or no bucket that shows several of them keeps secret who is in it.
    table, everybody = people(80, 5, 4 if method == "permute-generalize" else 8)
    made, presence = made_by(method, table, everybody)
    wanted = {**asked(at_hand, presence=presence), "second": made.second}
    with_original = shoal.audit(made.table, original=table, population=everybody, **wanted)
    with_both = shoal.audit(made.table, original=table, population=everybody, record=made.record, **wanted)
    assert with_both.holds
    failing = [v.model for v in with_original.verdicts if not v.holds]
    if method == "permute-generalize":
        # Ranges match combinations that stayed together, and those that did not: only the record tells.
        assert failing == ["(0, 0.99)-presence"]
        assert "To settle it, give record" in with_original.notes[0]
    else:
        assert not failing, (with_original.verdicts, with_original.notes)
    for told, true in zip(with_original.verdicts, with_both.verdicts, strict=True):
        assert told.reached == true.reached or told.model in failing
    assert with_both.buckets == with_original.buckets == made.buckets
    assert any("the record says that" in note for note in with_both.notes)
    wanted.pop("presence", None)
    with_record = shoal.audit(made.table, record=made.record, **wanted)
    assert with_record.holds, (with_record.verdicts, with_record.notes)
    assert with_record.buckets == made.buckets


def test_without_original_and_record_the_worst_is_assumed_and_told():
    table, everybody = people(80, 5)
    made, _ = made_by("bucketization", table, everybody)
    judged = shoal.audit(made.table, **asked("bucketization", presence=False))
    assert not judged.holds
    assert any(
        "nothing shows for sure" in note and "give record or original" in note for note in judged.notes
    )


def test_the_worst_includes_sensitive_values_that_stayed_with_a_quasi_identifier():
    """Classes reach into several buckets, so rows that count as whole seem safer than those of one bucket."""
    units = [("a1", "b2", "x", 1), ("a2", "b1", "y", 1), ("a1", "b2", "y", 2), ("a2", "b3", "x", 2)]
    units += [("a2", "b1", "x", 3), ("a2", "b3", "y", 3)]
    release = pl.DataFrame([u for u in units for _ in range(2)], ["a", "b", "s", "bucket"], orient="row")
    judged = shoal.audit(release, quasi=["a", "b"], sensitive=["s"], l=2)
    assert not judged.holds
    assert "a with s; b" in judged.notes[0]
    many = release.with_columns(c=pl.lit("c"), d=pl.lit("d"))
    note = shoal.audit(many, quasi=["a", "b", "c", "d"], sensitive=["s"], l=2).notes[0]
    assert "3 other ways" in note


def test_two_tables_need_no_record_for_sensitive_values():
    table, everybody = people(80, 5)
    made, _ = made_by("anatomy", table, everybody)
    found = shoal.audit(made.table, second=made.second, **asked("mondrian", presence=False))
    # The rows show no table to compare with, as some may be missing.
    assert [verdict.model for verdict in found.failing] == ["0.97-closeness (equal) of s"]
    assert found.holds is None


# --- releases that were not shuffled, or not all ----------------------------------------------------------


@pytest.mark.parametrize("at_hand", AT_HAND)
def test_bucket_numbers_alone_protect_nobody(at_hand):
    """A tool numbers buckets and shuffles nothing; whatever the policy's method, rows show their own values."""
    table, _ = people(80, 5)
    release = table.with_columns(bucket=pl.int_range(80) // 4)
    judged = shoal.audit(release, original=table, **asked(at_hand, presence=False))
    assert not judged.holds
    assert judged.buckets is None
    assert any("nothing was shuffled" in note for note in judged.notes)


def test_a_shuffle_of_a_few_buckets_protects_nobody_either():
    table, _ = people(200, 5)
    release = table.with_columns(bucket=pl.int_range(200) // 4)
    half = release["s"].to_list()
    for start in range(0, 80, 4):
        half[start : start + 4] = half[start + 1 : start + 4] + half[start : start + 1]
    judged = shoal.audit(
        release.with_columns(s=pl.Series(half)), original=table, **asked("bucketization", presence=False)
    )
    assert not judged.holds
    assert any("nothing shows for sure" in note for note in judged.notes)


@pytest.mark.parametrize("last", [["78", "79"], ["[78, 79]", "[78, 79]"]])
def test_a_range_does_not_hide_that_most_buckets_were_not_shuffled(last):
    random = np.random.default_rng(3)
    values = ["uvwxyz"[i % 3 * 2 + random.integers(2)] for i in range(60)]
    table = pl.DataFrame({"age": range(20, 80), "s": values})
    release = pl.DataFrame(
        {
            "age": [*map(str, range(20, 78)), *last],
            "s": [values[1], values[0], *values[2:]],
            "bucket": [i // 3 for i in range(60)],
        }
    )
    wanted = {"original": table, "quasi": ["age"], "sensitive": ["s"], "l": 3, "hierarchies": {"age": "none"}}
    assert not shoal.audit(release, **wanted).holds
    assert shoal.attack(release, name="attribute-disclosure", **wanted).at_risk >= 50


def test_a_column_of_the_user_called_bucket_is_a_column_like_any_other():
    table, _ = people(80, 5)
    table = table.with_columns(bucket=pl.int_range(80))
    wanted = {"quasi": QUASI, "sensitive": ["s"], "k": 3, "suppression": 0.2}
    made = shoal.anonymize(table, plain=["bucket"], **wanted)
    for more in ({"plain": ["bucket"]}, {"other_columns": "plain"}):
        judged = shoal.audit(made.table, original=table, **wanted, **more)
        assert judged.holds
        assert (judged.classes, judged.buckets) == (made.classes, None)
        assert not any("bucket" in note for note in judged.notes)
    assert shoal.audit(made.table, plain=["bucket"], **wanted, record=made.record).holds
    sliced = shoal.anonymize(
        table, plain=["bucket"], quasi=QUASI, sensitive=["s"], l=2, method="slice-columns", seed=1
    )
    assert "bucket_" in sliced.table.columns
    again = shoal.audit(sliced.table, original=table, plain=["bucket"], quasi=QUASI, sensitive=["s"], l=2)
    assert again.holds
    assert again.buckets == sliced.buckets


# --- records ----------------------------------------------------------------------------------------------


def test_a_record_must_belong_to_the_release(tmp_path):
    table, everybody = people(80, 5)
    made, _ = made_by("slice-columns", table, everybody)
    wanted = asked("mondrian", presence=False)
    other = {**made.record, "input": {"rows": 79, "sha256": None}}
    with pytest.raises(DataError, match="a release of 79 rows, but this one has 80"):
        shoal.audit(made.table, record=other, **wanted)
    with pytest.raises(DataError, match="a table of 79 rows, but the original has 80"):
        shoal.audit(made.table, original=table, record=other, **wanted)
    odd = {**made.record, "policy": made.record["policy"] + '\n[columns.other]\nrole = "plain"\n'}
    with pytest.raises(DataError, match="column 'other', which this one lacks"):
        shoal.audit(made.table, record=odd, **wanted)
    with pytest.raises(DataError, match="a column 'bucket' that numbers buckets"):
        shoal.audit(made.table.drop("bucket"), record=made.record, **wanted)
    for wrong in ({}, {"policy": "x"}):
        with pytest.raises(DataError, match="not a record of a run"):
            shoal.audit(made.table, record=wrong, **wanted)
    for part in ({"input": None}, {"input": {}}, {"policy": 5}, {"groups": 3}, {"suppressed": None}):
        with pytest.raises(DataError, match="not a record of a run: "):
            shoal.audit(made.table, original=table, record={**made.record, **part}, **wanted)
    for part in ({"groups": [["a"], ["zz"]]}, {"policy": "columns = 3"}, {"policy": "[columns]\na = 3"}):
        with pytest.raises(DataError):
            shoal.audit(made.table, original=table, record={**made.record, **part}, **wanted)
    with pytest.raises(DataError, match="does not exist"):
        shoal.audit(made.table, record=tmp_path / "none.json", **wanted)
    unknown = {**made.record, "policy": '[method]\nname = "sorcery"\n'}
    with pytest.raises(DataError, match="not known here"):
        shoal.audit(made.table, record=unknown, **wanted)
    by_classes = shoal.anonymize(table, quasi=QUASI, sensitive=["s"], k=4)
    judged = shoal.audit(by_classes.table, record=by_classes.record, quasi=QUASI, sensitive=["s"], k=4)
    assert judged.holds


def test_rows_that_contradict_the_record_are_not_overruled_by_it():
    table = pl.DataFrame({"a": range(60), "b": [i * 37 % 60 for i in range(60)], "s": list("uvwxyz" * 10)})
    wanted = {"original": table, "quasi": ["a", "b"], "sensitive": ["s"], "l": 3}
    kept = shoal.anonymize(table, quasi=["a", "b"], sensitive=["s"], l=3, method="bucketization", seed=1)
    assert shoal.audit(kept.table, record=kept.record, **wanted).holds
    back = kept.table.drop("s").join(table.select("a", "s"), on="a").select(kept.table.columns)
    judged = shoal.audit(back, record=kept.record, **wanted)
    assert not judged.holds
    assert any("the record says" in note and "nothing was shuffled" in note for note in judged.notes)
    sliced = shoal.anonymize(table, quasi=["a", "b"], sensitive=["s"], l=3, method="slice-columns", seed=1)
    other = {**kept.record, "buckets": sliced.buckets}
    with pytest.raises(DataError, match="about another release"):
        shoal.audit(sliced.table, record=other, **wanted)
    more = {**sliced.record, "buckets": kept.buckets}
    assert shoal.attack(kept.table, record=more, name="linkage", k=2, **wanted).at_risk == 60
    with pytest.raises(DataError, match="a release of 3 buckets"):
        shoal.audit(sliced.table, record={**sliced.record, "buckets": 3}, **wanted)


def test_sensitive_columns_that_were_shuffled_as_a_unit_do_not_contradict_the_record():
    """All but one row of a bucket have the same quasi-identifier, so whole rows look like rows of the original."""
    random = np.random.default_rng(2)
    secrets = {name: random.integers(0, 6, 40) for name in ("s", "t")}
    table = pl.DataFrame({"a": [0] * 20 + [1] * 19 + [2], **secrets})
    wanted = {"quasi": ["a"], "sensitive": ["s", "t"], "l": 2, "method": "bucketization"}
    made = shoal.anonymize(table, seed=1, **wanted)
    judged = shoal.audit(made.table, original=table, record=made.record, **wanted)
    assert judged.holds, (judged.verdicts, judged.notes)


# --- never safer than the truth ---------------------------------------------------------------------------


def safety(verdict: Verdict) -> float:
    if isinstance(verdict.reached, list):
        return -max(verdict.reached)
    return verdict.reached if verdict.higher_is_safer else -verdict.reached


@example("slicing", "mondrian", 727, 9, 2)
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(PERMUTING)), st.sampled_from(AT_HAND), st.integers(0, 10_000),
    st.integers(8, 24), st.integers(2, 5),
)  # fmt: skip
def test_what_is_read_from_rows_is_never_safer_than_the_truth(method, at_hand, seed, rows, values):
    table, everybody = people(rows, seed, values)
    try:
        made, presence = made_by(method, table, everybody, seed)
    except LookupError:
        return
    given = {
        **asked(at_hand, presence=presence), "original": table, "second": made.second, "population": everybody,
    }  # fmt: skip
    truth, read = shoal.audit(made.table, record=made.record, **given), shoal.audit(made.table, **given)
    assert truth.holds
    # Whether the release is true of the original is another question, and one that only some readings can answer.
    pairs = ([v for v in found.verdicts if v.model != "truthful"] for found in (truth, read))
    for true, told in zip(*pairs, strict=True):
        assert true.model == told.model
        assert not told.holds or true.holds
        assert safety(told) <= safety(true) + 1e-9, (true, told, read.notes)
    for name, options in (("membership", {"seconds": 0.05}), ("attribute-disclosure", {})):
        attack = {"name": name, "options": options, "seed": 1, **given}
        true, told = (
            shoal.attack(made.table, record=made.record, **attack),
            shoal.attack(made.table, **attack),
        )
        assert told.at_risk >= true.at_risk, (name, read.notes)
        assert told.figures.get("certainly_in", 0) >= true.figures.get("certainly_in", 0)


def test_too_many_ways_to_know_who_is_in_the_table(monkeypatch):
    table, everybody = people(9, 727, 2)
    made, _ = made_by("slicing", table, everybody, 727)
    given = {"original": table, "population": everybody, **asked("mondrian")}
    assert shoal.audit(made.table, **given).holds
    monkeypatch.setattr(combinations, "MOST_TRIED", 4)
    judged = shoal.audit(made.table, **given)
    [presence] = [v for v in judged.verdicts if not v.holds]
    assert presence.reached is None
    assert presence.detail.startswith("could not be checked: there are too many ways")
    attacked = shoal.attack(made.table, name="membership", seed=1, **given)
    assert any("not known: how likely people are to be in the table" in note for note in attacked.notes)
    assert shoal.audit(made.table, record=made.record, **given).holds


def test_groups_of_columns_in_words_and_as_units():
    assert Making.of_groups(((0, 1, 2),), 2, 1) is INTACT
    assert Making.of_groups(((0,), (1,), (2,)), 2, 1) == Making() == Making.of(Shuffling())
    assert (
        Making.of_groups(((0, 1), (2,)), 2, 1) == Making(((0, 1),)) == Making.of(Shuffling(((0, 1),), (-1,)))
    )
    assert Making.of_groups(((0, 2), (1,)), 2, 1) == Making(((0,), (1,)), (0,))


def test_the_worst_verdict_counts():
    good, bad = Verdict("l", 2, 3, True), Verdict("l", 2, 1, False)
    assert worst([good, bad]) is bad
    assert worst([Verdict("l", 2, 4, True), good]) is good
    near, far = (
        Verdict("t", 0.5, 0.1, True, higher_is_safer=False),
        Verdict("t", 0.5, 0.4, True, higher_is_safer=False),
    )
    assert worst([near, far]) is far
    low, high = Verdict("p", [0, 0.9], [0.0, 0.5], True), Verdict("p", [0, 0.9], [0.1, 0.6], True)
    assert worst([low, high]) is high


def test_whoever_matches_a_bucket_of_ranges_is_exposed_though_no_row_shows_their_cells():
    """Shuffled ranges: the person (1, 1) is in no row as shown, but in the bucket, where everybody has x."""
    table = pl.DataFrame({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4], "s": ["x", "x", "y", "z"]})
    release = pl.DataFrame(
        {
            "a": ["1", "2", "[3, 4]", "[3, 4]"],
            "b": ["2", "1", "3", "4"],
            "s": ["x", "x", "z", "y"],
            "bucket": [0, 0, 1, 1],
        }
    )
    made = {
        "policy": "[method]\nname = 'permute-generalize'",
        "method": "",
        "seed": None,
        "input": {"rows": 4},
    }
    found = shoal.attack(
        release,
        original=table,
        record=made,
        name="attribute-disclosure",
        quasi=["a", "b"],
        sensitive=["s"],
        l=2,
    )
    assert found.chances.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert found.at_risk == 2


def test_candidates_of_buckets_are_judged_bucket_by_bucket():
    table = pl.DataFrame({"age": [20, 21, 30, 31], "s": ["a", "b", "a", "b"]})
    release = table.with_columns(s=pl.Series(["b", "a", "a", "b"]), bucket=pl.Series([0, 0, 1, 1]))
    wanted = {"original": table, "quasi": ["age"], "sensitive": ["s"], "k": 2, "notion": "probabilistic-k"}
    diverse = {
        l: next(v for v in shoal.audit(release, l=l, **wanted).verdicts if "among candidates" in v.model)
        for l in (2, 3)  # noqa: E741
    }
    assert diverse[2].holds
    assert not diverse[3].holds
    assert diverse[3].detail.endswith("judged bucket by bucket, which is stricter")


def test_an_identifier_called_bucket_stays_removed():
    table, _ = people(80, 5)
    table = table.with_columns(bucket=pl.int_range(80))
    wanted = {"quasi": QUASI, "sensitive": ["s"], "identifier": ["bucket"], "l": 2, "method": "slice-columns"}
    made = shoal.anonymize(table, seed=1, **wanted)
    assert "bucket_" in made.table.columns
    for original in (table, None):
        judged = shoal.audit(made.table, original=original, record=made.record, **wanted)
        assert judged.holds
        assert judged.buckets == made.buckets


def test_how_many_rows_may_be_false_depends_on_the_method_that_made_the_release():
    table = pl.DataFrame({"a": [1, 1, 2, 2] * 5})
    moved = pl.DataFrame({"a": [1, 1, 1, 2] + [1, 1, 2, 2] * 4})
    wanted = {"original": table, "quasi": ["a"], "k": 2, "method": {"name": "hybrid", "budget": 0.1}}
    told = {"policy": "[method]\nname = 'mondrian'", "method": "", "seed": None, "input": {"rows": 20}}
    alone = shoal.audit(moved, **wanted)
    assert alone.holds
    assert any("not known without its record" in note for note in alone.notes)
    assert not shoal.audit(moved, record=told, **wanted).holds
