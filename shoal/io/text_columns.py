"""Columns as text, for formats without categories, time zones or lists. Value sets become ``{15, 20, 48}``.

An element is written as plain text. It is in double quotes if it would be ambiguous without: if it is empty, has a
comma, a brace, a quote or blanks at its ends, or is the word ``null``; quotes inside are doubled. The null value is
the bare word ``null``.
"""

from __future__ import annotations

import polars as pl

_ODD = r'(?s)[,{}"]|^\s|\s$|^$|^null$'


def as_text(column: pl.Series, *, sets: bool = False) -> pl.Series:
    """Return categories, moments (ISO 8601), durations and, if asked, `sets` as text, and any other column as it is."""
    dtype = column.dtype
    if isinstance(dtype, pl.Enum | pl.Categorical | pl.Null):
        return column.cast(pl.String)
    if isinstance(dtype, pl.Datetime):
        zone = {None: "", "UTC": "Z"}.get(dtype.time_zone, "%:z")
        return column.dt.to_string(f"%Y-%m-%dT%H:%M:%S%.f{zone}")
    if isinstance(dtype, pl.Duration):
        return column.dt.to_string("iso")
    return sets_as_text(column) if sets and dtype == pl.List else column


def sets_as_text(column: pl.Series) -> pl.Series:
    """Return lists of values as text; a null stays null. O(elements)."""
    elements = column.explode(empty_as_null=True)
    # A plain cast would cut the fractions of a second of a time, and there is none for durations.
    special = {pl.Time: "%H:%M:%S%.f", pl.Duration: "iso"}.get(elements.dtype.base_type())
    text = (elements.dt.to_string(special) if special else elements.cast(pl.String)).alias("text")
    odd = text.str.contains(_ODD)
    if odd.any():
        quoted = '"' + text.str.replace_all('"', '""', literal=True) + '"'
        text = text.zip_with(~odd.fill_null(False), quoted)
    text = text.fill_null("null")
    lengths = column.list.len().fill_null(1).clip(lower_bound=1)
    place = pl.int_range(len(column), eager=True).repeat_by(lengths).explode()
    joined = (
        pl.DataFrame({"place": place, "text": text})
        .group_by("place", maintain_order=True)
        .agg(pl.col("text").str.join(", "))
        .get_column("text")
    )
    out = pl.select(pl.concat_str(pl.lit("{"), joined, pl.lit("}"))).to_series()
    if column.null_count() or (column.list.len() == 0).any():
        empty = pl.repeat("{}", len(column), eager=True)
        out = out.zip_with((column.list.len() > 0).fill_null(False), empty)
        out = out.zip_with(column.is_not_null(), pl.Series([None], dtype=pl.String))
    return out.alias(column.name)


def is_set(text: str | None) -> bool:
    """Return whether a cell looks like a value set."""
    return text is not None and len(text) > 2 and text[0] == "{" and text[-1] == "}"


def elements_of(text: str) -> list[str | None] | None:
    """Return the elements of a value set, or None if the text is not one. O(characters)."""
    inside, out, at = text[1:-1], [], 0
    while True:
        element: str | None
        if inside[at : at + 1] == '"':
            end = at + 1
            while inside[end : end + 1] and not (inside[end] == '"' and inside[end + 1 : end + 2] != '"'):
                end += 2 if inside[end] == '"' else 1
            if end >= len(inside):
                return None
            element, at = inside[at + 1 : end].replace('""', '"'), end + 1
        else:
            end = inside.find(", ", at)
            end = len(inside) if end < 0 else end
            element, at = inside[at:end], end
            if any(sign in element for sign in ',{}"') or not element:
                return None
            element = None if element == "null" else element
        out.append(element)
        if at == len(inside):
            return out
        if inside[at : at + 2] != ", ":
            return None
        at += 2
