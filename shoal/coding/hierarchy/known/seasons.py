"""Seasons, in English, German, French and Spanish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.listed import Entry, Listed

_SPELLED = (
    ("spring", "Frühling", "printemps", "primavera", "Frühjahr"),
    ("summer", "Sommer", "été", "verano"),
    ("autumn", "Herbst", "automne", "otoño", "fall"),
    ("winter", "Winter", "hiver", "invierno"),
)


@dataclass(frozen=True)
class Seasons(Listed):
    """Seasons by the warm and the cold half of the year."""

    name: ClassVar[str] = "seasons"
    example: ClassVar[str] = name
    title: ClassVar[str] = "seasons"
    meaning: ClassVar[str] = "halves of the year"
    levels: ClassVar[str] = "half of the year; names in English, German, French or Spanish"
    sample: ClassVar[tuple[str, ...]] = ("winter", "autumn-winter")
    entries: ClassVar[Sequence[Entry]] = tuple(
        Entry(names, ("spring-summer" if at < 2 else "autumn-winter",)) for at, names in enumerate(_SPELLED)
    )
