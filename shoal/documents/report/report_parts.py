"""What a report is made of: a verdict, and sections of words, tables, charts and cards. Plain data; the page is written
in page.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

State = Literal["good", "warn", "bad", "plain"]
"""How a thing stands. The page shows it by colour, by a sign and in words."""


@dataclass(frozen=True)
class Table:
    """Rows under a head; the first cell of each row names it."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    fit: Literal["cards", "keep", "scroll"] = "cards"
    """How it fits a phone: each row as a card, as it is, or by scrolling."""
    kind: str = "table"


@dataclass(frozen=True)
class Chart:
    """A drawing, a description in words for people who cannot see it, and its numbers as a table."""

    title: str
    description: str
    svg: str
    """Trusted markup, made by `shoal.documents.pages` or by a network's picture alone."""
    table: Table
    kind: str = "chart"


@dataclass(frozen=True)
class Words:
    """A paragraph; with a state other than ``plain`` it is a message in a box."""

    text: str
    state: State = "plain"
    kind: str = "words"


@dataclass(frozen=True)
class Card:
    """An answer to one question: how it stands, and why."""

    key: str
    title: str
    question: str
    state: State
    badge: str
    """The state in words."""
    lines: Sequence[str]


@dataclass(frozen=True)
class Cards:
    """Answers side by side."""

    cards: Sequence[Card]
    kind: str = "cards"


@dataclass(frozen=True)
class Fold:
    """Something that few readers need, folded away."""

    summary: str
    parts: Sequence[Part]
    kind: str = "fold"


@dataclass(frozen=True)
class Grid:
    """Charts side by side where the page is wide enough."""

    parts: Sequence[Chart]
    kind: str = "grid"


Part = Words | Table | Chart | Cards | Fold | Grid


@dataclass(frozen=True)
class Section:
    """A chapter of the report."""

    key: str
    """Its address within the page."""
    title: str
    parts: Sequence[Part] = field(default_factory=tuple)


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One number of the verdict: what it is, its unit, a sentence, and what it was before."""

    label: str
    value: str
    unit: str = ""
    text: str = ""
    state: State | Literal[""] = ""
    before: str = ""


@dataclass(frozen=True, kw_only=True)
class Face:
    """What a reader sees first: the verdict in a sentence, and the numbers that matter."""

    state: State
    headline: str
    text: str
    tiles: Sequence[Tile]


@dataclass(frozen=True, kw_only=True)
class SignOff:
    """Who answers for a release. What is empty becomes a line to write on."""

    owner: str = ""
    purpose: str = ""
    recipient: str = ""
    date: str = ""
    signed_by: str = ""

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """The fields with their names; a signature is always written by hand."""
        return (
            ("Data owner", self.owner),
            ("Purpose of the release", self.purpose),
            ("Recipient", self.recipient),
            ("Date", self.date),
            ("Approved by", self.signed_by),
            ("Signature", ""),
        )
