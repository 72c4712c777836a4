"""Who of the population is in a bucket whose columns were shuffled? Exact chances, by counting.

A bucket shows, for each column (or group of columns that were shuffled together), which values occur how often. The
people behind it are one of the sets of people of the population that have exactly these values; to the adversary all
such sets are equally likely. A person's chance is the share of the sets that contain the person.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.arrays import BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from shoal.errors import DataError

if TYPE_CHECKING:
    from shoal.membership.counting import Counted

MOST_STATES = 4_000_000
"""States of the counting that are kept at once, over all steps, before it gives way to an estimate."""

SECONDS = 1.0
"""Time for what counting does not reach, per bucket."""


@dataclass(frozen=True, eq=False)
class Membership:
    """What can be known about the people of one bucket, by distinct tuple: people of one tuple are alike."""

    chance: FloatVector
    """Chance that a person is in; NaN where neither counting nor sampling got anywhere."""
    low: FloatVector
    """Lower end of what the chance can be: the chance itself where it is exact, else of a 95 % interval."""
    high: FloatVector
    """Upper end."""
    exact: BoolVector
    """Chances that were counted (up to errors of at most 1e-10) or proven; the others are estimates."""
    forced_in: BoolVector
    """Everybody of this tuple is certainly in."""
    forced_out: BoolVector
    """Nobody of this tuple is in."""
    undecided: BoolVector
    """Neither counting nor integer programming could tell, in the time given, whether anybody is certain."""
    sets: int | None
    """Number of sets of people that fit; None where it was not counted, or is so large that floats were used."""
    people_in: tuple[int, ...] | None
    """Per tuple, the people of it over all sets that fit; ``chance = people_in / (multiplicity x sets)``."""
    states: int
    """States that the counting kept, or waves that it visited."""


@dataclass(frozen=True, eq=False)
class Part:
    """Open tuples of a bucket that share counts with each other and with no others, by numbers of their own."""

    own: LongVector
    """Their numbers in the bucket."""
    counts_of: IntMatrix
    """``[tuples, columns]`` which count each value belongs to; of columns that say the same one is left."""
    people: LongVector
    least: LongVector
    """At least so many people of each tuple are in, as far as single counts tell."""
    most: LongVector
    wanted: LongVector
    """What the counts leave for these tuples."""
    size: int
    """How many of their people are in."""

    def lacking(self, inside: LongVector) -> LongVector:
        """Return what a set of people, given by tuple, lacks of each count."""
        left = self.wanted.copy()
        for j in range(self.counts_of.shape[1]):
            left -= np.bincount(self.counts_of[:, j], inside, len(left)).astype(np.int64)
        return left


@dataclass(frozen=True, eq=False)
class Bucket:
    """The question, in numbers: how many people of each tuple, so that every count is met?"""

    bound_of: IntMatrix
    """``[tuples, columns]`` which count each value of a tuple belongs to."""
    people: LongVector
    """``[tuples]`` people of the population with these values."""
    wanted: LongVector
    """``[counts]`` how often each value is published."""


def membership(
    tuples: IntMatrix,
    people: LongVector,
    published: Sequence[LongVector],
    *,
    limit: int = MOST_STATES,
    random: np.random.Generator | None = None,
    seconds: float = SECONDS,
) -> Membership:
    """Return the chance of everybody who could be in a bucket.

    `tuples` are the distinct combinations of values of the population's people, by column; `people` says how many
    have each; ``published[j][v]`` is how often value v is shown in column j. Counts exactly as long as `limit` states
    are enough; otherwise people who are certainly in or out are still found exactly, by integer programming, and the
    rest is estimated by random walks for which `random` is needed. `seconds` limits that second way.

    Bounds are propagated first, so people who are forced by a single count cost nothing, and parts that have no value
    in common are counted apart. O(states x columns) for the counting.
    """
    bucket = _bucket(tuples, people, published)
    low, high = propagated(bucket)
    fixed = low == high
    sets = math.prod(math.comb(int(c), int(x)) for c, x in zip(people[fixed], low[fixed], strict=True))
    states, whole = 0, True
    integers: list[tuple[int, list[int], LongVector]] = []
    answer = _Answer(low, bucket.people)
    parts = _parts(bucket, low, high)
    # Small parts first: if the states do not last for all, they last for most.
    for number, own in enumerate(sorted(parts, key=len)):
        found = None
        if limit > states:
            from shoal.membership.counting import counted

            found = counted(bucket, low, high, own, limit - states)
        if found is None:
            share = (seconds - answer.spent) / (len(parts) - number)
            answer.estimate(part_of(bucket, low, high, own), random, share)
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
    """What is known of the people of a bucket, part by part."""

    def __init__(self, low: LongVector, people: LongVector) -> None:
        self.people = people
        self.chance = low / people
        self.low, self.high = self.chance.copy(), self.chance.copy()
        self.exact = np.ones(len(low), np.bool_)
        self.forced_in, self.forced_out = low == people, low == 0
        self.undecided = np.zeros(len(low), np.bool_)
        self.spent = 0.0

    def count(self, own: LongVector, low: LongVector, high: LongVector, found: Counted) -> None:
        """Take in a part that was counted. Whether somebody is certain is not told by a rounded division."""
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

    def estimate(self, part: Part, random: np.random.Generator | None, seconds: float) -> None:
        """Find who is certain in a part that was not counted, and estimate the others."""
        from shoal.membership.certain import Certain

        start = time.monotonic()
        own = part.own
        nobody = np.zeros(len(own), np.bool_)
        chance, low, high = np.full(len(own), np.nan), np.zeros(len(own)), np.ones(len(own))
        if random is None:
            sure = Certain(part, nobody, nobody, seconds)
            # Which witnesses are found is chance, what they prove is not.
            sure.by_searching(np.random.default_rng(0))
        else:
            from shoal.membership.estimate import walked

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

    def membership(self, sets: int | None, people_in: tuple[int, ...] | None, states: int) -> Membership:
        """Return all of it."""
        return Membership(
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


def no_fit() -> DataError:
    """Return the error for counts that nobody can meet."""
    return DataError(
        "no set of people of the population has exactly the values that a bucket shows: is it the right "
        "population, and does it contain everybody of the table?"
    )


def _bucket(tuples: IntMatrix, people: LongVector, published: Sequence[LongVector]) -> Bucket:
    if tuples.shape[1] != len(published):
        raise ValueError(f"{tuples.shape[1]} columns, but counts for {len(published)}")
    totals = {int(counts.sum()) for counts in published}
    if len(totals) > 1:
        raise ValueError(f"columns of one bucket must show equally many values, not {sorted(totals)}")
    starts = np.cumsum([0, *(len(counts) for counts in published)])[:-1]
    wanted = np.concatenate([np.zeros(0, np.int64), *published]).astype(np.int64)
    if len(tuples) and any((tuples[:, j] >= len(counts)).any() for j, counts in enumerate(published)):
        raise ValueError("a tuple has a value that no count is given for")
    bound_of = (tuples + starts).astype(np.int32) if len(published) else tuples.astype(np.int32)
    reachable = np.zeros(len(wanted), np.int64)
    for j in range(bound_of.shape[1]):
        reachable += np.bincount(bound_of[:, j], people, len(wanted)).astype(np.int64)
    if (reachable < wanted).any():
        raise no_fit()
    return Bucket(bound_of, people.astype(np.int64), wanted)


def propagated(bucket: Bucket) -> tuple[LongVector, LongVector]:
    """Return at least and at most how many people of each tuple are in, as far as single counts say so.

    Each count bounds each of its tuples by what the others can take, again and again until nothing changes:
    O(tuples x columns) a round. People whom no choice is left for are decided here.
    """
    low, high = np.zeros(len(bucket.people), np.int64), bucket.people.copy()
    counts = len(bucket.wanted)
    changed = True
    while changed:
        changed = False
        for j in range(bucket.bound_of.shape[1]):
            own = bucket.bound_of[:, j]
            least = np.bincount(own, low, counts).astype(np.int64)[own] - low
            most = np.bincount(own, high, counts).astype(np.int64)[own] - high
            wanted = bucket.wanted[own]
            new_low, new_high = np.maximum(low, wanted - most), np.minimum(high, wanted - least)
            if (new_low > new_high).any():
                raise no_fit()
            changed = changed or bool((new_low > low).any() or (new_high < high).any())
            low, high = new_low, new_high
    return low, high


def _parts(bucket: Bucket, low: LongVector, high: LongVector) -> list[LongVector]:
    """Return the open tuples, in parts that share no count: what happens in one says nothing about another."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    open_ = np.flatnonzero(low < high)
    if not len(open_):
        return []
    columns = bucket.bound_of.shape[1]
    if columns == 0:
        return [open_]
    size = len(open_) + len(bucket.wanted)
    rows = np.repeat(np.arange(len(open_)), columns)
    ends = bucket.bound_of[open_].ravel() + len(open_)
    _, label = connected_components(coo_array((np.ones(len(rows)), (rows, ends)), shape=(size, size)), False)
    own = label[: len(open_)]
    return [open_[own == value] for value in np.unique(own)]


