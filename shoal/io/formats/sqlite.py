"""SQLite: through ADBC if it is installed, else, and for columns of mixed types, through the standard library."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from shoal.errors import DataError, OutputError
from shoal.io.databases.address import Address
from shoal.io.databases.column_types import alike, narrower, no_null_character
from shoal.io.databases.database import Database, Wanted, names_of
from shoal.io.databases.driver_values import ADVICE, as_polars
from shoal.io.databases.sessions import AdbcSession, RowSession, Session, vendor_of
from shoal.io.databases.sql_names import TableName, meanings, quote_name
from shoal.support.wording import first_line

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped]

    from shoal.io.databases.database_table import DatabaseTable
    from shoal.io.narrow_types import Guessed

_CLASSES = ("integer", "real", "text", "blob")
_DATES = ("DATE", "TIME")
_BATCH = "adbc.sqlite.query.batch_rows"
"""From how many rows ADBC takes the types."""
_SECONDS = 5.0
"""How long to wait for somebody else's transaction."""
_UNTRUSTED = "PRAGMA trusted_schema = OFF"
"""Views and triggers of a file call no function that could have side effects."""


class Sqlite(Database):
    """SQLite. A column may hold values of several types; then all of them are read as text."""

    name: ClassVar[str] = "sqlite"
    title: ClassVar[str] = "SQLite"
    schemes: ClassVar[tuple[str, ...]] = ("sqlite",)
    example: ClassVar[str] = "sqlite:///file.db"
    in_file: ClassVar[bool] = True

    @classmethod
    def owns(cls, connection: object) -> bool:
        """Return whether it is a connection of ADBC, or of the standard library, to SQLite."""
        return isinstance(connection, sqlite3.Connection) or vendor_of(connection) == cls.title

    def wrap_connection(self, connection: Any) -> Session:
        """Return a session over a connection of ADBC or of the standard library."""
        return AdbcSession(connection) if vendor_of(connection) else RowSession(connection)

    def connect(self, address: Address, *, writing: bool) -> Session:
        """Open the file, and begin a transaction."""
        # Two copies of SQLite in one process do not see each other's locks, and a user may have a connection of the
        # standard library open: so ADBC, which brings its own copy, only reads.
        reading = None if writing else _by_adbc(address)
        return reading or _by_standard_library(address, writing=writing)

    def errors(self) -> tuple[type[BaseException], ...]:
        """Return the errors of both drivers; before Python 3.12, several statements are a warning."""
        own = (sqlite3.Error, sqlite3.Warning)
        try:
            from adbc_driver_manager import Error
        except ImportError:
            return own
        return (*own, Error)

    def explain_error(self, error: BaseException) -> str:
        """Return what an error means."""
        text = first_line(error)
        if "locked" in text or "busy" in text:
            return "the file is in use by somebody else; try again later"
        if "not a database" in text:
            return "the file is not a database of SQLite"
        return text.rpartition(": ")[2]  # about names, syntax and files

    def tables(self, session: Session) -> list[TableName]:
        """Return tables and views."""
        found = session.rows(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        return [TableName(name) for (name,) in found]

    def check_query(self, session: Session, query: str) -> None:
        """Let SQLite parse the query in parentheses, and then without: ADBC would ignore a second statement, and what
        is complete both ways is one statement.
        """
        session.rows(f"EXPLAIN SELECT * FROM ({query}\n)")
        session.rows(f"EXPLAIN {query}")

    def data(self, session: Session, wanted: Wanted) -> pl.DataFrame:
        """Return the rows. Texts in columns that are declared as dates become dates if nothing is lost."""
        table = self._rows(session, wanted)
        dates = self._find_declared_dates(session, wanted)
        data = as_polars(table, wanted.where)
        import polars as pl

        from shoal.io.type_inference import guess_dates

        return data.with_columns(
            guess_dates(data.get_column(name))
            for name in data.columns
            if name in dates and data.schema[name] == pl.String
        )

    def columns_to_guess(self, session: Session, wanted: Wanted, data: pl.DataFrame) -> Guessed | None:
        """Return all columns, and where their cells are text: SQLite keeps values of any type in any column."""
        import polars as pl

        from shoal.io.narrow_types import Guessed, find_mixed_texts

        dates, mixed = self._find_declared_dates(session, wanted), find_mixed_texts(data)
        found: dict[str, pl.Series | None] = {}
        for name, dtype in data.schema.items():
            found[name] = pl.repeat(dtype == pl.String, data.height, eager=True, dtype=pl.Boolean)
            if name in dates:
                found[name] = None  # its texts are dates where they can be
            elif name in mixed:
                rows = session.rows(f"SELECT typeof({quote_name(name)}) = 'text' AS t FROM ({wanted.select})")
                found[name] = pl.Series([bool(own) for (own,) in rows], dtype=pl.Boolean)
        return Guessed(found)

    # --- writing --------------------------------------------------------------------------------------

    def target(self, session: Session, stored: DatabaseTable) -> TableName:
        """Return the name; an existing table may be written in other capital letters."""
        meant = meanings(stored.table or "")[0]
        for name in self.tables(session):
            if name.table.lower() == meant.table.lower():
                return name
        if meant.table.lower().startswith("sqlite_"):
            raise OutputError(f"{stored}: names that begin with sqlite_ belong to SQLite; choose another")
        return meant

    def irreplaceable(self, session: Session, target: TableName) -> str:
        """Return that a view cannot be replaced."""
        ((kind,),) = session.rows(f"SELECT type FROM sqlite_master WHERE name = {_literal(target.table)}")
        return "" if kind == "table" else "there is a view of this name; choose another name"

    def identity(self, session: Session) -> str:
        """Return the path of the file."""
        return os.path.realpath(
            str(session.rows("SELECT file FROM pragma_database_list WHERE name = 'main'")[0][0])
        )

    def read_by(self, session: Session, wanted: Wanted) -> set[TableName]:
        """Return the tables whose pages a SELECT opens."""
        roots = {name: TableName(str(table)) for table, name in session.rows(
            "SELECT tbl_name, rootpage FROM sqlite_master WHERE rootpage > 0"
        )}  # fmt: skip
        found = session.rows(f"EXPLAIN {wanted.select}")
        return {roots[page] for _, opcode, _, page, *_ in found if opcode == "OpenRead" and page in roots}

    def misfits(self, columns: Sequence[str], rows: int) -> list[str]:
        """Return names of columns that SQLite takes for one, and too many columns."""
        more = [f"SQLite holds 2,000 columns, not {len(columns):,}"] if len(columns) > 2000 else []
        return [*alike(list(columns), self.title), *more]

    def problem(self, column: pl.Series) -> str:
        """Return why the values would not come back: SQLite has no NaN, and ends texts at U+0000."""
        found = super().problem(column) or no_null_character(column, self.title)
        if not found and column.dtype.is_float() and bool(column.drop_nulls().is_nan().any()):
            return "has NaN, which SQLite writes as null"
        return found

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Return dates, times, categories and sets as text, and booleans as 0 and 1."""
        import polars as pl

        from shoal.io.text_columns import as_text

        column = narrower(column)
        if column.dtype == pl.Boolean:
            return column.cast(pl.Int64)
        if column.dtype == pl.Time:
            return column.dt.to_string("%H:%M:%S%.f")
        if column.dtype == pl.Date:
            return column.dt.to_string("%Y-%m-%d")
        if isinstance(column.dtype, pl.Decimal):
            number = column.cast(pl.Float64)
            return number if number.cast(column.dtype).equals(column) else column.cast(pl.String)
        return as_text(column, sets=True)

    def column_type(self, dtype: pl.DataType) -> str:
        """Return the type of a column."""
        if dtype.is_integer():
            return "INTEGER"
        return "REAL" if dtype.is_float() else "BLOB" if dtype.base_type().__name__ == "Binary" else "TEXT"

    # --- reading --------------------------------------------------------------------------------------

    def _rows(self, session: Session, wanted: Wanted) -> pa.Table:
        """Return the rows. ADBC takes the types of the first rows for those of all, and rounds or fails at others; so
        columns of mixed types are read through the standard library, which gives each value as it is.
        """
        names = names_of(session, wanted)
        flags = ", ".join(
            f"max(typeof({quote_name(name)}) = '{kind}') AS f{place}_{kind}"
            for place, name in enumerate(names)
            for kind in _CLASSES
        )
        ((count, *found),) = session.rows(f"SELECT count(*) AS n, {flags} FROM ({wanted.select})")
        kinds = [[bool(flag) for flag in found[4 * place : 4 * place + 4]] for place in range(len(names))]
        for name, (whole, real, text, blob) in zip(names, kinds, strict=True):
            if blob and (whole or real or text):
                raise DataError(f"{wanted.where}: column '{name}' holds bytes next to other values; {ADVICE}")
        if not isinstance(session, AdbcSession):
            return session.fetch(wanted.select)
        if all(sum(own) < 2 for own in kinds):
            return session.fetch(wanted.select, {_BATCH: str(count + 1)})
        if session.other is None:
            raise DataError(
                f"{wanted.where}: some columns hold values of several types, which ADBC changes; give a connection of "
                "the standard library (sqlite3), or the address of the file"
            )
        other = session.other()
        try:
            return other.fetch(wanted.select)
        finally:
            other.close()

    def _find_declared_dates(self, session: Session, wanted: Wanted) -> set[str]:
        """Return the columns of a table that are declared as dates or times."""
        if wanted.name is None:
            return set()
        found = session.rows(
            f"SELECT name, upper(type) FROM pragma_table_info({_literal(wanted.name.table)})"
        )
        return {name for name, kind in found if any(word in kind for word in _DATES)}


def _by_adbc(address: Address) -> Session | None:
    try:
        import adbc_driver_sqlite.dbapi as driver
    except ImportError:
        return None
    session = AdbcSession(
        driver.connect(_place(address, writing=False)),
        own=True,
        other=lambda: _by_standard_library(address, writing=False),
    )
    session.execute(_UNTRUSTED)
    return session


def _by_standard_library(address: Address, *, writing: bool) -> Session:
    place = _place(address, writing=writing)
    session = RowSession(sqlite3.connect(place, uri=True, timeout=_SECONDS, isolation_level=None), own=True)
    session.execute(_UNTRUSTED)
    if writing:
        # Otherwise a file that is handed over still has the rows of a table that was replaced, in unused pages.
        session.execute("PRAGMA secure_delete = ON")
    session.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
    return session


def _place(address: Address, *, writing: bool) -> str:
    return f"file:{quote(str(Path(address.name).absolute()))}?mode={'rwc' if writing else 'ro'}"


def _literal(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
