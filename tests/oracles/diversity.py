"""Plain twins of the kernels in `shoal/kernels/diversity.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def top_counts(start, count, many):
    runs = [sorted(count[a:b].tolist(), reverse=True) for a, b in pairwise(start)]
    largest = [max(run, default=0) for run in runs]
    return np.array(largest, np.int64), np.array([sum(run[:many]) for run in runs], np.int64)


def group_entropies(start, count, size):
    entropies = []
    for g in range(len(size)):
        shares = [c / size[g] for c in count[start[g] : start[g + 1]]]
        entropies.append(-sum(share * np.log(share) for share in shares))
    return np.array(entropies, np.float64)
