"""Moves of rows between neighbouring clusters, until no move lowers the loss or the time is up."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from shoal.methods.clustering.cluster_classes import boxes, number_clusters
from shoal.methods.clustering.clusters import Items
from shoal.support.arrays import IntVector
from shoal.support.run import Run

NEIGHBOURS = 40
"""Items around each item whose clusters are candidates."""
PARTNERS = 20
"""Neighbours of each cluster that it is joined with and split from again."""
PIECE = 250
"""Clusters between two checks of the clock and of interrupts."""
FOUNDINGS = 3
"""How many rounds may found clusters at most; later rounds would found few."""
SEEDS = 2000
"""Items around which clusters may be founded between two checks of interrupts."""
WORTH = 2e-5
"""A round that improves the loss by a smaller share is the last of its kind."""


def move_rows(items: Items, cluster_of: IntVector, k: int, stop: float, run: Run) -> IntVector:
    """Return clusters that lose less, or as much; each still has at least k rows. `stop` is a time of the clock.

    Three moves, each made only if it lowers the sum of losses: some or all rows of a cluster go to neighbours; two
    clusters are joined and split again; rows that clusters can spare found new ones. Every visit of a cluster costs
    O(partners x k^2 x columns) at most, times the rows that a side is grown from, and these are capped.
    """
    from shoal.kernels.neighbours import nearest_items

    numbers, count = number_clusters(cluster_of)
    if count < 2:
        return numbers
    losses = items.losses
    codes, _, row_item, tree = items.plant_tree()
    many = min(NEIGHBOURS, max(len(codes) - 1, 1))
    near, _ = nearest_items(codes, tree, losses, many)
    around = codes, row_item, near
    numbers = _swept(items, numbers, around, k, stop, run)
    for _ in range(FOUNDINGS):
        founded = _create_clusters(items, numbers, around, k, run) if time.perf_counter() < stop else None
        if founded is None:
            break
        numbers = _swept(items, founded, around, k, stop, run)
    return numbers


def _swept(items: Items, cluster_of: IntVector, around: Any, k: int, stop: float, run: Run) -> IntVector:
    """Dissolve clusters, and split them again in pairs, until a round gains too little."""
    from shoal.kernels.improve import dissolve, resplit, unlink
    from shoal.kernels.losses import box_losses

    codes, row_item, near = around
    losses = items.losses
    numbers, count = number_clusters(cluster_of)
    clusters = _link_rows(items, numbers, count, row_item, len(codes))
    clusters.loss[:] = box_losses(clusters.box, losses)

    def sweep(step: Any, *options: int) -> float:
        gained = 0.0
        for begin in range(0, count, PIECE):
            if time.perf_counter() > stop:
                break
            run.progress("improve", begin / count)
            end = min(begin + PIECE, count)
            gained += step(codes, row_item, near, clusters, k, *options, losses, begin, end)
        return gained

    enough = WORTH * float(clusters.loss @ clusters.size)
    gained = np.inf
    while gained > enough and time.perf_counter() < stop:
        gained = sweep(dissolve)
        if gained <= enough:  # Splitting again takes far longer.
            gained += sweep(resplit, 4 * k + 8, PARTNERS)
    out = np.full(len(numbers), -1, np.int32)
    unlink(clusters.head, clusters.next_row, out)
    return out


def _create_clusters(items: Items, cluster_of: IntVector, around: Any, k: int, run: Run) -> IntVector | None:
    """Create clusters from rows that other clusters can spare; None if no new cluster reduces the loss."""
    from shoal.kernels.founding import found
    from shoal.kernels.losses import box_losses

    codes, row_item, near = around
    numbers, count = number_clusters(cluster_of)
    most = int((numbers >= 0).sum()) // k
    size, loss = np.zeros(most, np.int64), np.zeros(most)
    size[:count] = np.bincount(numbers[numbers >= 0], minlength=count)
    loss[:count] = box_losses(boxes(items, numbers, count), items.losses)
    item_rows = np.argsort(row_item, kind="stable")
    item_start = np.searchsorted(row_item[item_rows], np.arange(len(codes) + 1))
    clusters = count
    for begin in range(0, len(codes), SEEDS):
        run.progress("improve", begin / len(codes))
        clusters = found(
            codes, row_item, item_start, item_rows, near, numbers, size, loss, k, items.losses, clusters,
            begin, min(begin + SEEDS, len(codes)),
        )  # fmt: skip
    return numbers if clusters > count else None


def _link_rows(items: Items, numbers: IntVector, count: int, row_item: Any, distinct: int) -> Any:
    """Return the clusters as lists of rows, with their boxes."""
    from shoal.kernels.improve import Clusters

    rows = np.flatnonzero(numbers >= 0)
    order = rows[np.argsort(numbers[rows], kind="stable")]
    own = numbers[order]
    same = own[1:] == own[:-1]
    next_row = np.full(len(numbers), -1, np.int64)
    next_row[order[:-1][same]] = order[1:][same]
    head = order[np.concatenate([[True], ~same])].astype(np.int64)
    cluster_of = np.zeros(distinct, np.int64)
    cluster_of[row_item[order[::-1]]] = own[::-1]
    size = np.bincount(own, minlength=count).astype(np.int64)
    return Clusters(
        cluster_of, head, next_row, size, np.zeros(count), boxes(items, numbers, count),
        np.ones(count, np.int64), np.zeros(count, np.int64), np.ones(1, np.int64),
    )  # fmt: skip
