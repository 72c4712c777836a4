"""Plain twins of the kernels in `shoal/kernels/nearest.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def nearest_order(codes, starts, units, look):
    order = []
    for begin, end in pairwise(starts):
        left = list(range(begin, end))
        here = left[0]
        while left:
            apart = [sum(units[codes[at] != codes[here]]) for at in left[:look]]
            here = left.pop(apart.index(min(apart)))
            order.append(here)
    return np.array(order, np.int32)
