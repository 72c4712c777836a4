"""`Bands`: a known hierarchy that is another kind with fixed settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.coding.hierarchy.kinds.kind import Kind, WordKind
from shoal.coding.hierarchy.meanings import Meaning

if TYPE_CHECKING:
    import polars as pl

    from shoal.coding.hierarchy.tree import Hierarchy


@dataclass(frozen=True)
class Bands(WordKind):
    """Intervals or dates with fixed settings."""

    title: ClassVar[str]
    sample: ClassVar[tuple[str, ...]]
    levels: ClassVar[str]
    spec: ClassVar[Mapping[str, Any]]
    """The hierarchy, as a policy could spell it."""
    names_values: ClassVar[bool] = False
    has_bounds: ClassVar[bool] = True

    @property
    def kind(self) -> Kind:
        """Return the kind with its settings."""
        from shoal.coding.hierarchy.kinds import parse_hierarchy

        return parse_hierarchy(self.spec)

    def build(self, values: pl.Series) -> Hierarchy:
        """Make the hierarchy of a column."""
        return self.kind.build(values)

    @property
    def hides(self) -> bool:
        """Whether there is a group at an end."""
        return self.kind.hides

    def tells_more(self, label: str) -> bool | None:
        """Whether a label covers only a part of a group."""
        return self.kind.tells_more(label)

    def meanings(self, labels: Sequence[str], limit: int | Sequence[str] | None = None) -> list[Meaning]:
        """Return what labels mean."""
        return self.kind.meanings(labels, limit)
