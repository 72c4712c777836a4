"""Any system of codes whose first characters say the most; the policy says how many characters each level shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.code_system import CodeSystem, Place, starts_with
from shoal.coding.hierarchy.known.prefixed import level_names
from shoal.coding.hierarchy.meanings import ANY, Meaning


@dataclass(frozen=True)
class Prefixes(CodeSystem):
    """Codes by their first characters."""

    lengths: tuple[int, ...] = (3, 2, 1)
    """How many characters each level shows, from fine to coarse."""

    name: ClassVar[str] = "prefixes"
    example: ClassVar[str] = name
    title: ClassVar[str] = "codes"
    meaning: ClassVar[str] = "first characters of codes"
    levels: ClassVar[str] = "as many first characters as `lengths` says; by default three, two and one"
    sample: ClassVar[tuple[str, ...]] = ("K51D2", "K51*", "K5*", "K*")
    mixed_case: ClassVar[bool] = True

    def place(self, text: str) -> Place | None:
        """Return the place of any text."""
        return Place((text,), level_names(text, self.lengths)) if text else None

    def contents(self, label: str) -> Meaning | None:
        """Return the codes that begin like a label."""
        kept = label.removesuffix(ANY)
        return starts_with(kept) if kept != label and len(kept) in self.lengths else None
