"""ATC: the Anatomical Therapeutic Chemical classification of medicines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.prefixed import Prefixed


@dataclass(frozen=True)
class Atc(Prefixed):
    """Medicines by the levels of their ATC code."""

    name: ClassVar[str] = "atc"
    example: ClassVar[str] = name
    title: ClassVar[str] = "ATC codes"
    meaning: ClassVar[str] = "ATC groups"
    levels: ClassVar[str] = "the four levels above a substance: 5, 4, 3 and 1 characters"
    sample: ClassVar[tuple[str, ...]] = ("A10BA02", "A10BA*", "A10B*", "A10*", "A*")
    lengths: ClassVar[tuple[int, ...]] = (5, 4, 3, 1)
    pattern: ClassVar[str] = "[ABCDGHJLMNPRSV]([0-9]{2}([A-Z]([A-Z]([0-9]{2})?)?)?)?"
