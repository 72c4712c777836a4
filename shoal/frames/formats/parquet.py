"""Parquet: columns with types, read one by one from the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from shoal.errors import DataError
from shoal.frames.formats.base import FileFormat, without_wide_integers
from shoal.parallel import PIECE

if TYPE_CHECKING:
    import polars as pl

    from shoal.frames.options import ReadOptions


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
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        file = pq.ParquetFile(path, read_dictionary=[name])
        kind = file.schema_arrow.field(name).type
        if not pa.types.is_dictionary(kind) or not (
            pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)
        ):
            return None
        if sum(path.split(".")[0] == name.split(".")[0] for path in file.schema.names) != 1:
            return None
        return _dictionaries(file, name)

    def fitted_column(self, column: pl.Series) -> pl.Series:
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
        source.sink_parquet(file.name, maintain_order=True, row_group_size=PIECE)


def _dictionaries(file: Any, name: str) -> Iterator[tuple[Any, pl.Series]]:
    """Yield the codes of each row group, and the values that they stand for: those that occur, each once."""
    import numpy as np
    import polars as pl
    import pyarrow as pa

    from shoal.frames.coded import narrowest

    for group in range(file.num_row_groups):
        for piece in file.read_row_group(group, columns=[name]).column(name).chunks:
            try:
                piece.dictionary.validate(full=True)
            except pa.ArrowInvalid:
                raise DataError(f"column '{name}' holds bytes that are not text in UTF-8") from None
            values = pl.Series(name, pl.from_arrow(piece.dictionary)).cast(pl.String)
            indices = piece.indices
            if piece.null_count:
                indices = indices.fill_null(len(values))
                values = pl.concat([values, pl.Series(name, [None], dtype=pl.String)])
            numbers = indices.to_numpy(zero_copy_only=False).astype(narrowest(len(values)))
            used = np.zeros(len(values), np.bool_)
            used[numbers] = True
            if not used.all():  # a dictionary may list values that no row has
                numbers, values = (np.cumsum(used) - 1).astype(numbers.dtype)[numbers], values.filter(used)
            yield numbers, values
