"""What all clusterings share: losses of ranges as small tables, equal rows as one item, finished clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import FloatVector, IntVector, LongVector
from shoal.measures.base import CellMeasure
from shoal.table import Attribute, CodedTable

GRAIN = 2.0**-20
"""Losses are multiples of it, so that sums are exact in any order and ties are ties."""
LEAF = 16
"""Items in a leaf of the tree of boxes."""
LARGEST_TABLE = 512
"""Columns with more distinct codes get no table of all ranges."""


@dataclass(frozen=True, eq=False)
class Losses:
    """The loss of every range of codes of every column, in the form that kernels read (see kernels/agglomerative)."""

    shape: NDArray[np.int64]
    """``[columns, 4]``: kind, number of codes, place in `table` or `wide`, levels or number of ordered codes."""
    table: NDArray[np.float32]
    wide: FloatVector
    least: NDArray[np.float32]
    """As `table`, but the least loss of any range that contains the range: what a search may rely on."""
    wide_least: FloatVector

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.float32], FloatVector]:
        """What most kernels take."""
        return self.shape, self.table, self.wide


@dataclass(frozen=True, eq=False)
class Items:
    """Distinct rows of a table, in the codes that occur."""

    codes: NDArray[Any]
    """``[items, columns]``, row-major; the codes of a column are numbered on from 0 without holes."""
    item_of: IntVector
    """Row of the table -> item."""
    count: LongVector
    """Rows of each item."""
    losses: Losses

    def planted(self) -> tuple[NDArray[Any], LongVector, LongVector, Any]:
        """Return the codes in the order of a tree of boxes, that order, row of the table -> place in it, and the tree.

        O(items x columns x log items).
        """
        from shoal.kernels.agglomerative import plant

        order, tree = plant(self.codes, *self.losses.arrays, LEAF)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return np.ascontiguousarray(self.codes[order]), order, place[self.item_of], tree

    def of(self, rows: LongVector) -> Items:
        """Return the items of some rows; these are numbered by their places in `rows`. O(rows log rows)."""
        used, item_of, count = np.unique(self.item_of[rows], return_inverse=True, return_counts=True)
        return Items(np.ascontiguousarray(self.codes[used]), item_of.astype(np.int32), count, self.losses)


def chosen_measure(name: str) -> CellMeasure:
    """Return the measure by which clusters are judged: the wanted one, or LM where that judges no cells."""
    from shoal.measures import MEASURES

    measure = MEASURES[name]()
    if isinstance(measure, CellMeasure):
        return measure
    found = MEASURES["lm"]()
    assert isinstance(found, CellMeasure)
    return found


def collapse(table: CodedTable, measure: str) -> Items:
    """Collapse equal rows, and look up what each range loses. O(rows x columns + sum of squared domains)."""
    from shoal.kernels.grouping import distinct

    item_of, first = distinct(table.codes)
    judge = chosen_measure(measure)
    present = [np.flatnonzero(counts) for counts in table.value_counts]
    kind = np.uint16 if max((len(codes) for codes in present), default=0) <= 1 << 16 else np.int32
    codes = np.empty((len(first), len(table.attributes)), kind)
    for j, own in enumerate(present):
        codes[:, j] = np.searchsorted(own, table.codes[first, j])
    losses = _losses(table.attributes, table.value_counts, present, judge)
    return Items(codes, item_of, np.bincount(item_of, minlength=len(first)).astype(np.int64), losses)


def _losses(
    attributes: tuple[Attribute, ...],
    counts: tuple[LongVector, ...],
    present: list[NDArray[np.int64]],
    measure: CellMeasure,
) -> Losses:
    shape = np.zeros((len(attributes), 4), np.int64)
    whole = sum(attribute.weight for attribute in attributes) or 1.0
    tables: list[FloatVector] = [np.zeros(0)]
    leasts: list[FloatVector] = [np.zeros(0)]
    wides: list[FloatVector] = [np.zeros(0)]
    lower: list[FloatVector] = [np.zeros(0)]
    for j, attribute in enumerate(attributes):
        codes = present[j].astype(np.int32)
        scale = attribute.weight / whole
        size = len(codes)
        if size <= LARGEST_TABLE:
            shape[j, :3] = 0, size, sum(map(len, tables))
            cells = _all_ranges(attribute, counts[j], codes, measure) * scale
            cells = np.rint(cells / GRAIN) * GRAIN
            tables.append(cells.ravel())
            leasts.append(_least(cells).ravel())
            continue
        kind, extra, numbers = _wide(attribute, counts[j], codes, measure, scale)
        shape[j] = kind, size, sum(map(len, wides)), extra
        wides.append(numbers)
        # An entropy may fall when its range grows: without a table there is no bound but 0.
        lower.append(numbers if measure.monotone else np.zeros_like(numbers))
        if not measure.monotone and kind == 1:
            lower[-1] = _flat(numbers, size, extra)
    table, least = np.concatenate(tables).astype(np.float32), np.concatenate(leasts).astype(np.float32)
    return Losses(shape, table, np.concatenate(wides), least, np.concatenate(lower))


def _all_ranges(
    attribute: Attribute, counts: LongVector, codes: IntVector, measure: CellMeasure
) -> NDArray[np.float64]:
    """Return the loss of every range, ``[low, high]``; infinite where a limit permits none."""
    tree, size = attribute.hierarchy, len(codes)
    first, last = (side.astype(np.int32) for side in np.triu_indices(size))
    low, high = codes[first], codes[last]
    permitted = np.ones(len(low), np.bool_) if tree.free else tree.level_of(low, high) >= 0
    cells = np.full((size, size), np.inf)
    low, high = tree.lift(low[permitted], high[permitted])
    cells[first[permitted], last[permitted]] = measure.loss(attribute, counts, low, high)
    cells[np.arange(size), np.arange(size)] = 0.0
    return cells


def _least(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each range the least loss of the ranges that contain it."""
    upper = np.minimum.accumulate(cells[:, ::-1], axis=1)[:, ::-1]
    return np.minimum.accumulate(upper, axis=0)


