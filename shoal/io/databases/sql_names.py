"""Names of tables in SQL: always in quotes, so that no name is ever read as a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import DataError, did_you_mean

_QUOTED = re.compile(r'"((?:[^"]|"")+)"')
_BOTH_QUOTED = re.compile(r'"((?:[^"]|"")+)"\."((?:[^"]|"")+)"')


@dataclass(frozen=True, order=True)
class TableName:
    """The name of a table, and of its schema where it has one."""

    table: str
    schema: str = ""

    def __str__(self) -> str:
        """Return the name as a user may write it."""
        table = quote_name(self.table) if "." in self.table or self.table.startswith('"') else self.table
        return f"{self.schema}.{table}" if self.schema else table

    @property
    def sql(self) -> str:
        """The name inside a statement."""
        return (
            f"{quote_name(self.schema)}.{quote_name(self.table)}" if self.schema else quote_name(self.table)
        )

    def with_name(self, table: str) -> TableName:
        """Return a table in the same schema."""
        return TableName(table, self.schema)


def quote_name(name: str) -> str:
    """Write an identifier of SQL. Upper case stays upper case."""
    if "\0" in name:
        raise DataError("names in a database cannot contain U+0000")
    return '"' + name.replace('"', '""') + '"'


def meanings(text: str) -> list[TableName]:
    """Return what a written name may mean, the likeliest first: ``a.b`` is a table, or a table in a schema.

    Parts in double quotes mean what is inside them: ``"a.b"``, ``"my schema"."a.b"``.
    """
    both = _BOTH_QUOTED.fullmatch(text)
    if both is not None:
        return [TableName(both[2].replace('""', '"'), both[1].replace('""', '"'))]
    alone = _QUOTED.fullmatch(text)
    found = [TableName(text)]
    if alone is not None:
        found.insert(0, TableName(alone[1].replace('""', '"')))
    else:
        schema, dot, table = text.partition(".")
        if dot and schema and table:
            found.append(TableName(table, schema))
    return found


def chosen(text: str, there: Sequence[TableName], where: str) -> TableName:
    """Return the table that a written name means, or raise `DataError` with similar names.

    `there` holds all tables; those that need no schema are in it without, too.
    """
    for meaning in meanings(text):
        if meaning in there:
            return meaning
    known = list_names(there)
    hint = did_you_mean(text, known)
    raise DataError(f"{where}: there is no table '{text}'" + (f"; {hint}" if hint else ""))


def list_names(there: Sequence[TableName]) -> list[str]:
    """Return the distinct names of tables, with a schema only where the name alone is ambiguous."""
    plain = {name.table for name in there if not name.schema}
    return sorted({str(name) for name in there if not name.schema or name.table not in plain})


def names_by_schema(found: Iterable[Sequence[Any]]) -> list[TableName]:
    """Return tables from rows of a schema, a table, and whether it is found without the schema: such names first."""
    rows = [(schema, table, visible) for schema, table, visible in found]
    short = [TableName(table) for _, table, visible in rows if visible]
    return short + [TableName(table, schema) for schema, table, _ in rows]
