"""`Session`: statements to a database, whatever carries them."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shoal.io.databases.driver_values import as_column
from shoal.io.databases.sql_names import TableName

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


class Session(ABC):
    """An open connection. Its errors are those of the driver; a `Database` says what they mean."""

    def __init__(self, connection: Any, *, own: bool = False) -> None:
        self.connection = connection
        self.own = own
        """Shoal opened it, and ends it."""

    @abstractmethod
    def execute(self, statement: str) -> None:
        """Run a statement that returns no rows."""

    @abstractmethod
    def fetch(self, statement: str) -> pa.Table:
        """Return all rows of a SELECT."""

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return a few rows as Python values."""
        found = self.fetch(statement)
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def insert(self, name: TableName, data: pa.Table) -> None:
        """Add rows to a table that exists."""
        raise NotImplementedError

    def commit(self) -> None:
        """Keep what was done."""
        self.connection.commit()

    def rollback(self) -> None:
        """Undo what was not kept."""
        self.connection.rollback()

    def close(self) -> None:
        """Undo what was not kept, and end the connection, if it is Shoal's own."""
        for end in (self.rollback, self.connection.close) if self.own else ():
            with contextlib.suppress(Exception):  # a lost connection is closed already
                end()


class AdbcSession(Session):
    """A connection of ADBC."""

    def __init__(
        self, connection: Any, *, own: bool = False, other: Callable[[], Session] | None = None
    ) -> None:
        super().__init__(connection, own=own)
        self.other = other
        """Connects in another way, for what ADBC cannot do."""

    def execute(self, statement: str) -> None:
        """Run a statement that returns no rows."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def fetch(self, statement: str, options: Mapping[str, str] | None = None) -> pa.Table:
        """Return all rows of a SELECT; `options` are those of the driver."""
        with self.connection.cursor() as cursor:
            if options:
                cursor.adbc_statement.set_options(**options)
            cursor.execute(statement)
            return cursor.fetch_arrow_table()

    def insert(self, name: TableName, data: pa.Table) -> None:
        """Add rows to a table that exists."""
        schema = {"db_schema_name": name.schema} if name.schema else {}
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(name.table, data, mode="append", **schema)


class RowSession(Session):
    """A connection of DB-API 2.0, which gives rows of Python values."""

    def execute(self, statement: str) -> None:
        """Run a statement that returns no rows."""
        with self._cursor() as cursor:
            cursor.execute(statement)

    def fetch(self, statement: str) -> pa.Table:
        """Return all rows of a SELECT."""
        import pyarrow as pa

        with self._cursor() as cursor:
            cursor.execute(statement)
            names = [entry[0] for entry in cursor.description]
            rows = cursor.fetchall()
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        return pa.Table.from_arrays([as_column(column) for column in columns], names=names)

    def insert(self, name: TableName, data: pa.Table) -> None:
        """Add rows to a table that exists."""
        marks = ", ".join("?" * data.num_columns)
        with self._cursor() as cursor:
            for batch in data.to_batches(max_chunksize=10_000):
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                cursor.executemany(f"INSERT INTO {name.sql} VALUES ({marks})", rows)

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[Any]:
        cursor = self.connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()


def vendor_of(connection: object) -> str:
    """Return which database a connection of ADBC leads to; "" if it is another object."""
    if not hasattr(connection, "adbc_get_info"):
        return ""
    known: Any = connection
    return str(known.adbc_get_info().get("vendor_name", ""))
