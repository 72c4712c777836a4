"""Parquet: columns with types, read one by one from the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from shoal.io.formats.format import FileFormat, without_wide_integers
from shoal.support.machine.threads import PIECE

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.read_options import ReadOptions
    from shoal.io.row_groups import RowGroups


class Parquet(FileFormat):
    """Parquet. Categories are dictionaries."""

    name: ClassVar[str] = "parquet"
    title: ClassVar[str] = "Parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    copies_memory: ClassVar[bool] = False
    on_disk: ClassVar[bool] = True
    in_pieces: ClassVar[bool] = True

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Scan the file; columns stay on disk."""
        import polars as pl

        return pl.scan_parquet(path, glob=False), options

    def pieces(self, path: Path, name: str) -> Iterator[tuple[Any, pl.Series]] | None:
        """Yield a column of text as the dictionaries of its row groups; None if it holds something else.

        Texts are never put into rows: that takes a tenth of the time, and none of the memory.
        """
        groups = self.row_groups(path)
        return groups.column(name) if groups.holds_text(name) and groups.readable(name) else None

    def row_groups(self, path: Path) -> RowGroups:
        """Return the row groups of a file."""
        from shoal.io.row_groups import RowGroups

        return RowGroups(path)

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Return integers of 128 bits as decimal numbers."""
        return without_wide_integers(column)

    def save(self, data: pl.DataFrame, file: IO[bytes], target: Path, options: ReadOptions | None) -> None:
        """Write the table."""
        data.write_parquet(file)

    def save_pieces(
        self, pieces: Iterator[pl.DataFrame], schema: pl.Schema, file: IO[bytes], target: Path,
        options: ReadOptions | None,
    ) -> None:  # fmt: skip
        """Write row groups while further ones are made."""
        from polars.io.plugins import register_io_source

        source = register_io_source(lambda *_: pieces, schema=schema)
        # By its name: polars would keep all that it writes to an open file in memory.
        # Rows are in a random order, so the least and the largest value of a row group would spare no reader any of
        # them; and codes are so random that more effort makes no file smaller.
        source.sink_parquet(
            file.name, maintain_order=True, row_group_size=PIECE, statistics=False, compression_level=1
        )
