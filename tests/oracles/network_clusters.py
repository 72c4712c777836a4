"""Plain twins of the kernels in `shoal/kernels/network_clusters.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np

from tests.oracles.losses import range_loss


def circles_of(start, neighbours):
    return [set(neighbours[a:b].tolist()) for a, b in pairwise(start.tolist())]


def grow_network_clusters(
    start, neighbours, order, rank, atoms, labels, p, losses, by_loss, by_distance, k, progress, patience
):  # fmt: skip
    circles, cluster_of, clusters = circles_of(start, neighbours), progress.cluster_of, 0
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
    circles = circles_of(start, neighbours)
    contacts = np.zeros(clusters, int)
    for x, y in itertools.product(members.tolist(), range(len(circles))):
        if x != y and cluster_of[y] >= 0:
            contacts[cluster_of[y]] += (y in circles[x]) + len(circles[x] & circles[y])
    return contacts
