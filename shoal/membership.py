"""Who of the population is in a bucket whose columns were shuffled? Exact chances, by counting.

A bucket shows, for each column (or group of columns that were shuffled together), which values occur how often. The
people behind it are one of the sets of people of the population that have exactly these values; to the adversary all
such sets are equally likely. A person's chance is the share of the sets that contain the person.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolVector, FloatVector, IntMatrix, LongVector
from shoal.errors import DataError

MOST_STATES = 1_000_000
"""States of the counting that are kept at once, over all steps, before it gives way to an estimate."""


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
    """Chances that were counted or proven; the others are estimates."""
    forced_in: BoolVector
    """Everybody of this tuple is certainly in."""
    forced_out: BoolVector
    """Nobody of this tuple is in."""
    undecided: BoolVector
    """Neither counting nor integer programming could tell, in the time given, whether anybody is certain."""
    sets: int | None
    """Number of sets of people that fit; None where it was not counted."""
    people_in: tuple[int, ...] | None
    """Per tuple, the people of it over all sets that fit; ``chance = people_in / (multiplicity x sets)``."""
    states: int
    """States that the counting kept."""


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
    seconds: float = 10.0,
) -> Membership:
    """Return the chance of everybody who could be in a bucket.

    `tuples` are the distinct combinations of values of the population's people, by column; `people` says how many
    have each; ``published[j][v]`` is how often value v is shown in column j. Counts exactly as long as `limit` states
    are enough; otherwise people who are certainly in or out are still found exactly, by integer programming, and the
    rest is estimated by a random walk for which `random` is needed. `seconds` limits that second way.

    Bounds are propagated first, so people who are forced by a single count cost nothing, and parts that have no value
    in common are counted apart. O(states x columns) for the counting.
    """
    bucket = _bucket(tuples, people, published)
    low, high = propagated(bucket)
    fixed = low == high
    sets = math.prod(math.comb(int(c), int(x)) for c, x in zip(people[fixed], low[fixed], strict=True))
    states = 0
    count = len(people)
    parts = _parts(bucket, low, high)
    exact = np.ones(count, np.bool_)
    expected = low / people
    numbers: list[tuple[int, list[int], LongVector]] = []
    for part in parts:
        found = None
        if limit - states > 0:
            from shoal.membership_count import counted

            found = counted(bucket, low, high, part, limit - states)
        if found is None:
            exact[part] = False
            continue
        ways, used, kept = found
        if ways == 0:
            raise no_fit()
        states += kept
        sets *= ways
        expected[part] = [
            (int(low[t]) * ways + n) / (int(people[t]) * ways) for t, n in zip(part, used, strict=True)
        ]
        numbers.append((ways, used, part))
    if not exact.all():
        from shoal.membership_estimate import estimated

        return estimated(bucket, low, high, exact, expected, states, random, seconds)
    inside = [int(value) * sets for value in low]
    for ways, used, part in numbers:
        for t, n in zip(part, used, strict=True):
            inside[t] += n * (sets // ways)
    chance = np.array([n / (int(c) * sets) for n, c in zip(inside, people, strict=True)])
    return Membership(
        chance=chance,
        low=chance,
        high=chance,
        exact=exact,
        forced_in=np.array([n == int(c) * sets for n, c in zip(inside, people, strict=True)], np.bool_),
        forced_out=np.array([n == 0 for n in inside], np.bool_),
        undecided=np.zeros(count, np.bool_),
        sets=sets,
        people_in=tuple(inside),
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


def bits_for(value: int) -> int:
    """Return how many bits hold the numbers from 0 to `value`."""
    return max(int(value).bit_length(), 1)


def binomials(people: int, least: int, most: int) -> list[int]:
    """Return in how many ways so many of equal people are chosen, from `least` to `most`."""
    return [math.comb(people, x) for x in range(least, most + 1)]
