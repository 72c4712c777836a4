"""Plain twins of the kernels in `shoal/kernels/key_sets.py`, written to be read and not to be fast, and of the counts
that they serve: who matches whom in a set of columns, from the definition.
"""

from __future__ import annotations

from itertools import product

import numpy as np

NONE = 2147483647


def add_points(prefix, last, span, weight, grid):
    for a, b, w in zip(prefix, last, weight, strict=True):
        grid[a * span + b] += w


def _places(low, high, strides):
    """The places of a box."""
    return [
        sum(c * s for c, s in zip(at, strides, strict=True))
        for at in product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))
    ]


def add_boxes(low, high, weight, spans, strides, points, corners):
    """What the corners add up to is each box; so its corners are the differences of the box along every column."""
    for b in range(low.shape[1]):
        points[_places(low[:, b], low[:, b], strides)[0]] -= weight[b]
        box = np.zeros(len(corners), np.int64)
        box[_places(low[:, b], high[:, b], strides)] = weight[b]
        box = box.reshape(tuple(spans))
        for axis in range(len(spans)):
            box = np.diff(box, axis=axis, prepend=0)
        corners += box.ravel().astype(corners.dtype)


def sum_along(grid, spans, strides):
    cube = grid.reshape(tuple(spans))
    for axis in range(len(spans)):
        cube = np.cumsum(cube, axis=axis)
    grid[:] = cube.ravel()


def fewest_at_places(points, boxes, people, k):
    boxes = boxes if len(boxes) else np.zeros(len(points), np.int64)
    seen = [at for at in range(len(points)) if people[at] > 0 and points[at] + boxes[at] > 0]
    shown = [at for at in range(len(points)) if points[at] > 0]
    return (
        min((points[at] + boxes[at] for at in seen), default=NONE),
        min((people[at] for at in shown), default=NONE),
        sum(people[at] for at in seen if points[at] + boxes[at] < k),
        sum(points[at] for at in shown if people[at] < k),
    )


def sums_of_boxes(low, high, strides, sums):
    """Only the last grid of sums is known, so each place's own number is found by going back along every column."""
    spans = [0] * len(strides)
    size = len(sums)
    for j, stride in enumerate(strides):
        spans[j] = size // stride
        size = stride
    cube = sums.reshape(tuple(spans))
    for axis in range(len(spans)):
        cube = np.diff(cube, axis=axis, prepend=0)
    own = cube.ravel()
    return np.array(
        [own[_places(low[:, b], high[:, b], strides)].sum() for b in range(low.shape[1])], np.int64
    )


def compare_cells(low, high, weight, chosen):
    found = np.zeros((3, len(chosen)), np.int64)
    for c, own in enumerate(chosen):
        a, b = low[:, own], high[:, own]
        for other in range(low.shape[1]):
            x, y = low[:, other], high[:, other]
            found[0, c] += weight[other] * bool((x <= a).all() and (b <= y).all())
            found[1, c] += weight[other] * bool((a <= x).all() and (y <= b).all())
            found[2, c] += weight[other] * bool((x <= b).all() and (a <= y).all())
    return found


def matches_of(cells, people, chosen):
    """Return how many rows match each person, and how many people each row. `cells` are rows of sets of values."""
    covers = [[all(person[j] in row[j] for j in chosen) for person in people] for row in cells]
    return (
        [sum(row[at] for row in covers) for at in range(len(people))],
        [sum(row) for row in covers],
    )


def verdict_over_sets(cells, people, sets, k):
    """Return the fewest matches over all sets, and the sets that fail; people whom no row matches do not count."""
    least, failing = [], []
    for chosen in sets:
        rows, crowd = matches_of(cells, people, chosen)
        counts = [count for count in rows if count] + crowd
        least += counts
        if any(count < k for count in counts):
            failing.append(tuple(chosen))
    return min(least, default=0), failing


def guaranteed_by_cells(cells, sets, k):
    """The same from the rows only: what covers a row matches it, and what a row covers it matches, for certain."""
    least, failing = [], []
    for chosen in sets:
        covering = [sum(all(row[j] >= own[j] for j in chosen) for row in cells) for own in cells]
        inside = [sum(all(row[j] <= own[j] for j in chosen) for row in cells) for own in cells]
        least += covering + inside
        if any(count < k for count in covering + inside):
            failing.append(tuple(chosen))
    return min(least, default=0), failing


def add_failing(prefix, last, span, grid, k, chosen, cured):
    places = [a * span + b for a, b in zip(prefix, last, strict=True)]
    for place in places:
        grid[place] += 1
    failing = [row for row, place in enumerate(places) if grid[place] < k]
    for row in failing:
        for j in chosen:
            cured[j, row] += 1
    return len(failing)
