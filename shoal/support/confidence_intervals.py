"""Intervals of shares that were counted."""

from __future__ import annotations

from math import sqrt

NORMAL_95 = 1.959963984540054
"""The quantile of the standard normal distribution for a 95 % interval."""


def wilson(share: float, many: float, normal: float = NORMAL_95) -> tuple[float, float]:
    """Return Wilson's interval of a share of `many` independent trials; `normal` is the quantile of the standard normal
    distribution. Without trials, anything is possible.
    """
    if many <= 0:
        return 0.0, 1.0
    narrow = 1 + normal**2 / many
    middle = (share + normal**2 / (2 * many)) / narrow
    half = normal * sqrt(share * (1 - share) / many + (normal / (2 * many)) ** 2) / narrow
    return max(middle - half, 0.0), min(middle + half, 1.0)
