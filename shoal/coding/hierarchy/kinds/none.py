"""No hierarchy: any range for numbers and dates, the value or nothing for categories."""

from __future__ import annotations

from typing import ClassVar

from shoal.coding.hierarchy.kinds.kind import WordKind
from shoal.coding.hierarchy.meanings import Reader, number_label, time_label, value


class NoHierarchy(WordKind):
    """Numbers and dates may become any range; other values stay or become `*`. The default."""

    name: ClassVar[str] = "none"
    example: ClassVar[str] = "none"
    builder: ClassVar[str] = "shoal.coding.hierarchy.automatic:from_nothing"
    readers: ClassVar[tuple[Reader, ...]] = (number_label, time_label, value)
    has_bounds: ClassVar[bool] = True
    names_values: ClassVar[bool] = False

    @classmethod
    def claims(cls, spec: object) -> bool:
        """Whether the policy says nothing, or says so."""
        return spec is None or super().claims(spec)

    def describe(self, *, free: bool) -> str:
        """Say whether ranges are possible."""
        return "any range" if free else "a value itself, or nothing"
