"""What files of statistical packages have in common: codes with labels, columns with labels, and few types.

A column whose codes all have labels is read as its labels, so that hierarchies, policies and releases show words. It is
written as codes with labels again. A release lists no label that none of its rows has: it would tell readers that
somebody in the original had that value.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from shoal.errors import OutputError
from shoal.io.formats.format import FileFormat, has_empty_text
from shoal.support.wording import first_line

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.read_options import ReadOptions

_WHOLE = 2.0**53
_LARGEST = 1e300
"""The packages keep the largest numbers for missing values."""

Codes = Mapping[float | str, str]


def load_with_labels(path: Path, options: ReadOptions, reader: str) -> tuple[pl.LazyFrame, ReadOptions]:
    """Read a file with a function of pyreadstat. Whole numbers become integers, labelled codes their labels, and
    missing values of all kinds null."""
    from dataclasses import replace

    import polars as pl
    import pyreadstat

    from shoal.io.column_names import refuse_duplicates
    from shoal.io.read_options import Labels

    data, about = getattr(pyreadstat, reader)(
        os.fspath(path), encoding=options.encoding, output_format="polars"
    )
    refuse_duplicates(data.columns, str(path))
    labels = Labels(
        {name: text for name, text in about.column_names_to_labels.items() if text},
        {name: dict(codes) for name, codes in about.variable_value_labels.items() if name in data.columns},
    )
    columns = [_apply_labels(_plain(column), labels.values.get(column.name, {})) for column in data]
    return pl.DataFrame(columns).lazy(), replace(options, labels=labels)


def _plain(column: pl.Series) -> pl.Series:
    """Return whole numbers as integers, and empty texts as null: the packages do not tell them apart."""
    import polars as pl

    if column.dtype == pl.String:
        return column.set(column == "", None)
    if column.dtype.is_float():
        column = column.fill_nan(None)
        filled = column.drop_nulls()
        if len(filled) and bool(((filled == filled.floor()) & (filled.abs() <= _WHOLE)).all()):
            return column.cast(pl.Int64)
    return column


def _apply_labels(column: pl.Series, codes: Codes) -> pl.Series:
    """Return a column as its labels, in the order of the codes, if every code has one; else unchanged."""
    import polars as pl

    used = column.drop_nulls().unique().sort()
    texts = texts_of(codes)
    names = [texts[code] for code in used.to_list() if code in texts]
    if not names or len(names) < len(used) or not (column.dtype.is_numeric() or column.dtype == pl.String):
        return column
    return column.replace_strict(used, pl.Series(names, dtype=pl.Enum(names)))


def texts_of(codes: Codes) -> dict[float | str, str]:
    """Return what each code is shown as: its label, and the code where others have the same label."""
    often = Counter(codes.values())
    return {
        code: text if often[text] == 1 else f"{text} ({_number(code)})"
        for code, text in codes.items()
        if text.strip()
    }


def _number(code: float | str) -> str:
    return f"{code:g}" if isinstance(code, float | int) else code


class StatisticalFile(FileFormat):
    """A file of a statistical package, read and written through pyreadstat."""

    copies_memory: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ("encoding",)
    extra: ClassVar[str] = "stats"
    reads_with: ClassVar[tuple[str, ...]] = ("pyreadstat",)
    writes_with: ClassVar[tuple[str, ...]] = ("pyreadstat",)
    refuses: ClassVar[tuple[str, ...]] = ("Array", "Binary", "Object", "Struct")
    nests: ClassVar[bool] = False

    reader: ClassVar[str]
    """The function of pyreadstat that reads it."""
    longest_name: ClassVar[int]
    """How long the name of a column may be, in bytes."""
    longest_text: ClassVar[int]
    """How long the text of a cell may be, in bytes."""
    longest_label: ClassVar[int]
    """How long the label of a code may be, in bytes."""
    longest_title: ClassVar[int]
    """How long the label of a column may be, in bytes."""
    first_year: ClassVar[int]
    """The first year of its calendar."""

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read the file."""
        return load_with_labels(path, options, self.reader)

    @abstractmethod
    def name_problem(self, name: str) -> str:
        """Return why a column cannot have this name, in words; "" if it can."""

    @abstractmethod
    def write(
        self, data: pl.DataFrame, path: str, titles: dict[str, str | None], codes: dict[str, Any]
    ) -> None:
        """Write a table with labels of columns, and labels of codes by column."""

    def misfits(self, columns: Sequence[str], rows: int) -> list[str]:
        """Return the names of columns that such a file cannot have."""
        found = []
        alike = Counter(name.lower() for name in columns)
        for name in columns:
            size = len(name.encode())
            if size > self.longest_name:
                found.append(
                    f"the name of column '{name}' has {size} bytes, and {self.title} allows {self.longest_name}"
                )
            elif problem := self.name_problem(name):
                found.append(f"the name of column '{name}' {problem}, which {self.title} does not allow")
            elif alike[name.lower()] > 1:
                found.append(
                    f"column '{name}' differs from another only in capital letters, which {self.title} takes for one"
                )
        return found

    def problem(self, column: pl.Series) -> str:
        """Return why the values would not come back: there is no empty text, and texts have limits."""
        import polars as pl

        found = super().problem(column)
        if found:
            return found
        fitted = self.fit_column(column)
        if not isinstance(fitted.dtype, pl.String | pl.Enum | pl.Categorical):
            return ""
        if has_empty_text(fitted):
            return f"has empty text, which {self.title} cannot tell from null"
        texts = fitted.cast(pl.String).drop_nulls().unique()
        if (texts.str.len_bytes() > self.longest_text).any():
            return f"has text of more than {self.longest_text:,} bytes, which {self.title} cannot hold"
        if texts.str.contains(r"[\s\x00]$").any() or texts.str.contains("\x00", literal=True).any():
            return f"has text that ends in a space or has the sign U+0000, which {self.title} cuts"
        return ""

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Return numbers, whole seconds and days as they are, words of a few as codes with labels, the rest as text."""
        import polars as pl

        from shoal.io.text_columns import as_text

        dtype = column.dtype
        if dtype == pl.Boolean:
            words = pl.Enum(["false", "true"])
            return column.cast(pl.String).cast(words)
        if isinstance(dtype, pl.Enum | pl.Categorical):
            return column if self._fits_labels(column) else column.cast(pl.String)
        if dtype.is_numeric():
            return self._numbers(column)
        if isinstance(dtype, pl.Date):
            return column if self._fits_calendar(column) else column.cast(pl.String)
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
            moments = column.drop_nulls()
            exact = bool((moments.dt.truncate("1s") == moments).all())
            return column if exact and self._fits_calendar(column) else as_text(column)
        if dtype == pl.Time:
            return column.dt.to_string("%H:%M:%S%.f")
        return as_text(column, sets=True)

    def _numbers(self, column: pl.Series) -> pl.Series:
        """Return numbers as floats if all of them come back, else as text."""
        import polars as pl

        floats = column.cast(pl.Float64, strict=False)
        back = floats.cast(column.dtype, strict=False)
        sizes = floats.drop_nulls().abs()
        small = bool((sizes < _LARGEST).all()) and bool(((sizes > 1 / _LARGEST) | (sizes == 0)).all())
        if not small or not back.equals(column):
            return column.cast(pl.String)
        if column.dtype.is_integer():
            return column.cast(pl.Int64) if bool((sizes < _WHOLE).all()) else column.cast(pl.String)
        return floats

    def _fits_calendar(self, days: pl.Series) -> bool:
        years = days.drop_nulls().dt.year()
        return bool(((years >= self.first_year) & (years <= 9999)).all())

    def _fits_labels(self, column: pl.Series) -> bool:
        import polars as pl

        texts = column.drop_nulls().unique().cast(pl.String)
        return bool((texts.str.len_bytes() <= self.longest_label).all())

    def save(self, data: pl.DataFrame, file: IO[bytes], target: Path, options: ReadOptions | None) -> None:
        """Write the table under the name of the open file, with labels for the columns and codes that it has."""
        import polars as pl
        from pyreadstat import PyreadstatError, ReadstatError

        from shoal.io.read_options import Labels

        labels = options.labels if options is not None else Labels()
        columns, codes = [], {}
        for column in data:
            coded, own = split_codes_and_labels(column, labels.values.get(column.name, {}))
            columns.append(coded)
            if own:
                codes[column.name] = own
        titles = {
            name: shorten_to_bytes(labels.columns.get(name, ""), self.longest_title) for name in data.columns
        }
        try:
            self.write(
                pl.DataFrame(columns), file.name, {name: text for name, text in titles.items() if text}, codes
            )
        except (PyreadstatError, ReadstatError, ValueError, TypeError, OverflowError) as error:
            # Other messages than those of the library itself may show values.
            reason = f": {first_line(error)}" if isinstance(error, ReadstatError) else ""
            raise OutputError(
                f"{target} could not be written as {self.title}{reason}; nothing was changed"
            ) from None


def shorten_to_bytes(text: str, size: int) -> str:
    """Return the beginning of a text that fits into so many bytes."""
    return text.encode()[:size].decode(errors="ignore")


def split_codes_and_labels(column: pl.Series, known: Codes) -> tuple[pl.Series, dict[int, str]]:
    """Return a column as codes, and the labels of those that occur; a column of numbers or texts keeps its cells.

    Words that were labels in the file that was read get their codes back. The others follow, in the order of the values
    if they have one. Where not every number has a label, those that occur keep theirs.
    """
    import polars as pl

    whole: dict[float | str, str] = {
        code: text for code, text in known.items() if isinstance(code, int | float) and code == int(code)
    }
    if column.dtype.is_integer():
        used = set(column.drop_nulls().unique().to_list())
        kept = {int(code): text for code, text in whole.items() if code in used and text.strip()}
        # Where all have labels, a reader would take them for words.
        return column, kept if len(kept) < len(used) else {}
    if not isinstance(column.dtype, pl.Enum | pl.Categorical):
        return column, {}
    shown = column.drop_nulls()
    shown = shown if isinstance(column.dtype, pl.Enum) else shown.cast(pl.String)
    words = shown.unique().sort().cast(pl.String).to_list()
    own = {text: int(code) for code, text in texts_of(whole).items()}
    taken = [own[word] for word in words if word in own]
    free = 1 if not taken else 10 ** max(1, math.ceil(math.log10(max(1, *taken) + 1)))
    codes: dict[str, int] = {}
    for word in words:
        codes[word] = own.get(word, free)
        free += word not in own
    coded = (
        column.cast(pl.String).replace_strict(codes, return_dtype=pl.Int64)
        if codes
        else column.cast(pl.Int64)
    )
    return coded, {code: word for word, code in codes.items()}
