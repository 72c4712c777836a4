"""Plain twins of the kernels in `shoal/kernels/cheapest.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools

import numpy as np

from tests.oracles.improve import rows_loss


def cheapest_closures(codes, count, near, far, losses, k, patience):
    """By trying all sets of neighbours."""
    best = np.zeros(len(codes))
    for item in range(len(codes)):
        if count[item] >= k:
            continue
        best[item] = far[item]
        others = [int(other) for other in near[item] if other >= 0]
        for many in range(len(others) + 1):
            for chosen in itertools.combinations(others, many):
                members = [item, *chosen]
                if count[members].sum() >= k:
                    best[item] = min(best[item], rows_loss(codes, members, losses))
    return best
