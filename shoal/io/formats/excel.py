"""Excel workbooks: one sheet is one table."""

from __future__ import annotations

import io
import logging
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial, reduce
from operator import and_
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from shoal.errors import DataError, did_you_mean
from shoal.io.column_names import refuse_duplicates, refuse_patterns
from shoal.io.formats.format import FileFormat, SourceFile, has_empty_text
from shoal.io.read_errors import as_data_error, check_unpacked

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.narrow_types import Guessed
    from shoal.io.read_options import ReadOptions

_ROWS, _COLUMNS = 1_048_576, 16_384
_DIGITS = 15
_CHARACTERS, _HEADER = 32_767, 255
_PAIRS = "[\U00010000-\U0010ffff]"
"""Characters that Excel counts twice."""
_NO_LETTERS = "[\ufffe\uffff]"
_CONTROLS = r"[\x00-\x08\x0b-\x1f]"
_ESCAPES = "_x[0-9A-Fa-f]{4}_"
"""A workbook spells control characters so, and readers differ in which of the two they give back."""
_MOMENT = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
"""How the reader writes a day or a moment in a column of text."""


class Workbook(SourceFile):
    """A workbook that is read. Text in it is text; other columns have the types of their cells."""

    options: ClassVar[tuple[str, ...]] = ("sheet", "header")
    extra: ClassVar[str] = "excel"
    reads_with: ClassVar[tuple[str, ...]] = ("fastexcel",)

    def columns_to_guess(self, path: Path, query: pl.LazyFrame, options: ReadOptions) -> Guessed:
        """Return all columns but those of text only, and where their cells are text: only text is neither
        a truth value nor a moment.
        """
        import fastexcel
        import polars as pl

        from shoal.io.narrow_types import Guessed, find_mixed_texts

        data = query.collect()
        refuse_patterns(data.columns, str(path))
        found: dict[str, pl.Series | None] = {
            name: pl.repeat(False, data.height, eager=True)
            for name, dtype in data.schema.items()
            if dtype != pl.String
        }
        mixed = find_mixed_texts(data)
        place: int | str = 0 if options.sheet is None else options.sheet
        for kind in ("boolean", "datetime") if mixed else ():
            book = fastexcel.read_excel(path)
            skipped = int(options.header)
            read = book.load_sheet(place, header_row=None, skip_rows=skipped, dtypes=kind).to_polars()
            for name in mixed:
                other = read.to_series(data.columns.index(name)).is_null()
                found[name] = other & found.get(name, data[name].is_not_null())
        return Guessed(found, days=True)