def part_of(bucket: Bucket, low: LongVector, high: LongVector, own: LongVector) -> Part:
    """Take one part out of a bucket: what is decided elsewhere is taken off the counts. O(tuples x columns)."""
    decided = np.where(low < high, 0, low)
    left = bucket.wanted.copy()
    for j in range(bucket.bound_of.shape[1]):
        left -= np.bincount(bucket.bound_of[:, j], decided, len(left)).astype(np.int64)
    columns: dict[bytes, IntVector] = {}
    wanted: list[LongVector] = []
    counts = 0
    for j in range(bucket.bound_of.shape[1]):
        used, first, number = np.unique(bucket.bound_of[own, j], return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))[number].astype(np.int32)
        if rank.tobytes() not in columns:
            columns[rank.tobytes()] = rank + counts
            wanted.append(left[used[np.argsort(first)]])
            counts += len(used)
    return Part(
        own=own,
        counts_of=np.ascontiguousarray(np.stack(list(columns.values()), axis=1).astype(np.int32)),
        people=bucket.people[own],
        least=low[own],
        most=high[own],
        wanted=np.concatenate(wanted),
        size=int(wanted[0].sum()),
    )


def bits_for(value: int) -> int:
    """Return how many bits hold the numbers from 0 to `value`."""
    return max(int(value).bit_length(), 1)


def binomials(people: int, least: int, most: int) -> list[int]:
    """Return in how many ways so many of equal people are chosen, from `least` to `most`."""
    return [math.comb(people, x) for x in range(least, most + 1)]
