"""`narrow_type`: the types of a release whose source has no types, from the values of published rows alone.

A file of text has the types that all its values allow, so one fraction makes a column fractions, and one word makes it
text. If that value is in a suppressed row, the type would show that it was there. A type that somebody declared, such
as that of a column in Parquet or of a dataframe, follows from no row, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import polars as pl

from shoal.io.notation import in_plain_notation
from shoal.io.read_options import ReadOptions
from shoal.io.type_inference import guess_dates, guess_numbers_and_dates
from shoal.support.arrays import IntVector
from shoal.support.brief import Brief

_EXACT = 2.0**53
_OTHER = r"^(true|false|-?[0-9].*|NaN|-?inf)$"
"""What a number, a truth value or a moment looks like as text."""


@dataclass(frozen=True, eq=False, repr=False)
class Guessed(Brief):
    """The columns of a table whose types follow from their values."""

    columns: Mapping[str, pl.Series | None] = field(default_factory=dict)
    """Column -> which of its cells are text by themselves; None if the source does not say: then a text that reads as a
    number is one. Cells of JSON, Excel and SQLite have types, and a column of several types is read as text."""
    dates: bool = False
    """Whether texts that are dates become dates in a column whose cells are text."""
    days: bool = False
    """Whether moments are days if all of them are at midnight."""

    def with_texts(self, texts: Iterable[str], options: ReadOptions) -> Guessed:
        """Return these columns and the `texts`, without those whose dates the reading options describe."""
        columns = dict.fromkeys(texts) | dict(self.columns)
        kept = {name: own for name, own in columns.items() if not options.of_column(name).date_format}
        return replace(self, columns=kept)

    def narrow_values(self, values: pl.Series, name: str, rows: IntVector, options: ReadOptions) -> pl.Series:
        """Return the values of a column in the type that the published `rows` alone would have."""
        if name not in self.columns:
            return values
        is_text = self.columns[name]
        if is_text is not None and is_text.gather(rows).any():
            return _in_parts(values, _parse_dates) if self.dates else values
        return _in_parts(values, partial(narrow_type, options=options) if is_text is None else self._of_cells)

    def _of_cells(self, values: pl.Series) -> pl.Series:
        """Return what cells show that are not text. Some numbers look like text: they are too large for an integer."""
        found = narrow_type(values, ReadOptions())
        if found.dtype == pl.String:
            numbers = found.cast(pl.Float64, strict=False)
            found = numbers if numbers.null_count() == found.null_count() < len(found) else found
        return as_days(found) if self.days and isinstance(found.dtype, pl.Datetime) else found


def _parse_dates(values: pl.Series) -> pl.Series:
    return guess_dates(values) if values.dtype == pl.String else values


def find_mixed_texts(data: pl.DataFrame) -> list[str]:
    """Return the text columns with cells that look like numbers, so other cells may have made them text."""
    looks = [
        (column, column.drop_nulls().unique().str.contains(_OTHER))
        for column in data
        if column.dtype == pl.String
    ]
    return [column.name for column, other in looks if other.any()]


def parse_texts(texts: pl.Series, options: ReadOptions) -> pl.Series:
    """Return a column of text in the type that all its values have, if nothing is lost."""
    plain, points = in_plain_notation(texts, options)
    if not options.guess_types:
        return (
            plain if options.of_release else texts
        )  # numbers of a release are to be compared with the original's
    guessed = guess_numbers_and_dates(plain, points=points)
    return texts if guessed.dtype == pl.String else guessed


def narrow_type(values: pl.Series, options: ReadOptions) -> pl.Series:
    """Infer the type of single values: texts as `parse_texts` reads them, whole numbers without a fraction, and text if
    there is no value. O(values).
    """
    if isinstance(values.dtype, pl.Enum | pl.Categorical | pl.Object):
        return values
    if values.null_count() == len(values):
        return values.cast(pl.String)
    if values.dtype == pl.String:
        values = parse_texts(values, options)
    elif values.dtype == pl.Int128:
        narrow = values.cast(pl.Int64, strict=False)
        values = narrow if narrow.null_count() == values.null_count() else values
    return values.cast(pl.Int64) if values.dtype.is_float() and _whole(values.drop_nulls()) else values


def as_days(moments: pl.Series) -> pl.Series:
    """Return moments as days if all of them are at midnight, as Excel holds days; else to the millisecond."""
    days = moments.dt.date()
    return days if (days.cast(moments.dtype) == moments).all() else moments.cast(pl.Datetime("ms"))


def _in_parts(values: pl.Series, convert: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Return values after `convert`, which sees single values: all those that lists hold, or one field of records. A
    field that is always empty may be there because of another row, so it goes.
    """
    if isinstance(values.dtype, pl.Struct):
        fields = [_in_parts(values.struct.field(field.name), convert) for field in values.dtype.fields]
        there = [field for field in fields if field.null_count() < len(field)] or fields[:1]
        records = pl.DataFrame(there).to_struct(values.name)
        return records.set(values.is_null(), None)
    if not isinstance(values.dtype, pl.List):
        return values if values.dtype.is_nested() else convert(values)
    size = values.list.len()
    single = values.filter(size > 0).explode()
    words = isinstance(single.dtype, pl.Enum | pl.Categorical)
    found = _in_parts(single.cast(pl.String) if words else single, convert)
    if found.dtype == (pl.String if words else single.dtype):
        return values
    row = np.repeat(np.arange(len(values)), size.fill_null(0).to_numpy())
    lists = pl.DataFrame({"row": row, "own": found}).group_by("row").agg("own")
    own = pl.DataFrame({"row": np.arange(len(values))}).join(
        lists, on="row", how="left", maintain_order="left"
    )["own"]
    return own.fill_null([]).set(values.is_null(), None).alias(values.name)


def _whole(numbers: pl.Series) -> bool:
    """Return whether integers say the same; they have no zero below zero."""
    below = (numbers == 0.0) & (1.0 / numbers < 0.0)
    return bool(((numbers == numbers.round()) & (numbers.abs() < _EXACT) & ~below).all())
