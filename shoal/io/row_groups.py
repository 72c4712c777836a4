"""`RowGroups`: the row groups of a Parquet file, with texts as the codes that the file itself has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from shoal.errors import DataError
from shoal.io.coded import Coded, Codes, narrowest


class RowGroups:
    """The row groups of a file. Texts are never put into rows: that takes a tenth of the time, and none of the memory.

    Threads may read different groups at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        file = pq.ParquetFile(path)
        self._metadata = file.metadata
        self._schema = file.schema_arrow
        self._paths = file.schema.names
        sizes = [self._metadata.row_group(group).num_rows for group in range(len(self))]
        self._starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))

    def __len__(self) -> int:
        return int(self._metadata.num_row_groups)

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return int(self._starts[-1])

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._schema.names)

    @cached_property
    def _tops(self) -> list[str]:
        return [path.split(".")[0] for path in self._paths]

    def readable(self, name: str) -> bool:
        """Return whether a column can be read by its name: one with a dot may also be a part of another."""
        return self._tops.count(name.split(".")[0]) == 1

    def holds_text(self, name: str) -> bool:
        """Return whether a column is read as codes of texts."""
        kind = self._schema.field(name).type
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))

    def read(self, group: int, names: Sequence[str]) -> tuple[int, Mapping[str, Coded | pl.Series]]:
        """Return where a row group begins, and some of its columns: texts as codes, the others as they are.

        A dictionary may list values that no row has.
        """
        return int(self._starts[group]), self._read(self._open_file(names), group, names)

    def _open_file(self, names: Sequence[str]) -> Any:
        """Open the file for one thread, to read some columns."""
        texts = [name for name in names if self.holds_text(name)]
        return pq.ParquetFile(self.path, metadata=self._metadata, read_dictionary=texts)

    def _read(self, file: Any, group: int, names: Sequence[str]) -> dict[str, Coded | pl.Series]:
        table = file.read_row_group(group, columns=list(names), use_threads=False)
        found: dict[str, Coded | pl.Series] = {}
        for name in names:
            column = table.column(name).combine_chunks()
            found[name] = (
                _code_column(column, name) if self.holds_text(name) else pl.Series(name, _Array(column))
            )
        return found

    def column(self, name: str) -> Iterator[tuple[Codes, pl.Series]]:
        """Yield the codes of a column of texts in each row group, and the values that they stand for: all occur."""
        file = self._open_file([name])
        for group in range(len(self)):
            found = self._read(file, group, [name])[name]
            assert isinstance(found, Coded)
            yield _drop_unused_values(found)


class _Array:
    """An array of pyarrow for polars, which would otherwise import pyarrow's functions to take it."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: object | None = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


def _code_column(column: Any, name: str) -> Coded:
    """Return codes and the values that they stand for, each once."""
    try:
        column.dictionary.validate(full=True)
    except pa.ArrowInvalid:
        raise DataError(f"column '{name}' holds bytes that are not text in UTF-8") from None
    values = pl.Series(name, _Array(column.dictionary)).cast(pl.String)
    indices = column.indices
    if column.null_count:
        indices = indices.fill_null(len(values))
        values = pl.concat([values, pl.Series(name, [None], dtype=pl.String)])
    # Not by pyarrow's `to_numpy`, which imports pandas.
    kind = np.dtype(indices.type.to_pandas_dtype())
    numbers = np.frombuffer(indices.buffers()[1], kind, len(indices), indices.offset * kind.itemsize)
    return Coded(numbers.astype(narrowest(len(values))), values)


def _drop_unused_values(found: Coded) -> tuple[Codes, pl.Series]:
    """Drop the values that no row has. Usually every value occurs, and the first rows already show it."""
    used = np.zeros(len(found.values), np.bool_)
    start, stop = 0, 1 << 12
    while start < len(found.codes):
        used[found.codes[start:stop]] = True
        if used.all():
            return found.codes, found.values
        start, stop = stop, stop * 4
    return (np.cumsum(used) - 1).astype(found.codes.dtype)[found.codes], found.values.filter(used)
