"""The cheapest closure of a row with k - 1 others: a lower bound for what a row loses in any clustering."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import range_loss

OPTIONS = 512
"""How many ranges of one column to try at most."""


@njit(cache=True, nogil=True)
def _rows_in(mask, weights, own, k):
    """Return whether the neighbours in a mask, with the rows of the item itself, are at least k rows."""
    total = own
    while mask != 0 and total < k:
        low = mask & (~mask + np.uint64(1))
        at = 0
        while low > np.uint64(1):
            low >>= np.uint64(1)
            at += 1
        total += weights[at]
        mask &= mask - np.uint64(1)
    return total >= k


@njit(cache=True, nogil=True)
def cheapest_closures(codes, count, near, far, losses, k, patience):
    """Return for each item a lower bound for the loss of any closure that covers at least k rows, its own included.

    `near` lists at most 64 neighbours, and `far` a lower bound for the loss of a closure with any other item. Per
    column, it tries the ranges that neighbours span with the item, cheapest first, with the neighbours inside as bits.
    Exact if no item beyond the neighbours matters and `patience` combinations suffice; then O(combinations) per item.
    If they do not suffice, -1.
    """
    items, width = codes.shape
    result = np.zeros(items)
    most = near.shape[1]
    option_loss = np.empty((width, OPTIONS))
    option_mask = np.empty((width, OPTIONS), np.uint64)
    options = np.empty(width, np.int64)
    weights = np.empty(64, np.int64)
    choice = np.empty(width + 1, np.int64)
    partial = np.empty(width + 1)
    masks = np.empty(width + 1, np.uint64)
    values = np.empty(most + 1, np.int64)
    for item in range(items):
        if count[item] >= k:
            continue
        seen = 0
        while seen < most and near[item, seen] >= 0:
            weights[seen] = count[near[item, seen]]
            seen += 1
        everyone = ~np.uint64(0) if seen == 64 else (np.uint64(1) << np.uint64(seen)) - np.uint64(1)
        best = far[item]
        complete = True
        for j in range(width):
            own = np.int64(codes[item, j])
            found = 0
            values[0], distinct = own, 1
            for n in range(seen):
                code = np.int64(codes[near[item, n], j])
                fresh = True
                for v in range(distinct):
                    fresh = fresh and values[v] != code
                if fresh:
                    values[distinct] = code
                    distinct += 1
            for x in range(distinct):
                for y in range(distinct):
                    low, high = values[x], values[y]
                    if low > own or high < own:
                        continue
                    loss = range_loss(losses, j, low, high)
                    if loss >= best:
                        continue
                    mask = np.uint64(0)
                    for n in range(seen):
                        code = np.int64(codes[near[item, n], j])
                        if low <= code and code <= high:
                            mask |= np.uint64(1) << np.uint64(n)
                    # Only ranges count that no cheaper range covers.
                    beaten = False
                    for o in range(found):
                        if option_loss[j, o] <= loss and (mask & ~option_mask[j, o]) == 0:
                            beaten = True
                            break
                    if beaten:
                        continue
                    kept = 0
                    for o in range(found):
                        if not (loss <= option_loss[j, o] and (option_mask[j, o] & ~mask) == 0):
                            option_loss[j, kept], option_mask[j, kept] = option_loss[j, o], option_mask[j, o]
                            kept += 1
                    found = kept
                    if found == OPTIONS:
                        complete = False
                        continue
                    at = found
                    while at > 0 and option_loss[j, at - 1] > loss:
                        option_loss[j, at], option_mask[j, at] = (
                            option_loss[j, at - 1],
                            option_mask[j, at - 1],
                        )
                        at -= 1
                    option_loss[j, at], option_mask[j, at] = loss, mask
                    found += 1
            options[j] = found
        if not complete:
            result[item] = -1.0
            continue
        left = patience
        depth = 0
        choice[0], partial[0], masks[0] = 0, 0.0, everyone
        while depth >= 0 and left > 0:
            if depth == width or choice[depth] >= options[depth]:
                depth -= 1
                continue
            o = choice[depth]
            choice[depth] += 1
            loss = partial[depth] + option_loss[depth, o]
            if loss >= best:
                depth -= 1
                continue
            left -= 1
            mask = masks[depth] & option_mask[depth, o]
            if not _rows_in(mask, weights, count[item], k):
                continue
            if depth + 1 == width:
                best = loss
                depth -= 1
                continue
            depth += 1
            choice[depth], partial[depth], masks[depth] = 0, loss, mask
        if left > 0:
            result[item] = best
        else:
            result[item] = -1.0
    return result
