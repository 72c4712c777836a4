"""Measures of class sizes: discernibility, average class size, number of classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.arrays import LongVector
from shoal.linking.evidence import Evidence
from shoal.measures.base import ClassMeasure, Measure


class Discernibility(ClassMeasure):
    """Discernibility metric (Bayardo and Agrawal 2005): each row costs the size of its class."""

    name: ClassVar[str] = "dm"
    shown: ClassVar[bool] = True
    public: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "sum of squared sizes of classes (or buckets); a suppressed row costs the number of all rows"
    )

    def of_sizes(self, sizes: LongVector, suppressed: int, k: int) -> float:
        """Add up the squares."""
        rows = int(sizes.sum()) + suppressed
        return float(int(np.dot(sizes, sizes)) + suppressed * rows)

    def bound(self, sizes: LongVector, k: int) -> float:
        """Each row of a group costs at least the size of the group, merged or suppressed."""
        return float(int(np.dot(sizes, sizes)))


class AverageClass(ClassMeasure):
    """Normalized average class size (LeFevre et al. 2006)."""

    name: ClassVar[str] = "avg"
    shown: ClassVar[bool] = True
    public: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "rows / (classes (or buckets) x k), suppressed rows counted; 1 is the best for k-anonymity"
    )

    def of_sizes(self, sizes: LongVector, suppressed: int, k: int) -> float:
        """All rows over classes times k; a release without any class counts as one class."""
        rows = int(sizes.sum()) + suppressed
        return rows / (max(len(sizes), 1) * max(k, 1))

    def bound(self, sizes: LongVector, k: int) -> float:
        """There cannot be more classes than groups."""
        return self.of_sizes(sizes, 0, k)


class NumberOfClasses(Measure):
    """How many classes there are. A search for many classes minimizes `avg`, which has the same optimum."""

    name: ClassVar[str] = "classes"
    public: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "number of equivalence classes, or of buckets if columns were shuffled within them"
    )
    lower_is_better: ClassVar[bool] = False

    def value(self, evidence: Evidence) -> float:
        """Count the classes, or the buckets."""
        return float(len(evidence.published.part_sizes))
