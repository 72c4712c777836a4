"""Agglomeration: the closest clusters merge until each has k rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.methods.clustering.clusters import Items
from shoal.support.arrays import IntVector
from shoal.support.run import Run

DISTANCES = ("growth", "difference", "logarithm", "ratio", "nergiz-clifton")
"""The paper's distances (8), (9), (10) and (11), and that of Nergiz and Clifton; kernels know them by position."""
PATIENCE = 20_000
"""Searches between two checks of progress and interrupts."""


def cluster(items: Items, k: int, distance: str, modified: bool, kept: IntVector, run: Run) -> IntVector:
    """Return the cluster of each row by agglomeration, -1 for rows that are not `kept`; the numbers have gaps."""
    from shoal.kernels.agglomerative import FINISHED, agglomerate, assign_to_clusters

    losses = items.losses
    codes, _, row_item, tree = items.plant_tree()
    state = _start(codes, row_item, tree, k, modified, kept)
    while state.counters[0] > 0:
        run.progress("cluster", float(state.size[state.slot_of == FINISHED].sum()) / max(len(kept), 1))
        agglomerate(codes, row_item, state, tree, losses, k, DISTANCES.index(distance), modified, PATIENCE)
    cluster_of = np.full(len(row_item), -1, np.int32)
    assign_to_clusters(codes, row_item, state, losses, DISTANCES.index(distance), cluster_of)
    return cluster_of


def _start(codes: Any, row_item: Any, tree: Any, k: int, modified: bool, kept: IntVector) -> Any:
    """Return the state in which every item is a cluster; those with k rows are finished."""
    from shoal.kernels.agglomerative import FINISHED, GONE, State

    items, width = codes.shape
    rows = len(row_item)
    count = np.bincount(row_item[kept], minlength=items)
    capacity = 4 * rows + 4 if modified else 2 * items + 2
    nodes = len(tree.left)
    by_item = kept[np.argsort(row_item[kept], kind="stable")]
    own = row_item[by_item]
    same = own[1:] == own[:-1]
    next_row = np.full(rows, -1, np.int64)
    next_row[by_item[:-1][same]] = by_item[1:][same]
    head = np.full(capacity, -1, np.int64)
    tail = np.full(capacity, -1, np.int64)
    head[own[np.concatenate([[True], ~same])]] = by_item[np.concatenate([[True], ~same])]
    tail[own[np.concatenate([~same, [True]])]] = by_item[np.concatenate([~same, [True]])]
    # Rows that a cluster gives up come back one by one, so their leaf needs a slot for each.
    room = np.bincount(tree.leaf_of, weights=np.maximum(count, 1) if modified else None, minlength=nodes)
    starts = (np.cumsum(room) - room).astype(np.int64)
    live = np.flatnonzero((count > 0) & (count < k))
    leaf = tree.leaf_of[live]
    by_leaf = np.argsort(leaf, kind="stable")
    within = np.empty(len(live), np.int64)
    within[by_leaf] = np.arange(len(live)) - np.searchsorted(leaf[by_leaf], leaf[by_leaf])
    slot_of = np.full(capacity, GONE, np.int64)
    slot_of[:items][count >= k] = FINISHED
    slot_of[live] = starts[leaf] + within
    used = np.bincount(leaf, minlength=nodes).astype(np.int64)
    for node in range(nodes - 1, 0, -1):
        used[tree.parent[node]] += used[node]
    slots = int(room.sum())
    box = np.zeros((slots, 2 * width), codes.dtype)
    box[slot_of[live], 0::2] = codes[live]
    box[slot_of[live], 1::2] = codes[live]
    id_at = np.full(slots, -1, np.int64)
    id_at[slot_of[live]] = live
    ids = np.zeros(capacity, np.int64)
    ids[: len(live)] = live
    size = np.zeros(capacity, np.int64)
    size[:items] = count
    anchor = np.zeros(capacity, np.int64)
    anchor[:items] = np.arange(items)
    return State(
        counters=np.array([len(live), items, 0, 0], np.int64),
        keys=np.full(capacity, -np.inf),
        ids=ids,
        box=box,
        loss=np.zeros(capacity),
        size=size,
        slot_of=slot_of,
        id_at=id_at,
        starts=starts,
        used=used,
        most_loss=np.zeros(nodes),
        nearest=np.full(capacity, -1, np.int64),
        found=np.zeros(capacity),
        waiting=np.full(capacity, -1, np.int64),
        next_waiting=np.full(capacity, -1, np.int64),
        head=head,
        tail=tail,
        next_row=next_row,
        anchor=anchor,
    )
