"""Times of the day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.code_system import CodeSystem, Place
from shoal.coding.hierarchy.meanings import Meaning

_CLOCK = re.compile(r"([01]?\d|2[0-3])(?::([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?)?")
_HOURS = (1, 6, 12)


@dataclass(frozen=True)
class TimesOfDay(CodeSystem):
    """Times by hour, quarter of the day and half of the day."""

    name: ClassVar[str] = "times-of-day"
    example: ClassVar[str] = name
    title: ClassVar[str] = "times of the day"
    meaning: ClassVar[str] = "hours and parts of the day"
    levels: ClassVar[str] = "hour, 6 hours, 12 hours; times such as 14:35, or hours from 0 to 23"
    sample: ClassVar[tuple[str, ...]] = ("14:35", "14:00-14:59", "12:00-17:59", "12:00-23:59")

    def place(self, text: str) -> Place | None:
        """Return the hour of a time and the parts of the day around it."""
        found = _CLOCK.fullmatch(text)
        if found is None:
            return None
        hour, minute, second = int(found[1]), int(found[2] or 0), float(found[3] or 0)
        return Place((hour, minute, second), tuple(_name_span(hour, hours) for hours in _HOURS))

    def contents(self, label: str) -> Meaning | None:
        """Return the times from the first to the last minute of a part of the day."""
        first, _, last = label.partition("-")
        if not (_CLOCK.fullmatch(first) and re.fullmatch("[0-9]{2}:59", last)):
            return None
        after = int(last[:2]) + 1
        return Meaning("range", first, None if after == 24 else f"{after:02}:00", high_included=False)


def _name_span(hour: int, hours: int) -> str:
    """Return the name of the part of the day around an hour."""
    first = hour // hours * hours
    return f"{first:02}:00-{first + hours - 1:02}:59"