def _wide(
    attribute: Attribute, counts: LongVector, codes: IntVector, measure: CellMeasure, scale: float
) -> tuple[int, int, FloatVector]:
    """Return the kind, levels or ordered codes, and numbers of a column that is too wide for a table."""
    tree, size = attribute.hierarchy, len(codes)
    if not tree.free:
        parts: list[FloatVector] = []
        for level in range(len(tree.levels)):
            low, high = tree.low[level][codes], tree.high[level][codes]
            parts.append(np.searchsorted(codes, high, side="right").astype(np.float64) - 1)
            parts.append(np.rint(measure.loss(attribute, counts, low, high) * scale / GRAIN) * GRAIN)
        return 1, len(tree.levels), np.concatenate(parts)
    ordered = int(np.searchsorted(codes, tree.ordered))
    if measure.needs_original:
        own = counts[codes].astype(np.float64)
        logs = own * np.log2(np.maximum(own, 1.0))
        parts = [np.zeros(1), np.cumsum(own), np.zeros(1), np.cumsum(logs), np.array([scale])]
        return 3, ordered, np.concatenate(parts)
    places = np.zeros(size)
    places[:ordered] = measure.loss(attribute, counts, np.full(ordered, codes[0]), codes[:ordered])
    if ordered < size:
        places[ordered:] = measure.loss(
            attribute, counts, np.zeros(1, np.int32), np.array([tree.size - 1], np.int32)
        )[0]
    return 2, ordered, np.rint(places * scale / GRAIN) * GRAIN


def _flat(numbers: FloatVector, size: int, levels: int) -> FloatVector:
    """Keep where nodes end, and no losses."""
    flat = numbers.copy()
    for level in range(levels):
        flat[(2 * level + 1) * size : (2 * level + 2) * size] = np.where(
            np.isfinite(flat[(2 * level + 1) * size : (2 * level + 2) * size]), 0.0, np.inf
        )
    return flat
