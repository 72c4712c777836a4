"""Who matches whom, for somebody who knows a few columns: counts against the definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from shoal.judging.linking import key_matches
from shoal.judging.linking.key_matches import Counter, KeyCells, count_matches
from shoal.kernels import key_sets as kernels
from tests.oracles import key_sets as plain


def random_release(random, rows=12, columns=4, values=4, wide=0.3):
    """People, and rows that cover them in random ranges; some rows are left out, so that some people have none."""
    people = random.integers(0, values, (rows, columns))
    low, high = people.copy(), people.copy()
    widened = random.random((rows, columns)) < wide
    low[widened] = [random.integers(0, v + 1) for v in people[widened]]
    high[widened] = [random.integers(v, values) for v in people[widened]]
    kept = np.flatnonzero(random.random(rows) < 0.9)
    return people.astype(np.int32), low[kept].astype(np.int32), high[kept].astype(np.int32)


def as_cells(people, low, high, *, known=True):
    people, heads = np.unique(people, axis=0, return_counts=True)
    both, rows = np.unique(np.hstack([low, high]), axis=0, return_counts=True)
    width = low.shape[1]
    return KeyCells.of_boxes(both[:, :width], both[:, width:], rows, people if known else None, heads)


def with_subsets(sets):
    every = {part for own in sets for size in range(1, len(own) + 1) for part in combinations(own, size)}
    return sorted(every, key=lambda own: (len(own), own))


def as_sets(low, high):
    return [
        [frozenset(range(a, b + 1)) for a, b in zip(*ends, strict=True)]
        for ends in zip(low.tolist(), high.tolist(), strict=True)
    ]


@pytest.mark.parametrize("dense", [key_matches.DENSE, 0], ids=["on a grid", "sparse"])
@pytest.mark.parametrize("wide", [0.0, 0.3])
def test_counts_are_those_of_the_definition(dense, wide, monkeypatch):
    monkeypatch.setattr(key_matches, "DENSE", dense)
    monkeypatch.setattr(key_matches, "SMALL", 1 << 16 if dense else 0)
    random = np.random.default_rng(5)
    for _ in range(60):
        people, low, high = random_release(random, wide=wide)
        k = int(random.integers(2, 5))
        rows = as_sets(low, high)
        counter = Counter(as_cells(people, low, high), k)
        for chosen in with_subsets([(0, 1, 2), (1, 3), (0, 1, 2, 3)]):
            found = counter.count(chosen)
            matching, crowd = plain.matches_of(rows, people.tolist(), chosen)
            seen = [count for count in matching if count]
            assert found.rows == min(seen, default=key_matches.NOBODY)
            assert found.people == min(crowd, default=key_matches.NOBODY)
            assert found.short_people == sum(count < k for count in seen)
            assert found.short_rows == sum(count < k for count in crowd)


@pytest.mark.parametrize("known", [True, False], ids=["with the original", "rows only"])
def test_the_fewest_matches_and_the_smallest_failing_sets(known):
    random = np.random.default_rng(6)
    for trial in range(120):
        people, low, high = random_release(random, wide=[0.0, 0.2][trial % 2], values=3, columns=5)
        k = int(random.integers(2, 4))
        rows = as_sets(low, high)
        sets = list(combinations(range(5), int(random.integers(1, 4))))
        found = count_matches(as_cells(people, low, high, known=known), with_subsets(sets), k)
        if known:
            least, failing = plain.verdict_over_sets(rows, people.tolist(), with_subsets(sets), k)
        else:
            least, failing = plain.guaranteed_by_cells(rows, with_subsets(sets), k)
        minimal = [own for own in failing if not any(set(other) < set(own) for other in failing)]
        assert [one.columns for one in found.failing] == sorted(minimal, key=lambda own: (len(own), own))
        if known or failing:
            assert found.least == least
        else:
            assert k <= found.least <= least


def test_rows_only_say_for_certain_that_k_is_violated_where_too_few_overlap():
    people = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], np.int32)
    low, high = people.copy(), people.copy()
    high[0, 1], low[0, 1] = 1, 0  # the first row shows (0, *)
    found = Counter(as_cells(people, low, high, known=False), 3).count((0, 1))
    assert found.fails
    assert found.certain  # (0, 0) and (0, 1) overlap, and nothing else does
    found = Counter(as_cells(people, low, high, known=False), 2).count((0, 1))
    assert found.fails  # Anyone who has (0, 0) matches a single row,
    assert not found.certain  # but the owner of the first row may have (0, 1), which two rows match.


def test_nobody_learns_more_from_fewer_columns():
    random = np.random.default_rng(7)
    for _ in range(40):
        people, low, high = random_release(random)
        counter = Counter(as_cells(people, low, high), 2)
        for chosen in combinations(range(4), 3):
            whole = counter.count(chosen)
            for part in combinations(chosen, 2):
                assert counter.count(part).rows >= whole.rows
                assert counter.count(part).people >= whole.people


def test_failing_rows_on_random_grids():
    random = np.random.default_rng(9)
    for _ in range(40):
        rows, span = int(random.integers(1, 12)), int(random.integers(1, 5))
        prefix, last = (
            random.integers(0, 3, rows).astype(np.int32),
            random.integers(0, span, rows).astype(np.int32),
        )
        k, found = int(random.integers(1, 4)), []
        for own in (kernels, plain):
            grid, cured = np.zeros(3 * span, np.int32), np.zeros((3, rows), np.int32)
            found.append((own.add_failing(prefix, last, span, grid, k, np.array([0, 2]), cured), grid, cured))
        assert found[0][0] == found[1][0]
        for fast, other in zip(found[0][1:], found[1][1:], strict=True):
            np.testing.assert_array_equal(fast, other)


def test_kernels_on_random_grids():
    random = np.random.default_rng(8)
    for _ in range(40):
        spans = random.integers(1, 5, random.integers(1, 4))
        strides = np.array([int(np.prod(spans[j + 1 :])) for j in range(len(spans))], np.int64)
        count = int(random.integers(1, 9))
        ends = np.sort(random.integers(0, spans[:, None, None], (len(spans), count, 2)), axis=2)
        low, high = np.ascontiguousarray(ends[:, :, 0]), np.ascontiguousarray(ends[:, :, 1])
        weight = random.integers(1, 4, count).astype(np.int32)
        grids = {}
        for name, own in (("fast", kernels), ("plain", plain)):
            points, corners = np.zeros(int(spans.prod()), np.int32), np.zeros(int(spans.prod()), np.int32)
            prefix = (low[:-1].T @ strides[:-1] // spans[-1]).astype(np.int32)
            own.add_points(prefix, low[-1].astype(np.int32), int(spans[-1]), weight, points)
            people = points.copy()
            own.add_boxes(low, high, weight, spans, strides, points, corners)
            assert not points.any()
            own.sum_along(corners, spans, strides)
            few = own.fewest_at_places(points, corners, people, 3)
            few_points = own.fewest_at_places(people, np.zeros(0, np.int32), people, 3)
            own.sum_along(people, spans, strides)
            within = own.sums_of_boxes(low, high, strides, people)
            chosen = random.permutation(count)[: count // 2] if name == "fast" else grids["fast"][-1]
            compared = own.compare_cells(low, high, weight.astype(np.int64), chosen)
            grids[name] = corners, people, list(few), list(few_points), within, compared, chosen
        for fast, other in zip(grids["fast"], grids["plain"], strict=True):
            np.testing.assert_array_equal(fast, other)
