"""Random walks over sets of people, which visit sets that are consistent with a bucket."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.judging.membership.bucket import Component
from shoal.support.arrays import FloatVector, IntVector, LongVector

FAR = 0.05
"""Share of steps that may go to any tuple, so that every set can be reached."""
NEIGHBOURS = 8
"""Tuples are near if they differ in few columns: as few as give each tuple this many neighbours on average."""
MOST_COMPARED = 4000
"""More tuples are not compared in pairs; then neighbours in sorted order are near."""
STEPS = 1000
"""Steps of a walk per call."""


class Walks:
    """Several walks over the sets of the right size in one component; each prefers consistent sets to its own degree.

    All consistent sets are equally likely, whatever the preference. O(walks x steps x columns).
    """

    def __init__(
        self,
        part: Component,
        random: np.random.Generator,
        starts: Sequence[LongVector],
        penalty: FloatVector,
        near: tuple[LongVector, IntVector] | None = None,
    ) -> None:
        """Start with the given sets, as the number of present people per tuple. For each count that is off by one, a
        set is less likely by a factor of exp(-`penalty`)."""
        self.part, self.random, self.penalty = part, random, penalty
        self.near = neighbours(part) if near is None else near
        tuples = np.arange(len(part.people), dtype=np.int32)
        self.inside = np.stack(starts).astype(np.int64)
        self.chosen = np.stack([np.repeat(tuples, own) for own in self.inside])
        self.left = np.stack([part.count_shortfall(own) for own in self.inside])
        self.least = np.tile(part.least, (len(starts), 1))
        self.most = np.tile(part.most, (len(starts), 1))

    def go(self) -> tuple[NDArray[np.int64], LongVector]:
        """Continue; return per walk the people of each tuple over all consistent sets seen, and how many sets."""
        from shoal.kernels.membership import walk_sets

        start, near = self.near
        seen, fits = walk_sets(
            self.part.counts_of,
            self.least,
            self.most,
            self.part.people,
            start,
            near,
            FAR,
            self.penalty,
            self.inside,
            self.chosen,
            self.left,
            self.random.random((len(self.penalty), STEPS, 3)),
        )
        return seen, fits

    def wrong(self) -> LongVector:
        """Return by how much the counts of each walk's set are off."""
        found: LongVector = np.abs(self.left).sum(axis=1)
        return found


def any_set(part: Component, random: np.random.Generator) -> LongVector:
    """Return a random set of the right size, as the number of present people per tuple."""
    free = np.repeat(np.arange(len(part.people)), part.most - part.least)
    more = random.permutation(free)[: part.size - int(part.least.sum())]
    found: LongVector = part.least + np.bincount(more, minlength=len(part.people))
    return found


def neighbours(part: Component) -> tuple[LongVector, IntVector]:
    """Return which tuples are near each other, as ``near[start[t]:start[t + 1]]``. The relation is symmetric.

    O(tuples^2 x columns), or O(tuples log tuples) above MOST_COMPARED tuples.
    """
    rows = part.counts_of
    tuples, columns = rows.shape
    if tuples > MOST_COMPARED:
        order = np.lexsort(rows.T[::-1])
        one = np.repeat(np.arange(tuples), 2 * NEIGHBOURS + 1)
        other = one + np.tile(np.arange(-NEIGHBOURS, NEIGHBOURS + 1), tuples)
        good = (other >= 0) & (other < tuples) & (other != one)
        one, other = order[one[good]], order[other[good]]
        other = other[np.argsort(one, kind="stable")]
        many = np.bincount(one, minlength=tuples)
    else:
        differing = np.zeros((tuples, tuples), np.uint8)
        for j in range(columns):
            differing += rows[:, j][:, None] != rows[:, j]
        within = np.cumsum(np.bincount(differing.ravel(), minlength=columns + 1)) - tuples
        reach = int(np.argmax(within >= min(NEIGHBOURS, tuples - 1) * tuples))
        close = differing <= reach
        np.fill_diagonal(close, False)
        many, other = close.sum(axis=1), np.nonzero(close)[1]
    return np.concatenate([[0], np.cumsum(many)]).astype(np.int64), other.astype(np.int32)
