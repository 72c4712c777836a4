"""Who of the population is in a bucket whose columns were shuffled? Exact probabilities, by counting.

A bucket shows how often each value occurs in each column (or group of columns that were shuffled together). The people
in it are one of the sets of people that have exactly these values: the sets that are consistent with the bucket. To the
adversary all of them are equally likely. The probability of a person is the share of the sets that contain the person.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.judging.membership.bucket import (
    Component,
    bucket_of,
    component_of,
    components_of,
    propagated,
)
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.judging.membership.exact_counts import Counted

MOST_STATES = 4_000_000
"""How many states the counting may keep, over all steps, before Shoal estimates instead."""

SECONDS = 1.0
"""Time for people who are not counted, per bucket."""


@dataclass(frozen=True, eq=False, repr=False)
class Chances(Brief):
    """What can be known about the people of one bucket, per distinct tuple: people of one tuple are interchangeable."""

    chance: FloatVector
    """Probability that a person is present; NaN if neither counting nor sampling gave a result."""
    low: FloatVector
    """Lower end of the probability: the probability itself if it is exact, else the end of a 95 % interval."""
    high: FloatVector
    """Upper end."""
    exact: BoolVector
    """The probability was counted (with an error of at most 1e-10) or proven; the others are estimates."""
    forced_in: BoolVector
    """Everybody of this tuple is certainly present."""
    forced_out: BoolVector
    """Everybody of this tuple is certainly absent."""
    undecided: BoolVector
    """Neither counting nor integer programming decided in the given time whether anybody is certain."""
    sets: int | None
    """Number of consistent sets of people; None if it was not counted, or is so large that floats were used."""
    people_in: tuple[int, ...] | None
    """Per tuple, its people summed over all consistent sets; ``chance = people_in / (multiplicity x sets)``."""
    states: int
    """States that the counting kept, or waves that it visited."""


def membership(
    tuples: IntMatrix,
    people: LongVector,
    published: Sequence[LongVector],
    *,
    limit: int = MOST_STATES,
    random: np.random.Generator | None = None,
    seconds: float = SECONDS,
) -> Chances:
    """Return the probability of everybody who could be in a bucket.

    `tuples` are the distinct combinations of values in the population, by column; `people` is the number of people with
    each; ``published[j][v]`` is how often column j shows value v. Counts exactly if `limit` states suffice. Otherwise
    integer programming still finds exactly who is certainly present or absent, and random walks, which need `random`,
    estimate the others. `seconds` limits these two.

    Bounds are propagated first, so people decided by a single count cost nothing. Components without a common value are
    counted separately. O(states x columns) for the counting.
    """
    bucket = bucket_of(tuples, people, published)
    low, high = propagated(bucket)
    fixed = low == high
    sets = math.prod(math.comb(int(c), int(x)) for c, x in zip(people[fixed], low[fixed], strict=True))
    states, whole = 0, True
    integers: list[tuple[int, list[int], LongVector]] = []
    answer = _Answer(low, bucket.people)
    parts = components_of(bucket, low, high)
    # Small components first: if the states do not suffice for all, they suffice for most.
    for number, own in enumerate(sorted(parts, key=len)):
        found = None
        if limit > states:
            from shoal.judging.membership.exact_counts import counted

            found = counted(bucket, low, high, own, limit - states)
        if found is None:
            share = (seconds - answer.spent) / (len(parts) - number)
            answer.estimate(component_of(bucket, low, high, own), random, share)
            whole = False
            continue
        states += found.states
        answer.count(own, low, high, found)
        if found.ways is None or found.used is None:
            whole = False
            continue
        sets *= found.ways
        integers.append((found.ways, found.used, own))
    if not whole:
        return answer.membership(None, None, states)
    inside = [int(value) * sets for value in low]
    for ways, used, own in integers:
        for t, n in zip(own, used, strict=True):
            inside[t] += n * (sets // ways)
    return answer.membership(sets, tuple(inside), states)


class _Answer:
    """What is known about the people of a bucket, filled in component by component."""

    def __init__(self, low: LongVector, people: LongVector) -> None:
        self.people = people
        self.chance = low / people
        self.low, self.high = self.chance.copy(), self.chance.copy()
        self.exact = np.ones(len(low), np.bool_)
        self.forced_in, self.forced_out = low == people, low == 0
        self.undecided = np.zeros(len(low), np.bool_)
        self.spent = 0.0

    def count(self, own: LongVector, low: LongVector, high: LongVector, found: Counted) -> None:
        """Record a component that was counted. Certainty comes from exact counts, not from a rounded division."""
        people = self.people[own]
        self.forced_in[own] = found.all_ & (high[own] == people)
        self.forced_out[own] = found.none & (low[own] == 0)
        if found.ways is None or found.used is None:
            chance = np.clip((low[own] + found.share) / people, 0.0, 1.0)
        else:
            ways = found.ways
            chance = np.array(
                [
                    (int(x) * ways + n) / (int(c) * ways)
                    for x, n, c in zip(low[own], found.used, people, strict=True)
                ]
            )
        chance[self.forced_in[own]] = 1.0
        self.chance[own] = self.low[own] = self.high[own] = chance

    def estimate(self, part: Component, random: np.random.Generator | None, seconds: float) -> None:
        """Find who is certain in a component that was not counted, and estimate the others."""
        from shoal.judging.membership.certain import Certain

        start = time.monotonic()
        own = part.own
        nobody = np.zeros(len(own), np.bool_)
        chance, low, high = np.full(len(own), np.nan), np.zeros(len(own)), np.ones(len(own))
        if random is None:
            sure = Certain(part, nobody, nobody, seconds)
            # Randomness affects which witnesses are found, not what they prove.
            sure.by_searching(np.random.default_rng(0))
        else:
            from shoal.judging.membership.estimate import walked

            found = walked(part, random, seconds / 2)
            chance, low, high = found.chance, found.low, found.high
            left = seconds - (time.monotonic() - start)
            sure = Certain(part, found.seen_in, found.seen_out, left)
            sure.by_searching(random)
        sure.by_programming()
        forced_in, forced_out, undecided = sure.proven_in, sure.proven_out, sure.unknown
        for certain, value in ((forced_in, 1.0), (forced_out, 0.0)):
            chance, low, high = (np.where(certain, value, old) for old in (chance, low, high))
        self.chance[own], self.low[own], self.high[own] = chance, low, high
        self.forced_in[own], self.forced_out[own], self.undecided[own] = forced_in, forced_out, undecided
        self.exact[own] = forced_in | forced_out
        self.spent += time.monotonic() - start

    def membership(self, sets: int | None, people_in: tuple[int, ...] | None, states: int) -> Chances:
        """Return the result."""
        return Chances(
            chance=self.chance,
            low=self.low,
            high=self.high,
            exact=self.exact,
            forced_in=self.forced_in,
            forced_out=self.forced_out,
            undecided=self.undecided,
            sets=sets,
            people_in=people_in,
            states=states,
        )
