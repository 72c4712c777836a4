"""Intervals between given points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from shoal.coding.hierarchy.kinds.ends import ENDS, Coded
from shoal.coding.hierarchy.kinds.kind import Flaw, list_flaw, not_growing, number_flaw
from shoal.coding.hierarchy.meanings import Reader, interval_label
from shoal.support.wording import format_value

_POINTS = {"type": "array", "items": {"type": "number"}, "minItems": 1}


@dataclass(frozen=True)
class Cuts(Coded):
    """Intervals between given points, one list of points per level."""

    cuts: tuple[tuple[int | float, ...], ...]
    """Points at which a new interval begins, ascending; each level uses some of the points of the one below."""
    top: int | float | None = None
    """Values from here on are one group, such as `90+`, which no release divides."""
    bottom: int | float | None = None
    """Values below are one group, such as `<18`, which no release divides."""

    name: ClassVar[str] = "cuts"
    example: ClassVar[Mapping[str, Any]] = {"cuts": [[18, 30, 45, 65], [18, 65]]}
    builder: ClassVar[str] = "shoal.coding.hierarchy.intervals:from_cuts"
    readers: ClassVar[tuple[Reader, ...]] = (interval_label,)
    has_bounds: ClassVar[bool] = True
    meaning: ClassVar[str] = "intervals"
    names_values: ClassVar[bool] = False
    shapes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "cuts": {"anyOf": [{"type": "array", "items": _POINTS, "minItems": 1}, _POINTS]},
        **ENDS,
    }

    def __post_init__(self) -> None:
        """Take a single list of points for one level."""
        kinds = {type(level) for level in self.cuts} if isinstance(self.cuts, list | tuple) else set()
        if kinds and not kinds & {list, tuple}:
            object.__setattr__(self, "cuts", [self.cuts])
        super().__post_init__()

    def flaws(self) -> Iterator[Flaw]:
        """Yield levels without points, points that do not ascend, and points that the level below lacks."""
        found = list(list_flaw(self.cuts, "cuts", "for example [[18, 30, 65]]"))
        levels: tuple[Any, ...] = self.cuts if not found else ()
        for place, level in enumerate(levels):
            if not isinstance(level, tuple):
                found.append(Flaw(("cuts", place), f"must be a list of numbers, not {format_value(level)}"))
            elif not level:
                hint = "leave the level out: the top is always the whole domain"
                found.append(Flaw(("cuts", place), "has no points", hint))
            else:
                wrong = [
                    flaw for at, point in enumerate(level) for flaw in number_flaw(point, "cuts", place, at)
                ]
                found += wrong or not_growing(level, "cuts", place)
        yield from found or self._not_nested()
        yield from self._flaws_of_ends()

    def _not_nested(self) -> Iterator[Flaw]:
        for below, above in pairwise(self.cuts):
            new = [point for point in above if point not in below]
            if new:
                message = (
                    f"have the point {new[0]} at a higher level but not at the level below, {list(below)}"
                )
                yield Flaw(("cuts",), message, "go from fine to coarse, and keep some of the points below")
                return
