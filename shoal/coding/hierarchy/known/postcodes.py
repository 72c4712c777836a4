"""Postcodes of any country, by their first characters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.code_system import CodeSystem, Place, starts_with
from shoal.coding.hierarchy.known.prefixed import level_names
from shoal.coding.hierarchy.meanings import ANY, Meaning

_BRITISH = re.compile(r"(([A-Z]{1,2})[0-9][0-9A-Z]?)( ?[0-9][A-Z]{2})")
_OTHERS = re.compile(r"(?=.*[0-9])[A-Z0-9]{3,10}")


@dataclass(frozen=True)
class Postcodes(CodeSystem):
    """Postcodes by three, two and one characters; British ones by district and area."""

    name: ClassVar[str] = "postcodes"
    example: ClassVar[str] = name
    title: ClassVar[str] = "postcodes"
    meaning: ClassVar[str] = "areas with the same first characters"
    levels: ClassVar[str] = "three, two and one characters; British: district, area, first letter"
    leading_zeros: ClassVar[bool] = True
    hint: ClassVar[str] = "postcodes may begin with 0, so read them as text"
    sample: ClassVar[tuple[str, ...]] = ("02108", "021*", "02*", "0*")

    def place(self, text: str) -> Place | None:
        """Return the areas around a postcode."""
        british = _BRITISH.fullmatch(text)
        if british is not None:
            district, area = british[1], british[2]
            key = (area[0], area, district, text)
            return Place(key, (f"{district} {ANY}", f"{area}-{ANY}", f"{area[0]}{ANY}"))
        code = re.sub(r"[ \-]", "", text)
        if not _OTHERS.fullmatch(code):
            return None
        return Place((code[0], code[:2], code[:3], code), level_names(code, (3, 2, 1)))

    def contents(self, label: str) -> Meaning | None:
        """Return the postcodes that begin like a label."""
        if not label.endswith(ANY) or label == ANY:
            return None
        if label.endswith(f"-{ANY}"):  # an area: what follows is a digit
            return starts_with(*(f"{label[:-2]}{digit}" for digit in range(10)))
        return starts_with(label[:-1].rstrip())
