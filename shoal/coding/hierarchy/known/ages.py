"""Ages in years."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from shoal.coding.hierarchy.known.bands import Bands


class Ages(Bands):
    """Ages in bands of 5, 10 and 20 years; 90 and more are one group, which no release divides."""

    name: ClassVar[str] = "ages"
    example: ClassVar[str] = name
    title: ClassVar[str] = "ages in years"
    meaning: ClassVar[str] = "ages in bands of 5, 10 and 20 years, and 90+"
    levels: ClassVar[str] = "5, 10, 20 years; 90 and more are one group that no release divides"
    sample: ClassVar[tuple[str, ...]] = ("23", "20-24", "20-29", "20-39")
    spec: ClassVar[Mapping[str, Any]] = {"widths": [5, 10, 20], "top": 90}
