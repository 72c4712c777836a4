"""Names of tables in the session's catalog: `catalog://database.table`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.io.formats import CATALOG, scheme_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_QUOTED = re.compile(r"\W", re.ASCII)
"""What makes a part of a name need backticks."""


@dataclass(frozen=True)
class TableName:
    """The name of a table: catalog and database, if they are named, and table."""

    parts: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The name in a statement."""
        return ".".join("`" + part.replace("`", "``") + "`" for part in self.parts)

    def __str__(self) -> str:
        """Show it as a user would write it."""
        return ".".join(f"`{part}`" if _QUOTED.search(part) else part for part in self.parts)

    def with_name(self, table: str) -> TableName:
        """Return the name of a table next to this one."""
        return TableName((*self.parts[:-1], table))

    @property
    def database(self) -> TableName:
        """The name of the database that it is in."""
        return TableName(self.parts[:-1])


def is_table(place: Any) -> bool:
    """Return whether an address names a table of the catalog. Raises DataError for one that only looks like it."""
    if not isinstance(place, str | os.PathLike):
        return False
    text = str(place)
    garbled = re.search(rf"(?:^|/){CATALOG}:/?(?!/)(.*)$", text)
    if garbled and not scheme_of(text):
        raise DataError(f"{text}: write a table of the catalog as the text {CATALOG}://{garbled[1]}")
    return scheme_of(text) == CATALOG


def parse_table_name(session: SparkSession, place: str) -> TableName:
    """Return the name in the address of a table, or raise DataError."""
    text = place.partition("://")[2]
    java: Any = session
    try:
        found = java._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(text)
    except Exception:
        raise DataError(
            f"{place}: '{text}' is not the name of a table; write {CATALOG}://database.table, and names with other "
            "characters than letters, digits and _ in backticks"
        ) from None
    return TableName(tuple(str(found.apply(i)) for i in range(found.size())))


def qualify_name(session: SparkSession, name: TableName) -> TableName:
    """Return a name with its catalog and database; those of the session, if it names none."""
    parts = name.parts
    if len(parts) == 1:
        parts = (session.catalog.currentDatabase(), *parts)
    return TableName(parts if len(parts) > 2 else (session.catalog.currentCatalog(), *parts))


def table_frame(session: SparkSession, place: str) -> DataFrame:
    """Return a table of the catalog as a frame, or raise DataError if there is none."""
    name = parse_table_name(session, place)
    if not session.catalog.tableExists(name.sql):
        raise DataError(
            f"{place}: there is no such table in the catalog of the session; SHOW TABLES lists those of a database"
        )
    return session.table(name.sql)
