"""From clusters to classes: drop blocks that cannot satisfy the models, join clusters that fail, renumber the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.coding.groups import Groups
from shoal.errors import LimitError
from shoal.judging.models.requirements import Requirements
from shoal.methods.blocks import find_satisfying_blocks
from shoal.methods.clustering.clusters import Items
from shoal.support.arrays import BoolVector, IntVector, LongVector

PARTNERS = 8
"""How many neighbours a failing cluster tries before it joins the nearest one anyway."""


def select_rows(table: CodedTable, requirements: Requirements) -> tuple[IntVector, int]:
    """Return the rows to cluster, and the number of suppressed rows: those of blocks that violate the requirements even
    as one class. O(rows).
    """
    good = find_satisfying_blocks(table, requirements)
    kept = np.flatnonzero(good[table.block_of]).astype(np.int32)
    return kept, table.rows - len(kept)


def number_clusters(cluster_of: IntVector) -> tuple[IntVector, int]:
    """Number clusters 0, 1, .. by first appearance; return the numbers and their count. Rows with -1 keep it."""
    inside = cluster_of >= 0
    values, first, inverse = np.unique(cluster_of[inside], return_index=True, return_inverse=True)
    rank = np.empty(len(values), np.int32)
    rank[np.argsort(first)] = np.arange(len(values), dtype=np.int32)
    out = np.full(len(cluster_of), -1, np.int32)
    out[inside] = rank[inverse]
    return out, len(values)


def boxes(items: Items, cluster_of: IntVector, clusters: int) -> NDArray[np.int64]:
    """Return lowest and highest code of each cluster and column, next to each other. O(rows x columns)."""
    from shoal.kernels.closures import bounds

    box = np.empty((clusters, 2 * items.codes.shape[1]), np.int64)
    for j in range(items.codes.shape[1]):
        codes = items.codes[items.item_of, j].astype(np.int32)
        box[:, 2 * j], box[:, 2 * j + 1] = bounds(codes, cluster_of, clusters)
    return box


def total_loss(items: Items, cluster_of: IntVector) -> float:
    """Return the sum over rows of the loss of their cluster, in the unit of the measure's mean."""
    from shoal.kernels.losses import box_losses

    numbers, count = number_clusters(cluster_of)
    sizes = np.bincount(numbers[numbers >= 0], minlength=count)
    return float(box_losses(boxes(items, numbers, count), items.losses) @ sizes)


def join_failing_clusters(
    table: CodedTable, items: Items, cluster_of: IntVector, requirements: Requirements
) -> IntVector:
    """Join clusters that fail the requirements with neighbours, until all satisfy them.

    Neighbours are near if joining them adds little to the sum of losses. A cluster joins the first of its nearest
    neighbours with which it satisfies all models, else the nearest. Every whole block satisfies them, so this ends.
    O(rounds x failing clusters x clusters x columns).
    """
    if requirements.only_k and requirements.k <= 1:
        return cluster_of
    from shoal.kernels.losses import box_losses
    from shoal.kernels.neighbours import nearest_clusters

    while True:
        numbers, count = number_clusters(cluster_of)
        failing = np.flatnonzero(~requirements.holds_in(_groups(table, numbers, count)))
        if not len(failing):
            return numbers
        box = boxes(items, numbers, count)
        sizes = np.bincount(numbers[numbers >= 0], minlength=count)
        losses = box_losses(box, items.losses)
        near = nearest_clusters(box, losses, sizes, failing, items.losses, PARTNERS)
        good = _unions_satisfied(table, requirements, numbers, sizes, failing, near)
        into = np.arange(count, dtype=np.int32)
        taken = np.zeros(count, np.bool_)
        for at, cluster in enumerate(failing.tolist()):
            choices = near[at][near[at] >= 0]
            free = choices[~taken[choices]]
            if taken[cluster] or not len(free):
                continue
            suited = free[good[at][: len(choices)][~taken[choices]]]
            partner = int(suited[0]) if len(suited) else int(free[0])
            taken[cluster] = taken[partner] = True
            into[cluster] = partner
        if not taken.any():
            raise LimitError(
                f"{len(failing):,} clusters do not satisfy the models, and limits forbid joining them with any other"
            )
        cluster_of = np.where(numbers >= 0, into[np.maximum(numbers, 0)], -1).astype(np.int32)


def _groups(table: CodedTable, numbers: IntVector, count: int) -> Groups:
    return table.group_rows(numbers, count)


def _unions_satisfied(
    table: CodedTable,
    requirements: Requirements,
    numbers: IntVector,
    sizes: LongVector,
    failing: LongVector,
    near: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return, for each failing cluster, which neighbours it satisfies the models with."""
    order = np.argsort(numbers, kind="stable")
    order = order[int((numbers < 0).sum()) :]
    starts = np.cumsum(sizes) - sizes
    pair_at, choice = np.nonzero(near >= 0)
    pair = np.stack([failing[pair_at], near[pair_at, choice]], axis=1).ravel()
    lengths = sizes[pair]
    ends = np.cumsum(lengths)
    rows = order[
        np.repeat(starts[pair] - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
    ]
    groups = np.repeat(np.repeat(np.arange(len(pair_at)), 2), lengths).astype(np.int32)
    unions = table.group_rows(groups, len(pair_at), rows)
    good: BoolVector = np.zeros(near.shape, np.bool_)
    good[pair_at, choice] = requirements.holds_in(unions)
    return good
