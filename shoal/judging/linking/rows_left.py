"""How many rows an adversary leaves for a person who knows a few others of the table (docs/attacks/few-known.md).

The adversary knows the quasi-identifiers of m other people, and that all of them are in the table. A row cannot be the
target's if the known people, or some of them, match no more rows than they are, and this row is one of these. In one
complete assignment, let each person point to the owners of the rows that they match. People who match no more rows
than they are own exactly these rows, so nobody points out of this set: it is closed. Closed sets are the same for every
assignment. Closed sets together are closed, so of all known people only one closed set matters. The adversary who
chooses best knows the one without the target, of at most m people, that owns most rows which match the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.judging.linking.consistency import Consistency
from shoal.support.arrays import BoolVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

TRIES = 1_000_000
"""Items that the search for the best set of people looks at, for each target. With more, only bounds are known."""
PIECE = 2_000
"""Targets between two checks of progress and interrupts."""


@dataclass(frozen=True, eq=False, repr=False)
class RowsLeft(Brief):
    """Per distinct person, how many rows are left by the adversary who knows those m others that help most."""

    least: LongVector
    """A number that is proven: no choice of m others leaves fewer rows."""
    most: LongVector
    """What the best choice that was found leaves; the same number unless the search was too long."""

    @property
    def exact(self) -> BoolVector:
        """Per distinct person, whether both are the same."""
        return np.asarray(self.least == self.most)


def rows_left(graph: Consistency, known: int, run: Run | None = None) -> RowsLeft:
    """Count the rows that are left for each distinct person if the adversary chooses `known` others.

    Rows that are not published belong to somebody, too: the adversary knows how many there are, not whose they are.
    O(people x (rows that match + known people and their links)), unless sets must be searched.
    """
    candidates = graph.candidates
    matching = candidates[candidates > 0]
    # A set that uses up its rows has at least as many people as one of them matches rows.
    if not len(matching) or known < matching.min():
        return RowsLeft(candidates, candidates)
    if known >= int(graph.people.weight.sum()) - 1:
        return RowsLeft(graph.matches, graph.matches)
    removed, limit = ClosedSets(graph, known).most_removed(run)
    return RowsLeft(candidates - limit, candidates - removed)


@dataclass(frozen=True, eq=False, repr=False)
class ClosedSets(Brief):
    """The closed sets of at most `known` people. People and rows of one component are in the same closed sets."""

    graph: Consistency
    known: int

    @cached_property
    def weight(self) -> LongVector:
        """Component -> its people, who own as many rows."""
        of_class, of_people = self.graph.components
        count = int(max(of_class.max(initial=-1), of_people.max(initial=-1))) + 1
        return np.bincount(of_people, self.graph.people.weight, count).astype(np.int64)

    @cached_property
    def edges(self) -> tuple[LongVector, LongVector]:
        """Component -> the other components whose rows its people match: starts, and all lists one after the other."""
        of_class, of_people = self.graph.components
        tail, head = of_people[self.graph.links].astype(np.int64), of_class[self._class_of].astype(np.int64)
        count = len(self.weight)
        pairs = np.unique(tail[tail != head] * count + head[tail != head])
        return np.searchsorted(pairs // max(count, 1), np.arange(count + 1)), pairs % max(count, 1)

    @cached_property
    def small(self) -> BoolVector:
        """Component -> whether it is in a closed set of at most `known` people."""
        from shoal.kernels.closed_sets import closure_weights

        return np.asarray(closure_weights(*self.edges, self.weight, self.known) <= self.known)

    @cached_property
    def targets(self) -> tuple[LongVector, LongVector, LongVector]:
        """The starts, components and numbers of rows that each distinct person matches in other people's small closed
        sets.
        """
        of_class, of_people = self.graph.components
        shown = np.repeat(np.arange(len(self.graph.size)) < len(self.graph.fits), np.diff(self.graph.start))
        head = of_class[self._class_of]
        use = shown & self.small[head] & (head != of_people[self.graph.links])
        keys = self.graph.links[use].astype(np.int64) * len(self.weight) + head[use]
        pairs, at = np.unique(keys, return_inverse=True)
        rows = np.bincount(at, self.graph.size[self._class_of[use]], len(pairs)).astype(np.int64)
        count = max(len(self.weight), 1)
        start = np.searchsorted(pairs // count, np.arange(len(self.graph.people.weight) + 1))
        return start, pairs % count, rows

    @cached_property
    def _class_of(self) -> LongVector:
        return np.repeat(np.arange(len(self.graph.size), dtype=np.int64), np.diff(self.graph.start))

    def most_removed(self, run: Run | None = None) -> tuple[LongVector, LongVector]:
        """Return how many rows of each distinct person the best set that was found owns, and a number that none
        exceeds.
        """
        from shoal.kernels.closed_sets import most_removed

        people = len(self.graph.people.weight)
        removed, limit = np.zeros(people, np.int64), np.zeros(people, np.int64)
        for begin in range(0, people, PIECE):
            if run is not None:
                run.progress("choose people", begin / people)
            end = min(begin + PIECE, people)
            most_removed(
                *self.targets, *self.edges, self.weight, self.known, TRIES, begin, end, removed, limit
            )
        return removed, limit
