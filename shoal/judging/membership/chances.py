"""Who of the population is in a bucket whose columns were shuffled? Exact probabilities, by counting.

A bucket shows how often each value occurs in each column (or group of columns that were shuffled together). The people
in it are one of the sets of people that have exactly these values: the sets that are consistent with the bucket. To the
adversary all of them are equally likely. The probability of a person is the share of the sets that contain the person.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.judging.membership.bucket import (
    Component,
    bucket_of,
    component_of,
    components_of,
    propagate_counts,
)
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.judging.membership.exact_counts import Counted

MOST_STATES = 4_000_000
"""How many states the counting may keep, over all steps, before Shoal estimates instead."""

SECONDS = 1.0
"""Time for people who are not counted, per bucket."""


@dataclass(eq=False, repr=False, kw_only=True)
class Chances(Brief):
    """What can be known about people who may be in a table, per person or per distinct tuple: people of one tuple are
    interchangeable."""

    chance: FloatVector
    """Probability that a person is present; NaN if neither counting nor sampling gave a result."""
    low: FloatVector
    """Lower end: the probability itself if it is exact, else a bound or the end of a 95 % interval."""
    high: FloatVector
    """Upper end."""
    exact: BoolVector
    """The probability was counted (with an error of at most 1e-10) or proven; the others are estimates or bounds."""
    undecided: BoolVector
    """Neither counting nor integer programming decided in the given time whether anybody is certain."""
    certainly_in: BoolVector
    """Everybody of this tuple is certainly present."""
    certainly_out: BoolVector
    """Everybody of this tuple is certainly absent."""

    def at(self, places: IntVector | LongVector) -> dict[str, Any]:
        """Return what is known about these tuples, by field."""
        return {field.name: getattr(self, field.name)[places] for field in fields(Chances)}

    def put(self, places: LongVector, known: dict[str, Any]) -> None:
        """Record what is known about these tuples, by field."""
        for name, values in known.items():
            getattr(self, name)[places] = values

    def settle(self, places: BoolVector, present: bool) -> None:
        """Record a proof that everybody of these tuples is present, or absent."""
        self.chance[places] = self.low[places] = self.high[places] = float(present)
        self.exact[places], self.undecided[places] = True, False
        self.certainly_in[places], self.certainly_out[places] = present, not present


@dataclass(eq=False, repr=False, kw_only=True)
class BucketChances(Chances):
    """What can be known about the people of one bucket, per distinct tuple."""

    sets: int | None = None
    """Number of consistent sets of people; None if it was not counted, or is so large that floats were used."""
    people_in: tuple[int, ...] | None = None
    """Per tuple, its people summed over all consistent sets; ``chance = people_in / (multiplicity x sets)``."""
    states: int = 0
    """States that the counting kept, or waves that it visited."""


def membership(
    tuples: IntMatrix,
    people: LongVector,
    published: Sequence[LongVector],
    *,
    limit: int = MOST_STATES,
    random: np.random.Generator | None = None,
    seconds: float = SECONDS,
) -> BucketChances:
    """Return the probability of everybody who could be in a bucket.

    `tuples` are the distinct combinations of values in the population, by column; `people` is the number of people with
    each; ``published[j][v]`` is how often column j shows value v. Counts exactly if `limit` states suffice. Otherwise
    integer programming still finds exactly who is certainly present or absent, and random walks, which need `random`,
    estimate the others. `seconds` limits these two.

    Bounds are propagated first, so people decided by a single count cost nothing. Components without a common value are
    counted separately. O(states x columns) for the counting.
    """
    bucket = bucket_of(tuples, people, published)
    low, high = propagate_counts(bucket)
    fixed = low == high
    sets = math.prod(math.comb(int(c), int(x)) for c, x in zip(people[fixed], low[fixed], strict=True))
    spent, whole = 0.0, True
    integers: list[tuple[int, list[int], LongVector]] = []
    chance = low / bucket.people
    answer = BucketChances(
        chance=chance,
        low=chance.copy(),
        high=chance.copy(),
        exact=np.ones(len(low), np.bool_),
        undecided=np.zeros(len(low), np.bool_),
        certainly_in=low == bucket.people,
        certainly_out=low == 0,
    )
    parts = components_of(bucket, low, high)
    # Small components first: if the states do not suffice for all, they suffice for most.
    for number, own in enumerate(sorted(parts, key=len)):
        counts = None
        if limit > answer.states:
            from shoal.judging.membership.exact_counts import count_ways

            counts = count_ways(bucket, low, high, own, limit - answer.states)
        if counts is None:
            part = component_of(bucket, low, high, own)
            start = time.monotonic()
            answer.put(own, _estimate(part, random, (seconds - spent) / (len(parts) - number)))
            spent += time.monotonic() - start
            whole = False
            continue
        answer.states += counts.states
        answer.put(own, _divide(counts, low[own], high[own], bucket.people[own]))
        if counts.ways is None or counts.used is None:
            whole = False
            continue
        sets *= counts.ways
        integers.append((counts.ways, counts.used, own))
    if whole:
        inside = [int(value) * sets for value in low]
        for ways, used, own in integers:
            for t, n in zip(own, used, strict=True):
                inside[t] += n * (sets // ways)
        answer.sets, answer.people_in = sets, tuple(inside)
    return answer


def _divide(counts: Counted, low: LongVector, high: LongVector, people: LongVector) -> dict[str, Any]:
    """Return what the counts of a component prove. Certainty comes from exact counts, not from a rounded division."""
    certainly_in, certainly_out = counts.all_ & (high == people), counts.none & (low == 0)
    if counts.ways is None or counts.used is None:
        chance = np.clip((low + counts.share) / people, 0.0, 1.0)
    else:
        ways = counts.ways
        chance = np.array(
            [(int(x) * ways + n) / (int(c) * ways) for x, n, c in zip(low, counts.used, people, strict=True)]
        )
    chance[certainly_in] = 1.0
    return {
        "chance": chance,
        "low": chance,
        "high": chance,
        "certainly_in": certainly_in,
        "certainly_out": certainly_out,
    }


def _estimate(part: Component, random: np.random.Generator | None, seconds: float) -> dict[str, Any]:
    """Find who is certain in a component that was not counted, and estimate the others."""
    from shoal.judging.membership.certain import Certain

    start = time.monotonic()
    many = len(part.own)
    nobody = np.zeros(many, np.bool_)
    chance, low, high = np.full(many, np.nan), np.zeros(many), np.ones(many)
    if random is None:
        sure = Certain(part, nobody, nobody, seconds)
        # Randomness affects which witnesses are found, not what they prove.
        sure.by_searching(np.random.default_rng(0))
    else:
        from shoal.judging.membership.estimate import estimate_by_walk

        walks = estimate_by_walk(part, random, seconds / 2)
        chance, low, high = walks.chance, walks.low, walks.high
        sure = Certain(part, walks.seen_in, walks.seen_out, seconds - (time.monotonic() - start))
        sure.by_searching(random)
    sure.by_programming()
    for certain, value in ((sure.proven_in, 1.0), (sure.proven_out, 0.0)):
        chance, low, high = (np.where(certain, value, old) for old in (chance, low, high))
    return {
        "chance": chance,
        "low": low,
        "high": high,
        "exact": sure.proven_in | sure.proven_out,
        "undecided": sure.unknown,
        "certainly_in": sure.proven_in,
        "certainly_out": sure.proven_out,
    }
