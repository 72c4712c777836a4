"""What every range of every column loses by a measure, as arrays for kernels. Only this module makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.coding import Attribute, CodedTable
from shoal.errors import PolicyError, Problem
from shoal.judging.measures.measure import CellMeasure
from shoal.support.arrays import FloatVector, IntVector, LongVector

if TYPE_CHECKING:
    from shoal.kernels.losses import Losses

LARGEST_TABLE = 256
"""Columns with more codes get no table of all ranges: it would not stay in the processor's cache. A quarter of it where
ranges are looked up over the whole domain: there a search through the levels of a tree is faster than the table."""


def cell_measure(name: str) -> CellMeasure:
    """Return a measure of cells by its name. Others cannot steer; the policy check refuses them before the work."""
    from shoal.judging.measures import MEASURES, measures_that_steer

    measure = MEASURES[name]()
    if not isinstance(measure, CellMeasure):
        hint = f"use one of {', '.join(measures_that_steer(['cells']))}"
        raise PolicyError(
            [Problem("utility.measure", f"'{name}' does not measure cells, so it cannot steer", hint)]
        )
    return measure


def losses_of(table: CodedTable, measure: str, present: list[LongVector] | None = None) -> Losses:
    """Tabulate what the ranges of all columns lose. O(levels x codes), and the square of codes in small columns.

    With `present`, the codes of column j are numbered 0, 1, .. and stand for the codes ``present[j]`` of its hierarchy.
    """
    from shoal.kernels.losses import Losses

    rule = cell_measure(measure)
    shape = np.zeros((len(table.attributes), 7), np.int64)
    columns: list[tuple[FloatVector, FloatVector, IntVector, IntVector]] = []
    whole = sum(attribute.weight for attribute in table.attributes) or 1.0
    places, nodes, start = 0, 0, 0
    for j, attribute in enumerate(table.attributes):
        tree = attribute.hierarchy
        codes = np.arange(tree.size, dtype=np.int32) if present is None else present[j].astype(np.int32)
        column = _Column(attribute, table.value_counts[j], codes, rule, attribute.weight / whole)
        kind, cells, least = column.losses(LARGEST_TABLE if present is not None else LARGEST_TABLE // 4)
        ordered = int(np.searchsorted(codes, tree.ordered)) if tree.free else -1
        shape[j] = kind, len(codes), places, ordered, len(tree.levels), nodes, start
        columns.append((cells, least, column.first.ravel(), column.last.ravel()))
        places, nodes, start = places + len(cells), nodes + column.first.size, start + len(codes)
    cells = np.concatenate([column[0] for column in columns])
    least = cells if rule.monotone else np.concatenate([column[1] for column in columns])
    first, last = (np.concatenate([column[side] for column in columns]) for side in (2, 3))
    return Losses(shape, cells, least, first, last, rule.monotone)


class _Column:
    """One column on its way into the arrays."""

    def __init__(
        self, attribute: Attribute, counts: LongVector, codes: IntVector, rule: CellMeasure, scale: float
    ) -> None:
        self.attribute, self.counts, self.codes, self.rule, self.scale = attribute, counts, codes, rule, scale
        tree, none = attribute.hierarchy, np.zeros((0, 0), np.int32)
        self.first, self.last = none, none
        if not tree.free and len(codes) == tree.size:
            self.first, self.last = tree.low, tree.high
        elif not tree.free:
            self.first = np.searchsorted(codes, tree.low[:, codes]).astype(np.int32)
            self.last = np.searchsorted(codes, tree.high[:, codes], side="right").astype(np.int32) - 1

    def losses(self, most: int) -> tuple[int, FloatVector, FloatVector]:
        """Return the kind of the column, its losses, and the least losses of all wider ranges."""
        from shoal.kernels.losses import DENSE, ENTROPY, LINE, TREE

        tree = self.attribute.hierarchy
        if tree.free and not self.rule.needs.original:
            line = self._line()
            return LINE, line, line
        if len(self.codes) <= most:
            cells = self._free_ranges() if tree.free else self._node_ranges()
            return DENSE, cells.ravel(), (cells if self.rule.monotone else _least(cells)).ravel()
        if tree.free:
            sums = self._sums()
            return ENTROPY, sums, np.zeros_like(sums)
        shown = self._nodes()
        return TREE, shown.ravel(), np.minimum.accumulate(shown[::-1], axis=0)[::-1].ravel()

    def _of(self, low: IntVector, high: IntVector) -> FloatVector:
        """Return what ranges of the hierarchy's codes lose, weighted and rounded."""
        from shoal.kernels.losses import GRAIN

        found = self.rule.loss(self.attribute, self.counts, low, high) * self.scale
        return np.rint(found / GRAIN) * GRAIN

    def _whole(self) -> FloatVector:
        last = self.attribute.hierarchy.size - 1
        return self._of(np.zeros(1, np.int32), np.full(1, last, np.int32))

    def _line(self) -> FloatVector:
        """Losses of free ranges are differences of places: every measure but entropy goes by values or by width."""
        tree, codes = self.attribute.hierarchy, self.codes
        ends = np.minimum(codes, max(tree.ordered - 1, 0)).astype(np.int32)
        return np.concatenate([self._of(np.zeros_like(ends), ends), self._whole()])

    def _sums(self) -> FloatVector:
        own = self.counts[self.codes].astype(np.float64)
        logs = own * np.log2(np.maximum(own, 1.0))
        return np.concatenate([[0.0], np.cumsum(own), [0.0], np.cumsum(logs), [self.scale], self._whole()])

    def _nodes(self) -> FloatVector:
        """Return ``[level, code]`` what nodes lose."""
        tree = self.attribute.hierarchy
        low, high = tree.low[:, self.codes], tree.high[:, self.codes]
        return self._of(low.ravel(), high.ravel()).reshape(low.shape)

    def _node_ranges(self) -> NDArray[np.float64]:
        """Return the loss of every range: from the top down, each node fills the square of its codes."""
        cells = np.full((len(self.codes), len(self.codes)), np.inf)
        for first, last, shown in zip(self.first[::-1], self.last[::-1], self._nodes()[::-1], strict=True):
            at = 0
            while at < len(first):
                end = last[at] + 1
                cells[first[at] : end, first[at] : end] = shown[at]
                at = int(end)
        return cells

    def _free_ranges(self) -> NDArray[np.float64]:
        low, high = (side.astype(np.int32) for side in np.triu_indices(len(self.codes)))
        cells = np.full((len(self.codes), len(self.codes)), np.inf)
        cells[low, high] = self._of(*self.attribute.hierarchy.lift(self.codes[low], self.codes[high]))
        return cells


def _least(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each range the least loss of the ranges that contain it."""
    upper = np.minimum.accumulate(cells[:, ::-1], axis=1)[:, ::-1]
    return np.minimum.accumulate(upper, axis=0)
