"""Plain twins of the kernels in `shoal/kernels/followed.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools

import numpy as np


def _covers(low, high, row):
    return all(a <= code <= b for a, code, b in zip(low, row, high, strict=True))


def fitting_crowds(
    own_start, own_rows, match_start, match_class, holds_start, holds_crowd, crowd_start, crowd_class, most
):
    """Twin of shoal.kernels.followed.fitting_crowds: all ways to give each published row a row of its own are tried."""
    del holds_start, holds_crowd
    covering = [
        set(match_class[match_start[row] : match_start[row + 1]]) for row in range(len(match_start) - 1)
    ]
    pairs = []
    for i in range(len(own_start) - 1):
        own = own_rows[own_start[i] : own_start[i + 1]]
        for g in range(len(crowd_start) - 1):
            shown = crowd_class[crowd_start[g] : crowd_start[g + 1]]
            if 0 <= len(own) - len(shown) <= most and any(
                all(c in covering[row] for c, row in zip(shown, chosen, strict=True))
                for chosen in itertools.permutations(own, len(shown))
            ):
                pairs.append((i, g))
    return np.array([i for i, _ in pairs], np.int64), np.array([g for _, g in pairs], np.int64)
