"""A hierarchy that Shoal makes from the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from shoal.hierarchy.kinds.base import WordKind

if TYPE_CHECKING:
    import polars as pl

    from shoal.hierarchy.tree import Hierarchy


class Automatic(WordKind):
    """Shoal builds a balanced tree from the data."""

    name: ClassVar[str] = "auto"
    example: ClassVar[str] = "auto"

    def build(self, values: pl.Series) -> Hierarchy:
        """Make a balanced tree."""
        from shoal.hierarchy.automatic import automatic

        return automatic(values)

    def meaning(self, *, free: bool) -> str:
        """Say that Shoal made it."""
        return "an automatic hierarchy"
