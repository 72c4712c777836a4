"""The search over more mappings than can be listed: best-first over boxes of mappings, with bounds from cuts."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import LimitError
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.cuts import Box, Cuts, Solved
from shoal.methods.full_domain.mapping_judge import Check, Judge
from shoal.methods.full_domain.mapping_lattice import Rank, rank
from shoal.methods.full_domain.search import Search
from shoal.methods.full_domain.search_summary import describe_pruning, infeasible, proof
from shoal.release import Release
from shoal.support.arrays import LongVector
from shoal.support.run import Run
from shoal.support.wording import format_setting, number, round_down

SLACK = 1e-9
"""Tolerance for rounding, as in the exact search."""
THRESHOLDS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.95)
"""A solution of the relaxed program is rounded to mappings at these shares."""
FOR_MAPPINGS, FOR_CUTS, FOR_SUBSETS = 0.1, 0.25, 0.7
"""How much of the time may have passed when Shoal ends its first search for a good mapping, its first search for cuts,
and its search of columns alone."""
SUBSET_SIZES = (300_000, 5_000_000)
"""Columns that are searched alone have at most so many mappings; the second step is taken if the first one helped."""
NEAR = 0.6
"""If the bound is above this share of the loss that was found, boxes raise it faster than columns alone."""
ROUNDS = 12
"""So many cuts in a row that hardly raise the bound of all mappings end the first search for cuts."""
TOLD = 0.2
"""Seconds between two reports of progress."""
STALLED = 1e-5
"""A box is split if its bound rises by less than this share of the gap for a few programs."""


class WideSearch:
    """The state of one search: open boxes with their bounds, cuts, and the best mapping so far."""

    def __init__(
        self, table: CodedTable, requirements: Requirements, mappings: int, seconds: float, run: Run
    ) -> None:
        self.table, self.run, self.mappings, self.seconds = table, run, mappings, seconds
        self._began = time.perf_counter()
        self.judge = Judge(table, requirements)
        self.cuts = Cuts(self.judge.objective.least)
        self.by_classes = self.judge.classes is not None
        self.value = np.inf
        self.rank: Rank | None = None
        self.levels: LongVector = self.cuts.heights
        self._checks: dict[bytes, Check] = {}
        self._open: list[tuple[float, int, Box]] = []
        self._number = itertools.count()
        self._here = np.inf
        """The bound of the box at hand."""
        self._told = -1.0
        self._random = np.random.default_rng(0)

    def best(self) -> Release:
        """Search until every other mapping is ruled out or the time is over."""
        top = self.cuts.heights
        self._check(top)
        self._descend(top)
        self._improve(FOR_MAPPINGS * self.seconds)
        everything = Box(np.zeros_like(top), top)
        self._here = self.cuts.bound(everything, self.cuts.no_prices())
        if not self._rules_out(everything) and not self._raise(everything, ROUNDS, FOR_CUTS * self.seconds):
            self._search_subsets(everything)
            self._push(everything, self._here)
        self._here = np.inf
        risen, since = -np.inf, self._seconds_passed()
        while self._open and self._open[0][0] <= self.value - SLACK and not self._over():
            if self._open[0][0] > risen + 0.01 * (self.value - risen):
                risen, since = self._open[0][0], self._seconds_passed()
            elif self._seconds_passed() - since > FOR_MAPPINGS * self.seconds / 2:
                # Boxes do not help for now: look for a better mapping instead.
                self._shake(self._seconds_passed() + FOR_MAPPINGS * self.seconds / 2)
                since = self._seconds_passed()
            self._here, _, box = heapq.heappop(self._open)
            self._explore(box)
            self._here = np.inf
        if self.rank is None:
            raise LimitError(self._explain_failure())
        return self.judge.release(self.table, self.levels, self._facts())

    @property
    def bound(self) -> float:
        """No mapping loses less."""
        open_ = self._open[0][0] if self._open else np.inf
        return float(min(self.value, self._here, open_))

    def _facts(self) -> dict[str, Any]:
        exact = self.bound > self.value - SLACK
        bound = self.value if exact else max(self.bound, 0.0)
        facts = {
            "checked": self.judge.checked,
            "mappings": self.mappings,
            **describe_pruning(self.judge),
            **proof(self.judge, self.value, bound, exact=exact),
        }
        if not exact:
            loss, least = facts["loss"], facts["bound"]
            facts["note"] = (
                f"the levels are the best that Shoal found within {number(self.seconds)} seconds, among "
                f"{self.mappings:,} mappings. By {self.judge.requirements.measure} they lose {number(loss)}, and it is "
                f"proven that none loses less than {round_down(least)}. To search longer: "
                + format_setting("method.seconds", 2 * self.seconds)
            )
        return facts

    def _explain_failure(self) -> str:
        if not self._open and self._here == np.inf:
            return infeasible(self.mappings, self.judge)
        return (
            f"Shoal found none of the {self.mappings:,} mappings that satisfies the policy within "
            f"{number(self.seconds)} seconds; to search longer: "
            + format_setting("method.seconds", 2 * self.seconds)
        )

    @property
    def _worst(self) -> float:
        """What a mapping may lose at most to be of interest."""
        return self.value if self.rank is not None else 1.0

    def _seconds_passed(self) -> float:
        return time.perf_counter() - self._began

    def _tell(self) -> None:
        passed = self._seconds_passed()
        if passed - self._told > TOLD:
            self._told = passed
            self.run.progress("search", min(passed / self.seconds, 1.0))

    def _over(self) -> bool:
        self._tell()
        return self._seconds_passed() > self.seconds

    def _push(self, box: Box, bound: float) -> None:
        if bound <= self.value - SLACK:
            heapq.heappush(self._open, (bound, next(self._number), box))

    def _check(self, levels: LongVector) -> Check:
        """Group by a mapping, and keep the consequences."""
        key = levels.tobytes()
        if key not in self._checks:
            check = self.judge.check(levels, self.value)
            self._checks[key] = check
            if check.value < np.inf:
                own = rank(check.value, check.dropped, levels)
                if self.rank is None or own < self.rank:
                    self.rank, self.value, self.levels = own, check.value, levels.copy()
        return self._checks[key]

    def _descend(self, levels: LongVector) -> None:
        """Go down from a valid mapping as long as some specialization by one level loses less."""
        here = self._check(levels).value
        while not self._over():
            steps = [levels - row for row in np.eye(len(levels), dtype=np.int64)[levels > 0]]
            found = [(self._check(step).value, at) for at, step in enumerate(steps)]
            value, at = min(found, default=(np.inf, 0))
            if value >= here:
                return
            here, levels = value, steps[at]

    def _improve(self, until: float) -> None:
        """Raise single columns of the best mapping and go down again, as long as that helps."""
        before = np.inf
        while self.value < before and self._seconds_passed() < until:
            before, levels = self.value, self.levels
            for j in np.flatnonzero(levels < self.cuts.heights):
                higher = levels.copy()
                higher[j] += 1
                if self._seconds_passed() < until and self._check(higher).value < np.inf:
                    self._descend(higher)

    def _shake(self, until: float) -> None:
        """Raise a few columns of the best mapping at random and go down again."""
        while self._seconds_passed() < until and not self._over():
            room = self.cuts.heights - self.levels
            columns = self._random.permutation(np.flatnonzero(room))[: self._random.integers(2, 5)]
            higher = self.levels.copy()
            higher[columns] += self._random.integers(1, room[columns] + 1)
            if self._check(higher).value < np.inf:
                self._descend(higher)

    # --- columns alone ----------------------------------------------------------------------------------------

    def _search_subsets(self, everything: Box) -> None:
        """Search some columns alone: in every valid mapping of all columns these lose as much at least.

        If all classes of a mapping have k rows but a few, so they have if the other columns show their top alone, and
        no row that is suppressed then loses less than it would otherwise. Models beyond k are left out, and measures
        that count no cells, or by which a wider range may lose less.
        """
        cost, table = self.judge.objective, self.table
        weights = np.array([attribute.weight for attribute in table.attributes])
        if self.by_classes or not cost.exact or cost.k < 2 or not weights.sum() or self.rank is None:
            return
        if self._here > NEAR * self.value:
            return
        rules = Requirements(
            models=(KAnonymity(k=cost.k),),
            suppression=self.judge.requirements.suppression,
            measure=self.judge.requirements.measure,
        )
        run = replace(self.run, progress=lambda _stage, _share: self._tell())
        for most in SUBSET_SIZES:
            sets = windows(table, self.cuts.heights + 1, most)
            before = self._here
            for at, columns in enumerate(sets):
                left = FOR_SUBSETS * self.seconds - self._seconds_passed()
                if left <= 0 or len(columns) == self.cuts.columns:
                    return
                search = Search(only(table, columns), rules, run, left / (len(sets) - at))
                share = float(weights[columns].sum() / weights.sum())
                self.cuts.add_subset(columns, search.lowest() * share)
            if self._raise(everything, 1, np.inf) or self._here < before + 0.01 * (self.value - before):
                return

    # --- one box ----------------------------------------------------------------------------------------------

    def _explore(self, box: Box) -> None:
        """Raise the bound of a box by cuts; then split it, unless it is ruled out."""
        if self._rules_out(box) or self._raise(box, 2, np.inf):
            return
        solved = self.cuts.solve(box, self._worst)
        if solved is not None:
            self._split(box, solved)

    def _raise(self, box: Box, rounds: int, until: float) -> bool:
        """Add cuts until they do not raise the bound of a box any more; return whether it is ruled out."""
        stalled = 0
        while stalled < rounds and self._seconds_passed() < until and not self._over():
            solved = self.cuts.solve(box, self._worst)
            if solved is None:
                return True
            gained = solved.bound - self._here
            self._here = max(self._here, solved.bound)
            if self._here > self.value - SLACK:
                return True
            if not self._separate(box, solved):
                return False
            gap = self.value - self._here if self.rank is not None else 1.0
            stalled = stalled + 1 if gained < max(STALLED, 1e-3 * gap) else 0
        return False

    def _rules_out(self, box: Box) -> bool:
        """Return whether the two corner mappings of a box prove that no mapping inside can be better."""
        high = self._check(box.high)
        if high.floor == np.inf:
            self.cuts.add(box.high, np.inf)
            return True
        self.cuts.add(box.high, high.floor)
        if (box.low == box.high).all():
            return True
        if self.by_classes:
            self._here = max(self._here, self._check(box.low).above)
        return self._here > self.value - SLACK

    def _separate(self, box: Box, solved: Solved) -> int:
        """Round a solution to mappings, and add cuts for those that are not valid; return how many are new."""
        new, seen = 0, set()
        for share in THRESHOLDS:
            levels = np.clip((solved.raised[:, 1:] >= share).sum(axis=1), box.low, box.high)
            if levels.tobytes() in seen:
                continue
            seen.add(levels.tobytes())
            check = self._check(levels)
            if check.floor < np.inf:
                new += self.cuts.add(levels, check.floor)
                if check.value < np.inf and check.value <= self.value * 1.05:
                    self._descend(levels)
                continue
            new += self.cuts.add(self._highest(levels, solved), np.inf)
        return new

    def _highest(self, levels: LongVector, solved: Solved) -> LongVector:
        """Return a generalization of an invalid mapping whose specializations are all invalid, as high as possible:
        columns that the solution raises most go first, so that the cut is violated by it.
        """
        levels, top = levels.copy(), self.cuts.heights
        above = solved.raised[np.arange(len(levels)), levels + 1]
        for j in np.argsort(-above, kind="stable"):
            for level in range(int(top[j]), int(levels[j]), -1):
                higher = levels.copy()
                higher[j] = level
                if self._check(higher).floor == np.inf:
                    levels = higher
                    break
        return levels

    def _split(self, box: Box, solved: Solved) -> None:
        """Split a box in two at the column that the relaxed solution leaves most open."""
        if (box.low == box.high).all():
            return
        j, level = self._where(box, solved)
        for low, high in ((box.low[j], level), (level + 1, box.high[j])):
            part = Box(box.low.copy(), box.high.copy())
            part.low[j], part.high[j] = low, high
            self._push(part, max(self._here, self.cuts.bound(part, solved.prices)))

    def _where(self, box: Box, solved: Solved) -> tuple[int, int]:
        """Return a column, and the level up to which the first part reaches."""
        best = (0.0, -1, -1)
        for j in range(self.cuts.columns):
            for level in range(int(box.low[j]), int(box.high[j])):
                share = float(solved.raised[j, level + 1])
                step = float(self.cuts.least[j, level + 1] - self.cuts.least[j, level])
                best = max(best, (share * (1 - share) * max(step, SLACK), j, level))
        if best[0] > 1e-9 * SLACK:
            return best[1], best[2]
        # The solution is a mapping: it goes with one part, as low as possible, and its generalizations with the other.
        j = int(np.argmax(box.high - box.low))
        level = int(np.clip((solved.raised[j, 1:] >= 0.5).sum(), box.low[j], box.high[j] - 1))
        return j, level


def only(table: CodedTable, columns: list[int]) -> CodedTable:
    """Return a table with some of its quasi-identifiers, for a search."""
    return replace(table.with_context(population=None), quasi=table.quasi.select(columns))


def windows(table: CodedTable, sizes: LongVector, most: int) -> list[list[int]]:
    """Return sets of columns with at most so many mappings each; the last one shares columns with the first. Columns
    with many values alternate with those of few, so that all sets are about equally hard.
    """
    values = [int((counts > 0).sum()) for counts in table.value_counts]
    order = sorted(range(len(sizes)), key=lambda j: (-values[j], j))
    half = (len(order) + 1) // 2
    ring = [
        j for pair in itertools.zip_longest(order[:half], order[half:][::-1]) for j in pair if j is not None
    ]
    found, start = [], 0
    while start < len(ring):
        window = [ring[start]]
        for j in ring[start + 1 :] + ring[:start]:
            if math.prod(int(sizes[i]) for i in (*window, j)) > most:
                break
            window.append(j)
        start += len(window)
        found.append(sorted(window))
    return found
