"""A bucket of shuffled columns as a question in numbers: how many people of each tuple are in it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import IntMatrix, IntVector, LongVector
from shoal.errors import DataError


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


def no_fit() -> DataError:
    """Return the error for counts that nobody can meet."""
    return DataError(
        "no set of people of the population has exactly the values that a bucket shows: is it the right "
        "population, and does it contain everybody of the table?"
    )


def bucket_of(tuples: IntMatrix, people: LongVector, published: Sequence[LongVector]) -> Bucket:
    """Put the people of a population and the published counts of a bucket into one question."""
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


def parts_of(bucket: Bucket, low: LongVector, high: LongVector) -> list[LongVector]:
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
