"""Excel workbooks: one sheet is one table."""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from operator import and_
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

from shoal.errors import DataError, did_you_mean
from shoal.frames.column_names import refuse_duplicates
from shoal.frames.formats.base import FileFormat, SourceFile, has_empty_text
from shoal.wording import first_line

if TYPE_CHECKING:
    import polars as pl

    from shoal.frames.options import ReadOptions

_ROWS, _COLUMNS = 1_048_576, 16_384
_DIGITS = 15
_CHARACTERS, _HEADER = 32_767, 255
_PAIRS = "[\U00010000-\U0010ffff]"
"""Characters that Excel counts twice."""
_NO_LETTERS = "[\ufffe\uffff]"
_CONTROLS = r"[\x00-\x08\x0b-\x1f]"
_ESCAPES = "_x[0-9A-Fa-f]{4}_"
"""A workbook spells control characters so, and readers differ in which of the two they give back."""


class OldExcel(SourceFile):
    """Workbooks of Excel 97 to 2003. Shoal reads them; releases are workbooks of today."""

    name: ClassVar[str] = "xls"
    title: ClassVar[str] = "Excel 97-2003"
    suffixes: ClassVar[tuple[str, ...]] = (".xls",)
    options: ClassVar[tuple[str, ...]] = ("sheet", "header")
    extra: ClassVar[str] = "excel"
    reads_with: ClassVar[tuple[str, ...]] = ("fastexcel",)

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read one sheet."""
        try:
            return _sheet(path, options)
        except DataError as error:
            hint = "if Excel opens it, save it as .xlsx there, and give that file"
            raise DataError(f"{error}; {hint}") from None


class Excel(FileFormat):
    """Excel. Value sets, times of day, and numbers that Excel would round become text."""

    name: ClassVar[str] = "excel"
    title: ClassVar[str] = "Excel"
    suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)
    copies_memory: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ("sheet", "header")
    extra: ClassVar[str] = "excel"
    reads_with: ClassVar[tuple[str, ...]] = ("fastexcel",)
    writes_with: ClassVar[tuple[str, ...]] = ("xlsxwriter",)
    refuses: ClassVar[tuple[str, ...]] = ("Array", "Binary", "Object", "Struct")
    nests: ClassVar[bool] = False

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read one sheet."""
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
        text = self.fitted_column(column)
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

    def fitted_column(self, column: pl.Series) -> pl.Series:
        """Return as text what a cell has no type for."""
        import polars as pl

        from shoal.frames.sets import as_text

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
    import polars as pl

    # Shoal handles empty columns itself, so their warnings only disturb.
    logging.getLogger("fastexcel").setLevel(logging.ERROR)
    try:
        book = fastexcel.read_excel(path)
        sheet = book.sheet_names[0] if options.sheet is None else options.sheet
        if sheet not in book.sheet_names:
            raise DataError(f"{path}: there is no sheet '{sheet}'; {did_you_mean(sheet, book.sheet_names)}")
        names: list[str | None] = []
        if options.header:
            first = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
            # The reader renames duplicates silently.
            names = list(first.row(0)) if first.height else []
            refuse_duplicates([name for name in names if name is not None], str(path))
        # The reader takes `*` for all columns, so it gets other names to work with.
        numbered = [f"{number}" for number in range(len(names))] if "*" in names else []
        data = pl.read_excel(
            path,
            sheet_name=sheet,
            has_header=options.header and not numbered,
            read_options={"column_names": numbered, "skip_rows": 1} if numbered else None,
            infer_schema_length=None,
            drop_empty_rows=False,
            drop_empty_cols=False,
            raise_if_empty=False,
        )
    except (pl.exceptions.PolarsError, fastexcel.FastExcelError) as error:
        # The reader's message about a column may end in a list of its values.
        reason = first_line(error).partition(": [")[0]
        raise DataError(f"{path}: is not a readable Excel file: {reason}") from None
    if numbered:
        data.columns = [name or f"__UNNAMED__{number}" for number, name in enumerate(names)]
    return data.lazy(), options


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
