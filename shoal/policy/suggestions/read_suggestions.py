"""How a table should be read: the notation of its numbers, formats of dates, units, and codes for missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from shoal import io
from shoal.coding.hierarchy.date_text import FREQUENT, dates_in
from shoal.errors import DataError
from shoal.io import FORMATS, Frame, ReadOptions
from shoal.io.notation import as_told, plain_numbers, with_nulls, without_unit
from shoal.io.read_options import ColumnReading
from shoal.policy.suggestions.missing import (
    find_labelled_codes,
    is_missing_label,
    is_missing_word,
    special_codes,
)
from shoal.support.brief import Brief
from shoal.support.wording import format_count

UNITS = (
    "€", "$", "£", "¥", "₹", "zł", "EUR", "USD", "GBP", "CHF", "JPY", "PLN", "SEK", "NOK", "DKK", "kr", "Fr.", "%",
    "kg", "g", "mg", "cm", "mm", "m", "km", "l", "ml", "h", "min", "°C",
)  # fmt: skip
"""Texts that may stand before or after each number of a column: currencies, and units of measures."""
FEW_WORDS = 3
"""So many words may keep a column of numbers from being one before Shoal asks what they mean."""
AS_IT_IS = ColumnReading()
_NUMBER = r"^-?[0-9][0-9., '\u00a0\u202f]*$"
_SIGNS = r"[0-9][,'\u00a0\u202f ][0-9]"


@dataclass(frozen=True, repr=False)
class Told(Brief):
    """A column as it should be read."""

    values: pl.Series
    reading: ColumnReading = AS_IT_IS
    reasons: tuple[str, ...] = ()
    """Why, in words. They name codes for missing, and no other value."""
    warning: str = ""
    """What is wrong with the values and has to be corrected first."""


def as_written(frame: Frame) -> tuple[Frame, str]:
    """Return a text file read in the notation that its numbers seem to have, and what that is, in words."""
    options = frame.options
    fixed = options.decimal != "." or options.thousands or not options.guess_types or options.columns
    if frame.path is None or fixed or "decimal" not in FORMATS[frame.kind].options:
        return frame, ""
    found = {column.name: bare for column in frame.data if (bare := _numbers_in(column)) is not None}
    texts = [bare for bare, _ in found.values()]
    if not texts:
        return frame, _unclear_points(frame)
    likely = _find_likely_signs(texts, options)
    if not likely:
        return frame, ""
    for decimal, thousands in likely:
        other = io.read(frame.path, replace(options, decimal=decimal, thousands=thousands))
        lost = _lost_numbers(frame, other)
        if not lost:
            break
    if lost:
        return frame, (
            f"some columns have a decimal comma, and {', '.join(lost)} a decimal point: Shoal reads one of both in a "
            "file, here the point"
        )
    if not any(unit or other.schema[name].is_numeric() for name, (_, unit) in found.items()):
        return frame, ""  # codes in groups of digits, such as phone numbers
    return other, _describe_signs(decimal, thousands)


def _lost_numbers(frame: Frame, other: Frame) -> list[str]:
    """Return the columns of numbers that are no longer numbers in another notation."""
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    return [name for name in numbers if not other.schema[name].is_numeric()]


def _describe_signs(decimal: str, thousands: str) -> str:
    words = ["numbers have a decimal comma"] if decimal == "," else []
    names = {".": "a point", ",": "a comma", " ": "a space", "'": "an apostrophe"}
    words += [f"{names[thousands]} between thousands"] if thousands else []
    return " and ".join(words)


def _find_likely_signs(texts: Sequence[pl.Series], options: ReadOptions) -> list[tuple[str, str]]:
    """Return the decimal signs and signs between thousands that fit most columns, the likeliest first."""
    european = [(",", ""), (",", "."), (",", " "), (",", "'")]
    english = [(".", ","), (".", "'"), (".", " ")]
    order = [*european, *english] if options.delimiter == ";" else [*english, *european]
    fits = {signs: sum(plain_numbers(text, *signs) is not None for text in texts) for signs in order}
    # 1.234 next to 5,50 is a number of four digits: signs that fit all columns are better than those that fit some.
    most = max(fits.values())
    return [signs for signs in order if fits[signs] == most > 0]


def _unclear_points(frame: Frame) -> str:
    """Say in which columns every point may stand between thousands, in a file with semicolons: where people write
    these, a point is seldom a decimal sign.
    """
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    if frame.path is None or frame.options.delimiter != ";" or not floats:
        return ""
    written = io.read(frame.path, replace(frame.options, guess_types=False)).data
    groups = {name: plain_numbers(written[name].drop_nulls(), ",", ".") for name in floats}
    unclear = [
        name
        for name, texts in groups.items()
        if texts is not None and not written[name].drop_nulls().str.contains(r"^-?(0|[0-9]{4})").any()
    ]
    if not unclear:
        return ""
    return (
        f"every point in {', '.join(unclear)} has three digits behind it, and Shoal reads it as a decimal point: if it "
        'stands between thousands, write decimal = "," and thousands = "." into [data]'
    )


def _numbers_in(column: pl.Series) -> tuple[pl.Series, str] | None:
    """Return the distinct texts of a column without their unit, and the unit; None unless all seem to be numbers with
    other signs than a point.
    """
    if column.dtype != pl.String or not column.head(1000).drop_nulls().str.contains(_SIGNS).any():
        return None
    texts = column.drop_nulls().unique()
    texts = texts.filter(~pl.Series([is_missing_word(text) for text in texts], dtype=pl.Boolean))
    unit = unit_of(texts)
    texts = without_unit(texts, unit) if unit else texts
    return (texts, unit) if len(texts) and texts.str.contains(_NUMBER).all() else None


def unit_of(texts: pl.Series) -> str:
    """Return the unit that most of these texts have next to a number, and the rest have none; "" if there is none."""
    some = texts.drop_nulls().unique()
    left = some.str.replace_all(r"[-+0-9.,'\s\u00a0\u202f]", "")
    found = left.unique().to_list()
    units = [unit for unit in found if unit]
    # "Fr." and the like lose their point above.
    known = {unit.replace(".", ""): unit for unit in UNITS}
    if len(units) != 1 or units[0] not in known or 2 * int((left != "").sum()) < len(some):
        return ""
    return known[units[0]]


def suggest_reading(column: pl.Series, options: ReadOptions, labels: Mapping[Any, str] | None = None) -> Told:
    """Return how a column should be read: its codes for missing, the format of its dates, its unit. O(n)."""
    if column.dtype == pl.String:
        return _of_texts(column, options)
    codes = find_labelled_codes(column, labels or {})
    why = "by its label" if codes else "far from all other values"
    codes = codes or special_codes(column)
    if not codes:
        return Told(column)
    reading = ColumnReading(tuple(map(str, codes)))
    values = _without(column, reading)
    if values.null_count() == len(values):
        return Told(column)
    often = {code: int((values.is_null() & column.is_not_null()).sum()) for code in codes[:1]}[codes[0]]
    listed = ", ".join(map(str, codes))
    word = "codes for missing" if len(codes) > 1 else "a code for missing"
    return Told(values, reading, (f"{listed} looks like {word} ({why}; {format_count(often, 'row')})",))


def read_words_as_null(column: pl.Series, words: Sequence[str]) -> Told:
    """Return a column of codes in which some words mean no value. O(n)."""
    values = _without(column, ColumnReading(tuple(words)))
    gone = values.null_count() - column.null_count()
    listed = ", ".join(f"'{word}'" for word in words)
    reason = f"{listed} next to codes means no value ({format_count(gone, 'row')})"
    return Told(values, ColumnReading(tuple(words)), (reason,))


def _of_texts(column: pl.Series, options: ReadOptions) -> Told:
    distinct = column.drop_nulls().unique()
    words = [text for text in distinct.head(100_000).to_list() if is_missing_word(text)]
    rest = distinct.filter(~distinct.is_in(words))
    if len(rest) < 2:
        return Told(column)
    unit = unit_of(rest)
    written = dates_in(_without(column, ColumnReading(tuple(words)))) if words else dates_in(column)
    if written is not None and (written.others or written.unclear):
        return Told(column, warning=written.advice)
    form = "" if written is None else written.format
    reading = ColumnReading(tuple(sorted(words)), form, unit)
    if reading == AS_IT_IS:
        return Told(column, warning=_other_words(column))
    try:
        values = as_told(_without(column, reading), reading, options)
    except DataError:
        return Told(column)
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()):  # codes among words are words
        return _with_labels(column, words)
    reasons = _explain_words(column, values, reading.null_values)
    if written is not None and form:
        reasons.append(f"dates are written as {written.spelling}")
    if unit:
        reasons.append(f"numbers have the unit {unit}")
    return Told(values, reading, tuple(reasons))


def _with_labels(column: pl.Series, words: Sequence[str]) -> Told:
    """Return a column of words without those that mean no value: grouped like a value, they would look like one."""
    labels = tuple(sorted(word for word in words if is_missing_label(word)))
    if not labels:
        return Told(column, warning="" if not words else _other_words(column))
    reading = ColumnReading(labels)
    values = _without(column, reading)
    listed = ", ".join(f"'{word}'" for word in labels)
    gone = format_count(values.null_count() - column.null_count(), "row")
    return Told(values, reading, (f"{listed} means no value ({gone}), and is kept separate from all values",))


def _explain_words(column: pl.Series, values: pl.Series, words: Sequence[str]) -> list[str]:
    """Say which words of a column mean no value."""
    if not words:
        return []
    gone = values.null_count() - column.null_count()
    listed = ", ".join(f"'{word}'" for word in words)
    kind = "dates" if values.dtype.is_temporal() else "numbers"
    return [f"{listed} beside {kind} means no value ({format_count(gone, 'row')})"]


def _without(column: pl.Series, reading: ColumnReading) -> pl.Series:
    changed = with_nulls("x", column.dtype, reading.null_values) if reading.null_values else None
    if changed is None:
        return column
    return column.alias("x").to_frame().select(changed).to_series().alias(column.name)


def _other_words(column: pl.Series) -> str:
    """Say that a few words keep a column from being numbers, if so; words that occur often are named."""
    texts = column.drop_nulls()
    numbers = texts.str.contains(r"^-?[0-9]+(\.[0-9]+)?$")
    others = texts.filter(~numbers)
    if not len(others) or 2 * len(others) > len(texts) or others.n_unique() > FEW_WORDS:
        return ""
    if texts.filter(numbers).str.contains("^0[0-9]").any():
        return ""  # codes such as zip codes
    top = others.value_counts(sort=True)
    word, times = str(top.to_series(0)[0]), int(top.to_series(1)[0])
    named = f", among them '{word}'" if times >= FREQUENT else ""
    return (
        f"most texts are numbers, but {format_count(len(others), 'text is not', 'texts are not')}{named}: if they "
        "mean no "
        "value, list them in null_values of this column"
    )
