"""The types of published columns: those of the original, whatever the format of the release makes of them."""

from __future__ import annotations

import polars as pl

from shoal.frames import factorize
from shoal.hierarchy.values import parse, text_of


def retyped(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return a published column in the type that it has in the original, if every value has a counterpart there and no
    two become one; else unchanged. ``4.0`` is 4 among whole numbers, and midnight is a day among days.

    O(rows); reads each distinct value once.
    """
    if column.dtype == dtype or column.dtype.is_nested() or dtype.is_nested() or dtype == pl.Object:
        return column
    if column.dtype in (pl.Binary, pl.Object) or isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return column  # Where values are text, they are compared as text.
    places, values = factorize(column)
    if isinstance(values.dtype, pl.Datetime) and isinstance(dtype, pl.Date):
        found = values.dt.date()
        found = found.set((found.cast(values.dtype) != values).fill_null(False), None)
    else:
        found = parse(text_of(values), dtype)
    if found.null_count() != values.null_count() or found.n_unique() != len(values):
        return column
    return found.alias(column.name).gather(places)


def without_fraction(values: pl.Series) -> pl.Series:
    """Return values as text, whole numbers without a fraction of zero."""
    return text_of(values).str.replace(r"^(-?[0-9]+)\.0+$", "$1")
