"""New clusters from rows that other clusters can spare."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import range_loss

LEAST_GAIN = 1e-6
"""Smaller gains are rounding errors."""
CANDIDATES = 1024
"""Rows visited around the first row of a cluster."""


@njit(cache=True, nogil=True)
def found(
    codes,
    row_item,
    item_start,
    item_rows,
    near,
    cluster_of,
    size,
    loss,
    k,
    losses,
    clusters,
    begin,
    end,
):
    """Found clusters of k rows around the items `begin` to `end`, if the rows lose less there; return how many
    clusters there are then.

    Rows come from clusters with more than k rows. A new cluster always takes the row that costs least: k times the new
    loss minus the row's old loss. From then on, the neighbours of that row are candidates too. The gain of the other
    clusters by their smaller boxes is not counted; `loss` is not updated. O(items x k x rows visited x columns).
    """
    width = codes.shape[1]
    box = np.empty(2 * width, np.int64)
    rows = np.empty(CANDIDATES, np.int64)
    state = np.empty(CANDIDATES, np.int64)
    taken = np.zeros(len(size), np.int64)
    item_seen = np.full(len(codes), -1, np.int64)
    members = np.empty(k, np.int64)
    most = 0.0
    for c in range(clusters):
        most = max(most, loss[c])
    for seed in range(begin, end):
        if clusters == len(size):
            break
        used, inside, saved, now, fresh = 0, 0, 0.0, 0.0, seed
        for j in range(width):
            box[2 * j] = box[2 * j + 1] = codes[seed, j]
        while True:
            # The rows of the new item, and of its neighbours, are candidates now.
            for n in range(-1, near.shape[1]):
                item = fresh if n < 0 else near[fresh, n]
                if item < 0 or item_seen[item] == seed:
                    continue
                item_seen[item] = seed
                for at in range(item_start[item], item_start[item + 1]):
                    c = cluster_of[item_rows[at]]
                    if used < CANDIDATES and c >= 0 and size[c] > k and loss[c] > 0.0:
                        rows[used], state[used] = item_rows[at], c
                        used += 1
            best, chosen, best_loss = np.inf, -1, 0.0
            for n in range(used):
                c = state[n]
                if c < 0 or taken[c] + k >= size[c]:
                    continue
                item = row_item[rows[n]]
                total = 0.0
                for j in range(width):
                    code = np.int64(codes[item, j])
                    low, high = min(box[2 * j], code), max(box[2 * j + 1], code)
                    total += range_loss(losses, j, low, high)
                    if k * total - loss[c] >= best:
                        break
                if k * total - loss[c] < best:
                    best, chosen, best_loss = k * total - loss[c], n, total
            if chosen < 0:
                break
            c = state[chosen]
            state[chosen] = -1
            taken[c] += 1
            saved += loss[c]
            now = best_loss
            members[inside] = rows[chosen]
            inside += 1
            fresh = row_item[rows[chosen]]
            for j in range(width):
                code = np.int64(codes[fresh, j])
                box[2 * j], box[2 * j + 1] = min(box[2 * j], code), max(box[2 * j + 1], code)
            if inside == k or saved + (k - inside) * most <= k * now + LEAST_GAIN:
                break
        for m in range(inside):
            taken[cluster_of[members[m]]] = 0
        if inside < k or saved <= k * now + LEAST_GAIN:
            continue
        for m in range(k):
            size[cluster_of[members[m]]] -= 1
            cluster_of[members[m]] = clusters
        size[clusters], loss[clusters] = k, now
        clusters += 1
    return clusters
