"""What cells mean where it is told: numbers with a decimal comma or a unit, dates in other formats, codes for missing.

A column changes only as a whole. What is asked for one column must fit all its cells: otherwise Shoal refuses the table
and says how many do not fit.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import polars as pl
from polars import selectors

from shoal.errors import DataError
from shoal.io.read_options import ColumnReading, ReadOptions
from shoal.io.type_inference import guess_numbers_and_dates

_TIMES = re.compile(r"%[HIMSTRfp.+]")
_EXACT = 2.0**53
_SPACES = "[ \u00a0\u202f]"


def plain_numbers(texts: pl.Series, decimal: str, thousands: str) -> pl.Series | None:
    """Return numbers as texts with a decimal point alone; None unless all texts are numbers in this notation.

    Digits before the decimal sign may be in groups of three. O(n).
    """
    mark = _SPACES if thousands == " " else re.escape(thousands)
    whole = rf"([0-9]+|[0-9]{{1,3}}({mark}[0-9]{{3}})+)" if thousands else "[0-9]+"
    pattern = rf"^-?{whole}({re.escape(decimal)}[0-9]+)?$"
    if not bool(texts.head(1000).str.contains(pattern).all()) or not bool(texts.str.contains(pattern).all()):
        return None
    bare = texts.str.replace_all(mark, "") if thousands else texts
    return bare.str.replace(decimal, ".", literal=True)


def in_plain_notation(texts: pl.Series, options: ReadOptions) -> tuple[pl.Series, bool]:
    """Return a column of text with its numbers in plain notation, if all are numbers, and whether they may have
    decimal points now: where a comma is the decimal sign, nobody knows what a point means.
    """
    usual = options.decimal == "." and not options.thousands
    if usual or texts.null_count() == len(texts):
        return texts, usual
    numbers = plain_numbers(texts, options.decimal, options.thousands)
    return (texts, options.decimal == ".") if numbers is None else (numbers, True)


def without_unit(texts: pl.Series, unit: str) -> pl.Series:
    """Return texts without a unit before or after the number, and without spaces around it."""
    own, space = re.escape(unit), f"(\\s|{_SPACES})*"
    bare = texts.str.replace(rf"^(-?){space}{own}{space}", "$1").str.replace(rf"{space}{own}{space}$", "")
    return bare.str.strip_chars(" \u00a0\u202f\t")


def with_nulls(name: str, dtype: pl.DataType, codes: Collection[str]) -> pl.Expr | None:
    """Return a column with null in place of codes for missing; None if no cell of this type can be one of them.

    Numbers compare by value, dates and times by their ISO text, everything else as text.
    """
    column = selectors.by_name(name)  # `*` would be all columns
    if dtype == pl.String:
        return column.replace(dict.fromkeys(codes))
    if dtype.is_numeric():
        numbers = [number for number in map(_number, codes) if number is not None]
        if dtype.is_integer():  # a float tells integers below this limit apart
            numbers = [number for number in numbers if number.is_integer() and abs(number) < _EXACT]
        is_code = column.cast(pl.Float64).is_in(numbers) if numbers else None
    elif isinstance(dtype, pl.Datetime):
        day, moment = column.dt.to_string("%Y-%m-%d"), column.dt.to_string("%Y-%m-%d %H:%M:%S")
        midnight = column.dt.time() == pl.time(0, 0, 0)
        is_code = moment.is_in(list(codes)) | (day.is_in(list(codes)) & midnight)
    elif dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Null):
        return None
    else:
        is_code = column.cast(pl.String).is_in(list(codes))
    return None if is_code is None else pl.when(~is_code).then(column).alias(name)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def as_told(column: pl.Series, own: ColumnReading, options: ReadOptions) -> pl.Series:
    """Return a column as its reading options say, or raise DataError if some cells do not fit.

    Its codes for missing are null already. Texts that are numbers or dates without them become such.
    """
    name = column.name
    if own.date_format and (column.dtype == pl.String or column.dtype.is_integer()):
        texts = column.cast(pl.String).alias("text")
        found = _dates(texts, own.date_format)
        _refuse(texts, found, name, f"dates in the format {own.date_format}")
        return found.alias(name)
    if column.dtype != pl.String or column.null_count() == len(column):
        return column
    texts = without_unit(column.alias("text"), own.unit) if own.unit else column.alias("text")
    plain, points = in_plain_notation(texts, options)
    if not own.unit:
        guessed = guess_numbers_and_dates(plain, points=points) if options.guess_types else texts
        return (texts if guessed.dtype == pl.String else guessed).alias(name)
    found = plain.cast(pl.Float64, strict=False)
    _refuse(texts, found, name, f"numbers with the unit '{own.unit}'")
    guessed = guess_numbers_and_dates(plain, points=True)
    return (guessed if guessed.dtype.is_numeric() else found).alias(name)


def _dates(texts: pl.Series, form: str) -> pl.Series:
    if _TIMES.search(form):
        return texts.str.to_datetime(form, time_unit="us", strict=False)
    return texts.str.to_date(form, strict=False)


def _refuse(texts: pl.Series, found: pl.Series, name: str, what: str) -> None:
    wrong = found.null_count() - texts.null_count()
    if wrong:
        filled = len(texts) - texts.null_count()
        raise DataError(
            f"column '{name}': {wrong:,} of {filled:,} texts are not {what}; correct them, or list codes for missing "
            f"values in the column's null_values"
        )
