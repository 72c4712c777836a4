"""Risk of re-identification: prosecutor, journalist and marketer (El Emam 2013), and uniqueness.

The prosecutor knows that one person is in the release and seeks that row; the journalist seeks any row of
anyone in a larger population; the marketer links as many rows as possible. Suppressed rows are not published
and so are at no risk: shares are shares of the published rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import LongVector
from shoal.measures.base import Measure
from shoal.release.published import Published
from shoal.table import CodedTable

THRESHOLD = 0.2
"""The customary limit for data released to the public: one in five."""


@dataclass(frozen=True)
class Risk:
    """All risks of one release, for reports. Probabilities of re-identification, 0..1."""

    prosecutor_max: float
    """Of the row in the smallest class."""
    prosecutor_mean: float
    """Averaged over rows."""
    threshold: float
    at_risk: float
    """Share of rows whose prosecutor risk is above the threshold."""
    journalist_max: float
    journalist_mean: float
    marketer: float
    """Share of rows that are expected to be re-identified when all are attempted."""
    population_known: bool
    """False: the release itself stands for the population, so that journalist and marketer risks are upper
    bounds."""
    unique_before: float
    """Share of the original's rows that nobody shares their quasi-identifiers with; NaN without the original."""
    unique_after: float
    """Share of the published rows that are alone in their class."""


def assess(
    published: Published,
    original: CodedTable | None = None,
    *,
    population: LongVector | None = None,
    threshold: float = THRESHOLD,
) -> Risk:
    """Assess all risks. `population` is how many people of the population fit each class, see
    `population_sizes`. O(classes), plus grouping the original.
    """
    sizes = published.sizes
    rows = max(published.rows, 1)
    crowd = sizes if population is None else np.maximum(population, sizes)
    linked = float((sizes / crowd).sum()) / rows
    return Risk(
        prosecutor_max=_highest(sizes),
        prosecutor_mean=len(sizes) / rows,
        threshold=threshold,
        at_risk=float(sizes[1.0 / sizes > threshold].sum()) / rows,
        journalist_max=_highest(crowd),
        journalist_mean=linked,
        marketer=linked,
        population_known=population is not None,
        unique_before=unique_share(original) if original is not None else float("nan"),
        unique_after=float((sizes == 1).sum()) / rows,
    )


def _highest(sizes: LongVector) -> float:
    return float(1.0 / sizes.min()) if len(sizes) else 0.0


def unique_share(table: CodedTable) -> float:
    """Return the share of rows whose quasi-identifiers no other row has.

    Rows that fit into one 64-bit key each are packed and sorted, which is several times as fast as numbering
    them; wider ones are numbered first. O(rows log rows).
    """
    from shoal.kernels.grouping import distinct, pack

    if table.rows == 0:
        return 0.0
    keys = np.zeros(table.rows, np.uint64)
    if math.prod(attribute.hierarchy.size for attribute in table.attributes) < 1 << 63:
        for j, attribute in enumerate(table.attributes):
            pack(keys, np.ascontiguousarray(table.codes[:, j]), 0, attribute.hierarchy.size)
    else:
        keys = distinct(table.codes)[0].astype(np.uint64)
    keys.sort()
    new = np.concatenate(([True], keys[1:] != keys[:-1], [True]))
    return float(np.count_nonzero(new[1:] & new[:-1])) / table.rows


def population_sizes(published: Published, population: CodedTable) -> LongVector:
    """Count the people of a population who fit each class, never fewer than the class itself has rows.

    The population must be coded by the same hierarchies. Its distinct rows are sorted by the column with the
    most values, so each class looks only at the rows within its range there: O(classes x rows) at worst.
    """
    from shoal.kernels.grouping import distinct

    low, high = published.low, published.high
    if low is None or high is None or published.sets is not None:
        raise ValueError("people can be counted only where cells are ranges of known codes")
    numbers, first = distinct(population.codes)
    weights = np.bincount(numbers, minlength=len(first)).astype(np.int64)
    rows = population.codes[first]
    if not len(rows) or not rows.shape[1]:
        return np.maximum(published.sizes, population.rows if not rows.shape[1] else 0)
    lead = int(np.argmax([attribute.hierarchy.size for attribute in published.attributes]))
    order = np.argsort(rows[:, lead], kind="stable")
    rows, weights = np.asfortranarray(rows[order]), weights[order]
    begin = np.searchsorted(rows[:, lead], low[:, lead], side="left")
    end = np.searchsorted(rows[:, lead], high[:, lead], side="right")
    fitting = np.zeros(published.classes, np.int64)
    for c in range(published.classes):
        part = rows[begin[c] : end[c]]
        inside = np.ones(len(part), np.bool_)
        for j in range(part.shape[1]):
            inside &= (part[:, j] >= low[c, j]) & (part[:, j] <= high[c, j])
        fitting[c] = weights[begin[c] : end[c]][inside].sum()
    return np.maximum(fitting, published.sizes)


class ProsecutorMax(Measure):
    """The risk of the row in the smallest class."""

    name: ClassVar[str] = "risk-prosecutor-max"
    summary: ClassVar[str] = "highest chance to find the row of a person who is known to be in the release"

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """One over the smallest class."""
        return assess(published).prosecutor_max


class ProsecutorMean(Measure):
    """The risk averaged over rows."""

    name: ClassVar[str] = "risk-prosecutor-mean"
    summary: ClassVar[str] = "average chance to find the row of a person who is known to be in the release"

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Classes over rows."""
        return assess(published).prosecutor_mean


@dataclass(frozen=True, kw_only=True)
class AtRisk(Measure):
    """The share of rows whose prosecutor risk is above a threshold."""

    name: ClassVar[str] = "risk-at-risk"
    summary: ClassVar[str] = "share of published rows whose risk is above 0.2"

    threshold: float = THRESHOLD
    """Highest risk that is tolerated."""

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Add up the classes that are too small."""
        return assess(published, threshold=self.threshold).at_risk


@dataclass(frozen=True, kw_only=True, eq=False)
class JournalistMax(Measure):
    """The highest risk when it is not known who is in the release."""

    name: ClassVar[str] = "risk-journalist-max"
    summary: ClassVar[str] = (
        "highest chance to find anyone of a population (without one: as prosecutor, an upper bound)"
    )

    population: LongVector | None = None
    """People of the population who fit each class."""

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """One over the smallest crowd that fits a class."""
        return assess(published, population=self.population).journalist_max


@dataclass(frozen=True, kw_only=True, eq=False)
class Marketer(Measure):
    """The share of rows that are re-identified when all are attempted."""

    name: ClassVar[str] = "risk-marketer"
    summary: ClassVar[str] = (
        "share of rows re-identified when all are attempted (without a population: an upper bound)"
    )

    population: LongVector | None = None
    """People of the population who fit each class."""

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Add up rows over crowd, over all rows."""
        return assess(published, population=self.population).marketer


class UniqueBefore(Measure):
    """How identifying the quasi-identifiers were."""

    name: ClassVar[str] = "unique-before"
    summary: ClassVar[str] = "share of the original's rows that are unique in their quasi-identifiers"
    needs_original: ClassVar[bool] = True

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Group the original."""
        return unique_share(original) if original is not None else float("nan")


class UniqueAfter(Measure):
    """How many rows are still alone."""

    name: ClassVar[str] = "unique-after"
    summary: ClassVar[str] = "share of the published rows that are unique in their quasi-identifiers"

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Count classes of one row."""
        return assess(published).unique_after
