"""Dates by the calendar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from shoal.errors import did_you_mean
from shoal.hierarchy.kinds.base import Flaw, TableKind, list_flaw
from shoal.hierarchy.meanings import Reader, calendar_label
from shoal.wording import shown

LIES_INSIDE = {
    "day": ("week", "month", "quarter", "year", "decade"),
    "week": (),
    "month": ("quarter", "year", "decade"),
    "quarter": ("year", "decade"),
    "year": ("decade",),
    "decade": (),
}
"""The levels that can follow each level, because every unit lies inside one of theirs."""


@dataclass(frozen=True)
class Dates(TableKind):
    """Dates become weeks or months, quarters, years, decades."""

    dates: tuple[str, ...]
    """The levels, from fine to coarse."""

    name: ClassVar[str] = "dates"
    example: ClassVar[Mapping[str, Any]] = {"dates": ["month", "quarter", "year", "decade"]}
    builder: ClassVar[str] = "shoal.hierarchy.dates:from_dates"
    has_bounds: ClassVar[bool] = True
    by_calendar: ClassVar[bool] = True
    names_values: ClassVar[bool] = False
    shapes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "dates": {"type": "array", "items": {"enum": list(LIES_INSIDE)}, "minItems": 1}
    }

    @property
    def readers(self) -> tuple[Reader, ...]:
        """Units of the calendar, dates and times."""
        return (calendar_label,)

    def flaws(self) -> Iterator[Flaw]:
        """Yield unknown levels, and levels that do not lie inside the next."""
        found = list(list_flaw(self.dates, "dates", 'for example ["month", "year"]'))
        for place, level in enumerate(self.dates if not found else ()):
            if level not in LIES_INSIDE:
                hint = did_you_mean(str(level), LIES_INSIDE)
                found.append(Flaw(("dates", place), f"{shown(level)} is unknown", hint))
        yield from found or self._not_nested()

    def _not_nested(self) -> Iterator[Flaw]:
        for below, above in pairwise(self.dates):
            if above not in LIES_INSIDE[below]:
                after = ", ".join(LIES_INSIDE[below]) or "no other level"
                message = f"cannot go from {below} to {above}: a {below} does not lie inside one {above}"
                yield Flaw(("dates",), message, f"after {below} can come {after}")
                return

    def describe(self, *, free: bool) -> str:
        """Name the levels."""
        return f"the calendar: {', '.join(self.dates)}"
