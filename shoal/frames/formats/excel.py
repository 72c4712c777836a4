"""Excel workbooks: one sheet is one table."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

from shoal.errors import DataError, did_you_mean
from shoal.frames.column_names import refuse_duplicates
from shoal.frames.formats.base import FileFormat
from shoal.wording import first_line

if TYPE_CHECKING:
    import polars as pl

    from shoal.frames.options import ReadOptions

_ROWS = 1_048_576
_DIGITS = 15
_CHARACTERS = 32_767


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
    keeps: ClassVar[tuple[str, ...]] = ("String", "Int64", "Float64", "Boolean", "Date")
    refuses: ClassVar[tuple[str, ...]] = ("Array", "Binary", "Object", "Struct")

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read one sheet."""
        import fastexcel
        import polars as pl

        # Shoal handles empty columns itself, so their warnings only disturb.
        logging.getLogger("fastexcel").setLevel(logging.ERROR)
        try:
            book = fastexcel.read_excel(path)
            sheet = book.sheet_names[0] if options.sheet is None else options.sheet
            if sheet not in book.sheet_names:
                raise DataError(
                    f"{path}: there is no sheet '{sheet}'; {did_you_mean(sheet, book.sheet_names)}"
                )
            if options.header:
                # The reader renames duplicates silently.
                first = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
                if first.height:
                    refuse_duplicates([name for name in first.row(0) if name is not None], str(path))
            data = pl.read_excel(
                path,
                sheet_name=sheet,
                has_header=options.header,
                infer_schema_length=None,
                drop_empty_rows=False,
                drop_empty_cols=False,
                raise_if_empty=False,
            )
        except (pl.exceptions.PolarsError, fastexcel.FastExcelError) as error:
            # The reader's message about a column may end in a list of its values.
            reason = first_line(error).partition(": [")[0]
            raise DataError(f"{path}: is not a readable Excel file: {reason}") from None
        return data.lazy(), options

    def refusal(self, data: pl.DataFrame) -> str:
        """Return why a sheet cannot hold this table."""
        if data.height >= _ROWS:
            return (
                f"{data.height:,} rows do not fit in an Excel sheet, which holds {_ROWS - 1:,}; "
                "write Parquet or CSV instead"
            )
        return super().refusal(data)

    def altered(self, column: pl.Series) -> str:
        """Return how the column differs when it is read back: a cell has no empty text, and texts have a limit."""
        import polars as pl

        found = super().altered(column)
        if found:
            return found
        if column.null_count() == len(column):
            return "a column without values comes back as text, or not at all"
        if column.dtype.is_numeric() and _beyond_excel(column):
            return f"numbers of more than {_DIGITS} digits, NaN and infinity become text"
        if column.dtype.is_float():
            if (column == column.floor()).all():
                return "a column of whole numbers comes back as integers"
            if not (column == column.round_sig_figs(_DIGITS)).all():
                return f"numbers may be rounded to {_DIGITS} digits"
        if column.dtype == pl.String:
            lengths = column.str.len_chars()
            if (lengths == 0).any():
                return "empty text becomes null"
            if (lengths > _CHARACTERS).any():
                return f"text is cut after {_CHARACTERS:,} characters"
        return ""

    def fitted_column(self, column: pl.Series) -> pl.Series:
        """Return as text what a cell has no type for."""
        import polars as pl

        from shoal.frames.sets import as_text

        dtype = column.dtype
        if dtype == pl.Time or (dtype.is_numeric() and _beyond_excel(column)):
            return column.cast(pl.String)  # a time of day would become one of the year 1899
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
            return column
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


def _beyond_excel(numbers: pl.Series) -> bool:
    """Excel keeps 15 digits of a number, puts zeros for the rest, and has neither NaN nor infinity."""
    if numbers.dtype.is_float():
        return not numbers.is_finite().all()
    low, high = numbers.min(), numbers.max()
    return isinstance(low, int) and isinstance(high, int) and max(-low, high) >= 10**_DIGITS
