"""Who is certainly present in a bucket, or certainly absent, if exact counting is too expensive.

A witness is a set of people that is consistent with the bucket. It proves that its members may be present and all
others absent. Witnesses are cheap: local search usually finds one in some hundred steps. Linear and integer
programming decide about the remaining people. See docs/attacks/membership.md.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.judging.membership.bucket import Component, no_fit
from shoal.judging.membership.walk import any_set
from shoal.support.arrays import BoolVector, LongVector

GOOD_ENOUGH = 0.5
"""Keep the witnesses for half of the people that have one. That nobody has one is always proven in full."""
EFFORTS = (500, 4000)
"""Steps of a search for one witness, before and after proofs were tried."""
WEIGHT = 5
"""The weight of each count when a search starts, in units of the increase when the search is stuck."""


class Certain:
    """The tuples of one component, and which of them are still undecided."""

    def __init__(self, part: Component, seen_in: BoolVector, seen_out: BoolVector, seconds: float) -> None:
        """`seen_in` and `seen_out`: a consistent set is known that contains, or lacks, a person of the tuple."""
        self.part, self.stop = part, time.monotonic() + seconds
        self.witnessed = bool(seen_in.any())
        self.seen_in = seen_in | (part.least > 0)
        self.seen_out = seen_out | (part.most < part.people)
        self.unknown = np.zeros(len(part.people), np.bool_)
        self.proven_in, self.proven_out = np.zeros((2, len(part.people)), np.bool_)

    def find_open_tuples(self, outward: bool) -> BoolVector:
        """Return the tuples without a witness for a present (or absent) person, and without a proof against it."""
        found: BoolVector = (
            ~(self.seen_out | self.proven_in) if outward else ~(self.seen_in | self.proven_out)
        )
        return found

    def add(self, inside: LongVector) -> None:
        """Record a witness, given as the number of present people per tuple."""
        self.witnessed = True
        self.seen_in |= inside > 0
        self.seen_out |= inside < self.part.people

    def prove(self, tuples: BoolVector, outward: bool) -> None:
        """Record a proof that no consistent set has a person of these tuples present (or absent)."""
        if outward:
            self.proven_in |= tuples
        else:
            self.proven_out |= tuples

    def by_searching(self, random: np.random.Generator) -> None:
        """Search witnesses for one undecided tuple after the other; each is a witness for many other tuples too.

        First search briefly. Then prove without integers who is certain, and search longer for the others. Randomness
        affects the time, not the result.
        """
        program = _Program(self.part, self.stop)
        search = _Search(self.part, random)
        for effort in EFFORTS:
            for outward in (False, True):
                for t in random.permutation(np.flatnonzero(self.find_open_tuples(outward))).tolist():
                    if time.monotonic() > self.stop:
                        return
                    if self.find_open_tuples(outward)[t]:
                        found = search.witness(t, outward, effort)
                        if found is not None:
                            self.add(found)
                waiting = self.find_open_tuples(outward)
                if waiting.any() and program.none_of(waiting, outward):
                    self.prove(waiting, outward)
                else:
                    self._one_by_one(
                        program, waiting, outward, self.stop - (self.stop - time.monotonic()) / 2
                    )

    def by_programming(self) -> None:
        """Let an integer program find a consistent set with as many undecided people present (or absent) as possible:
        a witness for all of them at once. If the optimum is zero, all of them are certain."""
        program = _Program(self.part, self.stop)
        if not self.witnessed:
            # Without any consistent set every proof would succeed; the program raises an error in that case.
            chosen, _ = program.most_of(np.zeros(len(self.part.people), np.bool_), False)
            if chosen is not None:
                self.add(chosen)
        for outward in (False, True):
            while (waiting := self.find_open_tuples(outward) & ~self.unknown).any():
                chosen, best = program.most_of(waiting, outward)
                if chosen is not None:
                    self.add(chosen)
                if chosen is not None and (self.find_open_tuples(outward) != waiting).any():
                    continue
                if best:
                    self.prove(waiting, outward)
                    break
                self.unknown |= waiting

    def _one_by_one(self, program: _Program, waiting: BoolVector, outward: bool, stop: float) -> None:
        """Prove for each tuple alone what can be proven without integers."""
        for t in np.flatnonzero(waiting):
            alone = np.zeros(len(waiting), np.bool_)
            alone[t] = True
            if time.monotonic() > stop:
                break
            if program.none_of(alone, outward):
                self.prove(alone, outward)


class _Search:
    """Local search for consistent sets. O(pairs of people x columns) a step."""

    def __init__(self, part: Component, random: np.random.Generator) -> None:
        self.part, self.random = part, random
        self.last: LongVector | None = None
        tuples, columns = part.counts_of.shape
        counts = part.counts_of.ravel()
        self.member = (np.argsort(counts, kind="stable") // columns).astype(np.int32)
        self.start = np.concatenate([[0], np.cumsum(np.bincount(counts, minlength=len(part.wanted)))])
        self.column_of = np.empty(len(part.wanted), np.int32)
        self.column_of[counts] = np.tile(np.arange(columns, dtype=np.int32), tuples)

    def witness(self, t: int, outward: bool, steps: int) -> LongVector | None:
        """Return a consistent set with a person of the tuple present (or absent), or None after so many steps."""
        from shoal.kernels.membership import seek_set

        least, most = self.part.least.copy(), self.part.most.copy()
        if outward:
            most[t] = self.part.people[t] - 1
        else:
            least[t] = 1
        part = replace(self.part, least=least, most=most)
        if not int(least.sum()) <= part.size <= int(most.sum()):
            return None
        if self.last is None:
            # The first witness is the hardest to find; the search for the others starts from it.
            inside, steps = any_set(part, self.random), max(steps, EFFORTS[-1])
        else:
            inside = self._exchange_person(self.last, t, outward)
        taken = seek_set(
            part.counts_of,
            self.column_of,
            least,
            most,
            self.start,
            self.member,
            inside,
            part.count_shortfall(inside),
            np.full(len(part.wanted), WEIGHT),
            self.random.random((steps, 4)),
        )
        if taken < 0:
            return None
        self.last = inside
        return inside.copy()

    def _exchange_person(self, inside: LongVector, t: int, outward: bool) -> LongVector:
        """Return a set with a person of the tuple present (or absent), in exchange for a random other person."""
        changed, one = inside.copy(), -1 if outward else 1
        if changed[t] == (self.part.people[t] if outward else 0):
            room = changed < self.part.most if outward else changed > self.part.least
            room[t] = False
            others = np.flatnonzero(room)
            if not len(others):
                return changed
            changed[t] += one
            changed[self.random.choice(others)] -= one
        return changed


class _Program:
    """The integer program over the people of one component."""

    def __init__(self, part: Component, stop: float) -> None:
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import coo_array

        self.part, self.stop = part, stop
        tuples, columns = part.counts_of.shape
        entries = np.ones(tuples * columns), (part.counts_of.ravel(), np.repeat(np.arange(tuples), columns))
        self.matrix = coo_array(entries, shape=(len(part.wanted), tuples)).tocsr()
        # A person present in every set is absent from none: the same program, over the absent people.
        self.rules = [
            (Bounds(least, most), LinearConstraint(self.matrix, wanted, wanted))
            for least, most, wanted in (
                (part.least, part.most, part.wanted),
                (part.people - part.most, part.people - part.least, self.matrix @ part.people - part.wanted),
            )
        ]

    def _solve(self, waiting: BoolVector, outward: bool, whole: bool) -> tuple[Any, bool]:
        """Return a solution with the most people of the tuples present (or absent), and whether it is optimal.

        The allowed gap is relative to the solution, so zero is never accepted as optimal without proof.
        """
        from scipy.optimize import milp

        left = self.stop - time.monotonic()
        if left <= 0:
            return None, False
        bounds, rule = self.rules[int(outward)]
        found = milp(
            np.where(waiting, -1.0, 0.0),
            constraints=rule,
            bounds=bounds,
            integrality=np.full(len(waiting), int(whole)),
            options={"time_limit": left, "mip_rel_gap": GOOD_ENOUGH if whole else 0.0},
        )
        if found.status == 2:
            raise no_fit()
        return found.x, found.status == 0

    def none_of(self, waiting: BoolVector, outward: bool) -> bool:
        """Return whether bounds alone decide that no one in these tuples can be present (or absent)."""
        found, best = self._solve(waiting, outward, whole=False)
        # Less than one person is nobody; the margin is for rounding.
        return found is not None and best and float(found[waiting].sum()) < 0.99

    def most_of(self, waiting: BoolVector, outward: bool) -> tuple[LongVector | None, bool]:
        """Return a consistent set with as many people of the tuples present (or absent) as possible, and whether it is
        proven, if it has none of them, that no consistent set has any."""
        found, best = self._solve(waiting, outward, whole=True)
        if found is None:
            return None, False
        chosen = np.rint(found).astype(np.int64)
        inside = self.part.people - chosen if outward else chosen
        if not np.array_equal(self.matrix @ inside, self.part.wanted):
            return None, False
        return inside, best
