"""Predicates that an adversary makes from a synthetic table alone, to single out people whom they have never seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import in_threads
from shoal.support.run import Run
from shoal.synthetic.tables import Rows, Tables

FEWEST, MOST = 3, 6
"""A multivariate predicate is about so many columns, drawn at random, if there are as many."""
PART = 250
"""Predicates that a thread counts at a time."""
ROUNDS = 10
"""So many times as many multivariate predicates are tried as are wanted: only some isolate a synthetic row."""


@dataclass(frozen=True, eq=False, repr=False)
class Predicates(Brief):
    """Statements about some columns: each of their values lies between two codes."""

    column: IntMatrix
    """``[predicates, conditions]``; -1 after the last condition."""
    low: IntMatrix
    high: IntMatrix

    @property
    def many(self) -> int:
        """How many there are."""
        return len(self.column)

    def take(self, places: LongVector) -> Predicates:
        """Return some of them."""
        return Predicates(self.column[places], self.low[places], self.high[places])

    def count_in(self, rows: Rows, most: int = 1) -> tuple[LongVector, LongVector]:
        """Return how many rows satisfy each, and the first that does; counts above `most` may be too small.
        O(predicates x rows), in threads.
        """
        from shoal.kernels.synthetic import count_satisfying

        def count_part(start: int) -> tuple[LongVector, LongVector]:
            part = slice(start, start + PART)
            own = self.column[part], self.low[part], self.high[part]
            count, first = np.zeros(len(own[0]), np.int64), np.full(len(own[0]), -1, np.int64)
            count_satisfying(rows.codes, *own, most, count, first)
            return count, first

        if not self.many:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        counts, firsts = zip(*in_threads(count_part, list(range(0, self.many, PART))), strict=True)
        return np.concatenate(counts), np.concatenate(firsts)

    def describe(self, tables: Tables, place: int) -> str:
        """Return a predicate in words. It shows values: private."""
        found = []
        for j, low, high in zip(self.column[place], self.low[place], self.high[place], strict=True):
            if j < 0:
                break
            own = tables.columns[j]
            if high < 0:
                found.append(f"{own.name} is empty")
            elif low == high:
                found.append(f"{own.name} = {own.values[int(low)]}")
            elif low == 0:
                found.append(f"{own.name} <= {own.values[int(high)]}")
            else:
                found.append(f"{own.name} >= {own.values[int(low)]}")
        return " and ".join(found)


def _join(parts: list[Predicates], width: int) -> Predicates:
    if not parts:
        empty = np.zeros((0, width), np.int32)
        return Predicates(empty, empty, empty)
    return Predicates(
        *(np.concatenate([getattr(one, name) for one in parts]) for name in ("column", "low", "high"))
    )


def _of_column(column: int, low: IntVector, high: IntVector) -> Predicates:
    def as_rows(values: IntVector) -> IntMatrix:
        return np.asarray(values, np.int32).reshape(-1, 1)

    return Predicates(as_rows(np.full(len(low), column, np.int32)), as_rows(low), as_rows(high))


def make_univariate(tables: Tables, most: int, run: Run) -> Predicates:
    """Return up to `most` statements about one column: values that one synthetic row has, a null that one has, and what
    lies at or beyond the smallest and the largest number.
    """
    found = []
    for j, (column, codes) in enumerate(zip(tables.columns, tables.synthetic.codes, strict=True)):
        last = len(column.values) - 1
        known = codes[codes >= 0]
        rare = np.flatnonzero(np.bincount(known, minlength=1) == 1).astype(np.int32)
        low, high = [rare], [rare]
        if len(codes) - len(known) == 1:
            low.append(np.array([-1], np.int32))
            high.append(np.array([-1], np.int32))
        if column.is_number and len(known) and known.min() < known.max():
            low.append(np.array([0, known.max()], np.int32))
            high.append(np.array([known.min(), last], np.int32))
        ends = np.unique(np.stack([np.concatenate(low), np.concatenate(high)], axis=1), axis=0)
        found.append(_of_column(j, ends[:, 0], ends[:, 1]))
    made = _join(found, 1)
    return made.take(run.random.permutation(made.many)[:most])


def make_multivariate(tables: Tables, most: int, run: Run) -> Predicates:
    """Return up to `most` statements about several columns that exactly one synthetic row satisfies: the category of a
    random row, and for its numbers at least or at most, away from the median.
    """
    width = len(tables.columns)
    most_columns = min(MOST, width)
    found, kept = [], 0
    for attempt in range(ROUNDS):
        run.progress("singling out", 0.05 + 0.1 * attempt / ROUNDS)
        drawn = _draw(tables, most, most_columns, run)
        count, _ = drawn.count_in(tables.synthetic)
        found.append(drawn.take(np.flatnonzero(count == 1)))
        kept += found[-1].many
        if kept >= most:
            break
    made = _join(found, most_columns)
    whole = np.hstack([made.column, made.low, made.high])
    _, first = np.unique(whole, axis=0, return_index=True)
    return made.take(np.sort(first)[:most])


def _draw(tables: Tables, many: int, most_columns: int, run: Run) -> Predicates:
    codes, width = tables.synthetic.codes, len(tables.columns)
    last = np.array([len(column.values) - 1 for column in tables.columns], np.int32)
    middle = _medians(tables)
    row = run.random.integers(0, codes.shape[1], many)
    size = run.random.integers(min(FEWEST, most_columns), most_columns + 1, many)
    column = np.argsort(run.random.random((many, width)), axis=1)[:, :most_columns].astype(np.int32)
    # In ascending order, so that equal statements are found.
    column[np.arange(most_columns) >= size[:, None]] = width
    column = np.sort(column, axis=1)
    absent = column == width
    safe = np.where(absent, 0, column)
    value = codes[safe, row[:, None]]
    ordered = tables.numbers[safe] & (value >= 0)
    above = value >= middle[safe]
    low = np.where(ordered & ~above, 0, value).astype(np.int32)
    high = np.where(ordered & above, last[safe], value).astype(np.int32)
    return Predicates(np.where(absent, -1, column).astype(np.int32), low, high)


def make_random(tables: Tables, conditions: int, many: int, run: Run) -> Predicates:
    """Return statements that no synthetic row suggested: random columns, and values drawn for each by itself."""
    width, rows = len(tables.columns), tables.synthetic.count
    conditions = min(conditions, width)
    column = np.sort(np.argsort(run.random.random((many, width)), axis=1)[:, :conditions], axis=1).astype(
        np.int32
    )
    value = tables.synthetic.codes[column, run.random.integers(0, rows, (many, conditions))]
    last = np.array([len(one.values) - 1 for one in tables.columns], np.int32)
    side = run.random.integers(0, 2, (many, conditions))
    ordered = tables.numbers[column] & (value >= 0)
    low = np.where(ordered & (side == 0), 0, value).astype(np.int32)
    high = np.where(ordered & (side == 1), last[column], value).astype(np.int32)
    return Predicates(column, low, high)


def _medians(tables: Tables) -> IntVector:
    return np.array(
        [int(np.median(known)) if len(known := codes[codes >= 0]) else 0 for codes in tables.synthetic.codes],
        np.int32,
    )
