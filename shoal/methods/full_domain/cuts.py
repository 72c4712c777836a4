"""Cuts: what grouped mappings prove about others, and the lower bound that follows from all of them together.

A grouped mapping f proves that its specializations lose at least `floor` more than what their columns show, or that
none of them is valid. Some columns, searched as a table of their own, prove that these columns lose at least so much in
every valid mapping. The least loss in a box of mappings that all this allows is an integer program. Its linear
relaxation gives each cut a price. For any prices the bound is a sum of minima, one per column, so `Cuts.bound` trusts
no solver.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.support.arrays import FloatVector, LongVector

VIOLATED = 1e-7
"""A cut counts as violated by more than this."""
STEEP = 1000.0
"""What it costs to break the cuts of which nothing below is valid, in units of the loss at hand: the program then has a
solution always, and a box is ruled out by its bound alone."""
OLD = 4
"""A cut without a price is left out after so many programs, until it is violated again."""


class Box(NamedTuple):
    """The mappings between two mappings."""

    low: LongVector
    high: LongVector


class Prices(NamedTuple):
    """What the program would save without each cut."""

    cuts: FloatVector
    subsets: FloatVector


class Solved(NamedTuple):
    """A bound, and what led to it."""

    bound: float
    """No mapping in the box loses less."""
    prices: Prices
    raised: NDArray[np.float64]
    """``[column, level]`` how far a column is raised to a level or above: 1 at its lowest, 0 above its highest."""


class Cuts:
    """All cuts of a search."""

    def __init__(self, least: list[FloatVector]) -> None:
        self.columns = len(least)
        self.heights: LongVector = np.array([len(column) - 1 for column in least], np.int64)
        self.most = int(self.heights.max(initial=0))
        self.least: NDArray[np.float64] = np.full((self.columns, self.most + 1), np.inf)
        for j, column in enumerate(least):
            self.least[j, : len(column)] = column
        self.count = 0
        self._levels: LongVector = np.zeros((64, self.columns), np.int64)
        self._floors: FloatVector = np.zeros(64)
        self._idle: LongVector = np.zeros(64, np.int64)
        self._known: dict[bytes, int] = {}
        self.subsets: NDArray[np.bool_] = np.zeros((0, self.columns), np.bool_)
        """``[subset, column]`` columns that were searched alone."""
        self.subset_losses: FloatVector = np.zeros(0)
        self._start = np.concatenate(([0], np.cumsum(self.heights)))
        self._level = np.concatenate([np.arange(1, height + 1) for height in self.heights])
        self._column = np.repeat(np.arange(self.columns), self.heights)

    @property
    def levels(self) -> LongVector:
        """``[cut, column]`` the mapping that each cut is about."""
        return self._levels[: self.count]

    @property
    def floors(self) -> FloatVector:
        """How much more each specialization loses at least; infinite if none is valid."""
        return self._floors[: self.count]

    def add(self, levels: LongVector, floor: float) -> bool:
        """Add a cut; return whether it is new."""
        if floor <= 0 or levels.tobytes() in self._known:
            return False
        if self.count == len(self._floors):
            self._levels = np.concatenate((self._levels, np.zeros_like(self._levels)))
            self._floors = np.concatenate((self._floors, np.zeros_like(self._floors)))
            self._idle = np.concatenate((self._idle, np.zeros_like(self._idle)))
        self._known[levels.tobytes()] = self.count
        self._levels[self.count], self._floors[self.count], self._idle[self.count] = levels, floor, 0
        self.count += 1
        return True

    def add_subset(self, columns: list[int], loss: float) -> None:
        """Add that some columns together lose at least this in every valid mapping."""
        own = np.isin(np.arange(self.columns), columns)
        self.subsets = np.vstack((self.subsets, own))
        self.subset_losses = np.append(self.subset_losses, loss)

    def no_prices(self) -> Prices:
        """Return prices of 0: the bound is then what the columns show at least."""
        return Prices(np.zeros(0), np.zeros(0))

    def bound(self, box: Box, prices: Prices) -> float:
        """Return a lower bound on the loss of all mappings of a box, whatever the prices. O(cuts x columns).

        Suppressed rows lose more in each column than it shows. Each column pays for that once at most, so prices are
        scaled down if the shares that they ask for sum to more.
        """
        given, own = np.maximum(prices.cuts, 0.0), np.maximum(prices.subsets, 0.0)
        levels, floors = self.levels[: len(given)], self.floors[: len(given)]
        none = np.isinf(floors)
        shares = np.where(none, 0.0, given / np.where(none, 1.0, floors))
        asked = own @ self.subsets[: len(own)] + shares.sum()
        scale = max(1.0, float(asked.max(initial=0.0)))
        given, own = np.where(none, given, given / scale), own / scale
        total = float(given.sum() + own @ self.subset_losses[: len(own)])
        paid = own @ self.subsets[: len(own)]
        at = np.arange(self.most + 1)
        for j in range(self.columns):
            # A column that is above the level of a cut gets its price back.
            back = np.bincount(levels[:, j] + 1, given, self.most + 2).cumsum()[: self.most + 1]
            inside = (at >= box.low[j]) & (at <= box.high[j])
            total += float(((1 - paid[j]) * self.least[j, inside] - back[inside]).min())
        return total

    def solve(self, box: Box, loss: float) -> Solved | None:
        """Return the bound of the linear relaxation, or None if a single cut leaves no mapping in the box; mappings
        that lose more than `loss` do not matter.
        """
        from scipy.optimize import linprog
        from scipy.sparse import vstack

        if bool((self.levels[np.isinf(self.floors)] >= box.high).all(axis=1).any()):
            return None
        chosen = np.flatnonzero((self._idle[: self.count] < OLD) & ~(self.levels < box.low).any(axis=1))
        shown = [np.diff(self.least[j, : height + 1]) for j, height in enumerate(self.heights)]
        cost = np.concatenate([*shown, np.ones(self.columns), [STEEP * (1.0 + loss)]])
        more = self.columns + 1
        least = np.append(np.where(self._level <= box.low[self._column], 1.0, 0.0), np.zeros(more))
        most = np.append(np.where(self._level <= box.high[self._column], 1.0, 0.0), np.full(more, np.inf))
        ends = list(zip(least.tolist(), most.tolist(), strict=True))
        fixed, subsets = self._order(), self._subset_rows(cost)
        before, after = fixed.shape[0], fixed.shape[0] + len(self.subsets)
        needed = self.subset_losses - self.subsets @ self.least[:, 0]
        solved = Solved(self.bound(box, self.no_prices()), self.no_prices(), self._raise_levels(least))
        while True:
            rows, right = self._rows(chosen)
            found: Any = linprog(
                cost,
                -vstack((fixed, subsets, rows)),
                -np.concatenate((np.zeros(before), needed, right)),
                bounds=ends,
                method="highs-ds",
            )
            if found.x is None:
                return solved
            shadow = np.maximum(-found.ineqlin.marginals, 0.0)
            prices = Prices(np.zeros(self.count), shadow[before:after])
            prices.cuts[chosen] = shadow[after:] * right
            solved = Solved(self.bound(box, prices), prices, self._raise_levels(found.x))
            extra = float(found.x[len(self._level) : -1].sum())
            missed = self._find_violated(solved.raised, extra, float(found.x[-1]))
            missed = missed[~np.isin(missed, chosen)]
            self._idle[: self.count] += 1
            self._idle[chosen[prices.cuts[chosen] > 0]] = 0
            if not len(missed):
                return solved
            self._idle[missed] = 0
            chosen = np.union1d(chosen, missed)

    def _raise_levels(self, x: FloatVector) -> NDArray[np.float64]:
        raised = np.zeros((self.columns, self.most + 2))
        raised[:, 0] = 1.0
        raised[self._column, self._level] = x[: len(self._level)]
        return raised

    def _matrix(self, rows: LongVector, columns: LongVector, values: FloatVector, count: int) -> Any:
        from scipy.sparse import csr_array

        return csr_array((values, (rows, columns)), shape=(count, len(self._level) + self.columns + 1))

    def _order(self) -> Any:
        """Who is raised to a level is raised to those below it."""
        higher = np.flatnonzero(self._level > 1)
        places = np.column_stack((higher - 1, higher)).ravel()
        rows = np.repeat(np.arange(len(higher)), 2)
        return self._matrix(rows, places, np.tile([1.0, -1.0], len(higher)), len(higher))

    def _subset_rows(self, cost: FloatVector) -> Any:
        """What the columns of a subset lose: what they show beyond level 0, and what suppressed rows lose more."""
        places = np.concatenate((self._column, np.arange(self.columns)))
        subset, at = np.nonzero(self.subsets[:, places])
        return self._matrix(subset, at, cost[at], len(self.subsets))

    def _rows(self, chosen: LongVector) -> tuple[Any, FloatVector]:
        """Return the cuts as rows of the program: raised columns, and what suppressed rows lose more; at last, how far
        cuts of which nothing below is valid are broken.
        """
        levels, floors = self.levels[chosen], self.floors[chosen]
        right: FloatVector = np.where(np.isinf(floors), 1.0, floors)
        cut, column = np.nonzero(levels < self.heights)
        finite = np.flatnonzero(np.isfinite(floors))
        none = np.flatnonzero(np.isinf(floors))
        rows = np.concatenate((cut, np.repeat(finite, self.columns), none))
        more = np.tile(len(self._level) + np.arange(self.columns), len(finite))
        broken = np.full(len(none), len(self._level) + self.columns)
        places = np.concatenate((self._start[column] + levels[cut, column], more, broken))
        values = np.concatenate((right[cut], np.ones(len(more) + len(none))))
        return self._matrix(rows, places, values, len(chosen)), right

    def _find_violated(self, raised: NDArray[np.float64], more: float, broken: float) -> LongVector:
        """Return the cuts that a solution of the program violates."""
        above = raised[np.arange(self.columns), self.levels + 1].sum(axis=1)
        none = np.isinf(self.floors)
        right = np.where(none, 1.0, self.floors)
        return np.flatnonzero(right * above + np.where(none, broken, more) < right - VIOLATED)
