"""Plain twins of the kernels in `shoal/kernels/network.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np

from tests.oracles.losses import range_loss


def _circles(start, neighbours):
    return [set(neighbours[a:b].tolist()) for a, b in pairwise(start.tolist())]


def grow_network_clusters(
    start, neighbours, order, rank, atoms, labels, p, losses, by_loss, by_distance, k, progress, patience
):  # fmt: skip
    circles, cluster_of, clusters = _circles(start, neighbours), progress.cluster_of, 0
    codes = atoms.codes[atoms.of]
    own_labels = labels[atoms.kind[atoms.of]]
    block = atoms.block[atoms.of]

    def lacking(members):
        return [int(p[d]) - len(set(own_labels[members, d].tolist())) for d in range(len(p))]

    def gain(x, members):
        return sum(
            missing
            for d, missing in enumerate(lacking(members))
            if missing > 0 and own_labels[x, d] not in own_labels[members, d]
        )

    def cost(x, members):
        together = codes[[*members, x]]
        lost = sum(
            range_loss(losses, j, together[:, j].min(), together[:, j].max()) for j in range(codes.shape[1])
        )
        differing = sum(len((circles[x] ^ circles[y]) - {x, y}) for y in members)
        return by_loss * lost + by_distance * differing / len(members)

    for seed in order.tolist():
        if cluster_of[seed] >= 0 or progress.closed[block[seed]]:
            continue
        members = [seed]
        while len(members) < k or max(lacking(members)) > 0:
            free = [
                x
                for x in np.flatnonzero(cluster_of < 0).tolist()
                if x not in members and block[x] == block[seed]
            ]
            short = max(lacking(members)) > 0
            free.sort(key=lambda x: (-gain(x, members), cost(x, members), rank[x]))
            if not free or (short and gain(free[0], members) == 0):
                progress.closed[block[seed]] = 1
                break
            members.append(free[0])
        else:
            cluster_of[members] = clusters
            clusters += 1
    progress.state[:] = len(order), clusters


def network_contacts(start, neighbours, cluster_of, members, clusters):
    circles = _circles(start, neighbours)
    contacts = np.zeros(clusters, int)
    for x, y in itertools.product(members.tolist(), range(len(circles))):
        if x != y and cluster_of[y] >= 0:
            contacts[cluster_of[y]] += (y in circles[x]) + len(circles[x] & circles[y])
    return contacts


def common_neighbours(start, neighbours):
    circles = _circles(start, neighbours)
    ends = ((x, y) for x, circle in enumerate(circles) for y in sorted(circle))
    return np.array([len(circles[x] & circles[y]) for x, y in ends], int)


def ego_keys(start, neighbours, common, noise):
    """Looks instead of keys, numbered: nodes with equal numbers have equal keys."""
    circles = _circles(start, neighbours)
    looks = []
    for circle in circles:
        first = {y: len(circle & circles[y]) for y in circle}
        looks.append(tuple(sorted((first[y], sorted(first[z] for z in circle & circles[y])) for y in circle)))
    return np.array([looks.index(look) for look in looks], int)


def pivot_centrality(start, neighbours, pivots):
    circles = _circles(start, neighbours)
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
