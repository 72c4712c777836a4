"""Groups at the ends of a column: values from `top` on, and values below `bottom`, are never told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import Numbers, distinct_values, text_of
from shoal.coding.hierarchy.domains import Domain, number_domain
from shoal.coding.hierarchy.tree import Hierarchy, Level
from shoal.support.arrays import IntVector

Number = int | float


@dataclass(frozen=True)
class Groups:
    """Which of the regular codes of a column lie in the groups at its ends: ``[0, first)`` and ``[last, regular)``."""

    first: int
    last: int
    names: tuple[str, str]
    """The name of the lowest and of the highest group."""

    @classmethod
    def among(cls, numbers: Numbers, top: Number | None, bottom: Number | None) -> Groups:
        """Return the groups of ascending numbers."""
        first = 0 if bottom is None else int(np.searchsorted(numbers, bottom, side="left"))
        last = len(numbers) if top is None else int(np.searchsorted(numbers, top, side="left"))
        return cls(first, last, (f"<{bottom}", f"{top}+"))

    def finest_of(self, domain: Domain) -> Level | None:
        """Return the level that takes the place of the leaves; None if there is no group."""
        if self.first == 0 and self.last == domain.regular:
            return None
        inner = np.arange(self.first, self.last, dtype=np.int32)
        return self.level(domain.regular, inner, text_of(domain.leaves).gather(inner))

    def level(self, regular: int, starts: IntVector, names: pl.Series) -> Level:
        """Return a level of these nodes between the groups, with the groups."""
        parts, words = [starts], [names.cast(pl.String).alias("names")]
        if self.first > 0:
            parts, words = [np.zeros(1, np.int32), *parts], [pl.Series("names", [self.names[0]]), *words]
        if self.last < regular:
            parts, words = (
                [*parts, np.array([self.last], np.int32)],
                [*words, pl.Series("names", [self.names[1]])],
            )
        return Level(np.concatenate(parts).astype(np.int32), pl.concat(words))


def from_ends(values: pl.Series, top: Number | None = None, bottom: Number | None = None) -> Hierarchy:
    """Allow any range of numbers, with one group at each end. Leaves are the values of the data. O(n log n)."""
    domain = number_domain(distinct_values(values), "top and bottom")
    assert domain.numbers is not None
    return domain.hierarchy(free=True, finest=Groups.among(domain.numbers, top, bottom).finest_of(domain))
