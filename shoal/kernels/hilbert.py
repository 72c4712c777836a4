"""Hilbert order, and the best way to split an order into groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import SIZE, START, range_loss
from shoal.support.arrays import FloatVector

RANGES, VALUES, BITS = range(3)
"""How a group loses: by its ranges, by the values that it lists, or by their entropy."""


class Sets(NamedTuple):
    """The loss of groups that list their values."""

    how: int
    """RANGES, VALUES or BITS."""
    unit: FloatVector
    """Column -> loss by one more value, or by one bit."""
    mass: FloatVector
    """Code of any column -> how often it occurs."""
    logs: FloatVector
    """Code of any column -> count x log2 of the count."""


@njit(cache=True, nogil=True)
def hilbert_keys(places, bits):
    """Return where each point lies on the Hilbert curve; places are [points, columns] below 2**bits.

    columns x bits may be 63 at most. Skilling's transposed form: undo the turns of the curve from the highest bit
    down, then undo the Gray code. O(points x columns x bits).
    """
    points, columns = places.shape
    keys = np.empty(points, np.uint64)
    x = np.empty(columns, np.int64)
    for i in range(points):
        for j in range(columns):
            x[j] = places[i, j]
        q = 1 << (bits - 1)
        while q > 1:
            for j in range(columns):
                if x[j] & q:
                    x[0] ^= q - 1
                else:
                    swap = (x[0] ^ x[j]) & (q - 1)
                    x[0] ^= swap
                    x[j] ^= swap
            q >>= 1
        for j in range(1, columns):
            x[j] ^= x[j - 1]
        turned = 0
        q = 1 << (bits - 1)
        while q > 1:
            if x[columns - 1] & q:
                turned ^= q - 1
            q >>= 1
        key = np.uint64(0)
        for bit in range(bits - 1, -1, -1):
            for j in range(columns):
                key = (key << np.uint64(1)) | np.uint64(((x[j] ^ turned) >> bit) & 1)
        keys[i] = key
    return keys


@njit(cache=True, nogil=True)
def best_groups(codes, blocks, k, losses, sets):
    """Split the rows of each block, in their order, into groups of k to 2k-1 that lose least; return the starts.

    `codes` is [columns, rows]. Dynamic programming, O(rows x k x columns).
    """
    columns, rows = codes.shape
    listed = sets.how != RANGES
    following = np.empty((columns, rows if listed else 1), np.int32)
    if listed:
        for j in range(columns):
            seen = np.full(losses.shape[j, SIZE], rows, np.int32)
            for row in range(rows - 1, -1, -1):
                following[j, row] = seen[codes[j, row]]
                seen[codes[j, row]] = row
    cost = np.empty(rows + 1, np.float64)
    choice = np.empty(rows + 1, np.int64)
    low = np.empty(columns, np.int64)
    high = np.empty(columns, np.int64)
    mass = np.empty(columns, np.float64)
    logs = np.empty(columns, np.float64)
    group_loss = np.empty(columns, np.float64)
    starts = np.empty(rows // k + 2, np.int64)
    parts = 0
    for b in range(len(blocks) - 1):
        begin, stop = blocks[b], blocks[b + 1]
        cost[begin : stop + 1] = np.inf
        cost[begin] = 0.0
        choice[begin] = begin
        for end in range(begin + k, stop + 1):
            total = 0.0
            # A block of fewer than 2k rows is one group.
            least = end - 2 * k + 1
            for row in range(end - 1, max(least, begin) - 1, -1):
                for j in range(columns):
                    code = np.int64(codes[j, row])
                    at = losses.shape[j, START] + code
                    if row == end - 1:
                        low[j] = high[j] = code
                        group_loss[j] = 0.0
                        mass[j], logs[j] = sets.mass[at], sets.logs[at]
                    elif listed:
                        if following[j, row] >= end:
                            mass[j] += sets.mass[at]
                            logs[j] += sets.logs[at]
                            wide = sets.unit[j]
                            if sets.how == BITS:
                                bits = np.log2(max(mass[j], 1.0)) - logs[j] / max(mass[j], 1.0)
                                wide = max(bits, 0.0) * sets.unit[j] - group_loss[j]
                            total += wide
                            group_loss[j] += wide
                    elif code < low[j] or code > high[j]:
                        low[j], high[j] = min(low[j], code), max(high[j], code)
                        wide = range_loss(losses, j, low[j], high[j])
                        total += wide - group_loss[j]
                        group_loss[j] = wide
                if end - row >= k:
                    whole = cost[row] + total * (end - row)
                    if whole < cost[end]:
                        cost[end], choice[end] = whole, row
        # Starts are found from the end: collect them, then reverse them.
        first = parts
        at = stop
        while at > begin:
            at = choice[at]
            starts[parts] = at
            parts += 1
        for at in range((parts - first) // 2):
            other = parts - 1 - at
            starts[first + at], starts[other] = starts[other], starts[first + at]
    starts[parts] = blocks[len(blocks) - 1]
    return starts[: parts + 1]
