"""Estimates if exact counting is too expensive: random walks over sets of people. See docs/attacks/membership.md.

The walks are coupled in ladders (parallel tempering). On the lower rungs a walk moves freely over all sets of the right
size. On the upper rungs it stays close to sets that meet all counts. Walks on neighbouring rungs sometimes swap places.
On every rung all consistent sets are equally likely, so the share of them that contain a person converges to the
person's probability. Ladders are independent: how far they differ says how far off they may be.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from shoal.judging.membership.bucket import Component
from shoal.judging.membership.walk import Walks, any_set
from shoal.support.arrays import BoolVector, FloatMatrix, FloatVector, LongVector
from shoal.support.brief import Brief

LADDERS = 8
"""Independent ladders."""
QUANTILE = 2.365
"""97.5 % of Student's t with one degree of freedom less than there are ladders."""
NORMAL = 1.96
"""97.5 % of the normal distribution."""
PENALTIES = np.array([1.8, 2.1, 2.4, 2.7, 3.0, 3.3])
"""How strongly each rung of a ladder prefers consistent sets."""
ROUNDS = 20
"""Rounds before the first check of the estimates; each next check comes after twice as many."""
PRECISE = 0.01
"""Half the width of an interval; walks stop when no interval is wider."""
FEWEST = 3.0
"""Estimates are discarded if the sets seen are worth fewer independent sets than this."""


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Brief):
    """What walks have seen of one component of a bucket."""

    chance: FloatVector
    """NaN if the walks saw too little."""
    low: FloatVector
    high: FloatVector
    seen_in: BoolVector
    """A person of the tuple was in some consistent set, so the tuple may be present."""
    seen_out: BoolVector
    """A person of the tuple was absent from some consistent set."""


class Ladders:
    """Ladders of walks over the sets of people of one component."""

    def __init__(self, part: Component, random: np.random.Generator) -> None:
        self.part, self.random = part, random
        starts = [any_set(part, random) for _ in range(LADDERS * len(PENALTIES))]
        self.walks = Walks(part, random, starts, np.tile(PENALTIES, LADDERS))
        self.seen: list[FloatMatrix] = []
        self.fits: list[LongVector] = []
        self.until: list[int] = []
        self.rounds = 0

    def go(self, rounds: int, stop: float) -> None:
        """Walk for so many rounds, or until the clock reaches `stop`; each call keeps its counts separately."""
        seen = np.zeros((LADDERS, len(self.part.people)))
        fits = np.zeros(LADDERS, np.int64)
        for _ in range(rounds):
            more, right = self.walks.go()
            seen += more.reshape(LADDERS, len(PENALTIES), -1).sum(axis=1)
            fits += right.reshape(LADDERS, -1).sum(axis=1)
            self._change_rungs()
            self.rounds += 1
            if time.monotonic() > stop:
                break
        self.seen.append(seen)
        self.fits.append(fits)
        self.until.append(self.rounds)

    def _change_rungs(self) -> None:
        """Let walks on neighbouring rungs swap places, so that each rung keeps its own distribution."""
        wrong = self.walks.wrong().reshape(LADDERS, -1)
        penalty = self.walks.penalty.reshape(LADDERS, -1)
        on_rung = np.argsort(penalty, axis=1)
        ladders = np.arange(LADDERS)
        for rung in range(self.rounds % 2, len(PENALTIES) - 1, 2):
            one, other = on_rung[:, rung], on_rung[:, rung + 1]
            gain = (PENALTIES[rung + 1] - PENALTIES[rung]) * (wrong[ladders, other] - wrong[ladders, one])
            change = np.log(self.random.random(LADDERS)) < gain
            penalty[ladders[change], one[change]] = PENALTIES[rung + 1]
            penalty[ladders[change], other[change]] = PENALTIES[rung]

    def estimate(self) -> Estimate:
        """Return the estimate. The first quarter of the walks leads from the start to typical sets, and is dropped.

        The interval of a person is the wider of two: Student's t over the ladders, and Wilson's for the effective
        number of independent sets, computed from how far the ladders differ over all people. The first accounts for
        people whose probability is harder to estimate. The second avoids calling somebody certain only because no walk
        saw them absent.
        """
        people = self.part.people
        all_seen, all_fits = np.sum(self.seen, axis=0).sum(axis=0), int(np.sum(self.fits))
        nothing = Estimate(
            chance=np.full(len(people), np.nan),
            low=np.zeros(len(people)),
            high=np.ones(len(people)),
            seen_in=all_seen > 0,
            seen_out=all_seen < all_fits * people,
        )
        skipped = sum(until <= self.rounds / 4 for until in self.until)
        seen = np.sum(self.seen[skipped:], axis=0)
        fits = np.sum(self.fits[skipped:], axis=0)
        if (fits == 0).any():
            return nothing
        shares = seen / fits[:, None] / people
        mean = shares.mean(axis=0)
        variance = shares.var(axis=0, ddof=1) / LADDERS
        worth = float((mean * (1 - mean)).sum() / max(variance.sum(), 1e-12))
        if worth < FEWEST:
            return nothing
        narrow = 1 + NORMAL**2 / worth
        middle = (mean + NORMAL**2 / (2 * worth)) / narrow
        half = NORMAL * np.sqrt(mean * (1 - mean) / worth + (NORMAL / (2 * worth)) ** 2) / narrow
        spread = QUANTILE * np.sqrt(variance)
        low, high = np.minimum(middle - half, mean - spread), np.maximum(middle + half, mean + spread)
        return Estimate(
            mean, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), nothing.seen_in, nothing.seen_out
        )


def estimate_by_walk(
    part: Component,
    random: np.random.Generator,
    seconds: float,
    most_rounds: int | None = None,
) -> Estimate:
    """Walk until all intervals are narrow, or until time or rounds run out, and return the estimate."""
    stop = time.monotonic() + seconds
    ladders = Ladders(part, random)
    look = ROUNDS
    while True:
        for _ in range(4 if look == ROUNDS else 2):
            ladders.go(look // 4, stop)
        found = ladders.estimate()
        if (found.high - found.low).max() <= 2 * PRECISE or time.monotonic() > stop:
            return found
        if most_rounds is not None and ladders.rounds >= most_rounds:
            return found
        look *= 2
