"""Greedy orders of rows: after each row the one that differs least from it."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def nearest_order(codes, starts, units, look):
    """Order the positions of each part starts[p]..starts[p+1]-1: first its first, then always the nearest one left.

    `codes` is [rows, columns]; two rows are as far from each other as the units of the columns in which they differ
    add up to. Only the first `look` that are left are looked at, and of equally near ones the first is taken.
    O(rows x look x columns), and less where rows are alike.
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
