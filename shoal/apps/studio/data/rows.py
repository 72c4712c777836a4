"""Rows of the open table as texts, a window at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from shoal.io import Frame

CHUNK = 100
"""Rows that a page asks for at once."""
SHOWN, TOLD = 80, 2_000
"""Characters of a long value in its cell, and on hover."""


@dataclass(frozen=True)
class Cell:
    """One value as a page shows it."""

    text: str
    whole: str = ""
    """More of the text, if it was cut."""
    missing: bool = False
    """The text is about the value, and is not the value itself."""
    right: bool = False
    """Numbers stand on the right."""


def window(frame: Frame, first: int, count: int, columns: Iterable[str]) -> list[tuple[int, list[Cell]]]:
    """Return rows by their position, 0, 1, .., each with its cells. O(count), wherever the rows are."""
    first = min(max(first, 0), frame.rows)
    part = frame.data.slice(first, max(count, 0))
    cells = [_cells(part.get_column(name)) for name in columns]
    return [(first + at, [column[at] for column in cells]) for at in range(part.height)]


def _cells(column: pl.Series) -> list[Cell]:
    right = column.dtype.is_numeric()
    return [_cell(value, right) for value in column.to_list()]


def _cell(value: object, right: bool) -> Cell:
    if value is None:
        return Cell("missing", missing=True)
    text = str(value)
    if not text.strip():
        return Cell("empty text" if not text else "only spaces", missing=True)
    if len(text) <= SHOWN:
        return Cell(text, right=right)
    return Cell(
        f"{text[:SHOWN]}…", text if len(text) <= TOLD else f"{text[:TOLD]}… ({len(text):,} characters)"
    )
