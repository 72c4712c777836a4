"""SUDA2: which few columns single a person out, and how special each person is (Manning, Haglin and Keane 2008).

A *minimal unique* of a row is a set of columns in which no other row has the same values, while in each of its proper
subsets some other row has. The fewer columns it has, and the more of them a row has, the more special is the row.

A row that is unique in some columns is unique in more of them, too. So it has no minimal unique there, and no other row
equals it there: whatever is unique in a set of columns is left out of all larger sets, on every path of the search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.support.arrays import BoolVector, FloatVector, IntVector, LongVector
from shoal.support.brief import Brief

LARGEST = 4
"""Sets of up to so many columns are looked at by default: few adversaries know more about somebody by heart."""
DENSE = 4
"""Groups are numbered by their values, without hashing, if there are at most so many possible ones per row."""


@dataclass(frozen=True)
class MinimalSet:
    """Some columns, by position, and how many people they single out, although fewer of them do not."""

    columns: tuple[int, ...]
    people: int


@dataclass(frozen=True, eq=False, repr=False)
class SinglingOut(Brief):
    """The minimal uniques of a table."""

    sets: tuple[MinimalSet, ...]
    """Those that single somebody out: small sets first, then by the number of people."""
    scores: FloatVector
    """Row -> its SUDA score: for each of its minimal uniques of s columns the product of (c - i), i = s .. `largest`,
    added up; c is the number of all columns. A factor 0 counts as 1. 0 if it has none."""
    fewest: IntVector
    """Row -> how many columns its smallest minimal unique has; 0 if it has none."""
    contribution: FloatVector
    """Column -> the share of all scores that comes from minimal uniques with this column; 0 if there are none."""
    people: int
    """How many people have a minimal unique."""
    of: int
    """How many people the table has."""
    largest: int
    """How many columns a set may have."""


def find_minimal_uniques(
    columns: Sequence[NDArray[Any]],
    rows: int,
    *,
    largest: int = LARGEST,
    person: IntVector | None = None,
    heads: LongVector | None = None,
) -> SinglingOut:
    """Find all minimal uniques of up to `largest` columns.

    `person` says whose each row is, if some have several; a set of columns then singles out a person, in some rows.
    `heads` says how many people each row stands for, if not one. One grouping of the rows that are left for each set of
    columns, of which there are at most C(columns, largest) + .. + columns.
    """
    from shoal.kernels.grouping import distinct_rows

    number, first = distinct_rows(columns, rows)
    # Equal rows are equal in every set of columns: one of them is enough, with its owner if they have only one.
    cells = [np.ascontiguousarray(column[first], np.int32) for column in columns]
    owner = _owners(number, len(first), person, heads)
    width = len(columns)
    largest = min(largest, width)
    points = [math.prod(max(width - i, 1) for i in range(size, largest + 1)) for size in range(largest + 1)]
    scores, fewest = np.zeros(len(first)), np.zeros(len(first), np.int32)
    by_column = np.zeros(width)
    found = []
    for chosen, alone in _walk(cells, owner, largest):
        size = len(chosen)
        people = len(alone) if person is None else len(np.unique(owner[alone]))
        found.append(MinimalSet(chosen, people))
        scores[alone] += points[size]
        fewest[alone] = np.where(fewest[alone] == 0, size, fewest[alone])
        # A person may have several of the rows; each counts, as in `scores`.
        by_column[list(chosen)] += points[size] * len(alone)
    total = float(scores.sum())
    special = owner[fewest > 0]
    return SinglingOut(
        tuple(sorted(found, key=lambda one: (len(one.columns), -one.people, one.columns))),
        scores[number],
        fewest[number],
        by_column / total if total else by_column,
        len(np.unique(special)),
        _people(rows, person, heads),
        largest,
    )


def each_minimal_set(
    columns: Sequence[NDArray[Any]], rows: int, largest: int = LARGEST
) -> Iterator[tuple[tuple[int, ...], LongVector]]:
    """Yield the sets of up to `largest` columns that are minimal uniques of some rows, with these rows. Each row is a
    person of its own. The order of the sets is that of their size.
    """
    from shoal.kernels.grouping import distinct_rows

    number, first = distinct_rows(columns, rows)
    cells = [np.ascontiguousarray(column[first], np.int32) for column in columns]
    for chosen, alone in _walk(cells, _owners(number, len(first), None, None), min(largest, len(columns))):
        yield chosen, first[alone]


def _walk(
    cells: Sequence[IntVector], owner: IntVector, largest: int
) -> Iterator[tuple[tuple[int, ...], LongVector]]:
    """Yield each set of columns that is a minimal unique of some distinct rows, with these."""
    width = len(cells)
    left: dict[tuple[int, ...], BoolVector] = {(): np.ones(len(owner), np.bool_)}
    for size in range(1, largest + 1):
        below, left = left, {}
        keys = _Keys(cells)
        for chosen in combinations(range(width), size):
            candidates = keep_unique_in_none(below, chosen)
            if candidates is None:
                continue
            places = np.flatnonzero(candidates)
            alone = places[keys.alone(chosen, places, owner)]
            if len(alone):
                yield chosen, alone
            if size < largest and len(alone) < len(places):
                candidates[alone] = False
                left[chosen] = candidates


def _people(rows: int, person: IntVector | None, heads: LongVector | None) -> int:
    if person is not None:
        return len(np.unique(person))
    return rows if heads is None else int(heads.sum())


def _owners(
    number: IntVector, distinct: int, person: IntVector | None, heads: LongVector | None
) -> IntVector:
    """Return whose each distinct row is; -1 if several people have it."""
    owner = np.full(distinct, -1, np.int32)
    if person is None:
        people = np.bincount(number, weights=heads, minlength=distinct)
        single = np.flatnonzero(people == 1)
        owner[single] = single
        return owner
    from shoal.kernels.singling import of_one_person

    alone = of_one_person(number, distinct, np.ascontiguousarray(person, np.int32))
    owner[number[alone]] = person[alone]
    return owner


def size_for(width: int, sets: int) -> int:
    """Return the largest size, up to the usual one, of which at most so many sets of columns have to be looked at."""
    most = 1
    for size in range(2, min(LARGEST, width) + 1):
        if sum(math.comb(width, part) for part in range(1, size + 1)) <= sets:
            most = size
    return most


def keep_unique_in_none(
    below: dict[tuple[int, ...], BoolVector], chosen: tuple[int, ...]
) -> BoolVector | None:
    """Return the rows that are not unique in any set with one column less; None if there are no such rows."""
    parts = list(combinations(chosen, len(chosen) - 1))
    if any(part not in below for part in parts):
        return None
    left = below[parts[0]].copy()
    for part in parts[1:]:
        left &= below[part]
    return left if left.any() else None


class _Keys:
    """Keys of rows in sets of columns. Sets come in order, so that most of a key is that of the set before."""

    def __init__(self, cells: Sequence[IntVector]) -> None:
        self.cells = cells
        self.spans = [int(column.max(initial=0)) + 1 for column in cells]
        self.known: tuple[tuple[int, ...], NDArray[np.uint64] | None] = ((), None)

    def alone(self, chosen: tuple[int, ...], places: LongVector, owner: IntVector) -> BoolVector:
        """Return which of some rows nobody else equals in the chosen columns."""
        from shoal.kernels.grouping import distinct_rows, number, pack
        from shoal.kernels.singling import of_one_person

        possible = math.prod(self.spans[column] for column in chosen)
        if possible >= 1 << 62:
            numbers, first = distinct_rows([self.cells[column][places] for column in chosen], len(places))
            return np.asarray(of_one_person(numbers, len(first), owner[places]), np.bool_)
        if self.known[1] is None or self.known[0] != chosen[:-1]:
            start = np.zeros(len(owner), np.uint64)
            for column in chosen[:-1]:
                pack(start, self.cells[column], 0, self.spans[column])
            self.known = chosen[:-1], start
        assert self.known[1] is not None
        keys = self.known[1][places]
        pack(keys, self.cells[chosen[-1]][places], 0, self.spans[chosen[-1]])
        if possible <= DENSE * len(places):
            return np.asarray(of_one_person(keys.astype(np.int32), possible, owner[places]), np.bool_)
        numbers, first = number(keys)
        return np.asarray(of_one_person(numbers, len(first), owner[places]), np.bool_)
