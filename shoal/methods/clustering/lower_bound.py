"""How little any clustering can lose: the cheapest closure of each row with k - 1 others."""

from __future__ import annotations

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.measures import MEASURES
from shoal.methods.clustering.clusters import collapse

NEIGHBOURS = 64
"""Neighbours that are visited; a closure with any other row costs at least as much as with the last of them."""
PATIENCE = 20_000
"""Combinations of ranges to try per row; after that, the distance of the (k-1)-th neighbour serves as the bound."""


def lower_bound(table: CodedTable, k: int, measure: str = MEASURES.default) -> float:
    """Return a lower bound for the mean loss of every k-anonymous release of all rows, by a measure of cells.

    Each row shows a cell that covers at least k rows, so it loses at least the cheapest closure of itself with
    k - 1 others. Mostly exact; where there are too many ranges to try, the loss of the row with its (k-1)-th nearest
    neighbour alone. Expected O(rows log rows) visits of neighbours. It bounds (k,1) as well.
    """
    from shoal.kernels.cheapest import cheapest_closures
    from shoal.kernels.neighbours import nearest_items

    items = collapse(table, measure)
    losses = items.losses
    codes, order, _, tree = items.plant_tree()
    count = items.count[order]
    many = min(NEIGHBOURS, max(len(codes) - 1, 1))
    # By the least loss of any wider range: a lower bound for what a closure with the neighbour loses.
    near, loss = nearest_items(codes, tree, losses._replace(cells=losses.least), many)
    # If all items are among the neighbours, nothing lies beyond.
    far = np.full(len(codes), np.inf) if many >= len(codes) - 1 else loss[:, -1].copy()
    best = cheapest_closures(codes, count, near, far, losses, k, PATIENCE)
    covered = count[:, None] + np.cumsum(np.where(near >= 0, count[near], 0), axis=1)
    enough = np.argmax(covered >= k, axis=1)
    plain = np.where(covered[:, -1] >= k, loss[np.arange(len(codes)), enough], loss[:, -1])
    best = np.where(best < 0, np.where(count >= k, 0.0, plain), best)
    return float(best @ count / max(table.rows, 1))
