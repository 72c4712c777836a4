"""`Sample`: what estimators see of a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.support.arrays import LongVector
from shoal.support.brief import Brief


class Refusal(Exception):
    """An estimator has no answer; the text says why. It is no error of the user, so nobody else sees it."""


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Brief):
    """The sizes of the classes of a sample, and the number of people in the population."""

    sizes: LongVector
    """Rows of each class, 1 or more."""
    people: int
    """N."""

    @cached_property
    def rows(self) -> int:
        """n."""
        return int(self.sizes.sum())

    @property
    def classes(self) -> int:
        """How many classes the sample shows."""
        return len(self.sizes)

    @property
    def fraction(self) -> float:
        """The sampling fraction, n / N."""
        return self.rows / self.people

    @cached_property
    def tally(self) -> tuple[LongVector, LongVector]:
        """The sizes that occur, ascending, and how many classes have each."""
        size, count = np.unique(self.sizes, return_counts=True)
        return size.astype(np.int64), count.astype(np.int64)

    @cached_property
    def uniques(self) -> int:
        """Classes of one row."""
        return int(np.count_nonzero(self.sizes == 1))
