"""Who is certainly in a bucket, or certainly not, where counting is out of reach (see shoal/membership.py).

Somebody is not certain as soon as a set that fits, a witness, is known that says otherwise. Witnesses are cheap:
random walks find them for most people. What is left is decided by integer programming.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays import BoolVector, IntVector, LongVector
from shoal.membership import Part, no_fit
from shoal.membership_walk import Walks, neighbours

GOOD_ENOUGH = 0.5
"""A witness for half of the people whom one could be found for is taken. None at all is always proven in full."""
AT_ONCE = 48
"""Walks in search of witnesses."""
ROUNDS = 5
"""Rounds of a walk."""
PATIENCE = 4
"""So many walks in a row without a witness, and the rest is left to integer programming."""
PENALTIES = (2.6, 3.0, 3.4)
"""How hard these walks are kept to sets that fit, in turn."""


class Certain:
    """Who of a part is still to be decided."""

    def __init__(self, part: Part, seen_in: BoolVector, seen_out: BoolVector, seconds: float) -> None:
        """`seen_in` and `seen_out`: somebody of the tuple is known to be in a set that fits, or left out of one."""
        self.part, self.stop = part, time.monotonic() + seconds
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
        self.seen_in |= inside > 0
        self.seen_out |= inside < self.part.people

    def prove(self, tuples: BoolVector, outward: bool) -> None:
        """Take in a proof that no set has anybody of these tuples in (or out)."""
        if outward:
            self.proven_in |= tuples
        else:
            self.proven_out |= tuples

    def by_walking(self, sets: Sequence[LongVector], random: np.random.Generator) -> None:
        """Put one waiting person into a set that fits, or nearly (or take one out), keep the person there, and walk
        until it fits again: a witness, and one more set to go on from. Ends when hardly anybody is helped any more."""
        if not (self.waiting(False).any() or self.waiting(True).any()):
            return
        pool = [own for own in sets if not self.part.lacking(own).any()] or list(sets[:AT_ONCE])
        near = neighbours(self.part)
        idle = 0
        while time.monotonic() < self.stop and idle < PATIENCE:
            asked = [(t, outward) for outward in (False, True) for t in np.flatnonzero(self.waiting(outward))]
            if not asked:
                return
            chosen = [asked[i] for i in random.permutation(len(asked))[:AT_ONCE]]
            self._walk(chosen, pool, near, random)
            left = int(self.waiting(False).sum() + self.waiting(True).sum())
            idle = idle + 1 if left == len(asked) else 0

    def _walk(
        self,
        asked: Sequence[tuple[int, bool]],
        pool: list[LongVector],
        near: tuple[LongVector, IntVector],
        random: np.random.Generator,
    ) -> None:
        """Walk for some tuples, one each, and take in the witnesses."""
        part = self.part
        starts = []
        for t, outward in asked:
            # Lately found sets are furthest from where all began.
            inside = pool[len(pool) - 1 - int(random.integers(min(len(pool), AT_ONCE)))].copy()
            if outward and inside[t] == part.people[t]:
                _exchange(part, inside, t, -1, random)
            elif not outward and inside[t] == 0:
                _exchange(part, inside, t, 1, random)
            starts.append(inside)
        walks = Walks(part, random, starts, np.resize(PENALTIES, len(starts)), near)
        for w, (t, outward) in enumerate(asked):
            if outward:
                walks.most[w, t] = part.people[t] - 1
            else:
                walks.least[w, t] = 1
        for _ in range(ROUNDS):
            seen, fits = walks.go()
            self.seen_in |= (seen > 0).any(axis=0)
            self.seen_out |= (seen < fits[:, None] * part.people).any(axis=0)
            pool += [walks.inside[w].copy() for w in np.flatnonzero(walks.wrong() == 0)]
            if time.monotonic() > self.stop:
                break
        del pool[: -4 * AT_ONCE]

    def by_programming(self) -> None:
        """Ask an integer program for a set that fits and has as many as possible of the waiting people in (or out):
        a witness for all of these at once. When the best that it can do is none, they are all certain. First without
        integers, which is quick, and enough for most proofs."""
        program = _Program(self.part, self.stop)
        for outward in (False, True):
            while (waiting := self.waiting(outward) & ~self.unknown).any():
                proven = program.none_of(waiting, outward)
                if proven:
                    self.prove(waiting, outward)
                    break
                chosen, best = program.most_of(waiting, outward)
                if chosen is not None:
                    self.add(chosen)
                if chosen is not None and (self.waiting(outward) != waiting).any():
                    continue
                if best:
                    self.prove(waiting, outward)
                    break
                self._one_by_one(program, waiting, outward)
                self.unknown |= self.waiting(outward)

    def _one_by_one(self, program: _Program, waiting: BoolVector, outward: bool) -> None:
        """Prove what can be proven without integers of each tuple by itself."""
        for t in np.flatnonzero(waiting):
            alone = np.zeros(len(waiting), np.bool_)
            alone[t] = True
            if time.monotonic() > self.stop:
                break
            if program.none_of(alone, outward):
                self.prove(alone, outward)


def _exchange(part: Part, inside: LongVector, t: int, step: int, random: np.random.Generator) -> None:
    """Take one person of a tuple in (or out), for one of the tuple most like it that can go the other way."""
    able = inside > part.least if step > 0 else inside < part.most
    able[t] = False
    others = np.flatnonzero(able)
    alike = (part.counts_of[others] == part.counts_of[t]).sum(axis=1)
    best = random.choice(others[alike == alike.max()])
    inside[t] += step
    inside[best] -= step


class _Program:
    """The integer program over the people of a part."""

    def __init__(self, part: Part, stop: float) -> None:
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import coo_array

        self.part, self.stop = part, stop
        tuples, columns = part.counts_of.shape
        entries = np.ones(tuples * columns), (part.counts_of.ravel(), np.repeat(np.arange(tuples), columns))
        self.matrix = coo_array(entries, shape=(len(part.wanted), tuples)).tocsr()
        self.rule = LinearConstraint(self.matrix, part.wanted, part.wanted)
        self.bounds = Bounds(part.least, part.most)

    def _solve(self, waiting: BoolVector, outward: bool, whole: bool) -> Any:
        from scipy.optimize import milp

        left = self.stop - time.monotonic()
        if left <= 0:
            return None
        found = milp(
            np.where(waiting, 1.0 if outward else -1.0, 0.0),
            constraints=self.rule,
            bounds=self.bounds,
            integrality=np.full(len(waiting), int(whole)),
            options={"time_limit": left, "mip_rel_gap": GOOD_ENOUGH if whole else 0.0},
        )
        if found.status == 2:
            raise no_fit()
        return found

    def none_of(self, waiting: BoolVector, outward: bool) -> bool:
        """Whether it is clear without integers that nobody of some tuples can be in (or out)."""
        found = self._solve(waiting, outward, whole=False)
        if found is None or found.status != 0 or found.x is None:
            return False
        best = float((self.part.people[waiting] - found.x[waiting] if outward else found.x[waiting]).sum())
        # Less than one person is nobody; the rest is for rounding.
        return best < 0.99

    def most_of(self, waiting: BoolVector, outward: bool) -> tuple[LongVector | None, bool]:
        """Return a set that fits, with as many as possible of some tuples' people in (or out), and whether it is
        proven that there is none with any of them if it has none."""
        found = self._solve(waiting, outward, whole=True)
        if found is None or found.x is None:
            return None, False
        chosen = np.rint(found.x).astype(np.int64)
        if not np.array_equal(self.matrix @ chosen, self.part.wanted):
            return None, False
        return chosen, found.status == 0
