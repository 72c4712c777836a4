"""Who must be in which bucket: a value that only one person has tells it, and the bucket must show the rest of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector


def count_missing_values(
    units: Sequence[Sequence[int]],
    people: IntMatrix,
    weight: LongVector,
    bucket_of: IntVector,
    low: IntMatrix,
    high: IntMatrix,
) -> int:
    """Return a lower bound on the number of false rows: a bucket shows some values of a person but lacks that person's
    other values.

    `people` are the distinct original rows, and `low` and `high` what each published row covers in the same columns. A
    unit of columns was shuffled as a whole. Values that only one person has say who is in a bucket; for each other
    unit, the bucket must show what these people have, as often. O(rows log rows) a pair of units.
    """
    exact = [bool(np.array_equal(low[:, list(unit)], high[:, list(unit)])) for unit in units]
    most = 0
    for at, unit in enumerate(units):
        if not exact[at]:
            continue
        who = _owners(people[:, list(unit)], weight, low[:, list(unit)])
        # A value shown twice is too often already, and then says nothing for sure.
        first = np.unique(who, return_index=True)[1]
        pinned = first[who[first] >= 0]
        for other, columns in enumerate(units):
            if other != at and exact[other] and len(pinned):
                needed = np.column_stack([bucket_of[pinned], people[who[pinned]][:, list(columns)]])
                shown = np.column_stack([bucket_of, low[:, list(columns)]])
                most = max(most, _count_lacking(needed, shown))
    return most


def _owners(people: IntMatrix, weight: LongVector, shown: IntMatrix) -> LongVector:
    """Return for each published row the only person with the values that it shows, or -1."""
    number = _number_rows(people, shown)
    own, theirs = number[: len(people)], number[len(people) :]
    often = np.bincount(own, weight, int(number.max(initial=-1)) + 1)
    owner = np.full(len(often), -1, np.int64)
    owner[own] = np.arange(len(people))
    alone: BoolVector = often == 1
    return np.where(alone[theirs], owner[theirs], -1)


def _count_lacking(needed: IntMatrix, shown: IntMatrix) -> int:
    """Count the needed combinations that are not shown as often."""
    number = _number_rows(needed, shown)
    size = int(number.max(initial=-1)) + 1
    wanted = np.bincount(number[: len(needed)], minlength=size)
    there = np.bincount(number[len(needed) :], minlength=size)
    return int(np.maximum(wanted - there, 0).sum())


def _number_rows(one: IntMatrix, other: IntMatrix) -> IntVector:
    """Number the distinct rows of two tables."""
    from shoal.kernels.grouping import distinct

    return distinct(np.asfortranarray(np.concatenate([one, other]).astype(np.int32)))[0]
