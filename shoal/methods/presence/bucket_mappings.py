"""The mappings of one bucket of shuffled columns: which level of each column keeps presence uncertain enough?"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.judging.membership.bucket import Bucket, propagate_counts
from shoal.judging.membership.chances import membership
from shoal.judging.models.delta_presence import SLACK, DeltaPresence
from shoal.support.arrays import IntMatrix, IntVector, LongVector

Mapping = tuple[int, ...]
Mappings = NDArray[np.int8]

REACH = 2.6
"""Counting nearly always fails if states could have more than this many times the bits of its limit."""
PATIENCE = 12
"""After this many failed mappings it pays to check pairs of columns."""


class BucketMappings:
    """One bucket: its rows, who could be in it, and the mappings of its columns."""

    def __init__(
        self,
        table: CodedTable,
        rows: IntMatrix,
        people: IntMatrix,
        low: IntVector,
        high: IntVector,
        model: DeltaPresence,
    ) -> None:
        self.table, self.rows, self.people, self.model = table, rows, people, model
        self.low, self.high = low, high
        self.shown = cache(self._count_shown)
        self.open_bits = cache(self._open_bits)
        self.tried = self.counted = 0

    def heights(self) -> list[int]:
        """Return the level of the bucket's own node in each column. For free ranges: 0 if exact, 1 if a range."""
        found = []
        for j, attribute in enumerate(self.table.attributes):
            tree = attribute.hierarchy
            level = int(tree.level_of(self.low[j : j + 1], self.high[j : j + 1])[0])
            found.append(int(self.low[j] < self.high[j]) if tree.free or level < 0 else level)
        return found

    def cells(self, codes: IntVector, j: int, level: int) -> tuple[IntVector, IntVector]:
        """Return the cells of codes at a level."""
        tree = self.table.attributes[j].hierarchy
        if not tree.free:
            return tree.low[level, codes], tree.high[level, codes]
        if level == 0:
            return codes, codes
        return np.full_like(codes, self.low[j]), np.full_like(codes, self.high[j])

    def _count_shown(self, j: int, level: int) -> tuple[LongVector, LongVector]:
        """Number the values of the people at a level, and count the rows that show each."""
        own, theirs = self.cells(self.rows[:, j], j, level)[0], self.cells(self.people[:, j], j, level)[0]
        values, number = np.unique(np.concatenate([theirs, own]), return_inverse=True)
        rows = np.bincount(number[len(theirs) :], minlength=len(values))
        return number[: len(theirs)], rows.astype(np.int64)

    def first_allowed(self, limit: int) -> Mapping | None:
        """Return the first mapping that presence allows, starting with the least general, by the sum of levels.

        `limit` is the number of states that counting may use per mapping; a mapping that needs more is skipped.
        """
        levels = [[v for v in range(h + 1) if self._possible(j, v)] for j, h in enumerate(self.heights())]
        every = np.array(list(product(*levels)), np.int8).reshape(-1, len(levels))
        left = every[np.lexsort((*every.T[::-1], every.sum(axis=1)))]
        most = REACH * math.log2(max(limit, 2))
        failed = 0
        while len(left):
            mapping = tuple(left[0].tolist())
            left = left[1:]
            self.tried += 1
            if self._is_allowed(mapping, limit, most):
                return mapping
            failed += 1
            if failed == PATIENCE:
                left = self._without_certain_pairs(left, levels)
        return None

    def _without_certain_pairs(self, left: Mappings, levels: list[list[int]]) -> Mappings:
        """Remove mappings in which two columns alone make somebody too certain.

        Mappings that show at least as much in both columns do so too: fewer sets of people are consistent with them.
        """
        for i, j in combinations(range(len(levels)), 2):
            for a, b in product(levels[i][::-1], levels[j][::-1]):
                meant = (left[:, i] <= a) & (left[:, j] <= b)
                # A pair of levels can only rule out more if the pair itself is still among the mappings.
                if (meant & (left[:, i] == a) & (left[:, j] == b)).any() and self._certain((i, j), (a, b)):
                    left = left[~meant]
        return left

    def _possible(self, j: int, level: int) -> bool:
        """Return whether a level is possible, whatever else is shown: if more (or fewer) rows show a value than the
        bounds allow for the people who have it, the average probability of these people is outside the bounds.
        """
        number, rows = self.shown(j, level)
        people = np.bincount(number, minlength=len(rows))
        return all(self.model.allows(int(r), int(p)) for r, p in zip(rows, people, strict=True))

    def _question(
        self, columns: tuple[int, ...], levels: Mapping
    ) -> tuple[Bucket, list[LongVector], IntMatrix]:
        """Return a bucket of some columns as counts: its distinct tuples, and how often each value is shown."""
        parts = [self.shown(j, level) for j, level in zip(columns, levels, strict=True)]
        key = np.zeros(len(self.people), np.int64)
        for number, rows in parts:
            key = key * len(rows) + number
            if key.max(initial=0) >= 1 << 40:
                key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        _, first, people = np.unique(key, return_index=True, return_counts=True)
        tuples = np.stack([number[first] for number, _ in parts], axis=1).astype(np.int32)
        counts = [rows for _, rows in parts]
        starts = np.cumsum([0, *(len(rows) for rows in counts)])[:-1]
        bucket = Bucket((tuples + starts).astype(np.int32), people.astype(np.int64), np.concatenate(counts))
        return bucket, counts, tuples

    def _certain(self, columns: tuple[int, ...], levels: Mapping) -> bool:
        """Return whether single counts already make somebody's presence or absence more certain than allowed."""
        if self.model.low <= 0 and self.model.high >= 1:
            return False
        bucket, _, _ = self._question(columns, levels)
        least, most = propagate_counts(bucket)
        return self._outside(least == bucket.people, most == 0)

    def _outside(self, all_in: NDArray[np.bool_], all_out: NDArray[np.bool_]) -> bool:
        return bool((self.model.high < 1 and all_in.any()) or (self.model.low > 0 and all_out.any()))

    def _is_allowed(self, mapping: Mapping, limit: int, most_bits: float) -> bool:
        bucket, counts, tuples = self._question(tuple(range(len(mapping))), mapping)
        people = bucket.people
        bits = self._bits(mapping, people, tuples)
        if bits > most_bits and people.min() == 1:
            return False  # Too expensive to count, and some people are unique.
        least, most = propagate_counts(bucket)
        if self._outside(least == people, most == 0):
            return False
        # People of one tuple have the same probability, so bounds on the tuple are bounds on them.
        if self._within(least / people, most / people):
            return True
        if bits > most_bits:
            return False
        self.counted += 1
        found = membership(tuples, people, counts, limit=limit, seconds=0.0)
        # Probabilities that could not be counted have the bounds 0 and 1, and pass only if the policy allows these.
        return self._within(found.low, found.high)

    def _bits(self, mapping: Mapping, people: LongVector, tuples: IntMatrix) -> float:
        """Return about how many bits states can have: by the people of half the tuples, or by the undecided counts,
        whichever is less. Both are upper bounds, far above what counting really keeps.
        """
        by_counts = sum(self.open_bits(j, level) for j, level in enumerate(mapping))
        parts = [self.shown(j, level)[1] for j, level in enumerate(mapping)]
        fitting = np.minimum.reduce([rows[tuples[:, j]] for j, rows in enumerate(parts)])
        return min(float(np.log2(np.minimum(people, fitting) + 1).sum() / 2), by_counts)

    def _open_bits(self, j: int, level: int) -> float:
        number, rows = self.shown(j, level)
        values = np.sort(np.log2(np.minimum(rows, np.bincount(number, minlength=len(rows))) + 1))
        return float(values[:-1].sum())

    def _within(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> bool:
        return bool((low >= self.model.low - SLACK).all() and (high <= self.model.high + SLACK).all())
