"""Plain twins of the kernels in `shoal/kernels/crowds.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np


def people_within(rows, weights, low, high, begin, end, most):
    found = []
    for c in range(len(low)):
        inside = [
            int(weights[r])
            for r in range(begin[c], end[c])
            if all(low[c][j] <= rows[r][j] <= high[c][j] for j in range(len(low[c])))
        ]
        total = 0
        for people in inside:
            if total < most:
                total += people
        found.append(total)
    return np.array(found, np.int64)
