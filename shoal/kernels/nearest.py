"""Greedy orders of rows: after each row the one that differs least from it."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def nearest_order(codes, starts, units, look):
    """Order the positions of each group starts[p]..starts[p+1]-1: first its first, then always the nearest one left.

    `codes` is [rows, columns]; the distance of two rows is the sum of the units of the columns in which they differ.
    Only the first `look` rows that are left are candidates, and the first of equally near ones is taken.
    O(rows x look x columns), and less if rows are equal.
    """
    rows, columns = codes.shape
    order = np.empty(rows, np.int32)
    ahead = np.empty(rows + 1, np.int32)
    for p in range(len(starts) - 1):
        begin, end = starts[p], starts[p + 1]
        for at in range(begin, end):
            ahead[at] = at + 1
        head = begin
        for place in range(begin, end):
            best, before, nearest = head, -1, np.inf
            if place > begin:
                here, previous, at = order[place - 1], -1, head
                for _ in range(look):
                    if at == end:
                        break
                    away = 0.0
                    for j in range(columns):
                        if codes[at, j] != codes[here, j]:
                            away += units[j]
                            if away >= nearest:
                                break
                    if away < nearest:
                        best, before, nearest = at, previous, away
                        if away == 0.0:
                            break
                    previous, at = at, ahead[at]
            order[place] = best
            if before < 0:
                head = ahead[best]
            else:
                ahead[before] = ahead[best]
    return order
