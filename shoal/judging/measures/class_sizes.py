"""Measures of class sizes: discernibility, average class size, number of classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.judging.measures.measure import ClassMeasure, Reported, SizeMeasure
from shoal.support.arrays import LongVector


class Discernibility(ClassMeasure):
    """Discernibility metric (Bayardo and Agrawal 2005): each row costs the size of its class."""

    floor_adds: ClassVar[bool] = True

    name: ClassVar[str] = "dm"
    reported: ClassVar[Reported] = Reported(terminal=True)
    summary: ClassVar[str] = (
        "sum of squared sizes of classes (or buckets); a suppressed row costs the number of all rows"
    )

    def of_sizes(self, sizes: LongVector, suppressed: int, k: int) -> float:
        """Add up the squares."""
        rows = int(sizes.sum()) + suppressed
        return float(int(np.dot(sizes, sizes)) + suppressed * rows)

    def bound(self, sizes: LongVector, k: int) -> float:
        """Each row of a group costs at least the size of the group, merged or suppressed, and k in any class."""
        return float(int(np.dot(sizes, np.maximum(sizes, min(k, int(sizes.sum()))))))

    def floor(self, kept: LongVector, lost: LongVector, sizes: LongVector, k: int) -> float:
        """Each suppressed row costs as much as there are rows; `bound` has at most the size of its group, or k."""
        rows = int(kept.sum() + lost.sum())
        return float(int(np.dot(lost, np.maximum(rows - np.maximum(sizes, k), 0))))


class AverageClass(ClassMeasure):
    """Normalized average class size (LeFevre et al. 2006)."""

    name: ClassVar[str] = "avg"
    reported: ClassVar[Reported] = Reported(terminal=True)
    summary: ClassVar[str] = (
        "rows / (classes (or buckets) x k), suppressed rows counted; 1 is the best for k-anonymity"
    )

    def of_sizes(self, sizes: LongVector, suppressed: int, k: int) -> float:
        """All rows over classes times k; a release without any class counts as one class."""
        rows = int(sizes.sum()) + suppressed
        return rows / (max(len(sizes), 1) * max(k, 1))

    def bound(self, sizes: LongVector, k: int) -> float:
        """A class holds a group of k rows, or k rows of smaller groups."""
        small = sizes[sizes < k]
        most = len(sizes) - len(small) + int(small.sum()) // max(k, 1)
        return int(sizes.sum()) / (max(most, 1) * max(k, 1))

    def floor(self, kept: LongVector, lost: LongVector, sizes: LongVector, k: int) -> float:
        """A group has no more classes than k goes into it."""
        rows = int(kept.sum() + lost.sum())
        return rows / (max(int((kept // max(k, 1)).sum()), 1) * max(k, 1))


class NumberOfClasses(SizeMeasure):
    """How many classes there are. A search for many classes minimizes `avg`, which has the same optimum."""

    name: ClassVar[str] = "classes"
    summary: ClassVar[str] = (
        "number of equivalence classes, or of buckets if columns were shuffled within them"
    )
    lower_is_better: ClassVar[bool] = False

    def of_sizes(self, sizes: LongVector, suppressed: int, k: int) -> float:
        """Count them."""
        return float(len(sizes))
