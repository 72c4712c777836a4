"""How many people of a population lie in the boxes that classes show."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def people_within(rows, weights, low, high, begin, end, most):
    """Count the people in each box of codes, and stop at `most`.

    ``weights[r]`` people have the codes ``rows[r]``. Only the rows ``begin[c] : end[c]`` may lie in box c.
    O(rows looked at x columns).
    """
    found = np.zeros(len(low), np.int64)
    for c in range(len(low)):
        for r in range(begin[c], end[c]):
            inside = True
            for j in range(rows.shape[1]):
                if rows[r, j] < low[c, j] or rows[r, j] > high[c, j]:
                    inside = False
                    break
            if inside:
                found[c] += weights[r]
                if found[c] >= most:
                    break
    return found
