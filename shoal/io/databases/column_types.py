"""Columns in types that databases have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def narrower(column: pl.Series) -> pl.Series:
    """Return integers of more than 63 bits as narrower ones if they fit, else as decimal numbers or text."""
    import polars as pl

    from shoal.io.formats.format import without_wide_integers

    if column.dtype in (pl.UInt64, pl.Int128, pl.UInt128):
        narrow = column.cast(pl.Int64, strict=False)
        if narrow.null_count() == column.null_count():
            return narrow
        wide = column.cast(pl.Int128) if column.dtype == pl.UInt64 else column
        return without_wide_integers(wide)
    return column


def no_null_character(column: pl.Series, title: str) -> str:
    """Return that a text has U+0000, which many databases cannot hold, in words; "" if none has."""
    import polars as pl

    if isinstance(column.dtype, pl.Enum | pl.Categorical):
        column = column.cast(pl.String)
    if column.dtype == pl.String and bool(column.str.contains("\0", literal=True).any()):
        return f"has text with the character U+0000, which {title} cannot hold"
    return ""


def alike(columns: list[str], title: str) -> list[str]:
    """Return which names of columns differ only in capital letters, which many databases take for one."""
    seen: dict[str, str] = {}
    found = []
    for name in columns:
        if name.lower() in seen:
            found.append(
                f"columns '{seen[name.lower()]}' and '{name}' are one in {title}, which ignores capital letters"
            )
        seen.setdefault(name.lower(), name)
    return found
