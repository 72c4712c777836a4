"""Copies: training rows that come back as they were or nearly, and rare combinations of values that come back.

The same is counted for holdout rows: people of one population are alike, and not every equal row is a copy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.judging.linking.suda import each_minimal_set, size_for
from shoal.kernels.grouping import distinct_rows
from shoal.support.arrays import BoolVector, FloatVector, LongVector
from shoal.support.run import Run
from shoal.synthetic.distances import Nearest
from shoal.synthetic.rates import COPIES, Attempt, Rate
from shoal.synthetic.tables import Rows, Tables

NEAR = 0.01
"""A near copy differs by at most this share of the range of each column, on average over the columns."""
SETS = 1500
"""So many sets of columns are looked at for minimal uniques; with more rows, fewer."""
CELLS = 300_000_000
"""Rows times sets of columns that are looked at for minimal uniques."""
SHOWN = 20
DENSE = 1 << 27
EXACT, NEARLY, UNIQUES = "exact copies", "near copies", "minimal uniques"


def find_copies(tables: Tables) -> Attempt:
    """Count the rows of the original, and of the holdout, that a synthetic row equals in all columns. O(rows)."""
    parts = [tables.synthetic, tables.original, *([] if tables.holdout is None else [tables.holdout])]
    number, first = distinct_rows(list(np.concatenate([part.codes for part in parts], axis=1)))
    ends = np.cumsum([part.count for part in parts])
    synthetic, own, *other = np.split(number, ends[:-1])
    there = np.bincount(synthetic, minlength=len(first)) > 0
    alone = np.bincount(own, minlength=len(first)) == 1
    back = there[own]
    single = np.flatnonzero(back & alone[own])
    return Attempt(
        question=COPIES,
        name=EXACT,
        train=Rate.of_hits(back),
        control=Rate.of_hits(there[other[0]]) if other else None,
        exposed=tuple(
            (int(row), "a synthetic row is equal, and no other row of the original is")
            for row in single[:SHOWN]
        ),
    )


def find_near_copies(tables: Tables, targets: LongVector, nearest: tuple[Nearest, Nearest | None]) -> Attempt:
    """Count the targets that have a synthetic row at a small distance."""
    limit = NEAR * tables.unit * len(tables.columns)
    near = nearest[0].distance[0] <= limit
    return Attempt(
        question=COPIES,
        name=NEARLY,
        train=Rate.of_hits(near),
        control=None if nearest[1] is None else Rate.of_hits(nearest[1].distance[0] <= limit),
        exposed=tuple(
            (int(row), "a synthetic row is nearly equal") for row in targets[np.flatnonzero(near)[:SHOWN]]
        ),
    )


def find_returning_uniques(tables: Tables, run: Run) -> tuple[Attempt, int]:
    """Count the minimal uniques, combinations of a few values that one person alone has, that a synthetic row shows;
    return the attempt, and how many columns a combination had at most. The success on a person is the share of their
    minimal uniques that come back, so that each person counts once.

    How rare a combination is depends on the number of people: as many training rows as there are holdout rows, or the
    other way round, are drawn and looked at.
    """
    sizes = [tables.original.count, *([] if tables.holdout is None else [tables.holdout.count])]
    rows = min(sizes)
    width = len(tables.columns)
    largest = size_for(width, min(SETS, max(CELLS // max(rows, 1), width)))
    drawn = np.sort(run.random.permutation(tables.original.count)[:rows])
    share = _returning(tables, tables.original.take(drawn), largest, run)
    special = np.isfinite(share)
    control = None
    if tables.holdout is not None:
        other = np.sort(run.random.permutation(tables.holdout.count)[:rows])
        own = _returning(tables, tables.holdout.take(other), largest, run)
        control = Rate.of_hits(own[np.isfinite(own)])
    if not special.any():
        refused = f"no combination of up to {largest} values belongs to one training row only"
        return Attempt(question=COPIES, name=UNIQUES, refused=refused), largest
    shown = np.flatnonzero(special & (share == 1.0))[:SHOWN]
    told = "all rare combinations of its values come back"
    return Attempt(
        question=COPIES,
        name=UNIQUES,
        train=Rate.of_hits(share[special]),
        control=control,
        exposed=tuple((int(row), told) for row in drawn[shown]),
    ), largest


def _returning(tables: Tables, rows: Rows, largest: int, run: Run) -> FloatVector:
    """Return the share of the minimal uniques of each row that come back; NaN for rows without any."""
    many, back = np.zeros(rows.count), np.zeros(rows.count)
    for chosen, alone in each_minimal_set(list(rows.codes + 1), rows.count, largest):
        run.progress("minimal uniques", 0.75)
        own, other = rows.codes[list(chosen)][:, alone], tables.synthetic.codes[list(chosen)]
        many[alone] += 1
        back[alone] += are_among(own, other, [len(tables.columns[j].values) + 1 for j in chosen])
    return np.where(many > 0, back / np.maximum(many, 1), np.nan)


def are_among(own: NDArray[np.int32], other: NDArray[np.int32], spans: list[int]) -> BoolVector:
    """Return which of some combinations, ``[columns, rows]`` from -1, are among others."""
    size = math.prod(spans)
    if size >= 1 << 62:
        number, first = distinct_rows(list(np.concatenate([other, own], axis=1)))
        there = np.zeros(len(first), np.bool_)
        there[number[: other.shape[1]]] = True
        return there[number[other.shape[1] :]]

    def key(cells: NDArray[np.int32]) -> LongVector:
        found = np.zeros(cells.shape[1], np.int64)
        for span, column in zip(spans, cells, strict=True):
            found = found * span + (column.astype(np.int64) + 1)
        return found

    mine, theirs = key(own), key(other)
    if size <= DENSE:
        there = np.zeros(size, np.bool_)
        there[theirs] = True
        return there[mine]
    return np.asarray(np.isin(mine, theirs), np.bool_)
