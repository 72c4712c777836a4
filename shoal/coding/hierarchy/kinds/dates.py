"""Dates by the calendar."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

from shoal.coding.hierarchy.kinds.ends import Coded, divides
from shoal.coding.hierarchy.kinds.kind import Flaw, list_flaw
from shoal.coding.hierarchy.meanings import ANY, Bound, Meaning, Reader, calendar_label
from shoal.errors import did_you_mean
from shoal.support.wording import format_value

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
class Dates(Coded):
    """Dates become weeks or months, quarters, years, decades."""

    dates: tuple[str, ...]
    """The levels, from fine to coarse."""
    finest: str | None = None
    """The level that takes the place of the dates: no release shows anything finer."""
    top: int | None = None
    """Dates from this year on are one group, such as `2020+`, which no release divides."""
    bottom: int | None = None
    """Dates before this year are one group, such as `<1936`, which no release divides."""

    name: ClassVar[str] = "dates"
    example: ClassVar[Mapping[str, Any]] = {"dates": ["month", "quarter", "year", "decade"]}
    builder: ClassVar[str] = "shoal.coding.hierarchy.calendar:from_dates"
    readers: ClassVar[tuple[Reader, ...]] = (calendar_label,)
    has_bounds: ClassVar[bool] = True
    by_calendar: ClassVar[bool] = True
    names_values: ClassVar[bool] = False
    shapes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "dates": {"type": "array", "items": {"enum": list(LIES_INSIDE)}, "minItems": 1},
        "finest": {"enum": list(LIES_INSIDE)},
        "top": {"type": "integer"},
        "bottom": {"type": "integer"},
    }

    def flaws(self) -> Iterator[Flaw]:
        """Yield unknown levels, and levels that do not lie inside the next."""
        found = list(list_flaw(self.dates, "dates", 'for example ["month", "year"]'))
        for place, level in enumerate(self.dates if not found else ()):
            if level not in LIES_INSIDE:
                hint = did_you_mean(str(level), LIES_INSIDE)
                found.append(Flaw(("dates", place), f"{format_value(level)} is unknown", hint))
        yield from found or self._not_nested()
        if self.finest is not None and not found and self.finest not in self.dates:
            hint = did_you_mean(str(self.finest), self.dates)
            yield Flaw(("finest",), f"must be one of the levels, not {format_value(self.finest)}", hint)
        yield from self._flaws_of_years(weeks=not found and "week" in self.dates)

    def _flaws_of_years(self, *, weeks: bool) -> Iterator[Flaw]:
        """Yield what is wrong with the first and the last year, which cannot divide `weeks`."""
        for name, year in (("top", self.top), ("bottom", self.bottom)):
            if year is not None and (type(year) is not int or not 1 <= year <= 9999):
                yield Flaw((name,), f"must be a year, not {format_value(year)}", "for example 1936")
            elif year is not None and weeks:
                yield Flaw((name,), "cannot divide weeks: a week may lie in two years", "use months instead")
        ends = self.top, self.bottom
        if all(type(end) is int for end in ends) and self.bottom > self.top:  # type: ignore[operator]
            yield Flaw(("bottom",), f"must not be above top, but {self.bottom} is more than {self.top}")

    @property
    def hides(self) -> bool:
        """Whether dates are never shown as they are, or there is a group at an end."""
        return self.finest is not None or super().hides

    def tells_more(self, label: str) -> bool | None:
        """Whether a label is finer than the finest level, or covers a part of a group only."""
        if label == ANY:
            return False
        meaning = calendar_label(label.strip())
        if meaning is None or meaning.kind not in ("value", "range"):
            return None
        try:
            return self._finer(meaning) or bool(divides(_in_years(meaning), self.top, self.bottom))
        except ValueError:
            return None

    def _finer(self, meaning: Meaning) -> bool:
        """Whether a label shows less than whole units of the finest level."""
        if self.finest is None:
            return False
        if meaning.kind == "value":
            return self.finest != "day" or len(str(meaning.values[0])) != len("2024-03-01")
        first, last = (
            None if end is None else dt.date.fromisoformat(str(end)[:10]) for end in _ends(meaning)
        )
        day, unit = dt.timedelta(days=1), partial(_unit, level=self.finest)
        borders = {dt.date(year, 1, 1) for year in (1, self.top, self.bottom) if year is not None}
        begins = first is None or first in borders or unit(first) != unit(first - day)
        stops = last in (None, dt.date.max) or last + day in borders or unit(last) != unit(last + day)
        return not (begins and stops)

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


def _ends(meaning: Meaning) -> tuple[Bound | None, Bound | None]:
    return (meaning.values[0],) * 2 if meaning.kind == "value" else (meaning.low, meaning.high)


def _in_years(meaning: Meaning) -> Meaning:
    """Return a label as the years that it covers."""
    first, last = (None if end is None else int(str(end)[:4]) for end in _ends(meaning))
    return Meaning("range", first, None if last is None else last + 1, high_included=False)


def _unit(day: dt.date, level: str) -> object:
    """Return what is the same for all days of one unit."""
    return {
        "day": day,
        "week": day.isocalendar()[:2],
        "month": (day.year, day.month),
        "quarter": (day.year, (day.month + 2) // 3),
        "year": day.year,
        "decade": day.year // 10,
    }[level]
