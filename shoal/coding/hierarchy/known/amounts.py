"""Amounts of money and other quantities whose large values are rare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from shoal.coding.hierarchy.known.bands import Bands

_UP = [lead * 10**power for power in range(10) for lead in (1, 2, 5)]
_FINE = sorted({*_UP, 3, 4, 6, 8, *(lead * 10**power for power in range(9) for lead in (15, 30, 40, 60, 80))})
_TENS = [10**power for power in range(10)]


class Amounts(Bands):
    """Amounts in bands that grow with the amount: 1000, 1500, 2000, 3000, …"""

    name: ClassVar[str] = "amounts"
    example: ClassVar[str] = name
    title: ClassVar[str] = "amounts"
    meaning: ClassVar[str] = "amounts in round bands that grow with the amount"
    levels: ClassVar[str] = (
        "1000, 1500, 2000, 3000, 4000, 5000, 6000, 8000, …; 1000, 2000, 5000, …; powers of ten; powers of a thousand; "
        "below 0 and from 0 on"
    )
    sample: ClassVar[tuple[str, ...]] = (
        "27500",
        "20000-29999",
        "20000-49999",
        "10000-99999",
        "1000-999999",
        ">=0",
    )
    spec: ClassVar[Mapping[str, Any]] = {
        "cuts": [
            [*(-point for point in reversed(_FINE)), 0, *_FINE],
            [*(-point for point in reversed(_UP)), 0, *_UP],
            [*(-point for point in reversed(_TENS)), 0, *_TENS],
            [-(10**9), -(10**6), -1000, 0, 1000, 10**6, 10**9],
            [0],
        ]
    }
