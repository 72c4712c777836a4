"""Hilbert order and the best groups along it."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InfeasibleError, PolicyError
from shoal.judging.models import MODELS
from shoal.judging.models.requirements import Requirements
from shoal.kernels.hilbert import best_groups, hilbert_keys
from shoal.methods.loss_tables import losses_of
from shoal.methods.partitioning.ordered import Hilbert
from shoal.methods.partitioning.partition import _sets, hilbert_order, sort_codes
from shoal.support.run import Run
from tests import oracles
from tests.inputs.strategies import tables


def asked(k, *more):
    return Requirements(models=(MODELS["k-anonymity"](k=k), *more))


@pytest.mark.parametrize(("columns", "bits"), [(1, 4), (2, 1), (2, 4), (3, 3), (5, 2)])
def test_the_curve_visits_every_point_once_in_steps_of_one(columns, bits):
    points = np.array(list(product(range(1 << bits), repeat=columns)))
    keys = hilbert_keys(points, bits)
    assert sorted(keys.tolist()) == list(range(len(points)))
    walk = points[np.argsort(keys)]
    assert (np.abs(np.diff(walk, axis=0)).sum(axis=1) == 1).all()
    assert keys.tolist() == oracles.hilbert.hilbert_keys(points, bits).tolist()


@given(
    tables(rows=st.integers(1, 12)),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from(["lm", "entropy", "precision"]),
)
@settings(max_examples=60)
def test_no_grouping_of_the_order_loses_less(table, k, sets, measure):
    k = min(k, table.rows)
    order = hilbert_order(table)
    assert sorted(order) == list(range(table.rows))
    codes, blocks = sort_codes(table, order), np.array([0, table.rows])
    losses = losses_of(table, measure), _sets(table, measure, sets)
    mine, twin = (f(codes, blocks, k, *losses) for f in (best_groups, oracles.hilbert.best_groups))

    def cost(starts):
        return sum(oracles.hilbert.group_loss(codes, a, b, *losses) for a, b in pairwise(starts.tolist()))

    assert cost(mine) == pytest.approx(cost(twin))
    assert np.diff(mine).min() >= k
    assert np.diff(mine).max() < max(2 * k, k + 1)


@given(tables(rows=st.integers(2, 14)), st.integers(2, 5), st.sampled_from(["sets", "ranges"]))
@settings(max_examples=50)
def test_classes_have_k_rows_and_cells_cover_them(table, k, show):
    if table.rows < k:
        with pytest.raises(InfeasibleError):
            Hilbert(show=show).anonymize(table, asked(k), Run.start(1))
        return
    release = Hilbert(show=show).anonymize(table, asked(k), Run.start(1))
    assert np.bincount(release.region_of).min() >= k
    for row, region in enumerate(release.region_of):
        assert (release.low[region] <= table.quasi.wide[row]).all()
        assert (table.quasi.wide[row] <= release.high[region]).all()
        if show == "sets":
            for j in range(len(table.attributes)):
                start = release.sets.start[region * len(table.attributes) + j :][:2]
                assert table.quasi.wide[row, j] in release.sets.codes[start[0] : start[1]]


def test_an_unknown_representation_is_refused():
    with pytest.raises(PolicyError, match="did you mean 'sets'"):
        Hilbert(show="set")
