"""Plain twins of the kernels in `shoal/kernels/hilbert.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.oracles.losses import range_loss


def hilbert_keys(places, bits):
    keys = []
    for point in places.tolist():
        x = list(point)
        for bit in range(bits - 1, 0, -1):
            low = (1 << bit) - 1
            for j in range(len(x)):
                if x[j] >> bit & 1:
                    x[0] ^= low
                else:
                    swap = (x[0] ^ x[j]) & low
                    x[0] ^= swap
                    x[j] ^= swap
        for j in range(1, len(x)):
            x[j] ^= x[j - 1]
        turned = 0
        for bit in range(1, bits):
            if x[-1] >> bit & 1:
                turned ^= (1 << bit) - 1
        digits = "".join(str((number ^ turned) >> bit & 1) for bit in range(bits - 1, -1, -1) for number in x)
        keys.append(int(digits, 2))
    return np.array(keys, np.uint64)


def group_loss(codes, begin, end, losses, sets):
    """What best_groups has to pay for one group: rows times the losses of its cells."""
    total = 0.0
    for j in range(len(codes)):
        own = sorted({int(code) for code in codes[j, begin:end]})
        at = [int(losses.shape[j, 6]) + code for code in own]
        if sets.how == 0:
            total += range_loss(losses, j, own[0], own[-1])
        elif sets.how == 1:
            total += (len(own) - 1) * sets.unit[j]
        elif len(own) > 1:
            rows = max(sets.mass[at].sum(), 1.0)
            total += max(np.log2(rows) - sets.logs[at].sum() / rows, 0.0) * sets.unit[j]
    return total * (end - begin)


def best_groups(codes, blocks, k, losses, sets):
    def cheapest(begin, end):
        """Cost and cuts of the best way, by trying all."""
        found = []
        for first in range(k, min(2 * k - 1, end - begin) + 1):
            own = group_loss(codes, begin, begin + first, losses, sets)
            if begin + first == end:
                found.append((own, (begin,)))
            elif end - begin - first >= k:
                cost, cuts = cheapest(begin + first, end)
                found.append((own + cost, (begin, *cuts)))
        return min(found)

    starts = [cut for begin, end in pairwise(blocks) for cut in cheapest(int(begin), int(end))[1]]
    return np.array([*starts, blocks[-1]], np.int64)
