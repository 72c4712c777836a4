"""DuckDB, through its own package. No extension is loaded: DuckDB would download it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import DataError, OutputError
from shoal.io.column_names import refuse_duplicates
from shoal.io.databases.address import Address
from shoal.io.databases.column_types import alike, narrower
from shoal.io.databases.database import Database, Wanted
from shoal.io.databases.driver_values import ADVICE, as_polars
from shoal.io.databases.sessions import Session
from shoal.io.databases.sql_names import TableName, meanings, names_by_schema, quote_name
from shoal.support.machine.shutdown import journal
from shoal.support.wording import first_line

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped]

    from shoal.io.databases.database_table import DatabaseTable

_SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
"""A view in a file runs when it is read. It sees the tables of its file, and no other file, address or variable."""
_spill: dict[int, tempfile.TemporaryDirectory[str]] = {}
"""The folder of `_spill_folder` for each process: another one may have been started from this."""
_WIDE = ("HUGEINT", "UHUGEINT", "BIGNUM")
"""Whole numbers that may have more digits than a decimal number of Arrow; they are read as text."""
_AS_TEXT = ("BIT", "UUID", "TIME WITH TIME ZONE", "JSON")
_REFUSED = {
    "INTERVAL": "intervals of time",
    "STRUCT": "records",
    "MAP": "records",
    "UNION": "records",
}


class DuckDb(Database):
    """DuckDB."""

    name: ClassVar[str] = "duckdb"
    title: ClassVar[str] = "DuckDB"
    schemes: ClassVar[tuple[str, ...]] = ("duckdb",)
    extra: ClassVar[str] = "duckdb"
    reads_with: ClassVar[tuple[str, ...]] = ("duckdb",)
    writes_with: ClassVar[tuple[str, ...]] = ("duckdb",)
    example: ClassVar[str] = "duckdb:///file.db"
    in_file: ClassVar[bool] = True

    @classmethod
    def owns(cls, connection: object) -> bool:
        """Return whether it is a connection of the package duckdb."""
        return type(connection).__name__ == "DuckDBPyConnection"

    def wrap_connection(self, connection: Any) -> Session:
        """Return a session over a user's connection."""
        return DuckDbSession(connection)

    def connect(self, address: Address, *, writing: bool) -> Session:
        """Open the file, and begin a transaction."""
        import duckdb

        settings = {**_SETTINGS, "temp_directory": _spill_folder()}
        session = DuckDbSession(
            duckdb.connect(_place(address), read_only=not writing, config=settings), own=True
        )
        session.execute("BEGIN TRANSACTION" if writing else "BEGIN TRANSACTION READ ONLY")
        return session

    def errors(self) -> tuple[type[BaseException], ...]:
        """Return the errors of the package."""
        import duckdb

        return (duckdb.Error,)

    def explain_error(self, error: BaseException) -> str:
        """Return what an error means: some messages of DuckDB show values."""
        kind, text = type(error).__name__, first_line(error)
        if kind == "IOException" and "lock" in text:
            return "the file is open in another program; close it there first"
        if kind in (
            "CatalogException",
            "ParserException",
            "BinderException",
            "IOException",
            "PermissionException",
        ):
            return text
        if kind == "DependencyException":
            return "other objects in the database depend on the table; choose another name"
        return f"DuckDB stopped ({kind}), often because of a value"

    def tables(self, session: Session) -> list[TableName]:
        """Return tables and views, with and without schema."""
        found = session.rows(
            "SELECT table_schema, table_name, table_schema = current_schema() FROM information_schema.tables "
            "WHERE table_catalog = current_database()"
        )
        return names_by_schema(found)

    def check_query(self, session: Session, query: str) -> None:
        """Let DuckDB parse the query; a PIVOT has several steps in one statement."""
        import duckdb

        found = [statement.type for statement in duckdb.extract_statements(query)]
        if found not in ([duckdb.StatementType.SELECT], [duckdb.StatementType.MULTI]):
            given = ", ".join(kind.name for kind in found) or "no statement"
            raise DataError(f"the query must be one SELECT statement, and it is {given}")

    def data(self, session: Session, wanted: Wanted) -> pl.DataFrame:
        """Return the rows; enums keep their order."""
        found = session.rows(f"DESCRIBE {wanted.select}")
        columns = [(str(name), str(kind)) for name, kind, *_ in found]
        refuse_duplicates([name for name, _ in columns], wanted.where)
        enums = {}
        for name, kind in columns:
            what = "lists" if kind.endswith("]") else _REFUSED.get(kind.partition("(")[0], "")
            if what:
                raise DataError(
                    f"{wanted.where}: column '{name}' holds {what}, which have no single value to generalize; {ADVICE}"
                )
            if kind.startswith("ENUM("):
                (labels,) = session.rows(
                    f"SELECT enum_range(max({quote_name(name)})) FROM ({wanted.select} LIMIT 0)"
                )
                enums[name] = labels[0]
        chosen = ", ".join(_select_expression(name, kind) for name, kind in columns)
        table = session.fetch(f"SELECT {chosen} FROM ({wanted.select}) AS shoal_rows")
        decimals = [name for name, kind in columns if kind in _WIDE]
        return as_polars(table, wanted.where, decimals=decimals, enums=enums)

    # --- writing --------------------------------------------------------------------------------------

    def target(self, session: Session, stored: DatabaseTable) -> TableName:
        """Return the name with its schema; an existing table may be written in other capital letters."""
        *_, meant = meanings(stored.table or "")
        schemas = {
            str(name)
            for (name,) in session.rows(
                "SELECT schema_name FROM information_schema.schemata WHERE catalog_name = current_database()"
            )
        }
        if meant.schema and meant.schema not in schemas:
            raise OutputError(
                f"{stored.place}: there is no schema '{meant.schema}'; a table with a dot in its name is written "
                f"'{quote_name(stored.table or '')}'"
            )
        if not meant.schema:
            ((current,),) = session.rows("SELECT current_schema()")
            meant = TableName(meanings(stored.table or "")[0].table, str(current))
        for name in self.tables(session):
            if name.schema == meant.schema and name.table.lower() == meant.table.lower():
                return name
        return meant

    def empty(self) -> bytes:
        """Return the content of a file without tables: DuckDB does not open a file without content."""
        import duckdb

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "empty.db")
            duckdb.connect(str(path), config=_SETTINGS).close()
            return path.read_bytes()

    def irreplaceable(self, session: Session, target: TableName) -> str:
        """Return that a view cannot be replaced."""
        found = session.rows("SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal")
        there = (target.schema, target.table) in found
        return "there is a view of this name; choose another name" if there else ""

    def lost_with(self, session: Session, target: TableName) -> list[str]:
        """Return that too little is lost: DuckDB does not overwrite the parts of a file that it no longer uses."""
        return [
            "the file of DuckDB may still contain rows of the table that was replaced, in parts that it no longer "
            "uses; before you hand the file over, write the release to a new file"
        ]

    def identity(self, session: Session) -> str:
        """Return the path of the file."""
        found = session.rows("SELECT path FROM duckdb_databases() WHERE database_name = current_database()")
        return os.path.realpath(str(found[0][0]))

    def read_by(self, session: Session, wanted: Wanted) -> set[TableName]:
        """Return the tables in the plan of a SELECT."""
        found = session.rows(f"EXPLAIN (FORMAT JSON) {wanted.select}")
        scanned = set(_find_scanned_tables(json.loads(found[0][1])))
        return {
            name
            for name in self.tables(session)
            if name.schema and scanned & {name.table, f"{name.schema}.{name.table}"}
        }

    def misfits(self, columns: Sequence[str], rows: int) -> list[str]:
        """Return names of columns that DuckDB takes for one."""
        return [*alike(list(columns), self.title), *(["a column has no name"] if "" in columns else [])]

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Return categories, sets and durations as text, and integers of 128 bits as narrower or decimal numbers."""
        import polars as pl

        from shoal.io.text_columns import as_text

        column = narrower(column)
        return column if isinstance(column.dtype, pl.Datetime) else as_text(column, sets=True)

    def column_type(self, dtype: pl.DataType) -> str:
        """DuckDB takes types from Arrow."""
        raise NotImplementedError

    def create(self, session: Session, name: TableName, data: pl.DataFrame) -> None:
        """Make a table with the types of Arrow."""
        given: Any = session
        given.connection.register("shoal_given", data.to_arrow())
        session.execute(f"CREATE TABLE {name.sql} AS SELECT * FROM shoal_given")
        given.connection.unregister("shoal_given")


def _spill_folder() -> str:
    """Return the folder for rows that do not fit into memory, which only this user can enter: DuckDB's own is next to
    the file, open to all users. It is one for the process, because all connections to a file must have the same
    settings, and goes with it.
    """
    found = _spill.get(os.getpid())
    if found is None or not os.path.isdir(found.name):  # somebody may tidy up
        found = _spill[os.getpid()] = tempfile.TemporaryDirectory(prefix="shoal-duckdb-")  # mode 0700
        journal.lend(found.name)
    return found.name


def _place(address: Address) -> str:
    """Return the absolute path: DuckDB takes a name such as md:x or sqlite:x for something else than a file."""
    return str(Path(address.name).absolute())


def _find_scanned_tables(plan: Any) -> Iterator[str]:
    """Yield the last part of the names of the tables in a plan."""
    for part in plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ():
        yield from _find_scanned_tables(part)
    if isinstance(plan, dict) and isinstance(plan.get("Table"), str):
        yield plan["Table"].rpartition(".")[2]


def _select_expression(name: str, kind: str) -> str:
    if kind in _WIDE or kind in _AS_TEXT or kind.startswith("ENUM("):
        return f"{quote_name(name)}::VARCHAR AS {quote_name(name)}"
    return quote_name(name)


class DuckDbSession(Session):
    """A connection of the package duckdb."""

    def execute(self, statement: str) -> None:
        """Run a statement that returns no rows."""
        self.connection.execute(statement)

    def fetch(self, statement: str) -> pa.Table:
        """Return all rows of a SELECT."""
        return self.connection.sql(statement).to_arrow_table()

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return a few rows as Python values."""
        found: list[tuple[Any, ...]] = self.connection.execute(statement).fetchall()
        return found

    def commit(self) -> None:
        """Keep what was done."""
        self.connection.execute("COMMIT")

    def rollback(self) -> None:
        """Undo what was not kept."""
        self.connection.execute("ROLLBACK")
