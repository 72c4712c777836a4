"""The distinct values of a column: sorted, written as text, and read from text."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import HierarchyError
from shoal.io.type_inference import guess_numbers_and_dates
from shoal.support.arrays import IntVector
from shoal.support.wording import type_name

Numbers = NDArray[np.int64] | NDArray[np.float64]

_EXACT = 2.0**53
_TIMES = (pl.Date, pl.Datetime, pl.Time, pl.Duration)


def distinct_values(values: pl.Series) -> pl.Series:
    """Return the distinct values in a type that hierarchies support: categories become strings, -0.0 becomes 0.0."""
    dtype = values.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null):
        values = values.cast(pl.String)
    elif dtype.is_float():
        values = one_zero(values)
    elif not (dtype.is_numeric() or isinstance(dtype, (pl.String, pl.Boolean, *_TIMES))):
        raise HierarchyError(
            f"values of type {type_name(dtype)} cannot be generalized: turn them into text, numbers or dates"
        )
    return values.alias("leaves").unique()


def one_zero(values: pl.Series) -> pl.Series:
    """Replace -0.0 by 0.0: they are the same number but not the same text."""
    return values.set(values == 0.0, 0.0)


def all_whole(values: pl.Series) -> bool:
    """Return whether numbers with a fraction of zero are all that there is, so that they can be written without it."""
    if not values.dtype.is_float():
        return False
    numbers = values.drop_nulls()
    return bool(((numbers == numbers.round()) & (numbers.abs() < _EXACT)).all())


def all_days(values: pl.Series) -> bool:
    """Return whether moments without a zone are all at midnight, so that they can be written as days."""
    if not isinstance(values.dtype, pl.Datetime) or values.dtype.time_zone is not None:
        return False
    return bool((values.dt.truncate("1d") == values).all())


def meant_by(values: pl.Series) -> pl.Series:
    """Return texts as the numbers, dates or times that all of them are, as a file without types would have them; others
    as they are.
    """
    found = guess_numbers_and_dates(values) if values.dtype == pl.String else values
    return found if is_ordered(found.dtype) else values


def is_ordered(dtype: pl.DataType) -> bool:
    """Return whether values of this type have positions on a line: numbers, dates and times."""
    return dtype.is_numeric() or isinstance(dtype, _TIMES)


def numbers_of(values: pl.Series) -> Numbers:
    """Return numbers unchanged, dates in days and times in seconds; NaN for null."""
    dtype = values.dtype
    if isinstance(dtype, pl.Date):
        return values.to_physical().cast(pl.Int64).to_numpy()
    if isinstance(dtype, pl.Datetime | pl.Duration):
        per_second = {"ms": 1e3, "us": 1e6, "ns": 1e9}[dtype.time_unit]
        return values.to_physical().cast(pl.Float64).to_numpy() / per_second
    if isinstance(dtype, pl.Time):
        return values.to_physical().cast(pl.Float64).to_numpy() / 1e9
    if dtype.is_integer():
        exact = values.cast(pl.Int64, strict=False)
        if exact.null_count() == 0:
            return exact.to_numpy()
    return values.cast(pl.Float64).to_numpy()


def text_of(values: pl.Series) -> pl.Series:
    """Return the published text of values; null stays null."""
    if isinstance(values.dtype, pl.Duration):
        return values.dt.to_string("iso").alias("names")
    if isinstance(values.dtype, pl.Time):
        return values.dt.to_string("%H:%M:%S%.f").alias("names")  # a cast would cut fractions of a second
    try:
        text = values.cast(pl.String).alias("names")
    except pl.exceptions.PolarsError:  # its message may show values
        where = f"column '{values.name}': " if values.name else ""
        raise HierarchyError(
            f"{where}values of type {type_name(values.dtype)} cannot be read as text: turn them into text, numbers or "
            "dates"
        ) from None
    if isinstance(values.dtype, pl.Datetime):
        return text.str.replace(r"\.0+($|[+-])", "$1")
    return text


def plain_text(values: pl.Series) -> pl.Series:
    """Return the text of values, whole numbers without a fraction and days without a time if all are such."""
    text = text_of(values)
    return without_zeros(text) if all_whole(values) or all_days(values) else text


def without_zeros(text: pl.Series) -> pl.Series:
    """Return texts of numbers without a fraction of zero, and of moments without a time at midnight."""
    return text.str.replace(r"^(-?[0-9]+)\.0$", "$1").str.strip_suffix(" 00:00:00")


def parse(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Read text as values of `dtype`; null if that fails. Numbers compare by value: "39.0" is 39."""
    if dtype == pl.String:
        return text
    plain = text.str.strip_chars()
    if isinstance(dtype, pl.Boolean):
        lowered = plain.str.to_lowercase()
        known = lowered.is_in(["true", "false"])
        frame = pl.DataFrame({"known": known, "value": lowered == "true"})
        return frame.select(pl.when("known").then("value")).to_series()
    if isinstance(dtype, pl.Date):
        return plain.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(dtype, pl.Datetime | pl.Duration | pl.Time):
        return _parse_times(plain, dtype)
    if dtype.is_integer():
        whole = plain.cast(dtype, strict=False)
        if whole.null_count() == plain.null_count():
            return whole
        real = plain.cast(pl.Float64, strict=False)
        exact = pl.DataFrame({"real": real, "whole": whole}).select(
            pl.coalesce(
                "whole",
                pl.when(pl.col("real") == pl.col("real").round()).then("real").cast(dtype, strict=False),
            )
        )
        return exact.to_series()
    read = plain.cast(dtype, strict=False)
    return one_zero(read) if dtype.is_float() else read


def _parse_times(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Read times and date-times. Durations are compared as text."""
    if isinstance(dtype, pl.Time):
        return text.str.to_time("%H:%M:%S%.f", strict=False)
    if not isinstance(dtype, pl.Datetime):
        return pl.Series("leaves", [None] * len(text), dtype=dtype)
    spaced = text.str.replace("T", " ", literal=True)
    if dtype.time_zone is not None:
        zoned = spaced.str.replace("Z$", "+00:00").str.to_datetime(
            "%Y-%m-%d %H:%M:%S%.f%:z", time_unit=dtype.time_unit, time_zone="UTC", strict=False
        )
        return zoned.dt.convert_time_zone(dtype.time_zone)
    read = spaced.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit=dtype.time_unit, strict=False)
    days = spaced.str.to_date("%Y-%m-%d", strict=False).cast(dtype)
    return pl.DataFrame({"read": read, "days": days}).select(pl.coalesce("read", "days")).to_series()


def runs(keys: NDArray[np.generic]) -> IntVector:
    """Return where each run of equal neighbouring keys begins."""
    if not len(keys):
        return np.empty(0, np.int32)
    changes: NDArray[np.bool_] = np.concatenate([[True], keys[1:] != keys[:-1]])
    return np.flatnonzero(changes).astype(np.int32)
