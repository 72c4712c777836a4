"""`Frame`: a table that was read."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from polars import selectors

from shoal.errors import DataError, did_you_mean
from shoal.io.coded import Coded, code_column, in_pieces
from shoal.io.column_names import refuse_patterns
from shoal.io.factorization import factorize
from shoal.io.given_frame import Given, restore_values
from shoal.io.narrow_types import Guessed
from shoal.io.notation import as_told, with_nulls
from shoal.io.read_errors import as_data_error
from shoal.io.read_options import ReadOptions
from shoal.io.sheet import Cells, Sheet
from shoal.support.arrays import IntVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE, in_threads

if TYPE_CHECKING:
    from shoal.io.coded import Codes
    from shoal.io.databases import DatabaseTable

_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_FIRST_DAY, _LAST_DAY = ((day - dt.date(1970, 1, 1)).days for day in (dt.date.min, dt.date.max))

Pieces = Callable[[str], Iterator[tuple["Codes", pl.Series]] | None]
"""From the name of a column to its pieces as codes, or None if they are not stored so."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Origin(Brief):
    """Where a table comes from."""

    where: str = "the frame"
    """What messages call it."""
    path: Path | None = None
    """Where the file is; None for a dataframe."""
    digest: str | None = None
    """SHA-256 of the bytes of the file, in hex; None for a dataframe."""
    version: tuple[int, ...] | None = None
    """The version of a file whose columns are still on disk, to notice that it was changed since."""
    given: Given | None = None
    """The types and labels of a dataframe of another library."""
    stored: DatabaseTable | None = None
    """Where it is in a database; None for files and dataframes."""
    pieces: Pieces | None = None
    """How to read columns as the codes that the file itself has, where reading options change none of their values."""


@dataclass(frozen=True, eq=False, repr=False)
class Frame(Origin):
    """A table that was read. Rows are positions; Shoal ignores the labels of a pandas index.

    Columns of Parquet and Arrow files stay on disk until they are asked for. `code_column` goes through one of them in
    pieces and keeps only codes, so no column is ever decoded as a whole, and columns that are never used cost nothing.
    `column` is a whole column, and `data` the whole table at once.
    """

    kind: str
    """A name of `FORMATS`, or polars, polars-lazy, pandas or pyarrow."""
    schema: pl.Schema
    """Column names and types, in the order of the source."""
    rows: int
    """Number of rows, at least one."""
    options: ReadOptions
    """How it was read, with what was detected (delimiter, encoding) filled in."""
    query: pl.LazyFrame
    """Where the columns come from."""
    guessed: Guessed = field(default_factory=Guessed)
    """The columns whose types follow from their values. A release has the types of its own values there."""

    def as_shown(self, values: pl.Series, source: str, rows: IntVector) -> pl.Series:
        """Return what a release shows of the column `source` in the type that it was read in, where no text changes. If
        that type was guessed, return it in the type that these values have by themselves. `rows` are those published.
        """
        return self.guessed.narrow_values(restore_values(values, self.schema), source, rows, self.options)

    def give_back(self, data: pl.DataFrame) -> Any:
        """Return a result in the kind and the types that this table was given in."""
        from shoal.io.dataframes import give_back

        return give_back(data, self.kind, self.schema, self.given)

    @property
    def columns(self) -> list[str]:
        """Column names, in the order of the source."""
        return self.schema.names()

    def column(self, name: str) -> pl.Series:
        """Return one column, read now if it is still on disk."""
        if name not in self.schema:
            raise DataError(f"there is no column '{name}'; {did_you_mean(name, self.schema)}")
        # Selected by exact name: `*` and the like would otherwise select many columns.
        return self._collect(self.query.select(selectors.by_name(name))).to_series()

    def code_column(self, name: str) -> Coded:
        """Return one column as codes and distinct values, in the memory of the codes: a file that is still on disk is
        read in pieces. O(rows)."""
        if self.rows <= PIECE or self.version is None or self.schema[name].is_nested():
            return code_column(self.column(name))
        with self._translate_errors():
            self._refuse_changes()
            stored = None if self.pieces is None else self.pieces(name)
            found = in_pieces(self._read_in_pieces(name) if stored is None else stored)
            if found.values.dtype != self.schema[name]:  # categories are stored as text
                found = replace(found, values=found.values.cast(self.schema[name]))
            self._refuse_changes()
            refuse_other_calendars(found.values, self.where)
        return found

    def _read_in_pieces(self, name: str) -> Iterator[tuple[Codes, pl.Series]]:
        query = self.query.select(selectors.by_name(name))
        for piece in query.collect_batches(chunk_size=PIECE, maintain_order=True):
            yield factorize(piece.to_series())

    def sheet(self) -> Sheet:
        """Return the whole table, to be looked up: a large file that is still on disk is held as codes."""
        if self.rows <= PIECE or self.version is None:
            return Sheet.of(self.data)

        def cells(name: str) -> Cells:
            if self.schema[name].is_nested() or self.schema[name].is_float():
                return Cells(self.column(name))
            found = self.code_column(name)
            return Cells(found.values, found.codes)

        return Sheet(dict(zip(self.columns, in_threads(cells, self.columns), strict=True)), self.rows)

    @cached_property
    def data(self) -> pl.DataFrame:
        """The whole table in memory."""
        return self._collect(self.query)

    def _collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        with self._translate_errors():
            self._refuse_changes()
            data = query.collect()
            self._refuse_changes()
            for column in data:
                refuse_other_calendars(column, self.where)
        return data

    def _translate_errors(self) -> contextlib.AbstractContextManager[None]:
        return as_data_error(self.where, self.kind)

    def _refuse_changes(self) -> None:
        if self.path is not None and self.version is not None:
            refuse_changed(self.path, self.version)


