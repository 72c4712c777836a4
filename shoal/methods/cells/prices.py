"""What every cell that could be published costs, as arrays for kernels: joins at look-up speed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import FloatVector, IntVector, LongVector
from shoal.measures.base import CellMeasure
from shoal.table import Attribute, CodedTable

UNIT = float(1 << 32)
"""Prices are whole numbers of this fine unit, so that equal sums are equal whatever the order of their terms."""

LINEAR, ENTROPY = 0, 1


class Prices(NamedTuple):
    """Prices of nodes and ranges, all quasi-identifiers one after the other.

    A column of a tree has, per level and code, the node's first and last code, its price, and the lowest price
    of the node or any node above it. A column of free ranges has places (the price of a range is the
    difference of its ends) or, for entropy, running sums of counts and of their f log f.
    """

    shape: NDArray[np.int64]
    """Per column: size, ordered codes of free ranges (-1 for a tree), levels, start in the arrays of trees, start in
    those of free ranges, price of the whole domain, LINEAR or ENTROPY, units that a loss of 1 costs."""
    low: IntVector
    high: IntVector
    price: LongVector
    floor: LongVector
    place: LongVector
    rows: FloatVector
    logs: FloatVector


def price_list(table: CodedTable, measure: str) -> Prices:
    """Return what cells cost by a measure, weighted: entropy, GCP, or else LM. O(levels x codes)."""
    from shoal.measures import MEASURES

    rule = MEASURES[measure if measure in ("entropy", "gcp") else "lm"]()
    assert isinstance(rule, CellMeasure)
    parts: list[tuple[NDArray[np.generic], ...]] = []
    shape = np.zeros((len(table.attributes), 8), np.int64)
    starts = np.zeros(2, np.int64)
    for j, attribute in enumerate(table.attributes):
        counts = table.value_counts[j]
        made = _free(attribute, counts, rule) if attribute.hierarchy.free else _tree(attribute, counts, rule)
        parts.append(made[:-1])
        tree = attribute.hierarchy
        ordered = tree.ordered if tree.free else -1
        kind = ENTROPY if rule.name == "entropy" else LINEAR
        unit = round(attribute.weight * UNIT)
        shape[j] = tree.size, ordered, len(tree.levels), *starts, made[-1], kind, unit
        starts += len(made[0]), len(made[4])
    return Prices(shape, *(np.concatenate([part[field] for part in parts]) for field in range(7)))


def _units(attribute: Attribute, losses: FloatVector) -> LongVector:
    return np.rint(losses * attribute.weight * UNIT).astype(np.int64)


def _whole(attribute: Attribute, counts: LongVector, rule: CellMeasure) -> int:
    ends = np.zeros(1, np.int32), np.full(1, attribute.hierarchy.size - 1, np.int32)
    return int(_units(attribute, rule.loss(attribute, counts, *ends))[0])


def _tree(attribute: Attribute, counts: LongVector, rule: CellMeasure) -> tuple:  # type: ignore[type-arg]
    tree = attribute.hierarchy
    losses = [
        _units(attribute, rule.loss(attribute, counts, *ends))
        for ends in zip(tree.low, tree.high, strict=True)
    ]
    prices = np.stack(losses)
    floors = np.minimum.accumulate(prices[::-1], axis=0)[::-1]
    nothing = np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    whole = _whole(attribute, counts, rule)
    return tree.low.ravel(), tree.high.ravel(), prices.ravel(), floors.ravel(), *nothing, whole


def _free(attribute: Attribute, counts: LongVector, rule: CellMeasure) -> tuple:  # type: ignore[type-arg]
    tree = attribute.hierarchy
    codes = np.arange(tree.size, dtype=np.int32)
    first = np.zeros_like(codes)
    places = _units(attribute, rule.loss(attribute, counts, first, codes))
    logs = counts * np.log2(np.maximum(counts, 1))
    rows = np.concatenate(([0.0], np.cumsum(counts)))
    sums = np.concatenate(([0.0], np.cumsum(logs)))
    empty = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64)
    whole = _whole(attribute, counts, rule)
    # One place more than codes, so that places and running sums begin at the same position.
    return *empty, np.append(places, whole), rows, sums, whole
