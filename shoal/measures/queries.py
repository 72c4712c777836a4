"""Query error: how far off counts are when they are asked of the release instead of the original.

Each query counts the rows that fall into a range of codes in each of a few columns, as analysts do with
``WHERE age BETWEEN 30 AND 45 AND work IN (..)``; codes stand in hierarchy order, so a range of a categorical
column holds related values. The release answers as if the rows of a class were spread evenly over the values
that the class covers, and suppressed rows over the whole domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.errors import PolicyError, Problem
from shoal.measures.base import Measure, column_sets
from shoal.published import Published
from shoal.table import CodedTable


@dataclass(frozen=True)
class QueryErrors:
    """Relative errors over all queries: |estimate - truth| / max(truth, sanity)."""

    median: float
    mean: float
    queries: int
    sanity: float
    """Truths below this count as this, so that tiny counts do not rule the figures."""


@dataclass(frozen=True, kw_only=True)
class QueryError(Measure):
    """The median relative error of random count queries."""

    name: ClassVar[str] = "query-error"
    summary: ClassVar[str] = "median relative error of random count queries on the release"
    needs_original: ClassVar[bool] = True
    default: ClassVar[bool] = False

    queries: int = 1000
    """How many queries are asked; the numbers of columns, 1 to all, take turns."""
    selectivity: float = 0.1
    """Share of the rows that a query would find if columns were independent."""
    sanity: float = 0.001
    """Share of the rows (one row at least) that a truth counts as at least."""
    seed: int = 20240229
    """Queries are drawn from this seed, so that the figure is the same every time."""

    def __post_init__(self) -> None:
        problems = []
        if self.queries < 1:
            problems.append(Problem("query-error.queries", f"must be at least 1, not {self.queries}"))
        if not 0 < self.selectivity <= 1:
            problems.append(Problem("query-error.selectivity", f"must be in (0, 1], not {self.selectivity}"))
        if not 0 <= self.sanity <= 1:
            problems.append(Problem("query-error.sanity", f"must be in [0, 1], not {self.sanity}"))
        if problems:
            raise PolicyError(problems)

    def unknown(self, published: Published, original: CodedTable | None) -> str | None:
        """Without ranges there is nothing to count."""
        if published.low is None or published.high is None:
            return "needs the original table, to place the published cells in their domains"
        return super().unknown(published, original)

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Return the median."""
        return self.errors(published, original).median

    def errors(self, published: Published, original: CodedTable | None) -> QueryErrors:
        """Ask all queries. O(queries x (distinct rows + classes) x columns), early columns thinning out the
        rows for later ones.
        """
        from shoal.kernels.grouping import distinct

        if self.unknown(published, original) is not None or original is None:
            return QueryErrors(float("nan"), float("nan"), 0, float("nan"))
        if original.rows == 0 or not original.attributes:
            return QueryErrors(0.0, 0.0, 0, 1.0)
        numbers, first = distinct(original.codes)
        rows = np.asfortranarray(original.codes[first])
        weights = np.bincount(numbers, minlength=len(first)).astype(np.float64)
        spread = _Spread(published)
        sanity = max(1.0, self.sanity * original.rows)
        errors = np.empty(self.queries)
        for i, (columns, low, high) in enumerate(self.draw(original)):
            truth = _count(rows, weights, columns, low, high)
            errors[i] = abs(spread.estimate(columns, low, high) - truth) / max(truth, sanity)
        return QueryErrors(float(np.median(errors)), float(errors.mean()), self.queries, sanity)

    def draw(self, original: CodedTable) -> list[tuple[IntVector, IntVector, IntVector]]:
        """Draw the queries: columns, and the first and last code in each.

        A query over q columns takes, in each, a run of codes that holds selectivity^(1/q) of the rows or a
        little more, beginning at a random row's value.
        """
        random = np.random.Generator(np.random.PCG64(self.seed))
        every = len(original.attributes)
        upto = [np.cumsum(counts) for counts in original.value_counts]
        drawn = []
        for i in range(self.queries):
            used = i % every + 1
            columns = random.permutation(every)[:used].astype(np.int32)
            share = self.selectivity ** (1.0 / used)
            begin = random.random(used) * (1.0 - share) * original.rows
            low = [np.searchsorted(upto[j], at, side="right") for j, at in zip(columns, begin, strict=True)]
            end = np.minimum(begin + share * original.rows, original.rows)
            high = [np.searchsorted(upto[j], at, side="left") for j, at in zip(columns, end, strict=True)]
            drawn.append((columns, np.array(low, np.int32), np.maximum(low, high).astype(np.int32)))
        return drawn


class MeanQueryError(QueryError):
    """The mean relative error of the same queries: dominated by the worst answers."""

    name: ClassVar[str] = "query-error-mean"
    summary: ClassVar[str] = "mean relative error of random count queries on the release"

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Return the mean."""
        return self.errors(published, original).mean


def _count(
    rows: IntMatrix, weights: FloatVector, columns: IntVector, low: IntVector, high: IntVector
) -> float:
    """Add up the weights of the rows that fall into all ranges."""
    alive: LongVector | None = None
    for j, first, last in zip(columns, low, high, strict=True):
        codes = rows[:, j] if alive is None else rows[alive, j]
        hit = np.flatnonzero((codes >= first) & (codes <= last))
        alive = hit if alive is None else alive[hit]
    return float(weights.sum() if alive is None else weights[alive].sum())


class _Spread:
    """The classes of a release as boxes over which their rows are spread evenly; suppressed rows are one more
    box, the whole domain.
    """

    def __init__(self, published: Published) -> None:
        assert published.low is not None
        assert published.high is not None
        sizes = np.array([attribute.hierarchy.size for attribute in published.attributes], np.int32)
        self.low = np.asfortranarray(np.vstack((published.low, np.zeros_like(sizes))))
        self.high = np.asfortranarray(np.vstack((published.high, sizes - 1)))
        self.rows = np.append(published.sizes, published.suppressed).astype(np.float64)
        self.sets = (
            []
            if published.sets is None
            else [column_sets(published.sets, len(sizes), j) for j in range(len(sizes))]
        )

    def estimate(self, columns: IntVector, low: IntVector, high: IntVector) -> float:
        """Return the expected number of rows in the ranges."""
        found = self.rows.copy()
        for j, first, last in zip(columns, low, high, strict=True):
            shared = np.minimum(self.high[:, j], last) - np.maximum(self.low[:, j], first) + 1
            share = np.maximum(shared, 0) / (self.high[:, j] - self.low[:, j] + 1)
            if self.sets:
                start, codes = self.sets[j]
                inside = np.concatenate(([0], np.cumsum((codes >= first) & (codes <= last))))
                share[:-1] = (inside[start[1:]] - inside[start[:-1]]) / np.diff(start)
            found *= share
        return float(found.sum())
