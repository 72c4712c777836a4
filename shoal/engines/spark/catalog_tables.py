"""Tables of the session's catalog: `catalog://db.people` is read and written by its name.

A release is a new table under a temporary name in the same database. It is created before its rows are written, so that
whatever a killed run leaves has an entry that can be found and dropped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.engines.spark.catalog_names import TableName, is_table, parse_table_name, qualify_name
from shoal.engines.spark.session import translate_errors
from shoal.engines.spark.spark_sources import shares_files
from shoal.errors import OutputError
from shoal.io.databases.transactions import hint_at_replacing
from shoal.io.drafts import draft_number, is_draft_number
from shoal.support.machine.shutdown import journal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DRAFT = "shoal_draft_"


@dataclass
class Table:
    """Where a release goes: a table that does not exist yet, or that may be replaced."""

    session: SparkSession
    target: str
    name: TableName
    force: bool
    notes: list[str] = field(default_factory=list)
    """What a user should know about the place."""
    is_text = False

    @classmethod
    def at(cls, session: SparkSession, output: str, *, force: bool) -> Table:
        """Check that a release can be written there, before any work."""
        with translate_errors("looking at the place of the release"):
            name = qualify_name(session, parse_table_name(session, output))
            found = cls(session, output, name, force)
            if not session.catalog.databaseExists(name.database.sql):
                raise OutputError(f"{output}: there is no database {name.database}; create it first")
            if _is_draft(name.parts[-1]):
                raise OutputError(f"{output}: tables of such a name are drafts of Shoal; choose another name")
            found._check_replaceable()
        return found

    @property
    def place(self) -> str:
        """Where the release is in the end."""
        return self.name.sql

    def _check_replaceable(self) -> None:
        """Refuse a table that is there, unless it may be replaced and would be gone as a whole."""
        if not self.session.catalog.tableExists(self.name.sql):
            return
        if not self.force:
            raise OutputError(
                f"{self.target} exists already; choose another name, or replace it with {hint_at_replacing()}"
            )
        kind = self.session.catalog.getTable(self.name.sql).tableType
        if kind != "MANAGED":
            raise OutputError(
                f"{self.target} cannot be replaced: it is of the type {kind}, so what is behind it would stay; drop it "
                "yourself, or choose another name"
            )

    def check_apart(self, source: Any, frame: DataFrame) -> None:
        """Refuse to replace the table that the data is read from, by whatever name, which not even --force allows."""
        with translate_errors("looking at the place of the release"):
            same = is_table(source) and self._same(
                qualify_name(self.session, parse_table_name(self.session, str(source)))
            )
            if not same and self.session.catalog.tableExists(self.name.sql):
                same = shares_files(frame, self.session.table(self.name.sql).inputFiles())
        if same:
            raise OutputError(f"{self.target} (the release) would replace the data; choose another name")

    def _same(self, other: TableName) -> bool:
        return [part.lower() for part in self.name.parts] == [part.lower() for part in other.parts]

    @contextlib.contextmanager
    def draft(self) -> Iterator[str]:
        """Yield the name of a table that is gone after the block, unless it was renamed."""
        self.notes += [_describe_leftover(self.name.with_name(table)) for table in self._list_drafts()]
        draft = self.name.with_name(f"{_DRAFT}{draft_number()}")
        told = f"the table {draft}"
        with journal.owe(told):
            try:
                yield draft.sql
            finally:
                with contextlib.suppress(Exception):
                    self._drop(draft.sql)
                    journal.settle(told)

    def _list_drafts(self) -> list[str]:
        """Return the names of draft tables: of runs that were killed, or that still write."""
        with translate_errors("looking at the place of the release"):
            rows = self.session.sql(f"SHOW TABLES IN {self.name.database.sql} LIKE '{_DRAFT}*'").collect()
        return sorted(row["tableName"] for row in rows if _is_draft(row["tableName"]))

    def write(self, frame: DataFrame, columns: tuple[str, ...], place: str) -> None:
        """Write rows with columns f0, f1, .. into a new table, under their names."""
        from pyspark.sql.types import StructField, StructType

        with translate_errors("writing the release"):
            # Fresh fields: those of the original may have comments.
            fields = [
                StructField(name, own.dataType) for name, own in zip(columns, frame.schema, strict=True)
            ]
            self.session.catalog.createTable(place, schema=StructType(fields))
            frame.toDF(*columns).write.insertInto(place)

    def read(self, place: str, columns: tuple[str, ...]) -> DataFrame:
        """Read what was written, as others do, with columns f0, f1, .."""
        with translate_errors("reading the release back"):
            self.session.catalog.refreshTable(place)
            back = self.session.table(place)
            if tuple(back.columns) != columns:
                raise OutputError(
                    f"{self.target}: the catalog changed the names of columns, so nothing was published; rename them"
                )
            return back.toDF(*(f"f{i}" for i in range(len(columns))))

    def appear(self, place: str) -> None:
        """Give a verified release its name. A table that it replaces is put aside first, and dropped last."""
        former = self.name.with_name(f"{self.name.parts[-1]}_former_{draft_number()}")
        aside = False
        with translate_errors("renaming the release"), journal.move():
            if self.session.catalog.tableExists(self.name.sql):
                if not self.force:
                    raise OutputError(
                        f"{self.target} was created in the meantime; choose another name, or use {hint_at_replacing()}"
                    )
                self._check_replaceable()
                self._rename(self.name.sql, former)
                aside = True
            try:
                self._rename(place, self.name)
            except Exception:
                stays = ""
                if aside:
                    try:
                        self._rename(former.sql, self.name)
                    except Exception:
                        stays = f"; the table of that name is {former} now"
                raise OutputError(
                    f"{self.target} could not be renamed from its temporary name, so nothing was published{stays}"
                ) from None
            journal.write(self.target)
        if aside:
            try:
                self.session.sql(f"DROP TABLE {former.sql}")
            except Exception:
                raise OutputError(
                    f"{self.target} was replaced, but the table that it replaced could not be dropped: "
                    f"DROP TABLE {former}"
                ) from None

    def _rename(self, now: str, name: TableName) -> None:
        self.session.sql(
            f"ALTER TABLE {now} RENAME TO {TableName(name.parts[1:]).sql}"
        )  # in the same catalog

    def _drop(self, name: str) -> None:
        """Drop a table that nobody has verified."""
        try:
            self.session.sql(f"DROP TABLE IF EXISTS {name} PURGE")  # not into a trash
        except Exception:  # a catalog without one
            self.session.sql(f"DROP TABLE IF EXISTS {name}")


def _is_draft(table: str) -> bool:
    return table.startswith(_DRAFT) and is_draft_number(table[len(_DRAFT) :])


def _describe_leftover(name: TableName) -> str:
    return (
        f"the table {name} is from a run that was killed, or that still writes, and holds rows that were not "
        f"verified: if no run writes there, DROP TABLE {name} PURGE"
    )