class OldExcel(Workbook):
    """Workbooks of Excel 97 to 2003. Shoal reads them; releases are workbooks of today."""

    name: ClassVar[str] = "xls"
    title: ClassVar[str] = "Excel 97-2003"
    suffixes: ClassVar[tuple[str, ...]] = (".xls",)

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read one sheet."""
        try:
            with as_data_error(path, self.title):
                return _sheet(path, options)
        except DataError as error:
            hint = "if Excel opens it, save it as .xlsx there, and give that file"
            raise DataError(f"{error}; {hint}") from None


class Excel(Workbook, FileFormat):
    """Excel. Value sets, times of day, and numbers that Excel would round become text."""

    name: ClassVar[str] = "excel"
    title: ClassVar[str] = "Excel"
    suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)
    copies_memory: ClassVar[bool] = False
    writes_with: ClassVar[tuple[str, ...]] = ("xlsxwriter",)
    refuses: ClassVar[tuple[str, ...]] = ("Array", "Binary", "Object", "Struct")
    nests: ClassVar[bool] = False

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read one sheet, if there is memory for what the workbook unpacks to."""
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                check_unpacked(path, sum(entry.file_size for entry in packed.infolist()))
        return _sheet(path, options)

    def misfits(self, columns: Sequence[str], rows: int) -> list[str]:
        """Return what a table in a sheet cannot have: so many rows and columns, and some names."""
        found = [] if rows else ["there are no rows, and a sheet without rows has no names of columns either"]
        if rows >= _ROWS:
            found.append(
                f"{rows:,} rows do not fit in an Excel sheet, which holds {_ROWS - 1:,} and a header"
            )
        if len(columns) > _COLUMNS:
            found.append(f"{len(columns):,} columns do not fit in an Excel sheet, which holds {_COLUMNS:,}")
        alike = Counter(name.lower() for name in columns)
        for name in columns:
            if not name:
                found.append("a column has an empty name, which a table in Excel cannot have")
            elif len(name.encode("utf-16-le")) // 2 > _HEADER:
                found.append(
                    f"a column name has more than {_HEADER} characters, which a table in Excel cannot have"
                )
            elif re.search(f"{_NO_LETTERS}|{_CONTROLS}|{_ESCAPES}", name):
                found.append(
                    "a column name has control characters, or a text such as _x0001_, which Excel takes for one"
                )
            elif alike[name.lower()] > 1:
                found.append(
                    f"column '{name}' differs from another only in capital letters, which Excel takes for one"
                )
        return found

    def lost_rows(self, data: pl.DataFrame) -> str:
        """Return why readers would miss a row: a sheet ends with its last cell that is not empty."""
        if all(column.null_count() for column in data):
            empty = reduce(and_, (column.is_null() for column in data))
            if empty.any():
                return "some rows have no value at all, and a sheet does not keep such rows at its end"
        return ""

    def problem(self, column: pl.Series) -> str:
        """Return why the values would not come back: a cell has no empty text, and texts have a limit."""
        import polars as pl

        found = super().problem(column)
        if found or len(column) >= _ROWS:
            return found
        text = self.fit_column(column)
        if text.dtype != pl.String:
            return ""
        if has_empty_text(text):
            return "has empty text, which Excel cannot tell from null"
        if (text.str.len_chars() + text.str.count_matches(_PAIRS) > _CHARACTERS).any():
            return f"has text of more than {_CHARACTERS:,} characters, which Excel cuts"
        if text.str.contains(_NO_LETTERS).any():
            return "has text with the characters U+FFFE or U+FFFF, which Excel cannot hold"
        if text.str.contains(_CONTROLS).any():
            return "has text with control characters, which readers of Excel do not all give back"
        if text.str.contains(_ESCAPES).any():
            return "has text such as _x0001_, which some readers of Excel take for a control character"
        return ""

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Convert a column to text if Excel has no type for its values."""
        import polars as pl

        from shoal.io.text_columns import as_text

        dtype = column.dtype
        if dtype == pl.Time:
            return column.dt.to_string("%H:%M:%S%.f")  # a time of day would become one of the year 1899
        if isinstance(dtype, pl.Date | pl.Datetime) and _beyond_calendar(column):
            return as_text(column) if isinstance(dtype, pl.Datetime) else column.cast(pl.String)
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
            return column
        if dtype.is_numeric() and _beyond_digits(column):
            return column.cast(pl.String)
        return as_text(column, sets=True)

    def save(self, data: pl.DataFrame, file: IO[bytes], target: Path, options: ReadOptions | None) -> None:
        """Write a workbook, made in memory: its library would leave drafts in a temporary directory."""
        import xlsxwriter

        content = io.BytesIO()
        settings = {
            "in_memory": True,
            "nan_inf_to_errors": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
        }
        with xlsxwriter.Workbook(content, settings) as book:
            data.write_excel(book, autofilter=False)
        file.write(content.getvalue())


def _sheet(path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
    import fastexcel

    # Shoal handles empty columns itself, so their warnings only disturb.
    logging.getLogger("fastexcel").setLevel(logging.ERROR)
    book = fastexcel.read_excel(path)
    sheet = book.sheet_names[0] if options.sheet is None else options.sheet
    if sheet not in book.sheet_names:
        raise DataError(f"{path}: there is no sheet '{sheet}'; {did_you_mean(sheet, book.sheet_names)}")
    names = _column_names(path, book, sheet) if options.header else []
    # The reader takes `*` for all columns, so it gets other names to work with.
    numbered = [f"{number}" for number in range(len(names))] if "*" in names else None
    how: dict[str, Any] = {"column_names": numbered, "skip_rows": 1} if numbered else {}
    data = _typed(partial(book.load_sheet, sheet, header_row=0 if options.header else None, **how))
    if numbered:
        data.columns = [name or f"__UNNAMED__{number}" for number, name in enumerate(names)]
    elif not options.header:
        data.columns = [f"column_{number}" for number in range(data.width)]
    return data.lazy(), options


def _column_names(path: Path, book: Any, sheet: str) -> list[str | None]:
    """Return the names in the first row, None where a cell is empty. The reader renames duplicates silently."""
    first = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
    names = list(first.row(0)) if first.height else []
    given = [name for name in names if name is not None]
    refuse_duplicates(given, str(path))
    refuse_patterns(given, str(path))
    return names


def _typed(read: Callable[..., Any]) -> pl.DataFrame:
    """Return a sheet with the types of its cells; `read` reads it."""
    from polars import selectors as cs

    from shoal.io.narrow_types import as_days

    data: pl.DataFrame = read(schema_sample_rows=None).to_polars()
    if any(dtype.is_numeric() for dtype in data.dtypes):
        texts = read(dtypes="string").to_polars()
        data = data.with_columns(_numbers(column, texts[column.name]) for column in data.select(cs.numeric()))
    if any(column.str.contains(_MOMENT).any() for column in data.select(cs.string())):
        moments = read(dtypes="datetime").to_polars()
        data = data.with_columns(_texts(column, moments[column.name]) for column in data.select(cs.string()))
    return data.with_columns(as_days(column) for column in data.select(cs.datetime()))


def _numbers(numbers: pl.Series, texts: pl.Series) -> pl.Series:
    """Return a column that was read as numbers. The reader takes truth values for numbers; where a column has both, it
    is text, as all columns of several types are.
    """
    from shoal.io.narrow_types import narrow_type
    from shoal.io.read_options import ReadOptions

    return texts if texts.is_in(["true", "false"]).any() else narrow_type(numbers, ReadOptions())


def _texts(texts: pl.Series, moments: pl.Series) -> pl.Series:
    """Return a column of text. Days in it are written as days, as in a column of days, if it has no other moments."""
    there = texts.str.contains(_MOMENT) & moments.is_not_null()
    days = texts.str.strip_suffix(" 00:00:00")
    return days.zip_with(there, texts) if (days != texts).filter(there).all() else texts


def _beyond_digits(numbers: pl.Series) -> bool:
    """Whether a sheet would change numbers: it holds 16 digits as they are written, and neither NaN nor infinity."""
    import polars as pl

    numbers = numbers.drop_nulls().unique()
    if numbers.dtype.is_float():
        if not numbers.is_finite().all():
            return True
        whole = bool((numbers == numbers.floor()).all())  # then the column is read as integers
        return (whole and bool((numbers.abs() >= 10**_DIGITS).any())) or any(
            float(f"{number:.16G}") != number for number in numbers
        )
    scale = numbers.dtype.scale if isinstance(numbers.dtype, pl.Decimal) else 0
    ends = [int(end * 10**scale) for end in (numbers.min(), numbers.max()) if isinstance(end, int | Decimal)]
    return any(abs(end) >= 10**_DIGITS for end in ends)


def _beyond_calendar(days: pl.Series) -> bool:
    """Whether a sheet would change dates: it counts days since 1900, with a day too many, and knows milliseconds."""
    import polars as pl

    moments = days.drop_nulls()
    zoned = isinstance(moments.dtype, pl.Datetime) and moments.dtype.time_zone is not None
    if zoned or (isinstance(moments.dtype, pl.Datetime) and (moments.dt.truncate("1ms") != moments).any()):
        return True
    years = moments.dt.year()
    return bool(((years < 1901) | (years > 9999)).any())
