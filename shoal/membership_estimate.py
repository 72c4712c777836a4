"""What is left where counting is out of reach (see shoal/membership.py): who is certain, and estimates for the rest."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import BoolVector, FloatVector, LongVector
from shoal.membership import Bucket, Membership, no_fit

CHAINS = 8
"""Independent walks; how far they differ gives the interval."""
QUANTILE = 2.365
"""97.5 % of Student's t with one degree of freedom less than there are walks."""
PENALTIES = (1.0, 1.5, 2.0, 3.0)
"""How hard a walk is kept to sets that fit: the one that fits most often is taken."""
LEAST_FITS = 50
"""A walk with fewer sets that fit says nothing."""
GOOD_ENOUGH = 0.5
"""A witness for half of the people whom one could be found for is taken. None at all is always proven in full."""
STEPS = 200_000
"""Steps of a walk between two looks at the clock."""


@dataclass(eq=False)
class _Seen:
    """Fewest and most people of each tuple in any set that fits and has been seen: witnesses."""

    least: LongVector
    most: LongVector

    def add(self, inside: LongVector) -> None:
        """Take in one more set that fits."""
        np.minimum(self.least, inside, out=self.least)
        np.maximum(self.most, inside, out=self.most)


def estimated(
    bucket: Bucket,
    low: LongVector,
    high: LongVector,
    exact: BoolVector,
    expected: FloatVector,
    states: int,
    random: np.random.Generator | None,
    seconds: float,
) -> Membership:
    """Find who is certainly in or out, by integer programming, and estimate the rest by walks over sets of people.

    `exact` and `expected` are what counting has found for other parts of the bucket. Everything that is not exact
    says so. Half the time goes to each of the two.
    """
    forced_in, forced_out, undecided = forced(bucket, low, high, ~exact, seconds / 2)
    chance, below, above = expected.copy(), expected.copy(), expected.copy()
    chance[~exact], below[~exact], above[~exact] = np.nan, 0.0, 1.0
    if random is not None:
        _walked(bucket, low, high, ~exact, random, seconds / 2, (chance, below, above))
    for certain, value in ((forced_in, 1.0), (forced_out, 0.0)):
        chance[certain] = below[certain] = above[certain] = value
    exact = exact | forced_in | forced_out
    done = exact & ~np.isnan(chance)
    forced_in = forced_in | (done & (chance == 1.0))
    forced_out = forced_out | (done & (chance == 0.0))
    return Membership(chance, below, above, exact, forced_in, forced_out, undecided, None, None, states)


