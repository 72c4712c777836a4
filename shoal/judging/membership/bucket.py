"""A bucket of shuffled columns as a system of counts: how many people of each tuple are in it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import DataError
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief


@dataclass(frozen=True, eq=False, repr=False)
class Component(Brief):
    """A connected component of a bucket: undecided tuples that share counts with each other and with no others."""

    own: LongVector
    """The numbers of the tuples in the bucket."""
    counts_of: IntMatrix
    """``[tuples, columns]`` which count each value belongs to. Of columns that split the tuples equally one is kept."""
    people: LongVector
    least: LongVector
    """The smallest number of present people of each tuple that single counts allow."""
    most: LongVector
    wanted: LongVector
    """What remains of the counts for these tuples."""
    size: int
    """How many of the people of these tuples are present."""

    def count_shortfall(self, inside: LongVector) -> LongVector:
        """Return how many people are missing for each count, given the number of present people per tuple."""
        left = self.wanted.copy()
        for j in range(self.counts_of.shape[1]):
            left -= np.bincount(self.counts_of[:, j], inside, len(left)).astype(np.int64)
        return left


@dataclass(frozen=True, eq=False, repr=False)
class Bucket(Brief):
    """A bucket as a system of counts: how many people of each tuple are present, so that every count is met?"""

    bound_of: IntMatrix
    """``[tuples, columns]`` the count to which each value of a tuple belongs."""
    people: LongVector
    """``[tuples]`` people of the population with these values."""
    wanted: LongVector
    """``[counts]`` how often each value is published."""


def no_fit() -> DataError:
    """Return the error for counts that no set of people meets."""
    return DataError(
        "no set of people in the population has exactly the values that a bucket shows: check that it is the right "
        "population, and that it contains everybody in the table"
    )


def bucket_of(tuples: IntMatrix, people: LongVector, published: Sequence[LongVector]) -> Bucket:
    """Combine the people of a population and the published counts of a bucket."""
    if tuples.shape[1] != len(published):
        raise ValueError(
            f"the tuples have {tuples.shape[1]} columns, but there are counts for {len(published)}"
        )
    totals = {int(counts.sum()) for counts in published}
    if len(totals) > 1:
        raise ValueError(f"all columns of a bucket must show the same number of values, not {sorted(totals)}")
    starts = np.cumsum([0, *(len(counts) for counts in published)])[:-1]
    wanted = np.concatenate([np.zeros(0, np.int64), *published]).astype(np.int64)
    if len(tuples) and any((tuples[:, j] >= len(counts)).any() for j, counts in enumerate(published)):
        raise ValueError("a tuple has a value without a count")
    bound_of = (tuples + starts).astype(np.int32) if len(published) else tuples.astype(np.int32)
    reachable = np.zeros(len(wanted), np.int64)
    for j in range(bound_of.shape[1]):
        reachable += np.bincount(bound_of[:, j], people, len(wanted)).astype(np.int64)
    if (reachable < wanted).any():
        raise no_fit()
    return Bucket(bound_of, people.astype(np.int64), wanted)


def propagate_counts(bucket: Bucket) -> tuple[LongVector, LongVector]:
    """Return the smallest and largest number of present people per tuple that single counts allow.

    Each count bounds each of its tuples by what the other tuples can contribute, repeated until nothing changes:
    O(tuples x columns) a round. If the counts leave only one choice for some people, it is made here.
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


def components_of(bucket: Bucket, low: LongVector, high: LongVector) -> list[LongVector]:
    """Return the undecided tuples by connected component: components share no count, so they are independent."""
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


def component_of(bucket: Bucket, low: LongVector, high: LongVector, own: LongVector) -> Component:
    """Take one component out of a bucket, and subtract decided tuples from the counts. O(tuples x columns)."""
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
    return Component(
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
    """Return the number of ways to choose x of these people, for x from `least` to `most`."""
    return [math.comb(people, x) for x in range(least, most + 1)]
