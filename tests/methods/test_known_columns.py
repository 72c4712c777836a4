"""Releases for adversaries who know few columns: they hold by the definition, and levels are the best of all."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import InfeasibleError, PolicyError
from shoal.policy import Policy
from tests.oracles import key_sets as plain

NAMES = ("a", "b", "c", "d")
LEVELS = (
    {v: {v} for v in "0123"},
    {v: set("01") if v in "01" else set("23") for v in "0123"},
    {v: set("0123") for v in "0123"},
)
LABELS = {**{v: {v} for v in "0123"}, "low": set("01"), "high": set("23"), "*": set("0123")}
TREE = {"tree": {"*": {"low": ["0", "1"], "high": ["2", "3"]}}}


def policy(method="full-domain", *, k=2, keys, **more):
    trees = dict.fromkeys(NAMES, TREE)
    return Policy.from_keywords(
        quasi=NAMES, plain=["n"], k=k, keys=keys, hierarchies=trees, method=method, **more
    )


def random_table(random, rows=30):
    codes = np.minimum(random.geometric(0.45, (rows, 4)) - 1, 3)
    return pl.DataFrame(
        {name: codes[:, j].astype(str) for j, name in enumerate(NAMES)} | {"n": np.arange(rows)}
    )


def cells_of(frame):
    return [[LABELS[value] for value in row] for row in frame.select(NAMES).rows()]


def sets_of(keys):
    sets = [own for size in range(1, keys.get("any", 0) + 1) for own in combinations(range(4), size)]
    return sets + [tuple(sorted(NAMES.index(name) for name in own)) for own in keys.get("sets", ())]


def check_release(made, original, keys, k):
    """Check a release against the definition; return the published rows."""
    published = made.table
    people = original.select(NAMES).rows()
    _, failing = plain.verdict_over_sets(cells_of(published), people, sets_of(keys), k)
    assert not failing
    owners = original.filter(pl.col("n").is_in(published["n"].to_list())).sort("n").select(NAMES).rows()
    shown = cells_of(published.sort("n"))
    assert all(
        value in cell
        for row, own in zip(shown, owners, strict=True)
        for cell, value in zip(row, own, strict=True)
    )
    return published


KEYS = [
    {"any": 1},
    {"any": 2},
    {"any": 3},
    {"sets": [["a", "b"], ["c", "d"]]},
    {"any": 1, "sets": [["a", "b", "d"]]},
]


@pytest.mark.parametrize("keys", KEYS, ids=str)
def test_levels_are_the_best_of_all(keys):
    random = np.random.default_rng(1)
    for _ in range(6):
        original = random_table(random)
        people = original.select(NAMES).rows()
        made = shoal.anonymize(original, policy(k=3, keys=keys))
        check_release(made, original, keys, 3)
        best = np.inf
        for levels in product(range(3), repeat=4):
            cells = [[LEVELS[level][v] for level, v in zip(levels, row, strict=True)] for row in people]
            if not plain.verdict_over_sets(cells, people, sets_of(keys), 3)[1]:
                best = min(best, sum((0, 1 / 3, 1)[level] for level in levels) / 4)
        assert made.measures["lm"] == pytest.approx(best)


@pytest.mark.parametrize("keys", KEYS, ids=str)
def test_suppressed_cells_lose_less_and_rows_are_alike_in_every_set(keys):
    random = np.random.default_rng(2)
    better = worse = 0
    for _ in range(6):
        original = random_table(random, rows=40)
        whole = shoal.anonymize(original, policy(k=3, keys=keys))
        made = shoal.anonymize(original, policy(k=3, keys=keys, suppress="cells"))
        published = check_release(made, original, keys, 3)
        assert published.height == original.height
        rows = published.select(NAMES).rows()
        for chosen in sets_of(keys):
            assert min(Counter(tuple(row[j] for j in chosen) for row in rows).values()) >= 3
        assert made.measures["lm"] <= whole.measures["lm"] + 1e-9
        better += made.measures["lm"] < whole.measures["lm"] - 1e-9
        worse += whole.measures["lm"] > 0
        # Nobody needs the original to verify it.
        again = shoal.audit(published, policy(k=3, keys=keys, suppress="cells"))
        assert again.verdicts[0].holds
    assert better >= worse / 2 > 0


def test_rows_are_suppressed_within_the_limit():
    random = np.random.default_rng(3)
    fewer = 0
    for _ in range(6):
        original = random_table(random, rows=60)
        made = shoal.anonymize(original, policy(k=3, keys={"any": 2}, suppression=0.2))
        published = check_release(made, original, {"any": 2}, 3)
        assert published.height >= 48
        fewer += published.height < 60
    assert fewer


@pytest.mark.parametrize(
    "method", ["mondrian", {"name": "hilbert", "show": "ranges"}, "agglomerative", "incognito"], ids=str
)
def test_other_methods_work_on_groups_of_columns(method):
    random = np.random.default_rng(4)
    for _ in range(3):
        original = random_table(random)
        keys = {"sets": [["a", "b"], ["c"]]}
        made = shoal.anonymize(original, policy(method, k=3, keys=keys))
        published = check_release(made, original, keys, 3)
        assert published.sort("n")["d"].to_list() == original["d"].to_list(), "nobody knows d"
        together = shoal.anonymize(original, policy(method, k=3, keys={"sets": [list(NAMES)]}))
        assert made.measures["lm"] < together.measures["lm"]


def test_overlapping_sets_are_one_group():
    random = np.random.default_rng(5)
    original = random_table(random)
    keys = {"sets": [["a", "b"], ["b", "c"]]}
    check_release(shoal.anonymize(original, policy("mondrian", k=3, keys=keys)), original, keys, 3)


def test_auto_finds_a_method():
    original = random_table(np.random.default_rng(6))
    made = shoal.anonymize(original, policy("auto", k=3, keys={"any": 2}))
    check_release(made, original, {"any": 2}, 3)


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        ("mondrian", {}, "mondrian can only keep k over all columns together"),
        ("k-k", {}, "known-columns is about equivalence classes, and k-k makes none"),
        ("hilbert", {}, "method.show: value sets are not joined over sets of columns"),
        ("hybrid", {}, "hybrid does not make equivalence classes of true cells"),
        ("full-domain", {"measure": "dm"}, "dm is about classes"),
        ("full-domain", {"levels": "uniform"}, "utility.levels: is not available together with privacy.keys"),
    ],
)
def test_what_does_not_work_is_rejected_with_what_does(method, more, said):
    with pytest.raises(PolicyError) as caught:
        shoal.anonymize(random_table(np.random.default_rng(7)), policy(method, keys={"any": 2}, **more))
    assert said in str(caught.value)


def test_limits_that_leave_too_few_are_a_proof():
    original = pl.DataFrame({name: ["0"] * 3 + ["2"] * 9 for name in NAMES} | {"n": range(12)})
    asked = policy(k=4, keys={"any": 2}, limits={"a": 1})
    with pytest.raises(
        InfeasibleError, match="3 rows still have fewer than 4 like them, and 0 may be suppressed"
    ):
        shoal.anonymize(original, asked)
    with pytest.raises(InfeasibleError, match="the table has 12 rows"):
        shoal.anonymize(original, policy(k=13, keys={"any": 2}))
    assert shoal.anonymize(original, policy(k=3, keys={"any": 2}, limits={"a": 1})).measures["lm"] == 0


def test_limits_with_suppressed_rows():
    original = pl.DataFrame({name: ["0"] * 3 + ["2"] * 9 for name in NAMES} | {"n": range(12)})
    asked = policy(k=4, keys={"any": 2}, limits={"a": 1}, suppression=0.25)
    check_release(shoal.anonymize(original, asked), original, {"any": 2}, 4)
    with pytest.raises(InfeasibleError):
        shoal.anonymize(original, policy(k=4, keys={"any": 2}, limits={"a": 1}, suppression=0.2))
