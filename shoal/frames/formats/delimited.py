"""CSV and its tab-separated relative: text without types."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

from shoal.frames.formats.base import FileFormat

if TYPE_CHECKING:
    import polars as pl

    from shoal.frames.options import ReadOptions


class Csv(FileFormat):
    """Delimited text, compressed if the name ends in ``.gz``. Value sets become text such as ``{15, 20}``."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".csv.gz", ".txt")
    copies_memory: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = (
        "delimiter",
        "encoding",
        "quote",
        "null_values",
        "header",
        "guess_types",
    )
    keeps: ClassVar[tuple[str, ...]] = ("String", "Int64", "Float64", "Boolean", "Date", "Datetime")
    refuses: ClassVar[tuple[str, ...]] = ("Array", "Binary", "Object", "Struct")

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read the file after settling its delimiter and encoding."""
        from shoal.frames.formats.delimited_text import read_delimited

        data, options = read_delimited(path, options)
        return data.lazy(), options

    def altered(self, column: pl.Series) -> str:
        """Return how the column differs when it is read back: text has no types, so they are guessed."""
        import polars as pl

        from shoal.frames.inference import guess_numbers_and_dates

        found = super().altered(column)
        if not found:
            guessed = guess_numbers_and_dates(self.fitted_column(column).cast(pl.String)).dtype
            found = f"the values read like {guessed}" if guessed != column.dtype else ""
        return found

    def fitted_column(self, column: pl.Series) -> pl.Series:
        """Return categories, times and value sets as text."""
        from shoal.frames.sets import as_text

        return as_text(column, sets=True)

    def save(self, data: pl.DataFrame, file: IO[bytes], target: Path, options: ReadOptions | None) -> None:
        """Write the table with the delimiter that `options` give."""
        packed = target.name.lower().endswith(".gz")
        data.write_csv(
            file, separator=self.delimiter(options), compression="gzip" if packed else "uncompressed"
        )

    def delimiter(self, options: ReadOptions | None) -> str:
        """Return the delimiter to write: that of the input, unless the input was tab-separated."""
        known = options.delimiter if options else None
        return known if known and known != "\t" else ","


class Tsv(Csv):
    """Text with tabs between the fields."""

    name: ClassVar[str] = "tsv"
    title: ClassVar[str] = "TSV"
    suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".tsv.gz", ".tab")
    told_by_name: ClassVar[tuple[str, ...]] = ("delimiter",)

    def delimiter(self, options: ReadOptions | None) -> str:
        """Return a tab."""
        return "\t"
