"""Any range between the lines of a fixed grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.coding.hierarchy.kinds.ends import place_of
from shoal.coding.hierarchy.kinds.kind import Flaw, TableKind, number_flaw
from shoal.coding.hierarchy.meanings import ANY, Reader, interval_label

CLOSE = 1e-9


@dataclass(frozen=True)
class Grid(TableKind):
    """Any range between the lines of a fixed grid: a label names lines of the grid, and no value that somebody has."""

    grid: int | float
    """The distance between two lines. Values between two lines are never told apart."""
    origin: int | float = 0
    """Where one line is; the others follow from it."""

    name: ClassVar[str] = "grid"
    example: ClassVar[Mapping[str, Any]] = {"grid": 5}
    builder: ClassVar[str] = "shoal.coding.hierarchy.grid_ranges:from_grid"
    readers: ClassVar[tuple[Reader, ...]] = (interval_label,)
    has_bounds: ClassVar[bool] = True
    meaning: ClassVar[str] = "any range between the lines of a grid"
    names_values: ClassVar[bool] = False
    shapes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "grid": {"type": "number", "exclusiveMinimum": 0},
        "origin": {"type": "number"},
    }

    @property
    def hides(self) -> bool:
        """Values between two lines are never told apart."""
        return True

    def tells_more(self, label: str) -> bool | None:
        """Whether an end of a label is no line of the grid."""
        if label == ANY:
            return False
        meaning = interval_label(label.strip())
        if meaning is None or meaning.kind in ("missing", "not-a-number", "any"):
            return None if meaning is None else False
        if meaning.kind == "value":
            low = high = place_of(meaning.values[0])
            closed = True
        elif meaning.kind == "range":
            low, high, closed = place_of(meaning.low), place_of(meaning.high), meaning.high_included
        else:
            return None
        if high is not None and closed:
            # Whole numbers: 20-24 ends where 25 begins. Other numbers: the upper end is not covered.
            whole = float(self.grid).is_integer() and float(self.origin).is_integer()
            high = high + 1 if whole and float(high).is_integer() else high + self.grid / 2
        return not (self._on_line(low) and self._on_line(high))

    def _on_line(self, place: float | None) -> bool:
        if place is None or place in (float("inf"), float("-inf")):
            return True
        steps = (place - self.origin) / self.grid
        return abs(steps - round(steps)) <= CLOSE * max(1.0, abs(steps))

    def flaws(self) -> Iterator[Flaw]:
        """Yield numbers that are no distances or places."""
        yield from number_flaw(self.grid, "grid", positive=True)
        yield from number_flaw(self.origin, "origin")
