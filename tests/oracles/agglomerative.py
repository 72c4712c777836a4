"""Plain twins of the kernels in `shoal/kernels/agglomerative.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.oracles.improve import rows_loss


def cluster_distance(kind, union, loss_a, size_a, loss_b, size_b):
    if kind == 0:
        return (size_a + size_b) * union - size_a * loss_a - size_b * loss_b
    if kind == 1:
        return union - loss_a - loss_b
    if kind == 2:
        return (union - loss_a - loss_b) / np.log(size_a + size_b)
    if kind == 3:
        return union / (loss_a + loss_b + 0.1)
    return union - max(loss_a, loss_b)


def _members(state):
    """The rows of each cluster."""
    members = {}
    for c in range(int(state.counters[1])):
        if state.slot_of[c] != -1:
            row, members[c] = int(state.head[c]), []
            while row >= 0:
                members[c].append(row)
                row = int(state.next_row[row])
    return members


def agglomerate(codes, row_item, state, tree, losses, k, kind, modified, patience):
    """Algorithms 1 and 2 of Gionis, Mazza and Tassa as written; the state is only read at the start and written
    at the end. Equal rows start together; pairs go by distance, then newer cluster, then older cluster.
    """
    members = _members(state)
    live = [c for c in members if state.slot_of[c] >= 0]
    finished = [c for c in members if state.slot_of[c] == -2]
    new = int(state.counters[1])

    def loss(c):
        return rows_loss(codes, row_item[members[c]], losses)

    while True:
        pairs = []
        for b in live:
            for a in live:
                if a < b:
                    union = rows_loss(codes, row_item[members[a] + members[b]], losses)
                    if union < np.inf:
                        sizes = len(members[a]), len(members[b])
                        pairs.append(
                            (cluster_distance(kind, union, loss(a), sizes[0], loss(b), sizes[1]), b, a)
                        )
        if not pairs:
            break
        _, b, a = min(pairs)
        members[new] = members.pop(a) + members.pop(b)
        live = [c for c in live if c not in (a, b)]
        if len(members[new]) < k:
            live.append(new)
            new += 1
            continue
        ripe = new
        finished.append(ripe)
        new += 1
        while modified and len(members[ripe]) > k:
            rows = members[ripe]
            without = [rows_loss(codes, row_item[rows[:i] + rows[i + 1 :]], losses) for i in range(len(rows))]
            members[new] = [rows.pop(without.index(min(without)))]
            live.append(new)
            new += 1
    state.counters[:2] = 0, new
    state.slot_of[:] = -1
    for c in members:
        state.slot_of[c] = 0 if c in live else -2
        state.size[c], state.loss[c] = len(members[c]), loss(c)
        state.head[c] = members[c][0]
        for row, following in pairwise([*members[c], -1]):
            state.next_row[row] = following


def assign_to_clusters(codes, row_item, state, losses, kind, cluster_of):
    members = _members(state)
    finished = [c for c in members if state.slot_of[c] == -2]
    for c in members:
        cluster_of[members[c]] = c
    for c in members:
        for row in members[c] if state.slot_of[c] >= 0 else ():
            choices = []
            for other in finished:
                now = rows_loss(codes, row_item[members[other]], losses)
                union = rows_loss(codes, row_item[[*members[other], row]], losses)
                if union < np.inf:
                    distance = cluster_distance(kind, union, 0.0, 1, now, len(members[other]))
                    choices.append((distance, other))
            if choices:
                members[min(choices)[1]].append(row)
                cluster_of[row] = min(choices)[1]
