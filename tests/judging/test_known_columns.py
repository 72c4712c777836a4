"""k for somebody who knows few columns: verdicts on files, against the definition and against sdcMicro's rule."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import PolicyError
from shoal.policy import Policy
from tests.oracles import key_sets as plain

NAMES = ("a", "b", "c")


def policy(k=2, **keys):
    trees = {name: {"tree": {"*": ["0", "1", "2"]}} for name in NAMES}
    return Policy.from_keywords(quasi=NAMES, k=k, keys=keys, hierarchies=trees)


def table_of(rows):
    return pl.DataFrame(rows, schema=NAMES, orient="row")


def accepted_by_sdcmicro(rows, chosen, k):
    """A missing value equals every value, in both directions."""
    return all(
        sum(all("*" in (one[j], other[j]) or one[j] == other[j] for j in chosen) for other in rows) >= k
        for one in rows
    )


def verdict_on(published, original, asked):
    found = shoal.audit(table_of(published), asked, original=None if original is None else table_of(original))
    return found.verdicts[0]


def test_verdicts_are_those_of_the_definition():
    random = np.random.default_rng(3)
    outcomes = set()
    for _ in range(60):
        original = [tuple(map(str, row)) for row in random.integers(0, 2, (int(random.integers(3, 11)), 3))]
        starred = [tuple("*" if random.random() < 0.3 else value for value in row) for row in original]
        k, size = int(random.integers(2, 4)), int(random.integers(1, 4))
        if k > len(original):
            continue
        everything = {"0", "1", "2"}
        cells = [[everything if value == "*" else {value} for value in row] for row in starred]
        sets = [own for number in range(1, size + 1) for own in combinations(range(3), number)]
        least, failing = plain.verdict_over_sets(cells, original, sets, k)
        found = verdict_on(starred, original, policy(k, any=size))
        assert (found.holds, found.reached) == (not failing, least)
        sure, open_ = plain.guaranteed_by_cells([[frozenset(c) for c in row] for row in cells], sets, k)
        from_rows = verdict_on(starred, None, policy(k, any=size))
        if not open_:
            assert from_rows.holds
            assert k <= from_rows.reached <= sure
        else:
            assert not from_rows.holds
        if from_rows.holds is not None:
            assert from_rows.holds == found.holds, "what the rows show for certain is true"
        outcomes.add((found.holds, from_rows.holds))
    assert {(True, True), (False, None), (False, False), (True, None)} <= outcomes


def test_local_suppression_that_sdcmicro_accepts_is_rejected():
    """Suppressing the cell that makes a person unique does not hide them: their row is the only one that matches."""
    original = [("0", "0", "0")] * 2 + [("0", "1", "0")]
    published = [("0", "0", "0")] * 2 + [("0", "*", "0")]
    assert accepted_by_sdcmicro(published, (0, 1), 2)
    found = verdict_on(published, original, policy(any=2))
    assert found.holds is False
    assert found.reached == 1
    assert found.detail == "the smallest sets of columns that fall short: b (1 person with too few rows)"
    from_rows = verdict_on(published, None, policy(any=2))
    assert from_rows.holds is None
    assert "give the original" in from_rows.detail


def test_rows_of_stars_do_not_hide_the_others():
    """Two rows of * match everybody, so all people match two rows; but a row with a unique value has one owner."""
    original = [("0", "0", "0"), ("1", "0", "0"), ("2", "0", "0"), ("0", "0", "0")]
    published = [("*", "*", "*"), ("1", "0", "0"), ("2", "0", "0"), ("*", "*", "*")]
    found = verdict_on(published, original, policy(any=1))
    assert found.holds is False
    assert found.detail.endswith("a (2 rows with too few people)")


def test_named_sets_only_bind_their_columns():
    original = [("0", "0", "0"), ("0", "0", "1"), ("1", "1", "0"), ("1", "1", "1")]
    assert verdict_on(original, original, policy(sets=[["a", "b"], ["c"]])).holds
    assert not verdict_on(original, original, policy(sets=[["a", "c"]])).holds
    assert not verdict_on(original, original, policy(any=2)).holds
    assert verdict_on(original, original, policy(any=1)).holds


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"any": 4}, "privacy.keys.any: must be at most 3, the number of quasi-identifiers, not 4"),
        ({"any": 0}, "privacy.keys.any: must be at least 1, not 0"),
        ({}, "privacy.keys: names no columns"),
        ({"sets": []}, "privacy.keys.sets: must have 1 entries, not 0"),
        ({"sets": [[]]}, "privacy.keys.sets[0]: is empty"),
        ({"sets": [["a", "a"]]}, "privacy.keys.sets[0]: lists 'a' twice"),
        ({"sets": [["a", "b"], ["b", "a"]]}, "privacy.keys.sets[1]: has the same columns as sets[0]"),
        ({"sets": [["a", "ab"]]}, "privacy.keys.sets[0]: 'ab' is not a column of the policy (did you mean"),
        ({"sets": [["a", "s"]]}, "privacy.keys.sets[0]: 's' is sensitive, not a quasi-identifier"),
        ({"sets": ["ab"]}, "privacy.keys.sets[0]: must be a list"),
        ({"all": 2}, "privacy.keys.all: is unknown here"),
        (3, "privacy.keys: must be a table, not 3"),
    ],
    ids=str,
)
def test_bad_sets_are_named(keys, said):
    with pytest.raises(PolicyError) as caught:
        Policy.from_keywords(quasi=NAMES, sensitive=["s"], k=2, keys=keys)
    assert said in str(caught.value)


def test_requirements_about_all_columns_do_not_go_with_sets():
    with pytest.raises(PolicyError) as caught:
        Policy.from_keywords(quasi=NAMES, sensitive=["s"], k=2, keys={"any": 2}, l=2, notion="k-k")
    assert [problem.path for problem in caught.value.problems] == ["privacy.l", "privacy.notion"]
    with pytest.raises(PolicyError, match="k is not set"):
        Policy.from_keywords(quasi=NAMES, sensitive=["s"], keys={"any": 2}, l=2)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"person": ["p"]}, "known-columns is about rows, not about people"),
        (
            {"earlier": ["january.csv"]},
            "privacy.earlier: is about an adversary who knows all quasi-identifiers",
        ),
        ({"adversary": ["knows-members"]}, "privacy.adversary: is about an adversary who knows all"),
        ({"risk": {"highest": 0.2}}, "privacy.risk: is about an adversary who knows all quasi-identifiers"),
    ],
    ids=str,
)
def test_what_does_not_go_with_sets_is_named(more, said):
    with pytest.raises(PolicyError) as caught:
        Policy.from_keywords(quasi=NAMES, k=2, keys={"any": 2}, **more)
    assert said in str(caught.value)


def test_spark_says_that_it_cannot_judge_sets():
    from shoal.engines.spark.unsupported import check_judging

    problems = [str(one) for one in check_judging(policy(any=2))]
    assert any(
        "known-columns is verified by matching people and rows across the whole table" in one
        for one in problems
    )


def test_the_note_about_sensitive_columns_does_not_ask_for_what_is_rejected():
    rows = table_of([("0", "0", "0")] * 4).with_columns(s=pl.Series(["x", "y", "x", "y"]))
    made = shoal.anonymize(rows, quasi=NAMES, sensitive=["s"], k=2, keys={"any": 1}, method="full-domain")
    assert any("l does not go together with privacy.keys" in note for note in made.notes)
    assert not any("add l" in note for note in made.notes)


def test_too_many_sets_are_not_counted():
    names = [f"q{j}" for j in range(40)]
    with pytest.raises(PolicyError, match="3,838,380 sets of columns are too many to count"):
        Policy.from_keywords(quasi=names, k=2, keys={"any": 6})


def test_attacks_that_know_all_columns_judge_nobody():
    original = [("0", "0", "0"), ("0", "0", "1"), ("1", "1", "0"), ("1", "1", "1")] * 2
    asked = policy(k=4, any=1)
    assert verdict_on(original, original, asked).holds
    found = shoal.attack(table_of(original), asked, original=table_of(original))
    assert found.at_risk == 0
    assert any("no k against this adversary" in note for note in found.notes)


def test_assess_names_the_smallest_sets_that_fall_short():
    rows = [("0", "0", "0"), ("0", "1", "0"), ("1", "0", "0"), ("1", "1", "0")] * 2 + [("1", "1", "1")]
    found = shoal.assess(table_of(rows), policy(any=2))
    assert found.few_known.holds is False
    assert found.few_known.detail == (
        "the smallest sets of columns that fall short: c (1 person with too few rows, 1 row with too few people)"
    )
    assert found.summary()["few_known"]["reached"] == 1
    assert shoal.assess(table_of(rows), quasi=NAMES, k=2).few_known is None


def test_rows_that_show_the_same_are_enough_where_cells_cannot_be_read():
    """Without the original or hierarchies nobody knows what a cell covers; equal cells cover the same."""
    rows = [("0", "x-y"), ("0", "z"), ("1", "x-y"), ("1", "z")] * 2
    table = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    found = shoal.audit(table, quasi=["a", "b"], k=4, keys={"any": 1}).verdicts[0]
    assert (found.holds, found.reached) == (True, 4)
    assert "by the text of cells" in found.detail
    found = shoal.audit(table, quasi=["a", "b"], k=4, keys={"any": 2}).verdicts[0]
    assert found.holds is None
    assert "give the original" in found.detail
