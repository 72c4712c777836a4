"""Kernels of distances and predicates against their plain twins."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels.synthetic import count_satisfying, nearest_rows
from shoal.support.run import Run
from shoal.synthetic.distances import TARGETS, find_nearest
from tests import oracles


def tables(seed):
    random = np.random.default_rng(seed)
    width, rows, targets = random.integers(1, 6), random.integers(1, 40), random.integers(1, 8)
    most = int(random.integers(1, 9))
    return (
        random,
        random.integers(-1, most + 1, (width, rows)).astype(np.int32),
        random.random(width) < 0.5,
        most,
        random.integers(-1, most + 1, (width, targets)).astype(np.int32),
    )


@pytest.mark.parametrize("seed", range(40))
def test_nearest_rows(seed):
    random, rows, is_number, unit, targets = tables(seed)
    left_out = np.flatnonzero(random.random(len(rows)) < 0.5)
    found = []
    for nearest in (nearest_rows, oracles.synthetic.nearest_rows):
        best = np.full((len(left_out) + 1, targets.shape[1]), 2**31 - 1, np.int32)
        which = np.full(best.shape, -1, np.int64)
        nearest(rows, is_number, unit, targets, left_out, np.zeros(7, np.int32), best, which)
        found.append((best, which))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("seed", range(40))
def test_count_satisfying(seed):
    random, codes, _, most, _ = tables(seed)
    conditions = int(random.integers(1, len(codes) + 1))
    column = np.argsort(random.random((9, len(codes))), axis=1)[:, :conditions].astype(np.int32)
    column[:4, conditions // 2 + 1 :] = -1
    low = random.integers(-1, most, (9, conditions)).astype(np.int32)
    high = (low + random.integers(0, 4, (9, conditions))).astype(np.int32)
    found = []
    for count_rows in (count_satisfying, oracles.synthetic.count_satisfying):
        count, first = np.zeros(9, np.int64), np.full(9, -1, np.int64)
        count_rows(codes, column, low, high, 1 << 40, count, first)
        found.append((count.tolist(), first.tolist()))
    assert found[0] == found[1]


def test_counting_may_stop_but_never_below_the_limit():
    codes = np.zeros((1, 20_000), np.int32)
    codes[0, 9000] = 1
    column, low = np.zeros((2, 1), np.int32), np.array([[0], [1]], np.int32)
    count, first = np.zeros(2, np.int64), np.full(2, -1, np.int64)
    count_satisfying(codes, column, low, low, 1, count, first)
    assert 1 < count[0] <= 19_999
    assert (count[1], first.tolist()) == (1, [0, 9000])


def test_work_in_threads_and_parts_finds_the_same():
    random = np.random.default_rng(5)
    rows = random.integers(-1, 50, (4, 3000)).astype(np.int32)
    targets = random.integers(-1, 50, (4, 2 * TARGETS + 3)).astype(np.int32)
    numbers = np.array([True, False, True, False])
    stages = []
    run = Run(random, progress=lambda stage, share: stages.append((stage, share)))
    found = find_nearest(rows, targets, numbers, 50, run, ("near", 0.2, 0.4), left_out=[1])
    best = np.full((2, targets.shape[1]), 2**31 - 1, np.int32)
    which = np.full(best.shape, -1, np.int64)
    nearest_rows(rows, numbers, 50, targets, np.array([1]), np.zeros(1024, np.int32), best, which)
    assert np.array_equal(found.distance, best)
    assert np.array_equal(found.row, which)
    assert all(0.2 <= share <= 0.4 for _, share in stages)
    few = slice(0, 5)
    for s, without in enumerate((-1, 1)):
        for t in range(5):
            by_hand = [
                oracles.synthetic.distance(rows[:, row], targets[:, t], numbers, 50, without)
                for row in range(3000)
            ]
            assert best[:, few][s, t] == min(by_hand)


def test_work_can_be_cancelled():
    rows = np.zeros((2, 10), np.int32)

    def stop(_stage, _share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_nearest(
            rows,
            rows,
            np.array([True, True]),
            5,
            Run(np.random.default_rng(1), progress=stop),
            ("near", 0, 1),
        )
