"""NUTS: regions of the European statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.prefixed import Prefixed


@dataclass(frozen=True)
class Nuts(Prefixed):
    """NUTS regions by their larger regions and countries."""

    name: ClassVar[str] = "nuts"
    example: ClassVar[str] = name
    title: ClassVar[str] = "NUTS codes"
    meaning: ClassVar[str] = "NUTS regions and countries"
    levels: ClassVar[str] = "NUTS 2, NUTS 1, country"
    sample: ClassVar[tuple[str, ...]] = ("DE212", "DE21*", "DE2*", "DE*")
    lengths: ClassVar[tuple[int, ...]] = (4, 3, 2)
    pattern: ClassVar[str] = "[A-Z]{2}[0-9A-Z]{0,3}"
