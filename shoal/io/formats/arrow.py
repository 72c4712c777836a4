"""Arrow IPC, also called Feather: columns with types, read one by one from the disk."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

from shoal.io.formats.format import FileFormat, without_wide_integers

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.read_options import ReadOptions


class Arrow(FileFormat):
    """Arrow IPC. Categories are dictionaries."""

    name: ClassVar[str] = "arrow"
    title: ClassVar[str] = "Arrow IPC"
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    on_disk: ClassVar[bool] = True

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Scan the file; columns stay on disk."""
        import polars as pl

        return pl.scan_ipc(path), options

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Return integers of 128 bits as decimal numbers."""
        return without_wide_integers(column)

    def save(self, data: pl.DataFrame, file: IO[bytes], target: Path, options: ReadOptions | None) -> None:
        """Write the table."""
        data.write_ipc(file, compression="zstd")
