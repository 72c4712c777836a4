"""Plain twins of the kernels in `shoal/kernels/neighbours.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np

from tests.oracles.improve import rows_loss
from tests.oracles.losses import box_losses


def plant(codes, losses, leaf_size):
    """A tree that is one leaf: every search looks at everything."""
    from shoal.kernels.neighbours import Tree

    def one(value):
        return np.array([value], np.int64)

    floor, ceiling = codes.min(axis=0, keepdims=True), codes.max(axis=0, keepdims=True)
    leaf_of = np.zeros(len(codes), np.int64)
    ends = one(0), one(len(codes))
    tree = Tree(one(-1), one(-1), one(-1), *ends, floor.astype(np.int64), ceiling.astype(np.int64), leaf_of)
    return np.arange(len(codes)), tree


def nearest_items(codes, tree, losses, many):
    near = np.full((len(codes), many), -1, np.int64)
    loss = np.full((len(codes), many), np.inf)
    for item in range(len(codes)):
        others = [(rows_loss(codes, [item, other], losses), other) for other in range(len(codes))]
        others = sorted(pair for pair in others if pair[1] != item and pair[0] < np.inf)[:many]
        for at, (value, other) in enumerate(others):
            near[item, at], loss[item, at] = other, value
    return near, loss


def nearest_clusters(box, loss, size, wanted, losses, many):
    near = np.full((len(wanted), many), -1, np.int64)
    for at, c in enumerate(wanted):
        choices = []
        for other in range(len(box)):
            if other != c:
                ends = [f(box[c][i], box[other][i]) for i, f in enumerate((min, max) * len(losses.shape))]
                union = box_losses([ends], losses)[0]
                growth = (size[c] + size[other]) * union - size[c] * loss[c] - size[other] * loss[other]
                if growth < np.inf:
                    choices.append((growth, other))
        for place, (_, other) in enumerate(sorted(choices)[:many]):
            near[at, place] = other
    return near
