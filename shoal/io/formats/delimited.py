"""CSV and its tab-separated relative: text without types."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

from shoal.io.formats.format import FileFormat, has_empty_text

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.narrow_types import Guessed
    from shoal.io.read_options import ReadOptions


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
        "decimal",
        "thousands",
        "guess_types",
        "escape_formulas",
    )
    refuses: ClassVar[tuple[str, ...]] = ("Array", "Binary", "Object", "Struct")
    nests: ClassVar[bool] = False

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read the file after settling its delimiter and encoding."""
        from shoal.io.formats.delimited_text import read_delimited

        data, options = read_delimited(path, options)
        return data.lazy(), options

    def columns_to_guess(self, path: Path, query: pl.LazyFrame, options: ReadOptions) -> Guessed | None:
        """Return all columns: text has no types."""
        from shoal.io.narrow_types import Guessed

        return Guessed(dict.fromkeys(query.collect_schema())) if options.guess_types else None

    def _written(self, path: Path, options: ReadOptions | None) -> pl.LazyFrame:
        """Return a table that `save` wrote, split as it was written, all of it text."""
        from shoal.io.read_options import ReadOptions

        escaped = options is not None and options.escape_formulas
        told = ReadOptions(delimiter=self.delimiter(options), guess_types=False, escape_formulas=escaped)
        return self.load(path, told)[0]

    def problems(self, data: pl.DataFrame, sensitive: Collection[str] = ()) -> list[str]:
        """Return what text cannot hold. Only quotes tell empty text from null, and many readers ignore them."""
        found = super().problems(data, sensitive)
        for name in sensitive:
            column = data.get_column(name)
            if column.null_count() and has_empty_text(column):
                found.append(
                    f"column '{name}' is sensitive and has both null and empty text, which most readers of "
                    f"{self.title} take for one value"
                )
        return found

    def misfits(self, columns: Sequence[str], rows: int) -> list[str]:
        """Return the name that a reader changes: a mark of the encoding at the start of the file."""
        if not columns[0].startswith("\ufeff"):
            return []
        return [
            f"the first column name begins with U+FEFF, which {self.title} takes for a mark of the encoding"
        ]

    def lost_rows(self, data: pl.DataFrame) -> str:
        """Return why readers would skip a row: it is a blank line."""
        if data.width > 1 or not data.null_count().row(0)[0]:
            return ""
        return f"column '{data.columns[0]}' is the only one, and null in it is a blank line, which most readers skip"

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Return categories, times and value sets as text."""
        from shoal.io.text_columns import as_text

        return as_text(column, sets=True)

    def save(self, data: pl.DataFrame, file: IO[bytes], target: Path, options: ReadOptions | None) -> None:
        """Write the table with the delimiter that `options` give, and formulas escaped if they say so."""
        packed = target.name.lower().endswith(".gz")
        if options is not None and options.escape_formulas:
            from shoal.io.formulas import escape_formulas

            data = escape_formulas(data)
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
