"""What the neighbourhoods of a graph reveal. A graph is the two arrays of `shoal/kernels/network_clusters.py`."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def common_neighbours(start, neighbours):
    """Return for each position in `neighbours` how many neighbours its two ends share. O(sum of squared degrees)."""
    common = np.zeros(len(neighbours), np.int32)
    mark = np.full(len(start) - 1, -1, np.int32)
    for x in range(len(start) - 1):
        for at in range(start[x], start[x + 1]):
            mark[neighbours[at]] = x
        for at in range(start[x], start[x + 1]):
            between = neighbours[at]
            shared = 0
            for further in range(start[between], start[between + 1]):
                shared += mark[neighbours[further]] == x
            common[at] = shared
    return common


@njit(cache=True, nogil=True)
def ego_keys(start, neighbours, common, noise):
    """Return a key for the subgraph of each node and its neighbours; equal subgraphs have equal keys.

    A neighbour is described by its number of neighbours in the subgraph, and by the same numbers of its own neighbours
    there; `noise` holds a random number for each number of neighbours. Subgraphs that differ, but not in these
    descriptions, get equal keys, too. O(sum of squared degrees).
    """
    keys = np.zeros(len(start) - 1, np.uint64)
    look = np.zeros(len(start) - 1, np.uint64)
    mark = np.full(len(start) - 1, -1, np.int32)
    for x in range(len(start) - 1):
        for at in range(start[x], start[x + 1]):
            mark[neighbours[at]] = x
            look[neighbours[at]] = noise[common[at]]
        for at in range(start[x], start[x + 1]):
            between = neighbours[at]
            around = look[between] * np.uint64(0x9E3779B97F4A7C15)
            for further in range(start[between], start[between + 1]):
                if mark[neighbours[further]] == x:
                    around += look[neighbours[further]]
            around ^= around >> np.uint64(29)
            around *= np.uint64(0xBF58476D1CE4E5B9)
            around ^= around >> np.uint64(32)
            keys[x] += around
    return keys


@njit(cache=True, nogil=True)
def pivot_centrality(start, neighbours, pivots):
    """Return how many shortest paths from `pivots` each node lies on (as shares of all between two ends), the sum of
    its distances to the pivots, and how many of them it reaches. O(pivots x (nodes + edges)).
    """
    nodes = len(start) - 1
    between = np.zeros(nodes)
    far = np.zeros(nodes, np.int64)
    reached = np.zeros(nodes, np.int64)
    distance = np.empty(nodes, np.int32)
    paths = np.empty(nodes)
    share = np.empty(nodes)
    queue = np.empty(nodes, np.int32)
    for pivot in pivots:
        distance[:] = -1
        paths[:] = 0.0
        share[:] = 0.0
        distance[pivot] = 0
        paths[pivot] = 1.0
        queue[0] = pivot
        end, at = 1, 0
        while at < end:
            x = queue[at]
            at += 1
            far[x] += distance[x]
            reached[x] += 1
            for place in range(start[x], start[x + 1]):
                y = neighbours[place]
                if distance[y] < 0:
                    distance[y] = distance[x] + 1
                    queue[end] = y
                    end += 1
                if distance[y] == distance[x] + 1:
                    paths[y] += paths[x]
        for at in range(end - 1, 0, -1):
            x = queue[at]
            between[x] += share[x]
            for place in range(start[x], start[x + 1]):
                y = neighbours[place]
                if distance[y] == distance[x] - 1:
                    share[y] += paths[y] / paths[x] * (1.0 + share[x])
    return between, far, reached


@njit(cache=True, nogil=True)
def neighbours_match(degrees, low, high, start, other, room, by_high):
    """Return which clusters may hold a node whose neighbours have these degrees (ascending), by intervals of degrees.

    Nodes of cluster `c` have degrees `low` to `high`, and neighbours among ``other[start[c]:start[c + 1]]``, ascending
    by `low`, at most `room` from each; `by_high` are the same positions, descending by `high`. First there must be room
    for the highest degrees, however many; that is enough if no interval begins above the least degree. Otherwise each
    degree, from the least on, is assigned to the cluster whose interval contains it and ends first.
    Usually O(clusters x degrees), at worst times the neighbouring clusters of a cluster.
    """
    clusters = len(low)
    wanted = len(degrees)
    fits = np.zeros(clusters, np.bool_)
    left = np.zeros(clusters, np.int64)
    for c in range(clusters):
        if wanted < low[c] or wanted > high[c]:
            continue
        fits[c] = True
        supply = 0
        at = start[c]
        for turn in range(wanted):
            if supply >= wanted:
                break
            degree = degrees[wanted - 1 - turn]
            while at < start[c + 1] and high[other[by_high[at]]] >= degree:
                supply += room[by_high[at]]
                at += 1
            if supply <= turn:
                fits[c] = False
                break
        if not fits[c] or wanted == 0 or low[other[start[c + 1] - 1]] <= degrees[0]:
            continue
        for at in range(start[c], start[c + 1]):
            left[other[at]] = room[at]
        for degree in degrees:
            chosen = -1
            for at in range(start[c], start[c + 1]):
                d = other[at]
                if low[d] > degree:
                    break
                if left[d] > 0 and high[d] >= degree and (chosen < 0 or high[d] < high[chosen]):
                    chosen = d
            if chosen < 0:
                fits[c] = False
                break
            left[chosen] -= 1
    return fits
