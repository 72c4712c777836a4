"""No hierarchy: any range for numbers and dates, the value or nothing for categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from shoal.hierarchy.kinds.base import WordKind

if TYPE_CHECKING:
    import polars as pl

    from shoal.hierarchy.tree import Hierarchy


class NoHierarchy(WordKind):
    """Numbers and dates may become any range; other values stay or become `*`. The default."""

    name: ClassVar[str] = "none"
    example: ClassVar[str] = "none"
    names_values: ClassVar[bool] = False

    @classmethod
    def claims(cls, spec: object) -> bool:
        """Whether the policy says nothing, or says so."""
        return spec is None or super().claims(spec)

    def build(self, values: pl.Series) -> Hierarchy:
        """Make free ranges, or two levels."""
        from shoal.hierarchy.automatic import from_nothing

        return from_nothing(values)

    def meaning(self, *, free: bool) -> str:
        """Say whether ranges are possible."""
        return "any range" if free else "a value itself, or nothing"
