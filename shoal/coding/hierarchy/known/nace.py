"""NACE Rev. 2: economic activities in the European Union."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.code_system import CodeSystem, Place, starts_with
from shoal.coding.hierarchy.meanings import ANY, Meaning

_CODE = re.compile(r"([A-U])?(?:([0-9]{2})(?:\.?([0-9])([0-9])?)?)?")
_SECTIONS = {
    **{"A": (1, 3), "B": (5, 9), "C": (10, 33), "D": (35, 35), "E": (36, 39), "F": (41, 43), "G": (45, 47)},
    **{
        "H": (49, 53),
        "I": (55, 56),
        "J": (58, 63),
        "K": (64, 66),
        "L": (68, 68),
        "M": (69, 75),
        "N": (77, 82),
    },
    **{
        "O": (84, 84),
        "P": (85, 85),
        "Q": (86, 88),
        "R": (90, 93),
        "S": (94, 96),
        "T": (97, 98),
        "U": (99, 99),
    },
}
_SECTION_OF = {
    f"{division:02}": section
    for section, (first, last) in _SECTIONS.items()
    for division in range(first, last + 1)
}


@dataclass(frozen=True)
class Nace(CodeSystem):
    """Economic activities by group, division and section."""

    name: ClassVar[str] = "nace"
    example: ClassVar[str] = name
    title: ClassVar[str] = "NACE codes"
    meaning: ClassVar[str] = "groups, divisions and sections of NACE"
    levels: ClassVar[str] = "group, division, section (NACE Rev. 2)"
    sample: ClassVar[tuple[str, ...]] = ("10.51", "10.5*", "10*", "section C")
    hint: ClassVar[str] = "agriculture begins with 0, so read codes as text"
    leading_zeros: ClassVar[bool] = True

    def place(self, text: str) -> Place | None:
        """Return the group, the division and the section of a code."""
        found = _CODE.fullmatch(text)
        if found is None or not text:
            return None
        letter, division, group, last = found.groups()
        section = letter if division is None else _SECTION_OF.get(division)
        if section is None or letter not in (None, section):
            return None
        over = f"{division}{ANY}" if division else section
        own = f"{division}.{group}{ANY}" if group else division or section
        return Place((section, division or "", group or "", last or ""), (own, over, f"section {section}"))

    def contents(self, label: str) -> Meaning | None:
        """Return the codes of a group, a division or a section, by their digits."""
        section = label.removeprefix("section ")
        if section != label and section in _SECTIONS:
            first, last = _SECTIONS[section]
            return starts_with(*(f"{division:02}" for division in range(first, last + 1)))
        return starts_with(label.removesuffix(ANY)) if label.endswith(ANY) and label != ANY else None
