"""The types of published columns: those of the original, whatever the format of the release makes of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import is_ordered, parse, text_of
from shoal.coding.hierarchy.label_parser import locate
from shoal.io import factorize
from shoal.io.type_inference import guess_numbers_and_dates
from shoal.support.arrays import IntVector


def restore_type(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return a published column in the type that it has in the original, if every value has a counterpart there and no
    two become one; else unchanged. ``4.0`` is 4 among whole numbers, midnight is a day among days, and 0 and 1 are
    false and true among booleans, which some formats do not have.

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
    elif values.dtype.is_numeric() and isinstance(dtype, pl.Boolean):
        found = values.cast(pl.Boolean).set(((values != 0) & (values != 1)).fill_null(True), None)
    else:
        found = parse(text_of(values), dtype)
    if found.null_count() != values.null_count() or found.n_unique() != len(values):
        return column
    return found.alias(column.name).gather(places)


def find_texts(texts: pl.Series, shown: pl.Series) -> IntVector:
    """Return which of some texts each published value is by its meaning, -1 for none: 2.5 is ``2.50``. A release writes
    numbers and dates as such where its own values are, even if other values make the column of the original text.
    """
    values = guess_numbers_and_dates(shown) if shown.dtype == pl.String else shown
    if texts.dtype != pl.String or not is_ordered(values.dtype):
        return np.full(len(shown), -1, np.int32)
    meant = parse(texts, values.dtype)
    first = meant.is_first_distinct() & meant.is_not_null()
    code = locate(meant.filter(first), values)
    place = np.append(first.arg_true().to_numpy(), -1).astype(np.int32)
    return place[code]


def without_fraction(values: pl.Series) -> pl.Series:
    """Return values as text, whole numbers without a fraction of zero."""
    return text_of(values).str.replace(r"^(-?[0-9]+)\.0+$", "$1")
