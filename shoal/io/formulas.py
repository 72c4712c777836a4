"""Cells that a spreadsheet would run as formulas: an apostrophe before them makes them text.

A text that begins with an apostrophe gets one more, so that removing the first apostrophe gives every text back.
"""

from __future__ import annotations

import polars as pl

_ESCAPED = r"^[=+\-@\t\r']"
_NUMBER = r"^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$"


def escape_formulas(data: pl.DataFrame) -> pl.DataFrame:
    """Return a table of which a spreadsheet runs no name and no cell. Numbers stay as they are. O(cells)."""
    texts = [_escape(column) if column.dtype == pl.String else column for column in data]
    return pl.DataFrame(texts).rename(dict(zip(data.columns, _escape(pl.Series(data.columns)), strict=True)))


def unescape_formulas(data: pl.DataFrame) -> pl.DataFrame:
    """Return the table that `escape_formulas` got. O(cells)."""
    texts = [column.str.strip_prefix("'") if column.dtype == pl.String else column for column in data]
    return pl.DataFrame(texts).rename({name: name.removeprefix("'") for name in data.columns})


def _escape(texts: pl.Series) -> pl.Series:
    formula = texts.str.contains(_ESCAPED) & ~texts.str.contains(_NUMBER)
    return texts.zip_with(~formula.fill_null(False), "'" + texts)
