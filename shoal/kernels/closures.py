"""Smallest and largest code of each group."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def bounds(codes, group_of, groups):
    """Return the lowest and the highest code of each group; rows of group -1 are ignored. O(rows)."""
    low = np.full(groups, np.iinfo(np.int32).max, np.int32)
    high = np.full(groups, -1, np.int32)
    for row in range(len(codes)):
        g = group_of[row]
        if g >= 0:
            code = codes[row]
            low[g] = min(low[g], code)
            high[g] = max(high[g], code)
    return low, high
