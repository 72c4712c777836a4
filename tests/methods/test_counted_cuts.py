"""Mondrian's cuts from counts: the boxes are those of the method, whoever does the counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.judging.models import MODELS
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels import cuts
from shoal.kernels.losses import START
from shoal.methods.loss_tables import losses_of
from shoal.methods.partitioning.counted_cuts import BoxCounts, CutTree, chosen_cuts
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.release import closures
from shoal.support.run import Run
from tests import oracles
from tests.inputs.strategies import tables
from tests.methods.test_mondrian import OPTIONS, boxes, members


def counted(table, losses, boxes_of_rows):
    """Count the codes of each box, and the codes together with sensitive values."""
    cells = sum(attribute.hierarchy.size for attribute in table.attributes)
    widths = [attribute.hierarchy.size for attribute in table.sensitive]
    codes = np.zeros((len(boxes_of_rows), cells), np.int64)
    values = tuple(np.zeros((len(boxes_of_rows), cells, width), np.int64) for width in widths)
    for box, rows in enumerate(boxes_of_rows):
        for row in rows:
            for j, start in enumerate(losses.shape[:, START]):
                codes[box, start + table.quasi.wide[row, j]] += 1
                for s in range(len(widths)):
                    values[s][box, start + table.quasi.wide[row, j], table.secrets.wide[row, s]] += 1
    return BoxCounts(codes, values)


def descend(table, method, requirements, enough=0):
    """Cut all boxes by counts alone until no cut is left; return the box of each row."""
    losses, tree, open_boxes = losses_of(table, requirements.measure), CutTree(), [0]
    box_of = tree.box_of(table.quasi.wide)
    while open_boxes:
        rows = [np.flatnonzero(box_of == box) for box in open_boxes]
        found = chosen_cuts(
            method.box_cuts,
            counted(table, losses, rows),
            losses,
            requirements,
            table.sensitive,
            table.counting.totals,
        )
        born = []
        for box, own, column, first, last in zip(open_boxes, rows, *found, strict=True):
            if column >= 0 and len(own) > enough:
                born += tree.cut(box, int(column), int(first), int(last))
        open_boxes = born
        box_of = tree.box_of(table.quasi.wide)
    return box_of


@given(tables(), st.integers(1, 3), st.booleans(), st.booleans(), st.lists(st.integers(0, 2), min_size=15))
def test_cuts_of_histograms_are_those_of_their_twin(table, k, strict, by_width, numbers):
    losses = losses_of(table, "lm")
    number = np.array(numbers[: table.rows] + [0] * (table.rows - len(numbers)))
    parts = [np.flatnonzero(number == box) for box in range(3)]
    histograms = counted(table, losses, [own for own in parts if len(own)]).codes
    found = cuts.cuts_of_histograms(histograms, losses, k, strict, by_width)
    expected = oracles.cuts.cuts_of_histograms(histograms, losses, k, strict, by_width)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.where(expected[0] >= 0, mine, 0), other * (expected[0] >= 0))
    np.testing.assert_array_equal(found[0], expected[0])


@given(tables(), st.integers(1, 3), st.booleans(), st.data())
def test_a_column_is_weighed_as_by_its_twin(table, k, strict, data):
    losses, j = losses_of(table, "lm"), data.draw(st.integers(0, len(table.attributes) - 1))
    values, counts = np.unique(table.quasi.wide[:, j].astype(np.int64), return_counts=True)
    if len(values) < 2:
        return
    given_ = (losses, j, values, counts, len(values), table.rows, k, strict)
    found = cuts.weigh(*given_, np.zeros(len(values) + 1))
    expected = oracles.cuts.weigh(*given_, None)
    assert found[0] == expected[0]
    assert found[3:] == expected[3:]
    if found[0] > 0:
        assert found[1:3] == expected[1:3]


@given(tables(), st.integers(2, 4), st.sampled_from(["gain", "width"]), st.sampled_from(["lm", "entropy"]))
def test_counts_give_the_classes_of_the_method(table, k, choose, measure):
    if table.rows < k:
        return
    method, wanted = Mondrian(choose=choose), Requirements(models=(KAnonymity(k=k),), measure=measure)
    whole = method.anonymize(table, wanted, Run.start(1))
    box_of = descend(table, method, wanted)
    assert members(box_of) == members(whole.region_of)
    numbers = np.unique(box_of, return_inverse=True)[1].astype(np.int32)
    low, high = closures(table, numbers, int(numbers.max()) + 1)
    np.testing.assert_array_equal(low[numbers], whole.low[whole.region_of])
    np.testing.assert_array_equal(high[numbers], whole.high[whole.region_of])


@pytest.mark.parametrize("name", OPTIONS)
@given(table=tables(), choose=st.sampled_from(["gain", "width"]))
def test_counts_give_the_classes_of_the_method_for_models(name, table, choose):
    model = MODELS[name](column=0, column_name="s0", **OPTIONS[name])
    wanted = Requirements(models=(KAnonymity(k=2), model))
    if not wanted.holds_in(table.blocks).all():
        return
    method = Mondrian(choose=choose)
    assert members(descend(table, method, wanted)) == members(
        method.anonymize(table, wanted, Run.start(1)).region_of
    )


@given(tables(), st.integers(2, 3), st.integers(0, 9))
def test_the_first_cuts_from_counts_are_those_of_the_kernel(table, k, enough):
    if table.rows < k:
        return
    wanted = Requirements(models=(KAnonymity(k=k),))
    found = descend(table, Mondrian(), wanted, enough)
    kernel = boxes(table, k, Mondrian(), enough=enough)
    assert members(found) == members(kernel.cut_by_size(Run.start(1))[0])
    general = boxes(table, k, Mondrian(), enough=enough)
    assert members(found) == members(general.cut_by_models(wanted, Run.start(1))[0])


@given(tables(), st.data())
def test_rows_walk_down_the_cuts_as_by_the_twin(table, data):
    tree = CutTree()
    for _ in range(data.draw(st.integers(0, 5))):
        open_boxes = [node for node, column in enumerate(tree.column) if column < 0]
        j = data.draw(st.integers(0, len(table.attributes) - 1))
        ends = st.integers(0, table.attributes[j].hierarchy.size - 1)
        first, last = sorted([data.draw(ends), data.draw(ends)])
        tree.cut(data.draw(st.sampled_from(open_boxes)), j, first, last)
    arrays = (tree.column, tree.first, tree.last, tree.inside, tree.outside)
    expected = oracles.cuts.walk_cuts(table.quasi.wide, *(np.array(own, np.int32) for own in arrays))
    np.testing.assert_array_equal(tree.box_of(table.quasi.wide), expected)


def test_cuts_that_depend_on_the_order_of_rows_are_refused():
    counts = BoxCounts(np.zeros((0, 0), np.int64))
    with pytest.raises(ValueError, match="order of rows"):
        chosen_cuts(Mondrian(strict=False).box_cuts, counts, None, Requirements(models=(KAnonymity(k=2),)))
