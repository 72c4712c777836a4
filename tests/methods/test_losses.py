"""The one look-up of losses: against its twin, and against the measures that it tabulates."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import HierarchyError
from shoal.judging.measures import MEASURES, CellMeasure
from shoal.kernels import losses as kernels
from shoal.methods import loss_tables as tabulating
from shoal.methods.loss_tables import losses_of
from tests import oracles
from tests.inputs.strategies import tables

CELLS = [name for name in MEASURES if issubclass(MEASURES[name], CellMeasure)]


@contextmanager
def largest_table(codes):
    """Columns with more codes get no table of all ranges."""
    before, tabulating.LARGEST_TABLE = tabulating.LARGEST_TABLE, codes
    try:
        yield
    finally:
        tabulating.LARGEST_TABLE = before


def ranges(size):
    return [(low, high) for low in range(size) for high in range(low, size)]


@pytest.mark.parametrize("measure", CELLS)
@given(st.data(), tables())
def test_a_range_loses_what_the_measure_says(measure, data, table):
    present = data.draw(st.sampled_from([None, [np.flatnonzero(c) for c in table.value_counts]]))
    with largest_table(data.draw(st.sampled_from([0, 256]))):
        losses = losses_of(table, measure, present)
    rule = MEASURES[measure]()
    weights = sum(attribute.weight for attribute in table.attributes)
    for j, attribute in enumerate(table.attributes):
        codes = np.arange(attribute.hierarchy.size) if present is None else present[j]
        for low, high in ranges(len(codes)):
            found = kernels.range_loss(losses, j, low, high)
            assert found == oracles.losses.range_loss(losses, j, low, high)
            ends = (np.array([codes[at]], np.int32) for at in (low, high))
            try:
                shown = attribute.hierarchy.lift(*ends)
            except HierarchyError:
                assert found == np.inf
                continue
            if present is None:
                assert kernels.lift(losses, j, low, high) == oracles.losses.lift(losses, j, low, high)
                assert kernels.lift(losses, j, low, high) == (shown[0][0], shown[1][0])
            expected = rule.loss(attribute, table.value_counts[j], *shown)[0] * attribute.weight / weights
            # A line rounds both ends of a range.
            assert found == pytest.approx(expected, abs=1.01 * kernels.GRAIN, rel=0)


@pytest.mark.parametrize("measure", CELLS)
@given(st.data(), tables())
def test_no_wider_range_loses_less_than_the_bound(measure, data, table):
    wide = data.draw(st.booleans())
    with largest_table(0 if wide else 256):
        losses = losses_of(table, measure)
    for j, attribute in enumerate(table.attributes):
        for low, high in ranges(attribute.hierarchy.size):
            found = kernels.least_loss(losses, j, low, high)
            least = oracles.losses.least_loss(losses, j, low, high)
            assert found <= least
            assert found == least or (wide and attribute.hierarchy.free and measure == "entropy")


@given(st.data(), tables(), st.sampled_from(["lm", "entropy"]))
def test_boxes_and_wider_ranges_are_those_of_their_twins(data, table, measure):
    losses = losses_of(table, measure)
    ends = np.sort(table.quasi.wide[data.draw(st.permutations(range(table.rows)))][:2], axis=0)
    box = np.stack([ends[:1], ends[-1:]], axis=2).reshape(1, -1)
    np.testing.assert_array_equal(kernels.box_losses(box, losses), oracles.losses.box_losses(box, losses))
    codes = int(losses.shape[:, kernels.SIZE].sum())
    found = [[np.zeros(codes), np.zeros(0 if losses.rising else codes)] for _ in range(2)]
    for j in range(len(table.attributes)):
        kernels.widen(losses, j, ends[0, j], ends[-1, j], *found[0])
        oracles.losses.widen(losses, j, ends[0, j], ends[-1, j], *found[1])
    for ours, twin in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, twin)


@given(tables(), st.sampled_from(CELLS))
def test_sums_of_losses_are_exact(table, measure):
    losses = losses_of(table, measure)
    cells = losses.cells[np.isfinite(losses.cells)]
    if not (losses.shape[:, kernels.KIND] == kernels.ENTROPY).any():
        np.testing.assert_array_equal(cells / kernels.GRAIN, np.rint(cells / kernels.GRAIN))
