"""Top and bottom coding: values beyond a point are one group, which no release divides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.coding.hierarchy.kinds.kind import Flaw, TableKind, number_flaw
from shoal.coding.hierarchy.meanings import ANY, Bound, Meaning, Reader, interval_label

ENDS: Mapping[str, Mapping[str, Any]] = {"top": {"type": "number"}, "bottom": {"type": "number"}}
"""The shapes of the two settings."""


@dataclass(frozen=True)
class Coded(TableKind):
    """A kind whose lowest and highest values may be groups: `90+`, `<18`. Subclasses list the two fields again, so that
    they come after their own."""

    @property
    def ends(self) -> tuple[int | float | None, int | float | None]:
        """Where the highest group begins, and where the lowest ends; None: there is no such group."""
        return getattr(self, "top", None), getattr(self, "bottom", None)

    @property
    def hides(self) -> bool:
        """Whether there is a group at an end."""
        return self.ends != (None, None)

    def tells_more(self, label: str) -> bool | None:
        """Whether a label covers a part of a group only, which tells its values apart."""
        if label == ANY:
            return False
        found = (reader(label.strip()) for reader in self.readers)
        meaning = next((one for one in found if one is not None), None) or _other_number(label)
        return None if meaning is None else divides(meaning, *self.ends)

    def _flaws_of_ends(self) -> Iterator[Flaw]:
        top, bottom = self.ends
        found = []
        for name, end in (("top", top), ("bottom", bottom)):
            found += list(number_flaw(end, name)) if end is not None else []
        if not found and top is not None and bottom is not None and bottom > top:
            found.append(Flaw(("bottom",), f"must not be above top, but {bottom} is more than {top}"))
        yield from found


def divides(meaning: Meaning, top: int | float | None, bottom: int | float | None) -> bool | None:
    """Whether a label covers some values of a group and not all of them; None if what it covers is not known."""
    if meaning.kind in ("any", "missing", "not-a-number"):
        return False
    if meaning.kind not in ("value", "range"):
        return None
    low, high, closed = place_of(meaning.low), place_of(meaning.high), meaning.high_included
    if meaning.kind == "value":
        low = high = place_of(meaning.values[0])
        closed = True
        if low is None:
            return None
    return (top is not None and _divides_above(top, low, high, closed)) or (
        bottom is not None and _divides_below(bottom, low, high)
    )


def _divides_above(top: float, low: float | None, high: float | None, closed: bool) -> bool:
    """Whether a range covers some of the values from `top` on, and not all; `closed` if it covers its upper end."""
    if high is None:
        return low is not None and low > top
    return high > top or (high == top and closed)


def _divides_below(bottom: float, low: float | None, high: float | None) -> bool:
    """Whether a range covers some of the values below `bottom`, and not all."""
    if low is None:
        return high is not None and high < bottom
    return low < bottom


def _other_number(label: str) -> Meaning | None:
    """Read a number that is written in another way, such as `.5`."""
    try:
        return Meaning("value", values=(float(label),))
    except ValueError:
        return None


def place_of(end: Bound | None) -> float | None:
    """Return where an end of a label is on the number line; None if it is open."""
    if isinstance(end, str):
        return float(end) if end in ("inf", "-inf") else None
    return end


@dataclass(frozen=True)
class Ends(Coded):
    """Values from `top` on are one group, and values below `bottom`; others may become any range."""

    top: int | float | None = None
    """Values from here on are one group, such as `90+`, which no release divides."""
    bottom: int | float | None = None
    """Values below are one group, such as `<18`, which no release divides."""

    name: ClassVar[str] = "top"
    example: ClassVar[Mapping[str, Any]] = {"top": 90, "bottom": 18}
    builder: ClassVar[str] = "shoal.coding.hierarchy.end_groups:from_ends"
    readers: ClassVar[tuple[Reader, ...]] = (interval_label,)
    has_bounds: ClassVar[bool] = True
    meaning: ClassVar[str] = "any range, and one group at each end"
    names_values: ClassVar[bool] = False
    shapes: ClassVar[Mapping[str, Mapping[str, Any]]] = ENDS

    @classmethod
    def claims(cls, spec: object) -> bool:
        """Whether the table has one of the two keys."""
        return isinstance(spec, Mapping) and any(spec.get(key) is not None for key in ENDS)

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the shape of the table: one key is enough."""
        return {**super().schema(), "required": [], "minProperties": 1}

    def flaws(self) -> Iterator[Flaw]:
        """Yield ends that are no numbers, or in the wrong order."""
        yield from self._flaws_of_ends()
