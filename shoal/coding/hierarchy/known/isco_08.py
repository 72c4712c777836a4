"""ISCO-08: the International Standard Classification of Occupations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.prefixed import Prefixed


@dataclass(frozen=True)
class Isco08(Prefixed):
    """Occupations by minor, sub-major and major group."""

    name: ClassVar[str] = "isco-08"
    example: ClassVar[str] = name
    title: ClassVar[str] = "ISCO-08 codes"
    meaning: ClassVar[str] = "ISCO-08 groups of occupations"
    levels: ClassVar[str] = "minor, sub-major, major group: 3, 2 and 1 digits"
    sample: ClassVar[tuple[str, ...]] = ("2512", "251*", "25*", "2*")
    hint: ClassVar[str] = "armed forces begin with 0, so read codes as text if they do"
    leading_zeros: ClassVar[bool] = True
    lengths: ClassVar[tuple[int, ...]] = (3, 2, 1)
    pattern: ClassVar[str] = "0([123](10?)?)?|[1-9]([1-6]([1-9][0-9]?)?)?"
