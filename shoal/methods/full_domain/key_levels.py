"""The best levels for adversaries who know few columns: one level per column, so that k holds over each set of columns.

Whether k holds over a set depends on the levels of its columns only, and raising levels never breaks it. So each
combination of levels that fails gives a cut: one of its columns must be raised further. A program over 0-1 variables
("column j is raised to level l") with the cuts found so far gives levels with the least loss; if they fail somewhere,
that gives new cuts. Levels that fail nowhere are the best of all, because no cut rules out a valid choice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.linking.key_matches import DENSE, SMALL, Chosen
from shoal.support.arrays import FloatVector, IntVector, LongVector
from shoal.support.run import Run

Levels = tuple[int, ...]


class Answer(NamedTuple):
    """Levels that fail nowhere."""

    levels: Levels
    loss: float
    bound: float
    """No levels lose less."""
    counted: int
    """How many combinations of levels were counted."""


class LevelCounts:
    """How many rows share their nodes with fewer than k, in a set of columns at some levels; each counted once."""

    def __init__(self, table: CodedTable, k: int) -> None:
        self.k = k
        self.heights: Levels = tuple(attribute.hierarchy.height for attribute in table.attributes)
        number, first = table.number_rows()
        self.weight = np.bincount(number, minlength=len(first)).astype(np.int32)
        self._starts = [[level.starts for level in a.hierarchy.levels] for a in table.attributes]
        codes = [own[first] for own in table.quasi.narrow]
        self._nodes = [
            [(np.searchsorted(starts, own, side="right") - 1).astype(np.int32) for starts in levels]
            for own, levels in zip(codes, self._starts, strict=True)
        ]
        self._known: dict[tuple[Chosen, Levels], int] = {}

    @property
    def counted(self) -> int:
        """How many combinations were counted."""
        return len(self._known)

    def short(self, chosen: Chosen, levels: Levels) -> int:
        """Return how many rows share their nodes with fewer than k rows. O(rows)."""
        asked = chosen, levels
        if asked not in self._known:
            self._known[asked] = self._count(chosen, levels)
        return self._known[asked]

    def _count(self, chosen: Chosen, levels: Levels) -> int:
        from shoal.kernels.grouping import distinct_rows
        from shoal.kernels.key_sets import add_points, fewest_at_places

        nodes: list[IntVector] = [self._nodes[j][level] for j, level in zip(chosen, levels, strict=True)]
        spans = [len(self._starts[j][level]) for j, level in zip(chosen, levels, strict=True)]
        places = math.prod(spans)
        if places > max(DENSE * len(self.weight), SMALL):
            number, first = distinct_rows(nodes, len(self.weight))
            points = np.bincount(number, self.weight, len(first)).astype(np.int32)
        else:
            key: IntVector = np.zeros(len(self.weight), np.int32)
            for own, span in zip(nodes[:-1], spans[:-1], strict=True):
                key = key * np.int32(span) + own
            points = np.zeros(places, np.int32)
            add_points(key, nodes[-1], spans[-1], self.weight, points)
        return int(fewest_at_places(points, np.zeros(0, np.int32), points, self.k)[3])

    def highest_failing(self, chosen: Chosen, levels: Levels, spared: int) -> list[Levels]:
        """Return levels above that still fail, as high as possible: raised in each order that begins with another
        column.
        """
        found = set()
        for first in range(len(chosen)):
            now = list(levels)
            for at in (*range(first, len(chosen)), *range(first)):
                while now[at] < self.heights[chosen[at]]:
                    now[at] += 1
                    if self.short(chosen, tuple(now)) <= spared:
                        now[at] -= 1
                        break
            found.add(tuple(now))
        return sorted(found)


class LevelSearch:
    """Cuts found so far, and the loss of each level."""

    def __init__(
        self, counts: LevelCounts, sets: Sequence[Chosen], losses: Sequence[FloatVector], run: Run
    ) -> None:
        self.counts, self.sets, self.losses, self.run = counts, sets, losses, run
        first = np.cumsum([0, *counts.heights])
        self._first = first[:-1]
        self._steps: FloatVector = np.concatenate([np.diff(own) for own in losses])
        self._cuts: dict[tuple[int, ...], None] = {}

    def best(self, spared: int, seconds: float) -> Answer:
        """Return the levels with the least loss at which at most so many rows fail in each set. If time runs out,
        the levels are raised until they do; the bound says how far from the best they can be.
        """
        bound, until = 0.0, time.perf_counter() + seconds
        while True:
            levels, bound = self._solve(bound, until)
            failing = [own for own in self.sets if self._fails(own, levels, spared)]
            self.run.progress("search", 1 - len(failing) / max(len(self.sets), 1))
            if not failing:
                return Answer(levels, self._loss(levels), bound, self.counts.counted)
            if time.perf_counter() > until:
                levels = self._raise(levels, spared)
                return Answer(levels, self._loss(levels), bound, self.counts.counted)
            for own in failing:
                here = tuple(levels[j] for j in own)
                for high in self.counts.highest_failing(own, here, spared):
                    self._cut(own, high)

    def _fails(self, own: Chosen, levels: Levels, spared: int) -> bool:
        return self.counts.short(own, tuple(levels[j] for j in own)) > spared

    def _loss(self, levels: Levels) -> float:
        return float(sum(own[level] for own, level in zip(self.losses, levels, strict=True)))

    def _cut(self, own: Chosen, high: Levels) -> None:
        """One of the columns must be above its level."""
        heights = self.counts.heights
        raised = (
            int(self._first[j]) + level for j, level in zip(own, high, strict=True) if level < heights[j]
        )
        self._cuts[tuple(raised)] = None

    def _solve(self, bound: float, until: float) -> tuple[Levels, float]:
        """Return levels with the least loss by the cuts so far, and a lower bound on the loss of all that keep them."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        variables = len(self._steps)
        if not variables:
            return (0,) * len(self.losses), self._loss((0,) * len(self.losses))
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        least: list[float] = []
        for at, cut in enumerate(self._cuts):
            rows += [at] * len(cut)
            columns += cut
            values += [1.0] * len(cut)
            least.append(1.0)
        for begin, height in zip(self._first.tolist(), self.counts.heights, strict=True):
            for variable in range(begin + 1, begin + height):
                # A column at level l has passed all levels below.
                rows += [len(least)] * 2
                columns += [variable - 1, variable]
                values += [1.0, -1.0]
                least.append(0.0)
        constraints = []
        if least:
            matrix = coo_array((values, (rows, columns)), shape=(len(least), variables)).tocsr()
            constraints.append(LinearConstraint(matrix, np.array(least), np.inf))
        left = max(until - time.perf_counter(), 0.5)
        found = milp(
            self._steps,
            integrality=np.ones(variables, np.int64),
            bounds=Bounds(0, 1),
            constraints=constraints,
            options={"time_limit": left, "mip_rel_gap": 0.0},
        )
        bottom = self._loss((0,) * len(self.losses))
        if found.x is None:
            return self.counts.heights, bound
        raised: LongVector = np.round(found.x).astype(np.int64)
        ends = zip(self._first.tolist(), self.counts.heights, strict=True)
        levels = tuple(int(raised[begin : begin + height].sum()) for begin, height in ends)
        least_loss = found.mip_dual_bound if found.mip_dual_bound is not None else found.fun
        return levels, max(bound, bottom + float(least_loss))

    def _raise(self, levels: Levels, spared: int) -> Levels:
        """Raise the level that costs least in a set that fails, until none does."""
        now = list(levels)
        for own in self.sets:
            while self._fails(own, tuple(now), spared):
                able = [j for j in own if now[j] < self.counts.heights[j]]
                cheapest = min(able, key=lambda j: float(self.losses[j][now[j] + 1] - self.losses[j][now[j]]))
                now[cheapest] += 1
        return tuple(now)
