"""Query error: how far counts on the release are from counts on the original.

Each query counts the rows that fall into a range of codes in each of a few columns, as analysts do with
``WHERE age BETWEEN 30 AND 45 AND work IN (..)``. Codes are in hierarchy order, so a range of a categorical column
holds related values. The release answers as if the rows of a class were spread evenly over the values that the class
covers, and suppressed rows over the whole domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.measure import Measure, Needs, Reported
from shoal.judging.measures.spread import Spread
from shoal.support.arrays import FloatVector, IntVector

Query = tuple[IntVector, IntVector, IntVector]
"""The columns of a query, and the first and the last code in each."""

CHUNK = 1 << 16
"""Rows that are counted at a time."""


@dataclass(frozen=True)
class QueryErrors:
    """Relative errors over all queries: |estimate - truth| / max(truth, sanity)."""

    median: float
    mean: float
    queries: int
    sanity: float
    """True counts below this are raised to it, so that tiny counts do not dominate the errors."""


@dataclass(frozen=True, kw_only=True)
class QueryError(Measure):
    """The median relative error of random count queries."""

    name: ClassVar[str] = "query-error"
    summary: ClassVar[str] = "median relative error of random count queries on the release"
    needs: ClassVar[Needs] = Needs(ranges=True, original=True)
    reported: ClassVar[Reported] = Reported(default=False)

    queries: int = 1000
    """How many queries are drawn; their numbers of columns, from 1 to all, take turns."""
    selectivity: float = 0.1
    """Share of the rows that a query would find if columns were independent."""
    sanity: float = 0.001
    """Smaller true counts are raised to this share of the rows, or to one row."""
    seed: int = 20240229
    """Queries are drawn from this seed, so that the result is the same every time."""

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

    def compute(self, evidence: Evidence) -> float:
        """Return the median."""
        return self.errors(evidence).median

    def errors(self, evidence: Evidence) -> QueryErrors:
        """Answer all queries. O(queries x columns x (rows / 64 + classes)), see `count_rows`."""
        original = evidence.table
        if self.why_unknown(evidence) is not None or original is None:
            return QueryErrors(float("nan"), float("nan"), 0, float("nan"))
        if original.rows == 0 or not original.attributes:
            return QueryErrors(0.0, 0.0, 0, 1.0)
        queries = self.draw(original)
        truth, spread = count_rows(original, queries), Spread(evidence.published)
        estimates = np.array([_estimate(spread, query) for query in queries])
        sanity = max(1.0, self.sanity * original.rows)
        errors = np.abs(estimates - truth) / np.maximum(truth, sanity)
        return QueryErrors(float(np.median(errors)), float(errors.mean()), self.queries, sanity)

    def draw(self, original: CodedTable) -> list[Query]:
        """Draw the queries.

        A query over q columns takes, in each, a range of codes with selectivity^(1/q) of the rows or a
        little more, starting at a random row's value.
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

    def compute(self, evidence: Evidence) -> float:
        """Return the mean."""
        return self.errors(evidence).mean


def count_rows(table: CodedTable, queries: list[Query]) -> FloatVector:
    """Count the rows that each query finds, by bitmaps.

    For each column and each end of a query, one bit per row says whether its code lies below that end; a query
    is then a few operations on words. Rows are taken in chunks, so that the bitmaps stay small.
    O(rows x (ends + queries x columns) / 64), plus O(rows x ends) to make the bitmaps.
    """
    columns = range(len(table.attributes))
    used, low, high = (np.concatenate(part) for part in zip(*queries, strict=True))
    ends = [np.unique(np.append(low[used == j], high[used == j] + 1)) for j in columns]
    places = [
        [(j, *np.searchsorted(ends[j], (a, b + 1))) for j, a, b in zip(*query, strict=True)]
        for query in queries
    ]
    found = np.zeros(len(queries))
    for begin in range(0, table.rows, CHUNK):
        codes = table.quasi.wide[begin : begin + CHUNK]
        below = [_bitmaps(np.ascontiguousarray(codes[:, j]), ends[j]) for j in columns]
        for i, query in enumerate(places):
            hit = np.full(below[0].shape[1], np.iinfo(np.uint64).max, np.uint64)
            for j, first, after in query:
                # Codes below the first are below the last too, so "exclusive or" is "within".
                hit &= below[j][first] ^ below[j][after]
            found[i] += int(np.bitwise_count(hit).sum())
    return found


def _bitmaps(codes: IntVector, ends: IntVector) -> NDArray[np.uint64]:
    """Return, for each end, one bit per code that says whether it is below; padded to whole words."""
    words = -(-len(codes) // 64)
    packed = np.zeros((len(ends), words * 8), np.uint8)
    for i, end in enumerate(ends):
        bits = np.packbits(codes < end)
        packed[i, : len(bits)] = bits
    return packed.view(np.uint64)


def _estimate(spread: Spread, query: Query) -> float:
    """Return the expected number of rows of a release that a query finds."""
    found = spread.rows
    for j, first, last in zip(*query, strict=True):
        found = found * spread.columns[j].share(first, last)
    return float(found.sum())
