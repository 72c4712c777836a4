"""Which column of a node is cut where: the one rule of mondrian, from the counts of the codes of each column.

The kernel that moves rows and whoever has only counts, such as the driver of a cluster, choose by the same functions.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import NODES, ORDERED, SIZE, START, range_loss


@njit(cache=True, nogil=True)
def _level(losses, j, low, high):
    """Return where the lowest level starts at which one node covers both codes."""
    level = losses.shape[j, NODES]
    while losses.first[level + low] != losses.first[level + high]:
        level += losses.shape[j, SIZE]
    return level


@njit(cache=True, nogil=True)
def weigh(losses, j, values, counts, found, rows, k, strict, right):
    """Weigh all cuts of one column, whose codes in the node are `values` (ascending) with their `counts`.

    A cut is a boundary between codes or, in a tree, splits off one child of the lowest common node from the
    middle. Return the largest gain with its ``first..last``, and the end of the cut closest to the median, -1 if
    there is none. Boundaries between children of the lowest common node take precedence. The first of equal cuts wins.
    """
    node = losses.first
    low, high = values[0], values[found - 1]
    free = losses.shape[j, ORDERED] >= 0
    whole = range_loss(losses, j, low, high)
    children = np.int64(0) if free else _level(losses, j, low, high) - losses.shape[j, SIZE]
    # First compute the loss of all codes from each value on, then go forward with the loss of all codes up to it.
    for i in range(found - 1, 0, -1):
        right[i] = range_loss(losses, j, values[i], high)
    gain, first, last = 0.0, low, low
    middle, middle_rank, furthest = -1, -1, rows
    taken = child_rows = child = 0
    for i in range(found - 1):
        value = values[i]
        taken += counts[i]
        child_rows += counts[i]
        rank = 1 if free or node[children + value] != node[children + values[i + 1]] else 0
        if not strict or min(taken, rows - taken) >= k:
            # A side that is too small counts as if it lost as much as before.
            inside = min(max(taken, k), rows - k)
            worth = 0.0
            if taken >= k:
                worth += inside * (whole - range_loss(losses, j, low, value))
            if rows - taken >= k:
                worth += (rows - inside) * (whole - right[i + 1])
            if worth > gain:
                gain, first, last = worth, low, value
            away = abs(2 * taken - rows)
            if rank > middle_rank or (rank == middle_rank and away < furthest):
                middle, middle_rank, furthest = value, rank, away
        if rank == 1:
            if not free and child > 0 and child_rows >= k and (not strict or rows - child_rows >= k):
                worth = min(child_rows, rows - k) * (whole - range_loss(losses, j, values[child], value))
                if worth > gain:
                    gain, first, last = worth, values[child], value
            child, child_rows = i + 1, 0
    return gain, first, last, middle, whole


@njit(cache=True, nogil=True)
def _enter(gain, middle, whole, by_width, lowest, j, a, z, column, first, last, score, gains, total):
    """Enter the cuts of one column into the list of a node: first all cuts by gain, then those at the median, both in
    order. Return how many there are of the first kind, and of both.
    """
    if by_width:
        gain = 0.0
    for by_gain in (True, False):
        if by_gain:
            wanted, worth, start, stop = gain > 0.0, gain, 0, gains
        else:
            wanted = middle >= 0 and (gain <= 0.0 or z != middle or a != lowest)
            worth, start, stop, a, z = whole, gains, total, lowest, middle
        if not wanted:
            continue
        at = total
        while at > start and (at > stop or score[at - 1] < worth):
            column[at], first[at], last[at] = column[at - 1], first[at - 1], last[at - 1]
            score[at] = score[at - 1]
            at -= 1
        column[at], first[at], last[at], score[at] = j, a, z, worth
        gains += 1 if by_gain else 0
        total += 1
    return gains, total


@njit(cache=True, nogil=True)
def _collect(codes, j, begin, end, scratch, values, counts):
    """List the codes of a column in a node, ascending, with their counts; return how many. `scratch` is all
    zero before and after. O(rows + range), or O(rows^1.3) if the range is much wider than that.
    """
    low = high = np.int64(codes[begin, j])
    for row in range(begin, end):
        low, high = min(low, np.int64(codes[row, j])), max(high, np.int64(codes[row, j]))
    found = 0
    if high - low < 8 * (end - begin):
        for row in range(begin, end):
            scratch[codes[row, j]] += 1
        for code in range(low, high + 1):
            values[found] = code
            found += 1 if scratch[code] > 0 else 0
    else:
        for row in range(begin, end):
            code = codes[row, j]
            if scratch[code] == 0:
                values[found] = code
                found += 1
            scratch[code] += 1
        gap = 1
        while gap < found // 3:
            gap = 3 * gap + 1
        while gap > 0:
            for i in range(gap, found):
                value, at = values[i], i
                while at >= gap and values[at - gap] > value:
                    values[at] = values[at - gap]
                    at -= gap
                values[at] = value
            gap //= 3
    for i in range(found):
        counts[i] = scratch[values[i]]
        scratch[values[i]] = 0
    return found


@njit(cache=True, nogil=True)
def _largest(losses):
    """Return the number of codes of the column that has most."""
    largest = 0
    for j in range(len(losses.shape)):
        largest = max(largest, losses.shape[j, SIZE])
    return largest


@njit(cache=True, nogil=True)
def propose_cuts(codes, begins, ends, losses, k, strict, by_width):
    """List the cuts of each node ``begins[i]..ends[i]``, best first: column (-1: no more), first and last code.

    First the best cut of each column by gain, then the cuts closest to the median, widest column first; among
    equals the lower column. O(rows x columns) per call.
    """
    width = len(losses.shape)
    column = np.full((len(begins), 2 * width), -1, np.int32)
    first = np.zeros((len(begins), 2 * width), np.int32)
    last = np.zeros((len(begins), 2 * width), np.int32)
    score = np.empty(2 * width, np.float64)
    largest = _largest(losses)
    scratch = np.zeros(largest, np.int32)
    values = np.empty(largest + 1, np.int64)
    counts = np.empty(largest + 1, np.int64)
    right = np.empty(largest + 1, np.float64)
    for i in range(len(begins)):
        rows = ends[i] - begins[i]
        if rows < 2 * k:
            continue
        gains = total = 0
        for j in range(width):
            found = _collect(codes, j, begins[i], ends[i], scratch, values, counts)
            if found == 1:
                continue
            gain, a, z, middle, whole = weigh(losses, j, values, counts, found, rows, k, strict, right)
            gains, total = _enter(
                gain, middle, whole, by_width, values[0], j, a, z, column[i], first[i], last[i], score, gains, total
            )  # fmt: skip
    return column, first, last


@njit(cache=True, nogil=True)
def cuts_of_histograms(histograms, losses, k, strict, by_width):
    """List the cuts of each box as `propose_cuts` does, from ``histograms[box, START + code]``: how many rows of
    the box have each code, the codes of all columns numbered consecutively. O(boxes x codes).
    """
    width = len(losses.shape)
    column = np.full((len(histograms), 2 * width), -1, np.int32)
    first = np.zeros((len(histograms), 2 * width), np.int32)
    last = np.zeros((len(histograms), 2 * width), np.int32)
    score = np.empty(2 * width, np.float64)
    largest = _largest(losses)
    values = np.empty(largest + 1, np.int64)
    counts = np.empty(largest + 1, np.int64)
    right = np.empty(largest + 1, np.float64)
    for i in range(len(histograms)):
        rows = np.int64(0)
        for code in range(losses.shape[0, SIZE] if width else 0):
            rows += histograms[i, losses.shape[0, START] + code]
        if rows < 2 * k:
            continue
        gains = total = 0
        for j in range(width):
            found = np.int64(0)
            for code in range(losses.shape[j, SIZE]):
                count = histograms[i, losses.shape[j, START] + code]
                values[found], counts[found] = code, count
                found += 1 if count > 0 else 0
            if found == 1:
                continue
            gain, a, z, middle, whole = weigh(losses, j, values, counts, found, rows, k, strict, right)
            gains, total = _enter(
                gain, middle, whole, by_width, values[0], j, a, z, column[i], first[i], last[i], score, gains, total
            )  # fmt: skip
    return column, first, last


@njit(cache=True, nogil=True)
def walk_cuts(codes, column, first, last, inside, outside):
    """Return the node of a tree of cuts at which each row ends. Node i sends rows whose code in ``column[i]`` lies in
    ``first[i]..last[i]`` to ``inside[i]``, others to ``outside[i]``; a node with column -1 keeps its rows.
    O(rows x depth).
    """
    end = np.empty(len(codes), np.int32)
    for row in range(len(codes)):
        node = np.int64(0)
        while column[node] >= 0:
            code = codes[row, column[node]]
            node = np.int64(inside[node] if first[node] <= code <= last[node] else outside[node])
        end[row] = node
    return end
