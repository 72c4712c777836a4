"""Clusters of similar nodes of a graph, grown one by one.

A graph is two arrays: the neighbours of node `x` are ``neighbours[start[x]:start[x + 1]]``, ascending, without `x`
itself and without duplicates. Every edge is there twice, once from each end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import SIZE, START, widen
from shoal.support.arrays import IntMatrix, IntVector, LongVector


class Atoms(NamedTuple):
    """Nodes with equal quasi-identifiers and equal labels, block after block."""

    of: IntVector
    """Node -> atom."""
    start: LongVector
    """Atom -> its first position in `nodes`; one more at the end."""
    nodes: IntVector
    """The nodes of each atom, those of low degree first, then by number."""
    codes: IntMatrix
    """``[atoms, columns]``"""
    kind: IntVector
    """Atom -> combination of labels."""
    block: IntVector
    """Atom -> block; nodes of different blocks never share a cluster."""
    block_start: LongVector
    """Block -> its first atom; one more at the end."""


class Progress(NamedTuple):
    """The state of the work; changed in place."""

    cluster_of: IntVector
    """Node -> cluster; -1: none yet."""
    head: LongVector
    """Atom -> position in `nodes` of its first node that is in no cluster."""
    closed: IntVector
    """Block -> 1 once no further cluster can be completed in it."""
    state: LongVector
    """Next position in the order of seeds, clusters made."""


@njit(cache=True, nogil=True)
def grow_network_clusters(
    start,
    neighbours,
    order,
    rank,
    atoms,
    labels,
    p,
    losses,
    by_loss,
    by_distance,
    k,
    progress,
    patience,
):
    """Grow clusters one after the other, each from the first free node of `order`, until it has k nodes and p labels.

    A cluster takes the node that adds most labels it lacks; among those the one with the least
    ``by_loss * loss + by_distance * distance``: the loss of the cluster together with it, and, averaged over the
    members, the number of other nodes in which the two neighbourhoods differ; among equals the one of least `rank` (by
    degree). A cluster that cannot be completed is dissolved, and its block closed. Returns after `patience` visits of
    nodes; a further call continues.

    Only nodes within two steps of the cluster are visited one by one. For all others the distance depends on the
    degree alone, so the node of least degree of each atom is enough. Losses by IL never fall while a cluster grows, so
    old ones serve as bounds. O(sum of squared degrees) for neighbourhoods, and O(nodes x atoms) visits at most.
    """
    nodes = len(start) - 1
    width = atoms.codes.shape[1]
    demands = len(p)
    cluster_of, head = progress.cluster_of, progress.head
    atom_of, atom_start, atom_nodes, codes, kind_of, block_of, _ = atoms
    position, clusters = progress.state[0], progress.state[1]
    degree = np.empty(nodes, np.int32)
    for x in range(nodes):
        degree[x] = start[x + 1] - start[x]
    # The degree of each atom's first free node; -1 if none is free.
    least_degree = np.empty(len(kind_of), np.int32)
    for atom in range(len(kind_of)):
        place = head[atom]
        while place < atom_start[atom + 1] and cluster_of[atom_nodes[place]] >= 0:
            place += 1
        head[atom] = place
        least_degree[atom] = degree[atom_nodes[place]] if place < atom_start[atom + 1] else -1
    contact = np.zeros(nodes, np.int32)
    touched = np.empty(nodes, np.int32)
    members = np.empty(nodes, np.int32)
    bound = np.zeros(len(kind_of))
    fresh = np.full(len(kind_of), -1, np.int64)
    score = np.zeros(len(labels), np.int64)
    holds = np.full(labels.max() + 1, -1, np.int64)
    missing = np.zeros(demands, np.int64)
    low = np.zeros(width, np.int32)
    high = np.zeros(width, np.int32)
    # The loss of a cluster in a column with a further code; codes of all columns are numbered consecutively.
    grown = np.zeros(losses.shape[:, SIZE].sum())
    places = np.empty(codes.shape, np.int32)
    for atom in range(len(codes)):
        for j in range(width):
            places[atom, j] = losses.shape[j, START] + codes[atom, j]
    standing = np.empty(len(kind_of), np.int32)
    block = -1
    count = 0
    version = 0
    looks = 0
    while position < nodes and looks < patience:
        seed = order[position]
        own = block_of[atom_of[seed]]
        if cluster_of[seed] >= 0 or progress.closed[own]:
            position += 1
            continue
        if own != block:
            block = own
            count = atoms.block_start[own + 1] - atoms.block_start[own]
            for at in range(count):
                standing[at] = atoms.block_start[own] + at
        kept = 0
        for at in range(count):
            atom = standing[at]
            if least_degree[atom] >= 0:
                standing[kept] = atom
                bound[atom] = 0
                kept += 1
        count = kept
        touches = 0
        size = 0
        degrees = np.int64(0)
        short = np.int64(0)
        for d in range(demands):
            missing[d] = p[d]
            short += p[d]
        chosen = seed
        while True:
            # Add the chosen node.
            cluster_of[chosen] = clusters
            members[size] = chosen
            size += 1
            degrees += degree[chosen]
            for at in range(start[chosen], start[chosen + 1]):
                between = neighbours[at]
                if cluster_of[between] < 0:
                    if contact[between] == 0:
                        touched[touches] = between
                        touches += 1
                    contact[between] += 1
                for further in range(start[between], start[between + 1]):
                    other = neighbours[further]
                    if cluster_of[other] < 0:
                        if contact[other] == 0:
                            touched[touches] = other
                            touches += 1
                        contact[other] += 1
                looks += degree[between]
            atom = atom_of[chosen]
            if atom_nodes[head[atom]] == chosen:
                place, end = head[atom] + 1, atom_start[atom + 1]
                while place < end and cluster_of[atom_nodes[place]] >= 0:
                    place += 1
                head[atom] = place
                least_degree[atom] = degree[atom_nodes[place]] if place < end else -1
            for d in range(demands):
                label = labels[kind_of[atom], d]
                if holds[label] != clusters:
                    holds[label] = clusters
                    if missing[d] > 0:
                        missing[d] -= 1
                        short -= 1
            if size >= k and short == 0:
                break
            version += 1
            for j in range(width):
                code = codes[atom, j]
                if size == 1:
                    low[j] = high[j] = code
                elif low[j] <= code <= high[j]:
                    continue
                low[j], high[j] = min(low[j], code), max(high[j], code)
                widen(losses, j, low[j], high[j], grown, grown[:0])
            if short > 0:
                for kind in range(len(labels)):
                    score[kind] = 0
                    for d in range(demands):
                        if missing[d] > 0 and holds[labels[kind, d]] != clusters:
                            score[kind] += missing[d]
            # Look for the next one: all nodes nearby, then the first free node of each atom as if it were far away.
            # If it is not, it was visited before and cost less.
            chosen = -1
            most = np.int64(0)
            least = np.inf
            looks += count + touches
            for at in range(touches):
                x = touched[at]
                if cluster_of[x] >= 0:
                    continue
                differing = np.int64(size) * degree[x] + degrees - 2 * np.int64(contact[x])
                far = by_distance * differing / size
                if short == 0 and far > least:
                    continue
                atom = atom_of[x]
                gain = score[kind_of[atom]] if short > 0 else 0
                if (
                    block_of[atom] != own
                    or gain < most
                    or (gain == most and by_loss * bound[atom] + far > least)
                ):
                    continue
                if fresh[atom] != version:
                    fresh[atom] = version
                    total = 0.0
                    for j in range(width):
                        total += grown[places[atom, j]]
                    bound[atom] = total
                cost = by_loss * bound[atom] + far
                if gain > most or cost < least or (cost == least and rank[x] < rank[chosen]):
                    most, least, chosen = gain, cost, x
            for at in range(count):
                atom = standing[at]
                if least_degree[atom] < 0:
                    continue
                far = by_distance * (np.int64(size) * least_degree[atom] + degrees) / size
                if short > 0:
                    gain = score[kind_of[atom]]
                    if gain < most or (gain == most and by_loss * bound[atom] + far > least):
                        continue
                else:
                    gain = 0
                    if by_loss * bound[atom] + far > least:
                        continue
                if fresh[atom] != version:
                    fresh[atom] = version
                    total = 0.0
                    for j in range(width):
                        total += grown[places[atom, j]]
                    bound[atom] = total
                cost = by_loss * bound[atom] + far
                x = atom_nodes[head[atom]]
                if gain > most or cost < least or (cost == least and rank[x] < rank[chosen]):
                    most, least, chosen = gain, cost, x
            if chosen < 0 or (short > 0 and most == 0):
                break
        for at in range(touches):
            contact[touched[at]] = 0
        if size >= k and short == 0:
            clusters += 1
        else:
            for at in range(size):
                cluster_of[members[at]] = -1
            progress.closed[own] = 1
            holds[:] = -1
    progress.state[0], progress.state[1] = position, clusters


@njit(cache=True, nogil=True)
def network_contacts(start, neighbours, cluster_of, members, clusters):
    """Return for each cluster how many edges, and how many common neighbours, pairs of a member and a node of the
    cluster have. O(sum over members of their neighbours' degrees).
    """
    contacts = np.zeros(clusters, np.int64)
    for x in members:
        for at in range(start[x], start[x + 1]):
            between = neighbours[at]
            if cluster_of[between] >= 0:
                contacts[cluster_of[between]] += 1
            for further in range(start[between], start[between + 1]):
                other = neighbours[further]
                if other != x and cluster_of[other] >= 0:
                    contacts[cluster_of[other]] += 1
    return contacts
