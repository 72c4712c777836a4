"""What a report is made of: sections of words, tables and charts. Plain data; the page is written in page.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """Rows under a head; the first cell of each row names it."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    kind: str = "table"


@dataclass(frozen=True)
class Chart:
    """A drawing, a description in words for people who cannot see it, and its numbers as a table."""

    title: str
    description: str
    svg: str
    """Trusted markup, made by `shoal.reporting.drawing` alone."""
    table: Table
    kind: str = "chart"


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str
    emphasis: bool = False
    kind: str = "words"


Part = Words | Table | Chart


@dataclass(frozen=True)
class Section:
    """A chapter of the report."""

    key: str
    """Its address within the page."""
    title: str
    parts: Sequence[Part] = field(default_factory=tuple)
