"""Plain twins of the kernels in `shoal/kernels/closures.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np


def bounds(codes, group_of, groups):
    members = [
        [code for code, g in zip(codes, group_of, strict=True) if g == wanted] for wanted in range(groups)
    ]
    low = [min(m, default=np.iinfo(np.int32).max) for m in members]
    high = [max(m, default=-1) for m in members]
    return np.array(low, np.int32), np.array(high, np.int32)
