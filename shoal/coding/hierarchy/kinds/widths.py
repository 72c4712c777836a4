"""Intervals of equal width."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from shoal.coding.hierarchy.kinds.ends import ENDS, Coded
from shoal.coding.hierarchy.kinds.kind import Flaw, list_flaw, not_growing, number_flaw
from shoal.coding.hierarchy.meanings import Reader, interval_label


@dataclass(frozen=True)
class Widths(Coded):
    """Intervals of equal width, wider from level to level."""

    widths: tuple[int | float, ...]
    """Width of the intervals at each level. Each must be a multiple of the one before."""
    origin: int | float = 0
    """Where an interval begins; the others follow from it."""
    top: int | float | None = None
    """Values from here on are one group, such as `90+`, which no release divides."""
    bottom: int | float | None = None
    """Values below are one group, such as `<18`, which no release divides."""

    name: ClassVar[str] = "widths"
    example: ClassVar[Mapping[str, Any]] = {"widths": [5, 10, 20]}
    builder: ClassVar[str] = "shoal.coding.hierarchy.intervals:from_widths"
    readers: ClassVar[tuple[Reader, ...]] = (interval_label,)
    has_bounds: ClassVar[bool] = True
    meaning: ClassVar[str] = "intervals"
    names_values: ClassVar[bool] = False
    shapes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "widths": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        "origin": {"type": "number"},
        **ENDS,
    }

    def flaws(self) -> Iterator[Flaw]:
        """Yield numbers that are not widths, and widths that do not divide the next."""
        found = list(list_flaw(self.widths, "widths", "for example [5, 10]"))
        for place, width in enumerate(self.widths if not found else ()):
            found += number_flaw(width, "widths", place, positive=True)
        yield from found or self._not_nested()
        yield from number_flaw(self.origin, "origin")
        yield from self._flaws_of_ends()

    def _not_nested(self) -> Iterator[Flaw]:
        for flaw in not_growing(self.widths, "widths"):
            yield flaw
            return
        for narrow, wide in pairwise(self.widths):
            ratio = wide / narrow
            if not math.isfinite(ratio):
                yield Flaw(
                    ("widths",), f"are too far apart: {narrow:g} and {wide:g}", "leave one of them out"
                )
                return
            if round(ratio) < 2 or abs(ratio - round(ratio)) > 1e-9 * ratio:
                message = f"must divide each other: {wide:g} is not a multiple of {narrow:g}"
                yield Flaw(("widths",), message, f"for example {narrow * max(round(ratio), 2):g}")
                return
