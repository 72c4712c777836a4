"""How a release spreads over the bins of columns, and how columns are associated, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.coding import CodedTable
from shoal.documents.report.bins import Bins
from shoal.release.published import Published
from shoal.release.value_sets import column_sets
from shoal.support.arrays import FloatMatrix, FloatVector, LongVector
from shoal.support.brief import Brief

CHUNK = 1 << 16
"""How many classes are spread at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Spread(Brief):
    """Columns in bins, before and after. Quasi-identifiers first, then sensitive columns."""

    original: CodedTable
    published: Published
    bins: Sequence[Bins]
    _sums: dict[int, FloatMatrix] = field(default_factory=dict)

    def before(self, column: int) -> FloatVector:
        """Count the rows of the original in each bin."""
        counts = (*self.original.value_counts, *self.original.sensitive_counts)
        return self.bins[column].count(counts[column])

    def after(self, column: int) -> FloatVector:
        """Count the rows of the release in each bin, a cell spread evenly over the values that it covers."""
        quasi = len(self.original.attributes)
        bins = self.bins[column]
        if column >= quasi:
            codes = self.published.sensitive_codes[:, column - quasi]
            return np.bincount(bins.bin_of[codes], minlength=len(bins.labels)).astype(np.float64)
        found = np.zeros(len(bins.labels))
        for begin in range(0, self.published.classes, CHUNK):
            part = slice(begin, begin + CHUNK)
            found += self.published.sizes[part] @ self._shares(column, part)
        return found

    def _shares(self, column: int, part: slice) -> FloatMatrix:
        """Return, for some classes, the share of each bin in the cell of a quasi-identifier."""
        bins, published = self.bins[column], self.published
        count = len(bins.labels)
        if published.sets is not None:
            start, codes = column_sets(published.sets, len(published.attributes), column)
            start = start[part.start : min(part.stop, published.classes) + 1]
            owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
            inside = codes[start[0] : start[-1]]
            held = np.bincount(owner * count + bins.bin_of[inside], minlength=(len(start) - 1) * count)
            shares = held.reshape(-1, count) / np.diff(start)[:, None]
            return np.asarray(shares, np.float64)
        low, high = (ends[part, column] for ends in published.cell_ranges)
        if column not in self._sums:
            each = np.zeros((len(bins.bin_of) + 1, count))
            each[np.arange(1, len(each)), bins.bin_of] = 1.0
            self._sums[column] = np.cumsum(each, axis=0)
        upto = self._sums[column]
        return np.asarray((upto[high + 1] - upto[low]) / (high - low + 1)[:, None], np.float64)

    def associations(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Return Cramér's V of every pair of columns, before and after. O(pairs x (rows + classes x bins))."""
        every = len(self.bins)
        before, after = np.eye(every), np.eye(every)
        for i in range(every):
            for j in range(i):
                before[i, j] = before[j, i] = cramers_v(self._together_before(i, j))
                after[i, j] = after[j, i] = cramers_v(self._together_after(i, j))
        return before, after

    def _bin_codes(self, column: int) -> LongVector:
        """Return the bin of each row of the original."""
        quasi = len(self.original.attributes)
        codes = (
            self.original.quasi.wide[:, column]
            if column < quasi
            else self.original.secrets.wide[:, column - quasi]
        )
        return self.bins[column].bin_of[codes].astype(np.int64)

    def _together_before(self, i: int, j: int) -> FloatMatrix:
        return self._count_pairs(i, j, self._bin_codes(i), self._bin_codes(j))

    def _count_pairs(self, i: int, j: int, first: LongVector, second: LongVector) -> FloatMatrix:
        shape = len(self.bins[i].labels), len(self.bins[j].labels)
        keys = first * shape[1] + second
        return np.bincount(keys, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)

    def _together_after(self, i: int, j: int) -> FloatMatrix:
        """Count pairs of bins; the cells of a class count as independent, because the release does not say
        otherwise."""
        quasi, published = len(self.original.attributes), self.published
        if j >= quasi:
            first, second = (
                self.bins[c].bin_of[published.sensitive_codes[:, c - quasi]].astype(np.int64) for c in (i, j)
            )
            return self._count_pairs(i, j, first, second)
        found = np.zeros((len(self.bins[i].labels), len(self.bins[j].labels)))
        for begin in range(0, published.classes, CHUNK):
            part = slice(begin, begin + CHUNK)
            right = self._shares(j, part)
            if i < quasi:
                found += (self._shares(i, part) * published.sizes[part, None]).T @ right
            else:
                own = (published.class_of >= part.start) & (published.class_of < part.stop)
                shown = self.bins[i].bin_of[published.sensitive_codes[own, i - quasi]].astype(np.int64)
                keys = (published.class_of[own] - begin) * len(found) + shown
                held = np.bincount(keys, minlength=len(right) * len(found)).reshape(-1, len(found))
                found += held.T @ right
        return found


def cramers_v(counts: FloatMatrix) -> float:
    """Return the strength of the association in a table of counts: 0 for none, 1 if one column determines the other."""
    counts = counts[counts.sum(axis=1) > 1e-12][:, counts.sum(axis=0) > 1e-12]
    total = counts.sum()
    if min(counts.shape) < 2:
        return 0.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    square = float((counts**2 / expected).sum()) / total - 1.0
    return float(np.sqrt(max(square, 0.0) / (min(counts.shape) - 1)).clip(0.0, 1.0))


def correlations(original: CodedTable, published: Published) -> list[tuple[str, str, float, float]]:
    """Return Spearman's rank correlation of every two columns of numbers or dates, before and after.

    After, each cell of a quasi-identifier counts as the mean of the values that it covers. Rows that lack one of the
    two are left out. Empty if the release shows sets. It uses ranks, because a single extreme person must not decide
    the figure. O(rows log rows x pairs).
    """
    if not published.in_ranges:
        return []
    found: list[tuple[str, FloatVector, FloatVector]] = []
    for j, attribute in enumerate(original.attributes):
        at = attribute.hierarchy.positions
        if at is not None:
            upto = np.concatenate(([0.0], np.cumsum(np.nan_to_num(at))))
            there = np.concatenate(([0], np.cumsum(~np.isnan(at))))
            low, high = published.cell_ranges[0][:, j], published.cell_ranges[1][:, j] + 1
            with np.errstate(invalid="ignore"):
                middle = (upto[high] - upto[low]) / (there[high] - there[low])
            found.append((attribute.name, at[original.quasi.wide[:, j]], middle[published.class_of]))
    for j, attribute in enumerate(original.sensitive):
        at = attribute.hierarchy.positions
        if at is not None:
            own, shown = original.secrets.wide[:, j], published.sensitive_codes[:, j]
            found.append((attribute.name, at[own], at[shown]))
    return [
        (a[0], b[0], spearman(a[1], b[1]), spearman(a[2], b[2]))
        for place, a in enumerate(found)
        for b in found[place + 1 :]
    ]


def spearman(first: FloatVector, second: FloatVector) -> float:
    """Return the correlation of the ranks of two columns; NaN if one of them is constant."""
    both = ~np.isnan(first) & ~np.isnan(second)
    if both.sum() < 2:
        return float("nan")
    a, b = (ranks - ranks.mean() for ranks in (_ranks(first[both]), _ranks(second[both])))
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float((a @ b) / scale) if scale > 0 else float("nan")


def _ranks(values: FloatVector) -> FloatVector:
    """Rank values from 0; equal ones share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    upto = np.cumsum(count)
    middle: FloatVector = (upto - (count + 1) / 2)[place]
    return middle
