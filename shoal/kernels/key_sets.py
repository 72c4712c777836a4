"""How many rows match a person's values in a few columns, and how many people a row: counts over a grid.

A grid has a place for each combination of coordinates in the chosen columns, the last column running fastest. Rows
whose cells cover one coordinate each add to one place; the others add to a box, by its corners: after sums along every
column each place has the number of all rows that cover it.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def add_points(prefix, last, span, weight, grid):
    """Add each weight at the place ``prefix * span + last``. O(points)."""
    for i in range(len(prefix)):
        grid[prefix[i] * span + last[i]] += weight[i]


@njit(cache=True, nogil=True)
def add_boxes(low, high, weight, spans, strides, points, corners):
    """Move boxes from the points of their low ends, where they were added, to their corners.

    ``low`` and ``high`` are ``[columns, boxes]``. O(boxes x 2^columns).
    """
    width, boxes = low.shape
    for b in range(boxes):
        place = 0
        for j in range(width):
            place += low[j, b] * strides[j]
        points[place] -= weight[b]
        for corner in range(1 << width):
            at, sign, inside = 0, 1, True
            for j in range(width):
                if corner >> j & 1:
                    sign = -sign
                    if high[j, b] + 1 == spans[j]:
                        inside = False
                        break
                    at += (high[j, b] + 1) * strides[j]
                else:
                    at += low[j, b] * strides[j]
            if inside:
                corners[at] += sign * weight[b]


@njit(cache=True, nogil=True)
def sum_along(grid, spans, strides):
    """Replace each place by the sum of all places up to it, in every column. O(places x columns)."""
    for j in range(len(spans)):
        stride, block = strides[j], spans[j] * strides[j]
        for begin in range(0, len(grid), block):
            for at in range(begin + stride, begin + block):
                grid[at] += grid[at - stride]


@njit(cache=True, nogil=True)
def fewest_at_places(points, boxes, people, k):
    """Return the fewest rows that match a person, the fewest people that a row of one place matches, and how many
    people and rows have fewer than k.

    ``points`` has the rows of one place, ``boxes`` the others; with an empty array there are none. People whom no row
    matches do not count. O(places).
    """
    none = 2147483647
    few_rows, few_people, short_people, short_rows = none, none, 0, 0
    for at in range(len(points)):
        rows = points[at]
        if rows > 0:
            few_people = min(few_people, people[at])
            if people[at] < k:
                short_rows += rows
        if len(boxes) > 0:
            rows += boxes[at]
        if people[at] > 0 and rows > 0:
            few_rows = min(few_rows, rows)
            if rows < k:
                short_people += people[at]
    return few_rows, few_people, short_people, short_rows


@njit(cache=True, nogil=True)
def sums_of_boxes(low, high, strides, sums):
    """Return what each box contains, of a grid whose places hold the sums up to them. O(boxes x 2^columns)."""
    width, boxes = low.shape
    found = np.zeros(boxes, np.int64)
    for b in range(boxes):
        for corner in range(1 << width):
            at, sign, inside = 0, 1, True
            for j in range(width):
                if corner >> j & 1:
                    sign = -sign
                    if low[j, b] == 0:
                        inside = False
                        break
                    at += (low[j, b] - 1) * strides[j]
                else:
                    at += high[j, b] * strides[j]
            if inside:
                found[b] += sign * sums[at]
    return found


@njit(cache=True, nogil=True)
def compare_cells(low, high, weight, chosen):
    """Return, for each chosen box, how many rows cover it, how many it covers, and how many overlap with it.

    ``low`` and ``high`` are ``[columns, boxes]``. O(chosen x boxes x columns).
    """
    width, boxes = low.shape
    found = np.zeros((3, len(chosen)), np.int64)
    for c in range(len(chosen)):
        own = chosen[c]
        for b in range(boxes):
            covers, inside, meets = True, True, True
            for j in range(width):
                if low[j, b] > high[j, own] or high[j, b] < low[j, own]:
                    meets = False
                    break
                covers = covers and low[j, b] <= low[j, own] and high[j, b] >= high[j, own]
                inside = inside and low[j, b] >= low[j, own] and high[j, b] <= high[j, own]
            if meets:
                found[2, c] += weight[b]
                if covers:
                    found[0, c] += weight[b]
                if inside:
                    found[1, c] += weight[b]
    return found


@njit(cache=True, nogil=True)
def add_failing(prefix, last, span, grid, k, chosen, cured):
    """Count the rows of each place, and add 1 to the chosen columns of all rows at places with fewer than k.

    ``grid`` comes empty; ``cured`` is ``[columns, rows]``. Return how many rows these are. O(rows + places).
    """
    for i in range(len(prefix)):
        grid[prefix[i] * span + last[i]] += 1
    failing = 0
    for at in range(len(grid)):
        if 0 < grid[at] < k:
            failing += grid[at]
    if failing > 0:
        for i in range(len(prefix)):
            if grid[prefix[i] * span + last[i]] < k:
                for j in chosen:
                    cured[j, i] += 1
    return failing
