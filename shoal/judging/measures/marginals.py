"""k-marginal score, as NIST's data challenges define it: how alike the tables of counts over three columns are.

For three columns, the densities of all combinations of their values are compared: the sum of the absolute differences
lies between 0 and 2. The score is ``500 * (2 - mean over marginals)``: 1000 for equal densities, 0 for disjoint ones.
Numbers are counted in bins of about equally many original rows, categories by value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from shoal.coding import Attribute, CodedTable
from shoal.errors import PolicyError, Problem
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.measure import Measure, Needs, Reported
from shoal.judging.measures.spread import Spread, records_unknown
from shoal.support.arrays import FloatMatrix, FloatVector, LongVector

CHUNK = 2048
"""Records whose combinations are added up at a time."""
TOP = 1000.0


@dataclass(frozen=True)
class Marginals:
    """How alike the marginals of a release and of the original are."""

    score: float
    """From 0 to 1000."""
    columns: int
    """How many columns a marginal has."""
    marginals: int
    """How many were compared."""
    possible: int
    """How many there are."""
    worst: tuple[str, ...]
    """The columns of the marginal that differs most."""
    worst_score: float


@dataclass(frozen=True, kw_only=True)
class KMarginal(Measure):
    """The mean similarity of three-way marginals of quasi-identifiers and sensitive columns, 0 to 1000."""

    name: ClassVar[str] = "k-marginal"
    summary: ClassVar[str] = (
        "similarity of the densities over three columns to the original's (NIST, 0..1000)"
    )
    needs: ClassVar[Needs] = Needs(ranges=True, original=True)
    lower_is_better: ClassVar[bool] = False
    reported: ClassVar[Reported] = Reported(default=False)

    columns: int = 3
    """How many columns a marginal has; all, if there are fewer."""
    marginals: int = 200
    """If there are more marginals, this many are drawn."""
    bins: int = 20
    """Numbers are counted in at most so many bins."""
    values: int = 50
    """Categories with more values are counted by the lowest level of their hierarchy with at most so many nodes."""
    seed: int = 20240229
    """Marginals are drawn from this seed, so that the result is the same every time."""

    def __post_init__(self) -> None:
        problems = [
            Problem(f"{self.name}.{name}", f"must be at least 1, not {value}")
            for name in ("columns", "marginals", "bins", "values")
            if (value := getattr(self, name)) < 1
        ]
        if problems:
            raise PolicyError(problems)

    def why_unknown(self, evidence: Evidence) -> str | None:
        """Return why rows cannot be compared, or None."""
        return super().why_unknown(evidence) or records_unknown(evidence)

    def compute(self, evidence: Evidence) -> float:
        """Return the score."""
        return self.similarity(evidence).score

    def similarity(self, evidence: Evidence) -> Marginals:
        """Compare the marginals. O(marginals x records x combinations of a marginal)."""
        original = evidence.original
        groups = self._groups(original)
        released = Spread(evidence.published, sensitive=True)
        before = _exact(Spread.of_rows(original), groups)
        after = _exact(released, groups) if released.is_exact else _Shares(released, groups)
        names = [attribute.name for attribute in (*original.attributes, *original.sensitive)]
        width = min(self.columns, len(names))
        chosen = self._chosen(len(names), width)
        apart = np.array([np.abs(before(marginal) - after(marginal)).sum() for marginal in chosen])
        scores = TOP * (1.0 - apart / 2.0)
        worst = int(scores.argmin())
        return Marginals(
            float(scores.mean()), width, len(chosen), comb(len(names), width),
            tuple(names[j] for j in chosen[worst]), float(scores[worst]),
        )  # fmt: skip

    def _groups(self, table: CodedTable) -> list[LongVector]:
        counts = (*table.value_counts, *table.sensitive_counts)
        columns = (*table.attributes, *table.sensitive)
        return [
            groups_of(own, seen, self.bins, self.values) for own, seen in zip(columns, counts, strict=True)
        ]

    def _chosen(self, columns: int, width: int) -> list[tuple[int, ...]]:
        if comb(columns, width) <= self.marginals:
            return list(combinations(range(columns), width))
        random = np.random.Generator(np.random.PCG64(self.seed))
        found: set[tuple[int, ...]] = set()
        while len(found) < self.marginals:
            found.add(tuple(sorted(random.permutation(columns)[:width].tolist())))
        return sorted(found)


def groups_of(attribute: Attribute, counts: LongVector, bins: int, values: int) -> LongVector:
    """Return ``[codes]`` the group of each code: numbers in bins of about equally many rows, and null by itself;
    categories by value, or by the lowest level with at most so many nodes.
    """
    tree = attribute.hierarchy
    if not tree.by_width:
        for level in tree.levels:
            if len(level.starts) <= values:
                return np.repeat(np.arange(len(level.starts)), np.diff(level.starts, append=tree.size))
        return _even(counts, values)
    line = _even(counts[: tree.ordered], bins)
    return np.concatenate([line, int(line.max(initial=-1)) + 1 + np.arange(tree.size - tree.ordered)])


def _even(counts: LongVector, groups: int) -> LongVector:
    """Divide codes in order into groups of about equally many rows: a code goes where the middle of its rows lies."""
    middle = np.cumsum(counts) - counts / 2
    place = np.minimum(groups * middle // max(int(counts.sum()), 1), groups - 1).astype(np.int64)
    return np.unique(place, return_inverse=True)[1].astype(np.int64)


def _exact(spread: Spread, groups: list[LongVector]) -> Callable[[tuple[int, ...]], FloatVector]:
    """Return what gives the share of the rows in each combination of groups of some columns, for rows of values."""
    own = [groups[j][column.first] for j, column in enumerate(spread.columns)]
    sizes = [int(group.max()) + 1 for group in groups]
    total = max(float(spread.rows.sum()), 1.0)

    def density(marginal: tuple[int, ...]) -> FloatVector:
        shape = [sizes[j] for j in marginal]
        place = np.ravel_multi_index([own[j] for j in marginal], shape)
        return np.bincount(place, weights=spread.rows, minlength=int(np.prod(shape))) / total

    return density


class _Shares:
    """The same for cells that may cover values of several groups."""

    def __init__(self, spread: Spread, groups: list[LongVector]) -> None:
        self.spread = spread
        cells = zip(spread.columns, groups, strict=True)
        self.each = [column.each(np.eye(int(own.max()) + 1)[own]) for column, own in cells]

    def __call__(self, marginal: tuple[int, ...]) -> FloatVector:
        """Return the share of the rows in each combination of groups."""
        rows, last = self.spread.rows, self.each[marginal[-1]].shape[1]
        found = np.zeros((int(np.prod([self.each[j].shape[1] for j in marginal[:-1]])), last))
        for begin in range(0, len(rows), CHUNK):
            part = slice(begin, begin + CHUNK)
            parts: list[FloatMatrix] = [self.each[j][self.spread.columns[j].place[part]] for j in marginal]
            first = reduce(
                lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), parts[:-1], rows[part, None]
            )
            found += first.T @ parts[-1]
        return found.ravel() / max(float(rows.sum()), 1.0)
