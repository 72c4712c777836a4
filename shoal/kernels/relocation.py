"""Relocation inside boxes: change a few cells so that a box shows less, or can be split in two with k rows each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import njit
from shoal.kernels.losses import NODES, ORDERED, SIZE, range_loss
from shoal.support.arrays import FloatVector, IntMatrix, LongVector

TRIM, SPLIT = 0, 1
MOST_ENDS = 1000
"""In a box with more values in a column, only every second, third, .. is tried as an end of the narrower range."""


class RelocationWorkspace(NamedTuple):
    """Working memory of `relocate_cells`; its content does not matter before or after."""

    ratio: FloatVector
    """Per box, as are the next three."""
    chosen: NDArray[np.int64]
    heap: LongVector
    todo: LongVector
    keys: LongVector
    """Per row of the largest box, as are the next four, and one more."""
    values: LongVector
    upto: LongVector
    fresh: LongVector
    spare: IntMatrix
    """Codes, true codes and number of each row."""


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _holds_more(losses, j, values, found, a, z):
    """Return whether the smallest node over the values `a` to `z` of a box covers another value of the box."""
    if losses.shape[j, ORDERED] >= 0 or a == z:
        return False
    node, level = losses.first, losses.shape[j, NODES]
    while node[level + values[a]] != node[level + values[z]]:
        level += losses.shape[j, SIZE]
    own = node[level + values[a]]
    return (a > 0 and node[level + values[a - 1]] == own) or (
        z + 1 < found and node[level + values[z + 1]] == own
    )


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _sort(codes, begin, end, j, keys):
    """Sort a column of a box: ``keys`` receives code x rows + position, ascending. O(rows^1.3) for few rows."""
    rows = end - begin
    for i in range(rows):
        keys[i] = np.int64(codes[begin + i, j]) * rows + i
    gap = 1
    while gap < rows // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, rows):
            key, at = keys[i], i
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap //= 3


@njit(cache=True, nogil=True, error_model="numpy")
def _propose(codes, true, begin, end, k, most, noise, losses, choice, workspace):
    """Find the change of one box with the largest gain per changed cell; return that ratio, 0 if there is none.

    `choice` receives the kind, the column, the first and last code that stay (or go to the first side), and the
    number of changed cells. O(columns x (rows^1.3 + values^2)).
    """
    rows = end - begin
    best = 0.0
    keys, values, upto, fresh = workspace.keys, workspace.values, workspace.upto, workspace.fresh
    upto[0] = fresh[0] = 0
    for j in range(len(losses.shape)):
        _sort(codes, begin, end, j, keys)
        if keys[0] // rows == keys[rows - 1] // rows:
            continue
        found = 0
        for i in range(rows):
            code = keys[i] // rows
            if found == 0 or code != values[found - 1]:
                values[found] = code
                found += 1
                fresh[found] = fresh[found - 1]
            upto[found] = i + 1
            fresh[found] += code == true[begin + keys[i] % rows, j]
        whole = range_loss(losses, j, values[0], values[found - 1])
        stride = 1 + found // MOST_ENDS
        for a in range(0, found, stride):
            if 2 * (rows - upto[a]) < rows:
                break
            for z in range(found - 1, a - 1, -stride):
                if 2 * (upto[z + 1] - upto[a]) < rows:
                    break
                cost = fresh[found] - fresh[z + 1] + fresh[a]
                if cost > most:
                    break
                ratio = rows * (whole - range_loss(losses, j, values[a], values[z])) / max(cost, 1) * noise[j]
                # A node may cover more values than these: then other ends give the same node with fewer changes.
                if ratio > best * (1 + 1e-12) and not _holds_more(losses, j, values, found, a, z):
                    best = ratio
                    choice[0], choice[1], choice[2], choice[3], choice[4] = (
                        TRIM,
                        j,
                        values[a],
                        values[z],
                        cost,
                    )
        if k == 0 or rows < 2 * k:
            continue
        for z in range(found - 1):
            left = upto[z + 1]
            lack = k - min(left, rows - left)
            if lack <= 0 or lack > most:
                continue
            in_left = left + lack if 2 * left < rows else left - lack
            gain = in_left * (whole - range_loss(losses, j, values[0], values[z]))
            gain += (rows - in_left) * (whole - range_loss(losses, j, values[z + 1], values[found - 1]))
            ratio = gain / lack * noise[j]
            if ratio > best * (1 + 1e-12):
                best = ratio
                choice[0], choice[1], choice[2], choice[3], choice[4] = SPLIT, j, values[0], values[z], lack
    return best


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _push(heap, count, ratio, box):
    """Add a box to a heap by ratio, the lower number first among equals."""
    at = count
    while at > 0:
        above = heap[(at - 1) // 2]
        if ratio[above] > ratio[box] or (ratio[above] == ratio[box] and above < box):
            break
        heap[at] = above
        at = (at - 1) // 2
    heap[at] = box


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _pop(heap, count, ratio):
    """Take the first box out of a heap of `count`."""
    first, last = heap[0], heap[count - 1]
    at = 0
    while 2 * at + 1 < count - 1:
        child = 2 * at + 1
        if child + 1 < count - 1:
            a, b = heap[child], heap[child + 1]
            if ratio[b] > ratio[a] or (ratio[b] == ratio[a] and b < a):
                child += 1
        c = heap[child]
        if ratio[last] > ratio[c] or (ratio[last] == ratio[c] and last < c):
            break
        heap[at] = c
        at = child
    heap[at] = last
    return first


@njit(cache=True, nogil=True, error_model="numpy")
def relocate_cells(codes, true, ids, begins, ends, boxes, k, cells, limit, noise, losses, workspace):
    """Change cells inside boxes, always with the largest gain per changed cell, while at most `cells` change.

    Box b is the rows ``begins[b]..ends[b]`` of `codes`, which are changed in place; `true` are the values before, and
    `ids` the rows of the table: both move with their rows. Either a box shrinks to a narrower range, and values outside
    it become the nearest value inside; or, with k > 0, a box of at least 2k rows is split in two although one side
    lacks rows, which come from the edge of the other. Ratios are multiplied by ``noise[b]``, one number per column.
    With u relocated rows, a box of n rows adds u + u^2 / (n - u) to the chi-squared statistic, which stays within
    `limit`; at least one row of each box is not relocated. Returns the number of boxes, of changed cells, and the
    statistic. O((boxes + changes) x (columns x (rows^1.3 + values^2) + log boxes)), rows and values of one box.
    """
    width = len(losses.shape)
    ratio, chosen, heap, todo = workspace.ratio, workspace.chosen, workspace.heap, workspace.todo
    keys, spare = workspace.keys, workspace.spare
    waiting, used, chi = 0, 0, 0.0
    # Boxes to visit (again): at first all of them. A single call of `_propose` halves the compile time.
    for b in range(boxes):
        todo[b] = b
    todos = boxes
    while todos > 0 or waiting > 0:
        for i in range(todos):
            b = todo[i]
            ratio[b] = _propose(
                codes, true, begins[b], ends[b], k, cells - used, noise[b], losses, chosen[b], workspace
            )
            if ratio[b] > 0:
                _push(heap, waiting, ratio, b)
                waiting += 1
        todos = 0
        if waiting == 0:
            break
        b = _pop(heap, waiting, ratio)
        waiting -= 1
        kind, j, cost = chosen[b, 0], chosen[b, 1], chosen[b, 4]
        first, last = chosen[b, 2], chosen[b, 3]
        begin, end = begins[b], ends[b]
        if used + cost <= cells:
            untrue_then = untrue = 0
            for row in range(begin, end):
                odd = False
                for c in range(width):
                    odd |= codes[row, c] != true[row, c]
                untrue += odd
                untrue_then += odd or codes[row, j] < first or codes[row, j] > last
            rows = end - begin
            now = untrue + untrue * untrue / (rows - untrue)
            if kind == TRIM:
                if untrue_then >= rows:
                    continue
                then = untrue_then + untrue_then * untrue_then / (rows - untrue_then)
                if chi - now + then > limit:
                    continue
                chi += then - now
                for row in range(begin, end):
                    codes[row, j] = min(max(codes[row, j], first), last)
                used += cost
            else:
                # Rows of the first side to the front, and next to the cut those that will change sides.
                _sort(codes, begin, end, j, keys)
                for i in range(rows):
                    at = begin + keys[i] % rows
                    for c in range(width):
                        spare[i, c], spare[i, width + c] = codes[at, c], true[at, c]
                    spare[i, 2 * width] = ids[at]
                for i in range(rows):
                    for c in range(width):
                        codes[begin + i, c], true[begin + i, c] = spare[i, c], spare[i, width + c]
                    ids[begin + i] = spare[i, 2 * width]
                middle = begin
                while middle < end and codes[middle, j] <= last:
                    middle += 1
                small_first = 2 * (middle - begin) < rows
                a, z = (middle, middle + cost) if small_first else (middle - cost, middle)
                value = codes[middle - 1, j] if small_first else codes[middle, j]
                new = z if small_first else a
                near = far = 0
                changed = 0
                for row in range(begin, end):
                    odd = a <= row < z and true[row, j] != value
                    changed += a <= row < z and true[row, j] == codes[row, j]
                    for c in range(width):
                        odd |= codes[row, c] != true[row, c] and not (c == j and a <= row < z)
                    near += odd and row < new
                    far += odd and row >= new
                if near >= new - begin or far >= end - new:
                    continue
                then = near + near * near / (new - begin - near)
                then += far + far * far / (end - new - far)
                if chi - now + then > limit:
                    continue
                chi += then - now
                used += changed
                for row in range(a, z):
                    codes[row, j] = value
                ends[b], begins[boxes], ends[boxes] = new, new, end
                todo[0] = boxes
                todos = 1
                boxes += 1
        todo[todos] = b
        todos += 1
    return boxes, used, chi
