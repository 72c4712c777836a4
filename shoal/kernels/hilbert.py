"""Hilbert order, and the best way to cut an order into groups."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def hilbert_keys(places, bits):
    """Return where each point lies on the Hilbert curve; places are [points, columns] below 2**bits.

    columns x bits may be 63 at most. Skilling's transposed form: undo the turns of the curve from the highest bit
    down, then take the Gray code off. O(points x columns x bits).
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
def best_groups(codes, blocks, k, sets, shape, node, loss):
    """Cut the rows of each block, in their order, into groups of k to 2k-1 that lose least; return the starts.

    `codes` is [columns, rows]. A column loses, per row of a group, what shape, node and loss say: with `sets`,
    (distinct values - 1) x loss[start]; else what the smallest node or free range over the group loses.
    shape[j] = size, ordered (-1: a tree), where the column starts in `node` and `loss`. Of a tree, node and loss
    hold per level and code the first code of the node and its loss; of free ranges, the place of each code, and
    one more, the loss of the whole domain. Dynamic programming, O(rows x k x columns).
    """
    columns, rows = codes.shape
    following = np.empty((columns, rows if sets else 1), np.int32)
    if sets:
        for j in range(columns):
            seen = np.full(shape[j, 0], rows, np.int32)
            for row in range(rows - 1, -1, -1):
                following[j, row] = seen[codes[j, row]]
                seen[codes[j, row]] = row
    cost = np.empty(rows + 1, np.float64)
    choice = np.empty(rows + 1, np.int64)
    low = np.empty(columns, np.int64)
    high = np.empty(columns, np.int64)
    level = np.empty(columns, np.int64)
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
                    at = shape[j, 2]
                    if row == end - 1:
                        low[j] = high[j] = code
                        group_loss[j] = 0.0
                        level[j] = at
                    elif sets:
                        if following[j, row] >= end:
                            total += loss[at]
                    elif code < low[j] or code > high[j]:
                        low[j], high[j] = min(low[j], code), max(high[j], code)
                        if shape[j, 1] >= 0:
                            if high[j] >= shape[j, 1]:
                                wide = loss[at + shape[j, 0]]
                            else:
                                wide = loss[at + high[j]] - loss[at + low[j]]
                        else:
                            while node[level[j] + low[j]] != node[level[j] + high[j]]:
                                level[j] += shape[j, 0]
                            wide = loss[level[j] + low[j]]
                        total += wide - group_loss[j]
                        group_loss[j] = wide
                if end - row >= k:
                    whole = cost[row] + total * (end - row)
                    if whole < cost[end]:
                        cost[end], choice[end] = whole, row
        # Found from the end: gather the starts, then turn them around.
        first = parts
        at = stop
        while at > begin:
            at = choice[at]
            starts[parts] = at
            parts += 1
        starts[first:parts] = starts[first:parts][::-1].copy()
    starts[parts] = blocks[-1]
    return starts[: parts + 1]
