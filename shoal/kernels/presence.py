"""Which published regions cover which people."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def regions_of_people(low, high, codes):
    """Return for each person the regions that cover all the person's codes, as ``region[start[i]:start[i + 1]]``.

    O(people x regions), and little more than one comparison for most pairs.
    """
    people, columns = codes.shape
    start = np.zeros(people + 1, np.int64)
    region = np.empty(max(people, 16), np.int32)
    found = 0
    for i in range(people):
        for r in range(len(low)):
            inside = True
            for j in range(columns):
                if codes[i, j] < low[r, j] or codes[i, j] > high[r, j]:
                    inside = False
                    break
            if inside:
                if found == len(region):
                    larger = np.empty(2 * found, np.int32)
                    larger[:found] = region
                    region = larger
                region[found] = r
                found += 1
        start[i + 1] = found
    return start, region[:found].copy()