def refuse_other_calendars(column: pl.Series, where: object) -> None:
    """Refuse dates and timestamps before the year 1 or after 9999: Python has none, and libraries fail at them."""
    if not isinstance(column.dtype, pl.Date | pl.Datetime):
        return
    per_day = 1 if isinstance(column.dtype, pl.Date) else _PER_DAY[column.dtype.time_unit]
    numbers = column.to_physical()
    least: Any = numbers.min()
    most: Any = numbers.max()
    if least is not None and not (_FIRST_DAY * per_day <= least and most < (_LAST_DAY + 1) * per_day):
        raise DataError(
            f"{where}: column '{column.name}' holds dates before the year 1 or after 9999: correct them, or leave it "
            "out"
        )


def file_version(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is replaced or edited."""
    status = path.stat()
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def refuse_changed(path: Path, version: tuple[int, ...]) -> None:
    """Refuse a file that is not the version it was: two versions would form records of people who do not exist."""
    if file_version(path) != version:
        raise DataError(f"{path}: the file was changed while it was being read; read it again")


def build_frame(
    kind: str,
    query: pl.LazyFrame,
    options: ReadOptions,
    origin: Origin = Origin(),
    *,
    nulls_done: bool = False,
    guessed: Guessed | None = None,
) -> Frame:
    """Return the table of any source after checking its shape and names.

    Replaces `options.null_values` by null, unless the reader did so (`nulls_done`), and reads single columns as
    `options.columns` say. `guessed`: the columns whose types follow from their values.
    """
    where = origin.where
    schema = query.collect_schema()
    if not len(schema):
        raise DataError(f"{where}: the table has no columns")
    rows = int(query.select(pl.len()).collect().item())
    if not rows and not options.of_release:
        raise DataError(f"{where}: the table has {len(schema)} columns but no rows")
    refuse_patterns(schema.names(), where)
    untyped = [name for name, dtype in schema.items() if dtype == pl.Null]
    if untyped:
        query = query.with_columns(selectors.by_name(*untyped).cast(pl.String))
        schema = pl.Schema({**schema, **dict.fromkeys(untyped, pl.String())})
    query = _with_nulls(query, schema, options, nulls_done=nulls_done)
    texts = [name for name in options.columns if schema.get(name) == pl.String]
    told = _read_typed_columns(query, schema, options, where)
    if told:
        query = query.with_columns(told)
        schema = pl.Schema({**schema, **{column.name: column.dtype for column in told}})
        if origin.given is not None:  # such a column has another type now
            origin = replace(origin, given=origin.given.without_types([column.name for column in told]))
    if options.null_values or options.columns:
        origin = replace(origin, pieces=None)  # values of the file may become others
    guessed = (guessed or Guessed()).with_texts(texts, options)
    return Frame(kind, schema, rows, options, query, guessed, **vars(origin))


def _with_nulls(
    query: pl.LazyFrame, schema: pl.Schema, options: ReadOptions, *, nulls_done: bool
) -> pl.LazyFrame:
    codes = {
        name: (*(() if nulls_done else options.null_values), *options.of_column(name).null_values)
        for name in schema
    }
    changed = [with_nulls(name, schema[name], own) for name, own in codes.items() if own]
    return query.with_columns([column for column in changed if column is not None])


def _read_typed_columns(
    query: pl.LazyFrame, schema: pl.Schema, options: ReadOptions, where: str
) -> list[pl.Series]:
    """Read the columns whose type depends on reading options."""
    told = []
    for name in schema:
        if name in options.columns:
            column = query.select(selectors.by_name(name)).collect().to_series()
            try:
                found = as_told(column, options.columns[name], options)
            except DataError as error:
                raise DataError(f"{where}: {error}") from None
            told += [found] if found.dtype != column.dtype else []
    return told
