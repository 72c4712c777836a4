"""Estimates where counting is out of reach (see shoal/membership.py): random walks over sets of people.

The walks are coupled in ladders. On the lower rungs a walk moves freely over all sets of the right size, on the upper
ones it is kept close to those that meet all counts, and neighbours on a ladder change places now and then. Whatever
the rung, sets that meet all counts are equally likely, so the shares of them that contain a person converge to the
person's chance. Ladders know nothing of each other: how far they differ tells how far off they may be.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolVector, FloatMatrix, FloatVector, LongVector
from shoal.membership.bucket import Part
from shoal.membership.walk import Walks, any_set

LADDERS = 8
"""Independent ladders."""
QUANTILE = 2.365
"""97.5 % of Student's t with one degree of freedom less than there are ladders."""
NORMAL = 1.96
"""97.5 % of the normal distribution."""
PENALTIES = np.array([1.8, 2.1, 2.4, 2.7, 3.0, 3.3])
"""How hard each rung of a ladder is kept to sets that fit."""
ROUNDS = 20
"""Rounds before the first look at how good the estimates are; then after twice as many, and so on."""
PRECISE = 0.01
"""Half an interval; walks stop when none is wider."""
FEWEST = 3.0
"""Estimates from sets that are worth fewer independent ones are worth nothing."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """What walks have seen of one part of a bucket."""

    chance: FloatVector
    """NaN where the walks saw too little."""
    low: FloatVector
    high: FloatVector
    seen_in: BoolVector
    """Somebody of the tuple was in some set that fits: a proof that the tuple is not ruled out."""
    seen_out: BoolVector
    """Somebody of the tuple was left out of some set that fits."""


class Ladders:
    """Ladders of walks over the sets of people of one part."""

    def __init__(self, part: Part, random: np.random.Generator) -> None:
        self.part, self.random = part, random
        starts = [any_set(part, random) for _ in range(LADDERS * len(PENALTIES))]
        self.walks = Walks(part, random, starts, np.tile(PENALTIES, LADDERS))
        self.seen: list[FloatMatrix] = []
        self.fits: list[LongVector] = []
        self.until: list[int] = []
        self.rounds = 0

    def go(self, rounds: int, stop: float) -> None:
        """Walk for so many rounds, or until the clock says `stop`; what is seen is kept by stretches."""
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
        """Let walks on neighbouring rungs change places, so that each rung keeps its own distribution."""
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
        """Return what was seen; the first quarter of the way led from the start to typical sets, and is left out.

        The interval of a person is the wider one of two: of Student's t over the ladders, and of Wilson for as many
        independent sets as the differences between ladders, over all people, say that the sets seen are worth. The
        first sees people whose chance is harder to estimate, the second that nobody is certain for having never been
        seen out.
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


def walked(
    part: Part,
    random: np.random.Generator,
    seconds: float,
    most_rounds: int | None = None,
) -> Estimate:
    """Walk until intervals are narrow, or for so long (or so many rounds), and return the estimate."""
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
