"""Codes without an order: each is shown as it is, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.code_system import CodeSystem, Place
from shoal.coding.hierarchy.meanings import Meaning


@dataclass(frozen=True)
class FlatCodes(CodeSystem):
    """Codes that are names and not numbers: 3 is not between 2 and 4."""

    name: ClassVar[str] = "codes"
    example: ClassVar[str] = name
    title: ClassVar[str] = "codes"
    meaning: ClassVar[str] = "a code itself, or nothing"
    levels: ClassVar[str] = "none: a code itself, or `*`"
    sample: ClassVar[tuple[str, ...]] = ("3",)
    mixed_case: ClassVar[bool] = True

    def place(self, text: str) -> Place | None:
        """Return the place of a code in a list without groups."""
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
        return Place((number, text), ())

    def contents(self, label: str) -> Meaning | None:
        """Return nothing: there are no nodes."""
        return None
