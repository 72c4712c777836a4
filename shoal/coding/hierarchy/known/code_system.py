"""`CodeSystem`: a known hierarchy over codes or words, which says for each of them which nodes lie above it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from shoal.coding.hierarchy.kinds.kind import WordKind
from shoal.coding.hierarchy.meanings import Meaning, Reader

if TYPE_CHECKING:
    import polars as pl

    from shoal.coding.hierarchy.tree import Hierarchy


class Place(NamedTuple):
    """Where a code is in its system."""

    key: tuple[Any, ...]
    """Its order: codes sorted by this keep every node in one piece."""
    above: tuple[str, ...]
    """The names of the nodes above it, from fine to coarse, without `*`."""


@dataclass(frozen=True)
class CodeSystem(WordKind):
    """A code system. The nodes above a code follow from the code alone, whatever other codes the data has."""

    title: ClassVar[str]
    """What its values are, in the plural: `US states`."""
    sample: ClassVar[tuple[str, ...]]
    """A value, and the names above it, as the documentation shows them."""
    levels: ClassVar[str]
    """What the levels are, for the documentation."""
    hint: ClassVar[str] = ""
    """What else to do about values that are none of its codes."""
    leading_zeros: ClassVar[bool] = False
    """Whether codes may begin with 0, which a column of numbers has lost."""
    names_values: ClassVar[bool] = False
    mixed_case: ClassVar[bool] = False
    """Whether texts count as they are written; else in capitals."""

    @abstractmethod
    def place(self, text: str) -> Place | None:
        """Return where a code is, as text without spaces around it; None if the system has no such code."""

    @abstractmethod
    def contents(self, label: str) -> Meaning | None:
        """Return which codes the node of a name contains; None if it is not the name of a node."""

    def build(self, values: pl.Series) -> Hierarchy:
        """Make the hierarchy of a column; raise `HierarchyError` with the values that are none of the codes."""
        from shoal.coding.hierarchy.code_trees import from_codes

        return from_codes(values, self)

    def tidy(self, text: str) -> str:
        """Return a text as codes are compared."""
        return text.strip() if self.mixed_case else text.strip().upper()

    @property
    def readers(self) -> tuple[Reader, ...]:  # type: ignore[override]  # they follow from the system
        """Read names of nodes; other labels are codes."""
        return (self._read,)

    def _read(self, label: str) -> Meaning:
        return self.contents(label) or Meaning("value", values=(label,))


def starts_with(*beginnings: str) -> Meaning:
    """Return the meaning of a node over all codes with these beginnings."""
    if len(beginnings) == 1:
        return Meaning("starts-with", text=beginnings[0])
    return Meaning("starts-with", values=beginnings)