def forced(
    bucket: Bucket, low: LongVector, high: LongVector, asked: BoolVector, seconds: float
) -> tuple[BoolVector, BoolVector, BoolVector]:
    """Return which of the tuples asked for are wholly in, or wholly out, in every set that fits; and which of them
    could not be decided in the time given.

    An integer program looks for a set that fits and has as many as possible of the people whom no set so far
    contained (or lacked); what it finds is a witness for all of them at once. When the best it can do is none, they
    are all certain. Usually a handful of programs is enough.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    people = bucket.people
    count, columns = bucket.bound_of.shape
    forced_in, forced_out = (low == people) & asked, (high == 0) & asked
    open_ = np.flatnonzero(asked & (low < high))
    if not len(open_):
        return forced_in, forced_out, np.zeros(count, np.bool_)
    left = bucket.wanted.copy()
    for j in range(columns):
        left -= np.bincount(bucket.bound_of[:, j], np.where(low < high, 0, low), len(left)).astype(np.int64)
    ends = bucket.bound_of[open_]
    used = np.unique(ends)
    entries = (
        np.ones(ends.size),
        (np.searchsorted(used, ends.ravel()), np.repeat(np.arange(len(open_)), columns)),
    )
    matrix = coo_array(entries, shape=(len(used), len(open_))).tocsr()
    unknown = np.zeros(len(open_), np.bool_)
    seen = _Seen(people[open_].copy(), np.zeros(len(open_), np.int64))
    for inward in (False, True):
        stop = time.monotonic() + seconds / 2
        # Whoever is in every set is left out of none: the same question, asked of the people who are left out.
        most = people[open_] - low[open_] if inward else high[open_]
        least = people[open_] - high[open_] if inward else low[open_]
        wanted = matrix @ people[open_] - left[used] if inward else left[used]
        rule = LinearConstraint(matrix, wanted, wanted)
        while True:
            waiting = (seen.least == people[open_]) if inward else (seen.most == 0)
            waiting &= (least == 0) & ~unknown
            if not waiting.any():
                break
            found = milp(
                np.where(waiting, -1.0, 0.0),
                constraints=rule,
                bounds=Bounds(least, most),
                integrality=np.ones(len(open_), np.int64),
                options={"time_limit": max(stop - time.monotonic(), 0.05), "mip_rel_gap": GOOD_ENOUGH},
            )
            if found.status == 2:
                raise no_fit()
            chosen = None if found.x is None else np.rint(found.x).astype(np.int64)
            if chosen is not None and not np.array_equal(matrix @ chosen, wanted):
                chosen = None
            if chosen is not None:
                seen.add(people[open_] - chosen if inward else chosen)
            if chosen is not None and chosen[waiting].any():
                continue
            if chosen is not None and found.status == 0:
                (forced_in if inward else forced_out)[open_[waiting]] = True
                break
            unknown |= waiting
    undecided = np.zeros(count, np.bool_)
    undecided[open_[unknown]] = True
    return forced_in, forced_out, undecided


def _walked(
    bucket: Bucket,
    low: LongVector,
    high: LongVector,
    asked: BoolVector,
    random: np.random.Generator,
    seconds: float,
    out: tuple[FloatVector, FloatVector, FloatVector],
) -> None:
    """Write estimates and intervals for the tuples asked for.

    A walk goes over all sets of the right size by swapping two people, prefers those that are closer to the counts,
    and is looked at only when all counts are met. It can reach every set, and given that a set fits each is equally
    likely, so the shares it sees converge to the chances whatever the preference is.
    """
    open_ = np.flatnonzero(asked & (low < high))
    left = bucket.wanted.copy()
    for j in range(bucket.bound_of.shape[1]):
        left -= np.bincount(bucket.bound_of[:, j], np.where(low < high, 0, low), len(left)).astype(np.int64)
    # Parts that were counted exactly are open too, but not asked for: only the counts of these tuples matter.
    used = np.unique(bucket.bound_of[open_])
    ends = np.searchsorted(used, bucket.bound_of[open_]).astype(np.int32)
    tuple_of = np.repeat(np.arange(len(open_), dtype=np.int32), bucket.people[open_])
    own = np.unique(bucket.bound_of[open_, 0])
    inside = int(left[own].sum())
    if inside == 0 or inside == len(tuple_of):
        return
    walks = [_Walk(ends, tuple_of, inside, left[used], random) for _ in range(CHAINS)]
    stop = time.monotonic() + seconds
    trials = {penalty: sum(walk.go(penalty, keep=False) for walk in walks[:2]) for penalty in PENALTIES}
    penalty = max(PENALTIES, key=lambda value: trials[value])
    rounds = 0
    while rounds < 2 or time.monotonic() < stop:
        for walk in walks:
            walk.go(penalty, keep=rounds > 0)
        rounds += 1
    if any(walk.fits < LEAST_FITS for walk in walks):
        return
    shares = np.stack([walk.seen / walk.fits for walk in walks]) / bucket.people[open_]
    spread = QUANTILE * shares.std(axis=0, ddof=1) / np.sqrt(CHAINS)
    # A walk that never saw a person in (or out) has no spread; one set more in each walk is the least doubt.
    spread = np.maximum(spread, 1.0 / sum(walk.fits for walk in walks))
    mean = shares.mean(axis=0)
    chance, below, above = out
    chance[open_] = mean
    below[open_], above[open_] = np.clip(mean - spread, 0.0, 1.0), np.clip(mean + spread, 0.0, 1.0)


class _Walk:
    """One walk over sets of people."""

    def __init__(
        self,
        ends: NDArray[np.int32],
        tuple_of: NDArray[np.int32],
        inside: int,
        wanted: LongVector,
        random: np.random.Generator,
    ) -> None:
        self.ends, self.tuple_of, self.inside, self.random = ends, tuple_of, inside, random
        self.order = random.permutation(len(tuple_of)).astype(np.int32)
        self.left = wanted.astype(np.int64).copy()
        for j in range(ends.shape[1]):
            np.subtract.at(self.left, ends[tuple_of[self.order[:inside]], j], 1)
        self.seen = np.zeros(len(ends), np.int64)
        self.fits = 0

    def go(self, penalty: float, keep: bool) -> int:
        """Walk on; return how often the set fit, and add what was seen if it is to be kept."""
        from shoal.kernels.membership import walk_subsets

        n, m = len(self.tuple_of), self.inside
        pairs = np.stack([self.random.integers(0, m, STEPS), self.random.integers(m, n, STEPS)], axis=1)
        seen, fits = walk_subsets(
            self.ends, self.tuple_of, self.order, m, self.left, pairs, self.random.random(STEPS), penalty, 16
        )
        if keep:
            self.seen += seen
            self.fits += int(fits)
        return int(fits)
