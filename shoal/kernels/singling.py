"""Which groups of rows belong to one person alone."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def of_one_person(group_of, groups, owner):
    """Return per row whether all rows of its group have the same owner. Rows of owner -1 belong to several people.

    O(rows + groups).
    """
    found = np.full(groups, -2, np.int32)  # -2: no row yet; -1: several people
    for row in range(len(group_of)):
        g = group_of[row]
        if found[g] == -2:
            found[g] = owner[row]
        elif found[g] != owner[row]:
            found[g] = -1
    alone = np.empty(len(group_of), np.bool_)
    for row in range(len(group_of)):
        alone[row] = found[group_of[row]] >= 0
    return alone
