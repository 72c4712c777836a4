"""The loss of a range of codes, the same for every kernel: one set of arrays, and one look-up.

`shoal.methods.loss_tables` makes the arrays. Losses are multiples of `GRAIN` and weighted so that a row that loses
everything in every column loses 1 (by LM). So their sums are exact in any order, and ties are ties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import njit
from shoal.support.arrays import FloatVector, IntVector

GRAIN = 2.0**-20
"""Losses are multiples of it."""
KIND, SIZE, PLACE, ORDERED, LEVELS, NODES, START = range(7)
"""What ``shape[j]`` holds, see `Losses`."""
DENSE, TREE, LINE, ENTROPY = range(4)
"""How `cells` holds the losses of a column."""

LOOK_UP = njit(cache=True, nogil=True, forceinline=True, _nrt=False)
"""How look-ups are compiled: into their callers, and without counting references to arrays. If numba counts them, a
look-up takes ten times as long."""

PART = njit(cache=True, nogil=True, _nrt=False)
"""How functions of kernels that make no arrays are compiled: they count no references either."""


class Losses(NamedTuple):
    """The losses of the ranges of all columns."""

    shape: NDArray[np.int64]
    """``[columns, 7]``: how `cells` holds the losses; number of codes; first position in `cells`; number of ordered
    codes if any range may be shown, -1 if only nodes of a tree may; levels of the tree; first position in `first` and
    `last`; first number when the codes of all columns are numbered consecutively."""
    cells: FloatVector
    """DENSE: the loss of every range, at ``low * codes + high``; infinite if a limit forbids it. TREE: level after
    level, the loss of the node over each code. LINE: the place of each code, and the loss of the whole domain: a
    range loses the difference of its ends. ENTROPY: running sums of counts f, running sums of f log2 f, the
    weight, and the loss of the whole domain."""
    least: FloatVector
    """As `cells`, but the least loss of all ranges that contain the range; 0 for ENTROPY, where `least_loss` has a
    better bound. The same array if a wider range never loses less."""
    first: IntVector
    """For columns with a tree, level after level: the first code of the node over each code."""
    last: IntVector
    """The same for its last code."""
    rising: bool
    """A wider range never loses less."""


@LOOK_UP
def _wide_loss(shape, cells, last, j, low, high):
    """Return the loss of a range in a column without a table of all ranges."""
    size, place, ordered = shape[j, SIZE], shape[j, PLACE], shape[j, ORDERED]
    if shape[j, KIND] == TREE:
        node = shape[j, NODES] + low
        for level in range(shape[j, LEVELS]):
            if last[node] >= high:
                return cells[place + level * size + low]
            node += size
        return np.inf
    if low == high:
        return 0.0
    if shape[j, KIND] == LINE:
        if high >= ordered:
            return cells[place + size]
        return cells[place + high] - cells[place + low]
    if high >= ordered:
        return cells[place + 2 * size + 3]
    rows = max(cells[place + high + 1] - cells[place + low], 1.0)
    logs = cells[place + size + high + 2] - cells[place + size + low + 1]
    bits = max(np.log2(rows) - logs / rows, 0.0)
    return np.rint(bits * cells[place + 2 * size + 2] / GRAIN) * GRAIN


@LOOK_UP
def range_loss(losses, j, low, high):
    """Return the loss of the smallest publishable range over the codes `low` to `high` of column j, infinite if there
    is none. O(1), or O(levels) in a tree with many codes.
    """
    shape = losses.shape
    if shape[j, KIND] == DENSE:
        return losses.cells[shape[j, PLACE] + np.int64(low) * shape[j, SIZE] + np.int64(high)]
    return _wide_loss(shape, losses.cells, losses.last, j, np.int64(low), np.int64(high))


@LOOK_UP
def least_loss(losses, j, low, high):
    """Return a lower bound for the loss of any range over the codes `low` to `high` of column j, for searches."""
    shape = losses.shape
    if shape[j, KIND] == DENSE:
        return losses.least[shape[j, PLACE] + np.int64(low) * shape[j, SIZE] + np.int64(high)]
    if shape[j, KIND] == ENTROPY:
        return _entropy_bound(shape, losses.cells, losses.last, j, np.int64(low), np.int64(high))
    return _wide_loss(shape, losses.least, losses.last, j, np.int64(low), np.int64(high))


@LOOK_UP
def _entropy_bound(shape, cells, last, j, low, high):
    """Return the entropy bound: however a range grows, its own rows stay at least as uncertain as before."""
    own = _wide_loss(shape, cells, last, j, low, high)
    if high >= shape[j, ORDERED]:
        return own
    place = shape[j, PLACE]
    share = (cells[place + high + 1] - cells[place + low]) / max(cells[place + shape[j, SIZE]], 1.0)
    # Minus one grain: the losses themselves are rounded.
    return max(np.floor(own * share / GRAIN) - 1.0, 0.0) * GRAIN


@LOOK_UP
def lift(losses, j, low, high):
    """Return the smallest publishable range over the codes `low` to `high` of column j, which lie under one node."""
    if losses.shape[j, ORDERED] < 0:
        at = losses.shape[j, NODES] + np.int64(low)
        while losses.last[at] < high:
            at += losses.shape[j, SIZE]
        return np.int64(losses.first[at]), np.int64(losses.last[at])
    if low != high and high >= losses.shape[j, ORDERED]:
        return np.int64(0), losses.shape[j, SIZE] - 1
    return np.int64(low), np.int64(high)


@njit(cache=True, nogil=True)
def box_losses(box, losses):
    """Return the loss of a row of each box; ``box[c, 2j]`` and ``box[c, 2j + 1]`` are its ends in column j.

    O(boxes x columns).
    """
    total = np.zeros(len(box))
    for c in range(len(box)):
        for j in range(box.shape[1] // 2):
            total[c] += range_loss(losses, j, box[c, 2 * j], box[c, 2 * j + 1])
    return total


@njit(cache=True, nogil=True)
def widen(losses, j, low, high, grown, least):
    """Store for each code of column j the loss of the range ``low..high`` extended by it; and, unless `least` is empty,
    a lower bound for all ranges over both. Codes of all columns are numbered consecutively. O(codes).
    """
    start = losses.shape[j, START]
    for code in range(losses.shape[j, SIZE]):
        grown[start + code] = range_loss(losses, j, min(low, code), max(high, code))
        if len(least) > 0:
            least[start + code] = least_loss(losses, j, min(low, code), max(high, code))
