from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels import cheapest, neighbours
from shoal.kernels import forest as growing
from shoal.kernels.neighbours import nearest_items
from shoal.methods import METHODS
from shoal.methods import loss_tables as tabulating
from shoal.methods.clustering.cluster_classes import total_loss
from shoal.methods.clustering.clusters import collapse
from shoal.methods.clustering.forest import Forest, trees
from shoal.methods.clustering.lower_bound import lower_bound
from shoal.support.run import Run
from tests import oracles
from tests.inputs.strategies import tables
from tests.methods.test_agglomerative import limited, line, lists

RUN = Run.start(1)


@settings(max_examples=150)
@given(st.data(), tables(rows=st.integers(1, 16), columns=st.integers(1, 3)))
def test_edges_and_cuts_are_those_of_their_twins(data, table):
    if data.draw(st.integers(0, 3)) == 0:
        table = limited(data.draw, table)
    k = data.draw(st.integers(2, 5))
    items = collapse(table, data.draw(st.sampled_from(["lm", "entropy"])))
    losses = items.losses
    order, tree = neighbours.plant(items.codes, losses, 2)
    codes, count = np.ascontiguousarray(items.codes[order]), items.count[order].copy()
    if data.draw(st.booleans()):
        count[data.draw(st.integers(0, len(count) - 1))] = 0
    args = (codes, count, tree, losses, k)
    above = growing.grow_forest(*args)
    np.testing.assert_array_equal(above, oracles.forest.grow_forest(*args))
    rows = np.flatnonzero(count > 0)
    part = growing.cut_trees(above, rows, k)
    assert lists(part) == lists(oracles.forest.cut_trees(above, rows, k))


@settings(max_examples=100)
@given(st.data(), tables(rows=st.integers(2, 40)))
def test_trees_have_the_sizes_that_are_promised(data, table):
    k = data.draw(st.integers(2, min(5, table.rows)))
    parts = lists(trees(collapse(table, "lm"), k, np.arange(table.rows, dtype=np.int32)))
    assert sum(map(len, parts)) == table.rows
    assert min(map(len, parts)) >= k
    release = Forest().anonymize(table, Requirements(models=(KAnonymity(k=k),)), RUN)
    assert lists(release.region_of) == parts


def test_by_hand():
    table = line([0, 1, 5, 6, 20], 21)
    release = Forest().anonymize(table, Requirements(models=(KAnonymity(k=2),)), RUN)
    # 0-1 and 5-6 take each other; 20 takes its edge to 6.
    assert lists(release.region_of) == {frozenset({0, 1}), frozenset({2, 3, 4})}
    assert METHODS["forest"] is Forest


def test_a_long_path_is_cut():
    # Each row's nearest neighbour is the one before, so that all edges make one path of 12 rows.
    values = np.cumsum(range(12, 0, -1))
    table = line(values, 100)
    parts = lists(trees(collapse(table, "lm"), 3, np.arange(12, dtype=np.int32)))
    assert all(3 <= len(part) <= 5 for part in parts)


@settings(max_examples=100)
@given(st.data(), tables(rows=st.integers(1, 9), columns=st.integers(1, 3)))
def test_cheapest_closures(data, table):
    k = data.draw(st.integers(2, 5))
    items = collapse(table, "lm")
    losses = items.losses
    order, tree = neighbours.plant(items.codes, losses, 2)
    codes, count = np.ascontiguousarray(items.codes[order]), items.count[order]
    near, loss = nearest_items(codes, tree, losses, data.draw(st.integers(1, 8)))
    far = np.minimum(loss[:, -1], 5.0)
    args = (codes, count, near, far, losses, k, 10_000)
    np.testing.assert_array_equal(
        cheapest.cheapest_closures(*args), oracles.cheapest.cheapest_closures(*args)
    )


@settings(max_examples=60)
@given(st.data(), tables(rows=st.integers(2, 7), columns=st.integers(1, 3)))
def test_no_partition_loses_less_than_the_bound(data, table):
    k = data.draw(st.integers(2, 3))
    if table.rows < k:
        return
    measure = data.draw(st.sampled_from(["lm", "entropy"]))
    before, tabulating.LARGEST_TABLE = tabulating.LARGEST_TABLE, data.draw(st.sampled_from([0, 512]))
    try:
        items = collapse(table, measure)
        best = min(
            total_loss(items, np.array(labels, np.int32))
            for labels in itertools.product(range(table.rows // k), repeat=table.rows)
            if min(np.unique(labels, return_counts=True)[1]) >= k
        )
        assert lower_bound(table, k, measure) <= best / table.rows + 1e-9
    finally:
        tabulating.LARGEST_TABLE = before


def test_the_bound_by_hand():
    table = line([0, 1, 5, 6, 20], 21)
    # Pairs at distance 1 of 20, and 20 itself at distance 14 from 6.
    assert lower_bound(table, 2) == pytest.approx((4 * 1 + 14) / 20 / 5, abs=1e-5)
