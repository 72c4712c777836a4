"""`DatabaseTable`: a table, or the result of a query, in a database."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shoal.errors import DataError
from shoal.io.databases.address import refuse_other_form
from shoal.io.formats import FORMATS, scheme_of
from shoal.support.machine.files import why_not_named
from shoal.support.wording import either, printable

if TYPE_CHECKING:
    from shoal.io.databases.database import Database


@dataclass(frozen=True, repr=False)
class DatabaseTable:
    """A table, or the result of a query, in a database. Every function of Shoal takes it where it takes a frame.

    `source` is an address (``postgresql://host/name``, ``sqlite:///file.db``, ``duckdb:///file.db``) or an open
    connection: of ADBC, of a DB-API driver for one of these databases, of duckdb, or an engine of SQLAlchemy. Shoal
    leaves a connection open, and reads in its current transaction.
    """

    source: Any
    table: str | None = None
    """The name of the table. ``a.b`` may be a table in a schema; parts in double quotes mean what is inside them."""
    query: str | None = None
    """A SELECT statement instead of a table."""

    def __post_init__(self) -> None:
        """Refuse what can be read by no database."""
        if _of_sqlalchemy(self.source):
            pooled = _unwrap_pool(self.source)
            object.__setattr__(self, "_pooled", pooled)  # without it, the pool would take the connection back
            object.__setattr__(self, "source", pooled.driver_connection)
        if self.table is not None and self.query is not None:
            raise DataError(f"{self}: give a table or a query, not both")
        if isinstance(self.source, str):
            _check_name(self.source)
            self.database.address(self.source)

    def __str__(self) -> str:
        """Say where it is: without a password, and with the name of the table."""
        place = self.place
        if self.table is not None:
            return f"{place}, table {self.table}"
        return f"{place}, query" if self.query is not None else place

    __repr__ = __str__

    @property
    def place(self) -> str:
        """The address of the database, or what connects to it."""
        if isinstance(self.source, str):
            return str(self.database.address(self.source))
        return f"a {self.database.title} connection"

    @property
    def database(self) -> Database:
        """The database that it is in, or raise `DataError`."""
        found = database_at(self.source) if isinstance(self.source, str) else database_of(self.source)
        if found is None:
            raise DataError(_describe_unknown(self.source))
        return found

    def named_also(self, ending: str) -> DatabaseTable | None:
        """Return a table next to this one, whose name ends so; None for a query."""
        if self.table is None:
            return None
        name = self.table
        name = f'{name[:-1]}{ending}"' if name.endswith('"') and name[0] == '"' else name + ending
        return replace(self, table=name)

    def beside(self, folder: Path) -> DatabaseTable:
        """Return it with the path of a file relative to a folder."""
        if not isinstance(self.source, str) or not self.database.in_file:
            return self
        _check_name(folder)
        return replace(self, source=self.database.address(self.source).beside(folder))


def _check_name(path: str | Path) -> None:
    if reason := why_not_named(path):
        raise DataError(f"{printable(_describe_source(path))}: {reason}")  # an address may hold a password


def _of_sqlalchemy(source: object) -> bool:
    return type(source).__module__.partition(".")[0] == "sqlalchemy"


def _unwrap_pool(source: Any) -> Any:
    """Return the driver's connection behind a SQLAlchemy engine or connection."""
    return source.raw_connection() if hasattr(source, "raw_connection") else source.connection


def database_at(source: object) -> Database | None:
    """Return the database that a URI belongs to; None if it is not that of a database."""
    scheme = scheme_of(source) if isinstance(source, str) else ""
    for kind in _databases() if scheme else ():
        if scheme in kind.schemes:
            return kind()
    return None


def database_of(connection: object) -> Database | None:
    """Return the database that a connection belongs to; None if it is none that Shoal knows."""
    return next((kind() for kind in _databases() if kind.owns(connection)), None)


def _databases() -> list[type[Database]]:
    return [cast("type[Database]", kind) for kind in FORMATS.values() if kind.is_database]


def in_database(source: Any, table: str | None = None, query: str | None = None) -> Any:
    """Return a source with its table or query: a `DatabaseTable` if it is the address of a database or a connection,
    else as it is.
    """
    if isinstance(source, DatabaseTable):
        return replace(source, table=table, query=query) if table or query else source
    if isinstance(source, str):
        known = database_at(source) is not None
        if not scheme_of(source):
            refuse_other_form(source)
    else:
        known = not isinstance(source, os.PathLike) and (
            _of_sqlalchemy(source) or database_of(source) is not None
        )
    if known:
        return DatabaseTable(source, table, query)
    if table is not None or query is not None:
        what = "table" if table is not None else "query"
        raise DataError(
            f"a {what} goes with a database, and {_describe_source(source)} is none; "
            + either(command=f"leave out --{what}", python=f"leave out {what}")
        )
    return source


def _describe_source(source: Any) -> str:
    if isinstance(source, str) and scheme_of(source):
        return f"a {scheme_of(source)}:// address"
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return f"a {type(source).__module__.partition('.')[0]}.{type(source).__name__}"


def _describe_unknown(source: Any) -> str:
    names = [kind.title for kind in _databases()]
    return (
        f"{_describe_source(source)} is not a database that Shoal can read; it reads "
        f"{', '.join(names[:-1])} and {names[-1]}"
    )
