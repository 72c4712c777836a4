"""Dates as ISO 8601 writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from shoal.coding.hierarchy.known.bands import Bands


class IsoDates(Bands):
    """Dates by month, quarter, year and decade."""

    name: ClassVar[str] = "iso-dates"
    example: ClassVar[str] = name
    title: ClassVar[str] = "ISO dates"
    meaning: ClassVar[str] = "the calendar: month, quarter, year, decade"
    by_calendar: ClassVar[bool] = True
    levels: ClassVar[str] = "month, quarter, year, decade"
    sample: ClassVar[tuple[str, ...]] = ("2024-03-01", "2024-03", "2024-Q1", "2024", "2020s")
    spec: ClassVar[Mapping[str, Any]] = {"dates": ["month", "quarter", "year", "decade"]}
