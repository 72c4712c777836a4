"""The exact search over all mappings of a table: bounds and predictive tagging over the lattice."""

from __future__ import annotations

import time

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import LimitError
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.mapping_judge import Check, Judge
from shoal.methods.full_domain.mapping_lattice import Lattice, Rank, rank
from shoal.methods.full_domain.search_summary import describe_pruning, infeasible, proof
from shoal.release import Release
from shoal.support.arrays import FloatMatrix, FloatVector, IntVector, LongVector
from shoal.support.run import Run

SLACK = 1e-9
"""Tolerance for rounding: bounds are sums of many numbers."""
SOME = 16
"""Chains that are climbed before Shoal judges whether they help."""
LARGEST = float(np.finfo(np.float64).max)


class Search:
    """The state of one search: bounds of all mappings and the best one so far."""

    def __init__(
        self,
        table: CodedTable,
        requirements: Requirements,
        run: Run,
        seconds: float = np.inf,
        judge: Judge | None = None,
    ) -> None:
        from shoal.kernels import lattice as kernels

        self._kernels = kernels
        self.table, self.requirements, self.run = table, requirements, run
        self._until = time.perf_counter() + seconds
        self.lattice = Lattice(table)
        self.judge = judge or Judge(table, requirements)
        self.by_classes = self.judge.classes is not None
        self.least: FloatVector = self.lattice.sums(self.judge.objective.least)
        self.more: FloatVector = np.zeros(self.lattice.size)
        """A lower bound on the loss of each mapping beyond `least`; infinite once it is decided."""
        self.value = np.inf
        self.rank: Rank | None = None
        self.levels: LongVector = self.lattice.top
        self._checks: dict[int, Check] = {}
        self._steps: FloatMatrix = np.zeros((len(self.lattice.top), max(*self.lattice.dims, 2)))
        for j, column in enumerate(self.judge.objective.steps):
            self._steps[j, : len(column)] = column
        self._settled = self._alone = 0
        """Mappings that chains were climbed for, and how many of them nothing above ruled out."""
        self._seen = time.perf_counter()

    def best(self) -> Release:
        """Search until every other mapping is ruled out."""
        self._search()
        if self.rank is None:
            raise LimitError(infeasible(self.lattice.size, self.judge))
        facts = {"checked": self.judge.checked, "mappings": self.lattice.size, **describe_pruning(self.judge)}
        facts |= proof(self.judge, self.value, self.value, exact=True)
        return self.judge.release(self.table, self.levels, facts)

    def lowest(self) -> float:
        """Return what no valid mapping loses less than, as far as the time allows to find it out."""
        self._search()
        return float(min(self.value, (self.least + self.more).min()))

    def _search(self) -> None:
        order, at, again = self._order(), 0, 64
        self._check(self.lattice.top)
        # Decided mappings are infinite, so the limit must be finite even while nothing has been found.
        while (
            at := int(
                self._kernels.next_open(order, at, self.least, self.more, min(self.value + SLACK, LARGEST))
            )
        ) < len(order):
            if self.judge.checked >= again and not self.by_classes:
                again *= 2
                order, at = self._reorder(order[at:]), 0
            index = int(order[at])
            levels = self.lattice.levels(index)
            bound = self.least[index] + self.more[index]
            # Only mappings that might lose just as much differ by their rank.
            if bound > self.value - SLACK and self.rank is not None and rank(bound, 0, levels) > self.rank:
                at += 1
                continue
            self._settle(index, levels)
            self._progress(1 - (len(order) - at) / self.lattice.size)
            if time.perf_counter() > self._until:
                return

    def _order(self) -> IntVector:
        """Return the order in which mappings are visited: the least loss first. Measures of classes have no bounds at
        the beginning; from the top down, mappings have few groups, and descents from them rule many others out.
        """
        if self.by_classes:
            return self.lattice.climb(self.judge.objective.steps)[::-1].copy()
        return np.argsort(self.least, kind="stable").astype(np.int32)

    def _reorder(self, order: IntVector) -> IntVector:
        """Drop mappings that are ruled out by now, and sort the others by their bounds, which have risen."""
        bounds = self.least[order] + self.more[order]
        still = bounds <= min(self.value + SLACK, LARGEST)
        kept: IntVector = order[still][np.argsort(bounds[still], kind="stable")]
        return kept

    def _settle(self, index: int, levels: LongVector) -> None:
        """Rule a mapping out, together with as many others as possible, or compute its loss."""
        if self.by_classes:
            self._settle_between(levels)
        elif self._settled >= SOME and 2 * self._alone > self._settled:
            self._settle_highest(levels)
        else:
            self._settle_chain(index, levels)

    def _settle_chain(self, index: int, levels: LongVector) -> None:
        """Bisect a chain to the top for the highest mapping that rules this one out."""
        chain = self.lattice.chain(levels, self.judge.objective.steps)
        low, high = 0, len(chain) - 1
        while low < high:
            # A little above the middle: higher mappings have fewer groups to roll up.
            middle = low + (high - low) * 3 // 5
            if self.least[index] + self._check(chain[middle]).floor_at(levels) > self.value + SLACK:
                low = middle + 1
            else:
                high = middle
        self._settled += 1
        if low == 0:
            self._alone += 1
            if self.more[index] < np.inf:
                self._check(levels)

    def _settle_highest(self, levels: LongVector) -> None:
        """Group by the highest mapping above this one that is not ruled out. If bounds are loose, little above it rules
        a mapping out, so those that have to be grouped come first, and those with the fewest groups first of them.
        """
        lattice, most = self.lattice, min(self.value + SLACK, LARGEST)
        self._kernels.climb_open(levels, lattice.top, lattice.strides, self.least, self.more, most)
        self._check(levels)

    def _settle_between(self, levels: LongVector) -> None:
        """Bisect the open mappings of a descent to the bottom, by a measure of classes: low ones suppress too much, and
        what it proves about all below them; high ones have too few classes, and so have all above them.
        """
        lattice, most = self.lattice, min(self.value + SLACK, LARGEST)
        chain = self._kernels.descend_open(
            levels, self._steps, lattice.strides, self.least, self.more, most
        ).tolist()
        low, high = 0, len(chain) - 1
        while low <= high:
            middle = (low + high + 1) // 2
            check = self._check(lattice.levels(chain[middle]))
            many = max(self.least[chain[-1]] + check.floor, check.below) > self.value + SLACK
            few = check.above > self.value + SLACK
            if many == few:
                return
            if many:
                high = middle - 1
            else:
                low = middle + 1

    def _check(self, levels: LongVector) -> Check:
        """Group by a mapping, and record the consequences."""
        lattice = self.lattice
        index = lattice.index(levels)
        if index in self._checks:
            return self._checks[index]
        check = self.judge.check(levels, self.value)
        if check.value < np.inf:
            own = rank(check.value, check.dropped, levels)
            if self.rank is None or own < self.rank:
                self.rank, self.value, self.levels = own, check.value, levels.copy()
        if check.floors is not None:
            self._kernels.raise_below(self.more, lattice.strides, levels, check.floors)
        elif check.floor > 0:
            self._kernels.raise_box(self.more, lattice.strides, lattice.bottom, levels, check.floor)
        if check.above > 0:
            self._kernels.raise_box(self.least, lattice.strides, levels, lattice.top, check.above)
        if check.below > 0:
            self._kernels.raise_box(self.least, lattice.strides, lattice.bottom, levels, check.below)
        self.more[index] = np.inf
        self._checks[index] = check
        return check

    def _progress(self, share: float) -> None:
        now = time.perf_counter()
        if now - self._seen > 0.2:
            self._seen = now
            self.run.progress("search", share)
