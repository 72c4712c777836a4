"""Plain twins of the kernels in `shoal/kernels/graph_structure.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np

from tests.oracles.network_clusters import circles_of


def common_neighbours(start, neighbours):
    circles = circles_of(start, neighbours)
    ends = ((x, y) for x, circle in enumerate(circles) for y in sorted(circle))
    return np.array([len(circles[x] & circles[y]) for x, y in ends], int)


def ego_keys(start, neighbours, common, noise):
    """Looks instead of keys, numbered: nodes with equal numbers have equal keys."""
    circles = circles_of(start, neighbours)
    looks = []
    for circle in circles:
        first = {y: len(circle & circles[y]) for y in circle}
        looks.append(tuple(sorted((first[y], sorted(first[z] for z in circle & circles[y])) for y in circle)))
    return np.array([looks.index(look) for look in looks], int)


def pivot_centrality(start, neighbours, pivots):
    circles = circles_of(start, neighbours)
    nodes = range(len(circles))

    def paths(a, b):
        """All shortest paths."""
        found = [[a]]
        for _ in nodes:
            if done := [path for path in found if path[-1] == b]:
                return done
            found = [[*path, y] for path in found for y in circles[path[-1]] if y not in path]
        return []

    between, far, reached = np.zeros(len(circles)), np.zeros(len(circles), int), np.zeros(len(circles), int)
    for a, b in itertools.product(pivots.tolist(), nodes):
        ways = paths(a, b)
        if ways:
            far[b] += len(ways[0]) - 1
            reached[b] += 1
            for x in set(nodes) - {a, b}:
                between[x] += sum(x in way for way in ways) / len(ways)
    return between, far, reached


def neighbours_match(degrees, low, high, start, other, room, by_high):
    def placed(left, rest):
        """Whether some way to give each degree a cluster exists."""
        if not rest:
            return True
        return any(
            left[d] > 0 and low[d] <= rest[0] <= high[d] and placed({**left, d: left[d] - 1}, rest[1:])
            for d in left
        )

    fits = []
    for c, (a, b) in enumerate(pairwise(start.tolist())):
        left = dict(zip(other[a:b].tolist(), room[a:b].tolist(), strict=True))
        fits.append(bool(low[c] <= len(degrees) <= high[c]) and placed(left, degrees.tolist()))
    return np.array(fits, bool)
