"""SIC: the Standard Industrial Classification of the United States."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.code_system import CodeSystem, Place, starts_with
from shoal.coding.hierarchy.known.prefixed import level_names
from shoal.coding.hierarchy.meanings import ANY, Meaning

_DIVISIONS = (
    (1, 9),
    (10, 14),
    (15, 17),
    (20, 39),
    (40, 49),
    (50, 51),
    (52, 59),
    (60, 67),
    (70, 89),
    (91, 99),
)
_NAME_OF = {
    f"{group:02}": f"{first:02}-{last:02}" for first, last in _DIVISIONS for group in range(first, last + 1)
}


@dataclass(frozen=True)
class Sic(CodeSystem):
    """Industries by group, major group and division."""

    name: ClassVar[str] = "sic"
    example: ClassVar[str] = name
    title: ClassVar[str] = "SIC codes"
    meaning: ClassVar[str] = "groups, major groups and divisions of SIC"
    levels: ClassVar[str] = "three digits, two digits, division"
    sample: ClassVar[tuple[str, ...]] = ("2011", "201*", "20*", "20-39")
    hint: ClassVar[str] = "agriculture begins with 0, so read codes as text"
    leading_zeros: ClassVar[bool] = True

    def place(self, text: str) -> Place | None:
        """Return the groups and the division of a code."""
        if not re.fullmatch("[0-9]{2,4}", text) or text[:2] not in _NAME_OF:
            return None
        return Place((text,), (*level_names(text, (3, 2)), _NAME_OF[text[:2]]))

    def contents(self, label: str) -> Meaning | None:
        """Return the codes of a group or a division."""
        inside = [group for group, name in _NAME_OF.items() if name == label]
        if inside:
            return starts_with(*inside)
        return starts_with(label.removesuffix(ANY)) if label.endswith(ANY) and label != ANY else None
