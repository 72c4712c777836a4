"""Hierarchies that Shoal knows: public code systems, the calendar, usual bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.coding.hierarchy.kinds.kind import Flaw, Kind, TableKind
from shoal.coding.hierarchy.known import KNOWN
from shoal.coding.hierarchy.known.prefixes import Prefixes
from shoal.coding.hierarchy.meanings import Meaning, Reader
from shoal.errors import did_you_mean
from shoal.support.wording import format_value

if TYPE_CHECKING:
    import polars as pl

    from shoal.coding.hierarchy.tree import Hierarchy


@dataclass(frozen=True)
class Known(TableKind):
    """A public code system or usual bands, by name."""

    known: str
    """The name of the hierarchy, such as `icd-10`."""
    lengths: tuple[int, ...] | None = None
    """With `prefixes`: how many first characters each level shows, from fine to coarse."""

    name: ClassVar[str] = "known"
    example: ClassVar[Mapping[str, Any]] = {"known": "icd-10"}
    builder: ClassVar[str] = ""
    meaning: ClassVar[str] = "a known hierarchy"
    shapes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "known": {"enum": list(KNOWN)},
        "lengths": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
    }

    def flaws(self) -> Iterator[Flaw]:
        """Yield an unknown name, and lengths that do not fit."""
        if not isinstance(self.known, str) or self.known not in KNOWN:
            message = f"must be the name of a known hierarchy, not {format_value(self.known)}"
            yield Flaw(("known",), message, did_you_mean(str(self.known), KNOWN))
            return
        if self.lengths is None:
            return
        if self.known != Prefixes.name:
            message = f"goes with known = '{Prefixes.name}'; the levels of {self.known} are fixed"
            yield Flaw(("lengths",), message, "leave it out")
        elif not isinstance(self.lengths, tuple) or not _is_falling(self.lengths):
            message = f"must be whole numbers that fall, such as [4, 2, 1], not {format_value(self.lengths)}"
            yield Flaw(("lengths",), message, "go from fine to coarse")

    @property
    def system(self) -> Kind:
        """Return the hierarchy of the name."""
        return KNOWN[self.known]() if self.lengths is None else Prefixes(self.lengths)

    def build(self, values: pl.Series) -> Hierarchy:
        """Make the hierarchy of a column; raise `HierarchyError` with the values that do not fit."""
        return self.system.build(values)

    @property
    def hides(self) -> bool:
        """Whether there is a group at an end."""
        return self.system.hides

    def tells_more(self, label: str) -> bool | None:
        """Whether a label covers only a part of a group."""
        return self.system.tells_more(label)

    @property
    def has_bounds(self) -> bool:  # type: ignore[override]  # it follows from the name
        """Whether labels have ends."""
        return self.system.has_bounds

    @property
    def by_calendar(self) -> bool:  # type: ignore[override]  # it follows from the name
        """Whether labels are units of the calendar."""
        return self.system.by_calendar

    names_values: ClassVar[bool] = False

    @property
    def readers(self) -> tuple[Reader, ...]:  # type: ignore[override]  # they follow from the name
        """Read labels as the system does."""
        return self.system.readers

    def meanings(self, labels: Sequence[str], limit: int | Sequence[str] | None = None) -> list[Meaning]:
        """Return what labels mean."""
        return self.system.meanings(labels, limit)

    def describe(self, *, free: bool) -> str:
        """Say what values become."""
        return self.system.meaning


def _is_falling(lengths: tuple[object, ...]) -> bool:
    whole = [one for one in lengths if type(one) is int and one > 0]
    return len(whole) == len(lengths) > 0 and whole == sorted(set(whole), reverse=True)
