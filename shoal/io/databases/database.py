"""`Database`: what Shoal knows about a kind of database."""

from __future__ import annotations

import contextlib
import os
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from shoal.errors import DataError, OutputError, ShoalError
from shoal.io.column_names import refuse_duplicates
from shoal.io.databases.address import Address, parse_address, parse_file_address
from shoal.io.databases.database_table import DatabaseTable
from shoal.io.databases.passwords import scrub_passwords
from shoal.io.databases.sessions import Session
from shoal.io.databases.sql_names import TableName, chosen, list_names, meanings, quote_name
from shoal.io.formats.format import Format, Holder, check_readable
from shoal.io.read_errors import as_data_error
from shoal.support.machine.memory import is_lack_of_memory
from shoal.support.wording import either

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.frame import Frame
    from shoal.io.narrow_types import Guessed
    from shoal.io.read_options import ReadOptions


@dataclass(frozen=True)
class Wanted:
    """A SELECT, and how messages name it."""

    select: str
    where: str
    name: TableName | None = None
    """The table, unless it is a query."""


class Database(Format, Holder):
    """A database. Subclasses say how to connect, which tables there are, and how their types are read and written."""

    is_database: ClassVar[bool] = True
    refuses: ClassVar[tuple[str, ...]] = ("Object", "Struct", "Array")
    copies_memory: ClassVar[bool] = False
    nests: ClassVar[bool] = False
    example: ClassVar[str]
    """An address."""
    in_file: ClassVar[bool] = False
    """Whether a database is a file, and not on a server."""

    # --- what a database says -------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def owns(cls, connection: object) -> bool:
        """Return whether a connection, given by a user, leads to such a database."""

    @abstractmethod
    def wrap_connection(self, connection: Any) -> Session:
        """Wrap a connection that the user gave; Shoal does not close it."""

    @abstractmethod
    def connect(self, address: Address, *, writing: bool) -> Session:
        """Return a session of Shoal's own. Without `writing`, in a read-only transaction with one snapshot."""

    @abstractmethod
    def tables(self, session: Session) -> list[TableName]:
        """Return all tables and views; those that need no schema also without one."""

    @abstractmethod
    def check_query(self, session: Session, query: str) -> None:
        """Raise an error of the driver, or `DataError`, unless a query is one SELECT. Runs nothing: a policy may come
        from anybody, and its query must not write, neither into the database nor into a file.
        """

    @abstractmethod
    def data(self, session: Session, wanted: Wanted) -> pl.DataFrame:
        """Return the rows, with types checked before the rows are read."""

    @abstractmethod
    def errors(self) -> tuple[type[BaseException], ...]:
        """Return what the driver raises."""

    @abstractmethod
    def explain_error(self, error: BaseException) -> str:
        """Return what an error of the driver means and what to do, without values of the data."""

    @abstractmethod
    def target(self, session: Session, stored: DatabaseTable) -> TableName:
        """Return the name under which a table will be written, with its schema, or raise `OutputError`."""

    @abstractmethod
    def column_type(self, dtype: pl.DataType) -> str:
        """Return the type, in SQL, of a column that `fit_column` returned."""

    @abstractmethod
    def identity(self, session: Session) -> str:
        """Return what tells this database from others, whatever its address."""

    @abstractmethod
    def read_by(self, session: Session, wanted: Wanted) -> set[TableName]:
        """Return the tables that a SELECT reads, also through views, as `target` names them."""

    def empty(self) -> bytes:
        """Return the content of a file without tables."""
        return b""

    def irreplaceable(self, session: Session, target: TableName) -> str:
        """Return why a table that exists cannot be replaced, in words; "" if it can."""
        return ""

    def lost_with(self, session: Session, target: TableName) -> list[str]:
        """Return what is lost when a table is replaced, in words."""
        return []

    def create(self, session: Session, name: TableName, data: pl.DataFrame) -> None:
        """Make a table of data that `fit_table` returned."""
        columns = ", ".join(
            f"{quote_name(column)} {self.column_type(dtype)}" for column, dtype in data.schema.items()
        )
        session.execute(f"CREATE TABLE {name.sql} ({columns})")
        if data.height:
            session.insert(name, data.to_arrow())

    # --- reading --------------------------------------------------------------------------------------

    def address(self, text: str) -> Address:
        """Return the parts of an address, or raise `DataError`."""
        return parse_file_address(text, self.example) if self.in_file else parse_address(text, self.example)

    def read(self, source: str | os.PathLike[str] | DatabaseTable, options: ReadOptions) -> Frame:
        """Return a table, or the result of a query."""
        stored = source if isinstance(source, DatabaseTable) else DatabaseTable(os.fspath(source))
        with as_data_error(stored, self.title), self.open_session(stored) as session:
            from shoal.io.frame import Origin, build_frame

            wanted = self.resolve_selection(session, stored)
            data = self.data(session, wanted)
            own = self.columns_to_guess(session, wanted, data)
            origin = Origin(where=str(stored), stored=stored)
            return build_frame(self.name, data.lazy(), options, origin, guessed=own)

    def columns_to_guess(self, session: Session, wanted: Wanted, data: pl.DataFrame) -> Guessed | None:
        """Return the columns whose types follow from their values, because the database declares none."""
        return None

    def check(self, stored: DatabaseTable) -> None:
        """Raise `DataError` if there is no such table, or no connection. Asks for a password, if it must."""
        with as_data_error(stored, self.title), self.open_session(stored) as session:
            self.resolve_selection(session, stored)

    def has(self, stored: DatabaseTable) -> bool:
        """Return whether there is such a table."""
        with as_data_error(stored, self.title), self.open_session(stored) as session:
            there = self.tables(session)
        return stored.table is not None and any(name in there for name in meanings(stored.table))

    @contextlib.contextmanager
    def open_session(self, stored: DatabaseTable, *, writing: bool = False) -> Iterator[Session]:
        """Open a session, and convert errors of the driver to DataError."""
        missing = self.what_to_install(writing=writing) if isinstance(stored.source, str) else ""
        if missing:
            raise DataError(f"{stored.place}: {missing}")
        session: Session | None = None
        try:
            if not isinstance(stored.source, str):
                session = self.wrap_connection(stored.source)
            else:
                address = self.address(stored.source)
                if self.in_file and not writing:
                    check_readable(Path(address.name))
                session = self.connect(address, writing=writing)
            yield session
        except DataError as error:
            if writing:
                raise OutputError(str(error)) from None
            raise
        except self.errors() as error:
            self.fail(error, stored, OutputError if writing else DataError)
        finally:
            if session is not None:
                session.close()

    def fail(self, error: BaseException, stored: DatabaseTable, kind: type[ShoalError]) -> NoReturn:
        """Raise an error of the driver in words. The driver's own may show values, so nothing leads back to it."""
        if is_lack_of_memory(error) or type(error).__name__ == "OutOfMemoryException":
            raise MemoryError from None  # the table is good
        raise kind(scrub_passwords(f"{stored}: {self.explain_error(error)}")) from None

    def resolve_selection(self, session: Session, stored: DatabaseTable) -> Wanted:
        """Return what to select, or raise `DataError` if there is no such table."""
        if stored.query is not None:
            query = stored.query.strip().rstrip(";").strip()
            if not query:
                raise DataError(f"{stored.place}: the query is empty")
            self.check_query(session, query)
            # A comment at its end ends with the line.
            return Wanted(f"SELECT * FROM ({query}\n) AS shoal_query", str(stored))
        there = self.tables(session)
        if stored.table is None:
            names = ", ".join(list_names(there)[:12])
            raise DataError(
                f"{stored.place}: say which table, "
                + either(
                    command="--table NAME, or --query SELECT",
                    python="DatabaseTable(.., table=..)",
                    studio="or give a query",
                )
                + (f"; there are {names}" if names else "; there is none")
            )
        name = chosen(stored.table, there, stored.place)
        return Wanted(f"SELECT * FROM {name.sql}", str(stored), name)


def names_of(session: Session, wanted: Wanted) -> list[str]:
    """Return the names of the columns of a SELECT, or raise `DataError` if two are equal."""
    found = session.fetch(f"SELECT * FROM ({wanted.select}) AS shoal_names LIMIT 0")
    return refuse_duplicates(list(found.schema.names), wanted.where)
