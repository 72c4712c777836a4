"""Who is certainly in a bucket, or certainly not, where counting is out of reach (see shoal/membership.py).

Somebody is not certain as soon as a set that fits, a witness, is known that says otherwise. Witnesses are cheap: local
search finds one in some hundred steps, mostly. What is left is decided by linear and integer programming.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.arrays import BoolVector, LongVector
from shoal.membership.bucket import Part, no_fit
from shoal.membership.walk import any_set

GOOD_ENOUGH = 0.5
"""A witness for half of the people whom one could be found for is taken. None at all is always proven in full."""
EFFORTS = (500, 4000)
"""Steps of a search for one witness, at first, and after proofs have been tried."""
WEIGHT = 5
"""Of each count at the beginning of a search, in units of what it gains when the search is stuck."""


class Certain:
    """Who of a part is still to be decided."""

    def __init__(self, part: Part, seen_in: BoolVector, seen_out: BoolVector, seconds: float) -> None:
        """`seen_in` and `seen_out`: somebody of the tuple is known to be in a set that fits, or left out of one."""
        self.part, self.stop = part, time.monotonic() + seconds
        self.witnessed = bool(seen_in.any())
        self.seen_in = seen_in | (part.least > 0)
        self.seen_out = seen_out | (part.most < part.people)
        self.unknown = np.zeros(len(part.people), np.bool_)
        self.proven_in, self.proven_out = np.zeros((2, len(part.people)), np.bool_)

    def waiting(self, outward: bool) -> BoolVector:
        """Tuples without a witness that somebody of them is in (or out), and without a proof that there is none."""
        found: BoolVector = (
            ~(self.seen_out | self.proven_in) if outward else ~(self.seen_in | self.proven_out)
        )
        return found

    def add(self, inside: LongVector) -> None:
        """Take in a witness: people in by tuple."""
        self.witnessed = True
        self.seen_in |= inside > 0
        self.seen_out |= inside < self.part.people

    def prove(self, tuples: BoolVector, outward: bool) -> None:
        """Take in a proof that no set has anybody of these tuples in (or out)."""
        if outward:
            self.proven_in |= tuples
        else:
            self.proven_out |= tuples

    def by_searching(self, random: np.random.Generator) -> None:
        """Look for witnesses for one waiting person after the other: each is one for many others too.

        First briefly. Then whoever can be proven to be certain without integers is, and the rest is looked for with
        more effort. Randomness decides how long it takes, not what comes out.
        """
        program = _Program(self.part, self.stop)
        search = _Search(self.part, random)
        for effort in EFFORTS:
            for outward in (False, True):
                for t in random.permutation(np.flatnonzero(self.waiting(outward))).tolist():
                    if time.monotonic() > self.stop:
                        return
                    if self.waiting(outward)[t]:
                        found = search.witness(t, outward, effort)
                        if found is not None:
                            self.add(found)
                waiting = self.waiting(outward)
                if waiting.any() and program.none_of(waiting, outward):
                    self.prove(waiting, outward)
                else:
                    self._one_by_one(
                        program, waiting, outward, self.stop - (self.stop - time.monotonic()) / 2
                    )

    def by_programming(self) -> None:
        """Ask an integer program for a set that fits and has as many as possible of the waiting people in (or out):
        a witness for all of these at once. When the best that it can do is none, they are all certain."""
        program = _Program(self.part, self.stop)
        if not self.witnessed:
            # Everything can be proven of what does not exist; the program tells if no set fits at all.
            chosen, _ = program.most_of(np.zeros(len(self.part.people), np.bool_), False)
            if chosen is not None:
                self.add(chosen)
        for outward in (False, True):
            while (waiting := self.waiting(outward) & ~self.unknown).any():
                chosen, best = program.most_of(waiting, outward)
                if chosen is not None:
                    self.add(chosen)
                if chosen is not None and (self.waiting(outward) != waiting).any():
                    continue
                if best:
                    self.prove(waiting, outward)
                    break
                self.unknown |= waiting

    def _one_by_one(self, program: _Program, waiting: BoolVector, outward: bool, stop: float) -> None:
        """Prove what can be proven without integers of each tuple by itself."""
        for t in np.flatnonzero(waiting):
            alone = np.zeros(len(waiting), np.bool_)
            alone[t] = True
            if time.monotonic() > stop:
                break
            if program.none_of(alone, outward):
                self.prove(alone, outward)


class _Search:
    """Local search for sets that fit. O(pairs of people x columns) a step."""

    def __init__(self, part: Part, random: np.random.Generator) -> None:
        self.part, self.random = part, random
        self.last: LongVector | None = None
        tuples, columns = part.counts_of.shape
        counts = part.counts_of.ravel()
        self.member = (np.argsort(counts, kind="stable") // columns).astype(np.int32)
        self.start = np.concatenate([[0], np.cumsum(np.bincount(counts, minlength=len(part.wanted)))])
        self.column_of = np.empty(len(part.wanted), np.int32)
        self.column_of[counts] = np.tile(np.arange(columns, dtype=np.int32), tuples)

    def witness(self, t: int, outward: bool, steps: int) -> LongVector | None:
        """Return a set that fits and has somebody of a tuple in (or out), if one is found in so many steps."""
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
            # The first witness is the hardest to find, and the others begin with it.
            inside, steps = any_set(part, self.random), max(steps, EFFORTS[-1])
        else:
            inside = self._changed(self.last, t, outward)
        taken = seek_set(
            part.counts_of,
            self.column_of,
            least,
            most,
            self.start,
            self.member,
            inside,
            part.lacking(inside),
            np.full(len(part.wanted), WEIGHT),
            self.random.random((steps, 4)),
        )
        if taken < 0:
            return None
        self.last = inside
        return inside.copy()

    def _changed(self, inside: LongVector, t: int, outward: bool) -> LongVector:
        """Return a set with somebody of a tuple in (or out), in exchange for anybody else."""
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
    """The integer program over the people of a part."""

    def __init__(self, part: Part, stop: float) -> None:
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import coo_array

        self.part, self.stop = part, stop
        tuples, columns = part.counts_of.shape
        entries = np.ones(tuples * columns), (part.counts_of.ravel(), np.repeat(np.arange(tuples), columns))
        self.matrix = coo_array(entries, shape=(len(part.wanted), tuples)).tocsr()
        # Whoever is in every set is left out of none: the same question, asked of the people who are left out.
        self.rules = [
            (Bounds(least, most), LinearConstraint(self.matrix, wanted, wanted))
            for least, most, wanted in (
                (part.least, part.most, part.wanted),
                (part.people - part.most, part.people - part.least, self.matrix @ part.people - part.wanted),
            )
        ]

    def _solve(self, waiting: BoolVector, outward: bool, whole: bool) -> tuple[Any, bool]:
        """Return as many as possible of some tuples' people, who are in (or out), and whether that is the best.

        A gap is allowed relative to what was found, so that nothing at all is never taken for the best without proof.
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
        """Whether it is clear without integers that nobody of some tuples can be in (or out)."""
        found, best = self._solve(waiting, outward, whole=False)
        # Less than one person is nobody; the rest is for rounding.
        return found is not None and best and float(found[waiting].sum()) < 0.99

    def most_of(self, waiting: BoolVector, outward: bool) -> tuple[LongVector | None, bool]:
        """Return a set that fits, with as many as possible of some tuples' people in (or out), and whether it is
        proven that there is none with any of them if it has none."""
        found, best = self._solve(waiting, outward, whole=True)
        if found is None:
            return None, False
        chosen = np.rint(found).astype(np.int64)
        inside = self.part.people - chosen if outward else chosen
        if not np.array_equal(self.matrix @ inside, self.part.wanted):
            return None, False
        return inside, best
