"""pMSE: can a model tell rows of the release from rows of the original (Woo et al. 2009, Snoke et al. 2018)?

Both tables are put together, and a logistic model estimates for each row how likely it is from the release. If all
chances equal the release's share c of the rows, nobody can tell. pMSE is the mean square of the differences; its ratio
is pMSE over what is expected if the release were drawn at random, with replacement, from the original: ``(parameters -
1) (1 - c)^2 c / rows``, with the rows of both tables.

The model has, for a number, its value and its square; for a category, an indicator of each value or node; and the
product of every two columns, with categories at their place in the order of the hierarchy. A cell of the release
has the expected value of each if its rows are spread evenly over the values that it covers. A suppressed row counts as
one that shows the whole domain of every column, so the release's share is always one half.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from shoal.coding import Attribute, CodedTable
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.marginals import groups_of
from shoal.judging.measures.measure import Measure, Needs, Reported
from shoal.judging.measures.spread import Spread, Values, records_unknown
from shoal.support.arrays import FloatMatrix, FloatVector

CHUNK = 1 << 14
"""Records whose terms are made at a time."""
STEPS = 40
ENOUGH = 1e-7
"""The fit ends when the deviance changes by less than this share. Without a largest likelihood it would never end,
although the chances no longer change.
"""
TINY = 1e-9
KEPT = 1 << 26
"""With more numbers than this, terms are made again in each step instead of being kept."""
MOST = 16
"""A category has at most so many indicators."""


@dataclass(frozen=True)
class Propensity:
    """How well a logistic model tells the rows of a release from those of the original."""

    pmse: float
    """From 0, not at all, to 1/4, always."""
    ratio: float
    """pMSE over its expectation if the release were drawn at random from the original."""
    parameters: int
    """Of the model, with the intercept."""


@dataclass(frozen=True, kw_only=True)
class Pmse(Measure):
    """The propensity score mean squared error."""

    name: ClassVar[str] = "pmse"
    summary: ClassVar[str] = (
        "how well a logistic model tells release and original apart: mean squared error (0..1/4)"
    )
    needs: ClassVar[Needs] = Needs(ranges=True, original=True)
    reported: ClassVar[Reported] = Reported(default=False)

    def why_unknown(self, evidence: Evidence) -> str | None:
        """Return why rows cannot be compared, or None."""
        return super().why_unknown(evidence) or records_unknown(evidence)

    def compute(self, evidence: Evidence) -> float:
        """Fit the model, and return the error."""
        return propensity(evidence).pmse


class PmseRatio(Pmse):
    """The propensity score mean squared error over its expectation for a random draw."""

    name: ClassVar[str] = "pmse-ratio"
    summary: ClassVar[str] = "pmse over its expectation if the release were drawn at random from the original"

    def compute(self, evidence: Evidence) -> float:
        """Fit the model, and return the ratio."""
        return propensity(evidence).ratio


def propensity(evidence: Evidence) -> Propensity:
    """Fit the model. O(steps x records x terms^2)."""
    if Propensity not in evidence.shared_results:
        evidence.shared_results[Propensity] = _propensity(evidence)
    found: Propensity = evidence.shared_results[Propensity]
    return found


def _propensity(evidence: Evidence) -> Propensity:
    original = evidence.original
    sides = [Spread.of_rows(original), Spread(evidence.published, sensitive=True)]
    both = _Terms(original, sides)
    total = sum(float(side.rows.sum()) for side in sides)
    if not both.width or not total:
        return Propensity(0.0, 0.0, 1)
    middle, basis = _independent(both, total)
    if not basis.shape[1]:
        return Propensity(0.0, 0.0, 1)
    share = float(sides[1].rows.sum()) / total
    found, before = np.zeros(basis.shape[1] + 1), np.inf
    found[0] = np.log(share / (1.0 - share))
    kept = list(both.project(middle, basis)) if both.small else None
    for _ in range(STEPS):
        slope, bend, error, deviance = np.zeros(len(found)), np.zeros((len(found),) * 2), 0.0, 0.0
        for own, rows, released in both.project(middle, basis) if kept is None else kept:
            odds = np.clip(own @ found, -30.0, 30.0)
            chance = 1.0 / (1.0 + np.exp(-odds))
            slope += own.T @ (rows * (released - chance))
            bend += (own * (rows * chance * (1.0 - chance))[:, None]).T @ own
            error += float(rows @ (chance - share) ** 2)
            deviance += float(rows @ np.logaddexp(0.0, -odds if released else odds))
        if abs(before - deviance) <= ENOUGH * max(deviance, ENOUGH):
            break
        before = deviance
        found = found + np.linalg.lstsq(bend, slope, rcond=None)[0]
    expected = basis.shape[1] * (1.0 - share) ** 2 * share / total
    return Propensity(error / total, error / total / expected, len(found))


def _independent(both: _Terms, total: float) -> tuple[FloatVector, FloatMatrix]:
    """Return the means of all terms, and a basis in which they are uncorrelated, without combinations of others."""
    first, second = np.zeros(both.width), np.zeros((both.width, both.width))
    for terms, rows, _ in both.parts():
        first += rows @ terms
    middle = first / total
    for terms, rows, _ in both.parts():
        away = terms - middle
        second += (away * rows[:, None]).T @ away
    scale = np.sqrt(np.diag(second) / total)
    scale[scale <= TINY] = np.inf
    sizes, vectors = np.linalg.eigh(second / total / np.outer(scale, scale))
    kept = sizes > TINY * max(float(sizes.max(initial=0.0)), TINY)
    return middle, (vectors[:, kept] / np.sqrt(sizes[kept])) / scale[:, None]


class _Terms:
    """The terms of the model, for the records of both tables."""

    def __init__(self, table: CodedTable, sides: list[Spread]) -> None:
        counts = (*table.value_counts, *table.sensitive_counts)
        columns = zip((*table.attributes, *table.sensitive), counts, strict=True)
        self.values = [
            _terms_of(attribute, groups_of(attribute, own, MOST, MOST)) for attribute, own in columns
        ]
        self.sides = sides
        self.each = [
            [cells.each(own) for cells, own in zip(side.columns, self.values, strict=True)] for side in sides
        ]
        pairs = len(self.values) * (len(self.values) - 1) // 2
        # The first term of each column is its place, which its other terms contain or do without.
        self.width = sum(own.shape[1] for own in self.values) + pairs

    @property
    def small(self) -> bool:
        """Whether all terms can be kept in memory."""
        return bool(self.width * sum(len(side.rows) for side in self.sides) <= KEPT)

    def project(
        self, middle: FloatVector, basis: FloatMatrix
    ) -> Iterator[tuple[FloatMatrix, FloatVector, float]]:
        """Give an intercept and the terms in another basis."""
        for terms, rows, released in self.parts():
            yield np.column_stack([np.ones(len(terms)), (terms - middle) @ basis]), rows, released

    def parts(self) -> Iterator[tuple[FloatMatrix, FloatVector, float]]:
        """Give the terms of some records at a time, how many rows these are, and whether they are released."""
        for released, (side, each) in enumerate(zip(self.sides, self.each, strict=True)):
            for begin in range(0, len(side.rows), CHUNK):
                part = slice(begin, begin + CHUNK)
                own = [cells[column.place[part]] for cells, column in zip(each, side.columns, strict=True)]
                pairs = [(a[:, 0] * b[:, 0])[:, None] for a, b in combinations(own, 2)]
                yield np.hstack([*own, *pairs]), side.rows[part], float(released)


def _terms_of(attribute: Attribute, groups: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Values:
    """Return ``[codes, terms]`` the terms of a column: its place from 0 to 1, then its square, or indicators."""
    tree = attribute.hierarchy
    line = None if not tree.by_width or tree.positions is None else tree.positions[: tree.ordered]
    if line is None or not np.isfinite(line).all() or line[-1] <= line[0]:
        place = np.arange(tree.size) / max(tree.size - 1, 1)
        return np.column_stack([place, np.eye(int(groups.max()) + 1)[groups][:, 1:]])
    # A null lies in the middle, and is marked as null.
    place = np.full(tree.size, 0.5)
    half = line / 2  # so that the range of the largest numbers is not infinite
    place[: tree.ordered] = (half - half[0]) / (half[-1] - half[0])
    absent = (np.arange(tree.size) >= tree.ordered).astype(np.float64)
    return np.column_stack([place, place**2, absent])
