"""Tables that appear in a database complete and verified, or not at all.

Everything happens in one transaction. A table is created under a temporary name, filled, read back and compared; then
it gets its name, and the transaction ends. If anything fails before, or the process is killed, the database undoes it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, OutputError
from shoal.io.databases.database import Wanted
from shoal.io.databases.database_table import DatabaseTable
from shoal.io.databases.sql_names import TableName, quote_name
from shoal.io.draft_folders import Draft
from shoal.io.links import follow_links
from shoal.support.wording import either

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.databases.database import Database
    from shoal.io.databases.sessions import Session


class Pending:
    """Tables in one database that wait for their names."""

    def __init__(self, stored: DatabaseTable, *, force: bool) -> None:
        """Connect, and begin a transaction. A file that does not exist yet is written under a temporary name."""
        self.database: Database = stored.database
        self.force = force
        self.notes: list[str] = []
        """What a user should know about tables that are replaced."""
        self.draft: Draft | None = None
        """The file, if it is new."""
        self._waiting: list[tuple[DatabaseTable, TableName, TableName]] = []
        self._stack, given = ExitStack(), stored
        if self.database.in_file and not Path(self.database.address(stored.source).name).exists():
            self.draft = Draft(follow_links(self.database.address(stored.source).name), private=False)
            self._stack.callback(self.draft.close)
            place = self.database.address(stored.source)
            stored = replace(stored, source=str(replace(place, name=str(self.draft.path))))
        try:
            if self.draft is not None:
                with self.draft.create() as file:
                    file.write(self.database.empty())
            self.session: Session = self._stack.enter_context(
                self.database.open_session(stored, writing=True)
            )
        except BaseException as error:
            self._stack.close()
            if isinstance(error, OSError):
                raise OutputError(f"{given.place} could not be written: {error.strerror}") from None
            if isinstance(error, self.database.errors()):  # of the empty file
                self.database.fail(error, given, OutputError)
            raise

    @property
    def tables(self) -> list[DatabaseTable]:
        """What is waiting, in the order in which it was written."""
        return [stored for stored, _, _ in self._waiting]

    def publish(self, data: pl.DataFrame, stored: DatabaseTable) -> tuple[pl.DataFrame, str]:
        """Write a table, and return it as it is read from the database, and what differs in words."""
        import polars as pl

        from shoal.io.read_back import compare_returned

        database, session = self.database, self.session
        try:
            target = database.target(session, stored)
            draft = target.with_name(f"shoal_{secrets.token_hex(12)}")
            if any(target == other for _, other, _ in self._waiting):
                raise OutputError(
                    f"{stored} would be written twice; choose another name for one of the tables"
                )
            database.create(session, draft, database.fit_table(data))
            self._waiting.append((stored, target, draft))
            if self.force and target in database.tables(session):
                self.notes += database.lost_with(session, target)
            wanted = Wanted(f"SELECT * FROM {draft.sql}", str(stored), draft)
            try:
                return compare_returned(database.data(session, wanted), data)
            except (DataError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
                return data, "the table"  # the message may show values
        except database.errors() as error:
            database.fail(error, stored, OutputError)

    def rename(self) -> None:
        """Give all tables their names. Nobody else sees it before `commit`."""
        for stored, target, draft in self._waiting:
            try:
                if target in self.database.tables(self.session):
                    if not self.force:
                        raise OutputError(
                            f"{stored} was created in the meantime; choose another name, or use {hint_at_replacing()}"
                        )
                    self.session.execute(f"DROP TABLE {target.sql}")
                self.session.execute(f"ALTER TABLE {draft.sql} RENAME TO {quote_name(target.table)}")
            except self.database.errors() as error:
                self.database.fail(error, stored, OutputError)

    def commit(self) -> None:
        """Let everybody see the tables."""
        try:
            self.session.commit()
        except self.database.errors() as error:
            self.database.fail(error, self._waiting[0][0], OutputError)
        if self.draft is not None:
            self.session.close()  # its file is complete now
            try:
                self.draft.appear(force=False)
            except FileExistsError:
                message = f"{self.draft.target} was created in the meantime; choose another name"
                raise OutputError(message) from None
            except OSError as error:
                raise OutputError(f"{self.draft.target} could not be written: {error.strerror}") from None

    def close(self) -> None:
        """Undo what was not committed, and end the connection."""
        self._stack.close()


def hint_at_replacing() -> str:
    """Return the hint how to allow replacing an existing file or table."""
    return either(command="--force", python="force=True", studio="the box 'replace files that exist'")


def check_target(stored: DatabaseTable, *, force: bool) -> None:
    """Raise `OutputError` if a table of this name cannot be written. Call this before long work."""
    database = stored.database
    if stored.table is None:
        how = either(command="--output-table NAME", python="table=..")
        raise OutputError(f"{stored.place}: say which table to write, {how}")
    if database.in_file:
        path = follow_links(database.address(stored.source).name)
        if not path.parent.is_dir():
            raise OutputError(f"{stored.place}: there is no directory {path.parent}; create it first")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise OutputError(f"{stored.place}: no permission to write there")
        if not path.exists():
            missing = database.what_to_install(writing=True)
            if missing:
                raise OutputError(f"{stored.place}: {missing}")
            return
    with database.open_session(stored, writing=True) as session:
        target = database.target(session, stored)
        if target not in database.tables(session):
            return
        if not force:
            raise OutputError(
                f"{stored} exists already; choose another name, or replace it with {hint_at_replacing()}"
            )
        reason = database.irreplaceable(session, target)
        if reason:
            raise OutputError(f"{stored}: {reason}")


def check_kept(sources: Sequence[object], outputs: Sequence[object]) -> None:
    """Refuse to replace a table that is read, which not even --force allows."""
    for source in sources:
        for output in outputs:
            if isinstance(source, DatabaseTable) and isinstance(output, DatabaseTable):
                _check_kept(source, output)


def _check_kept(source: DatabaseTable, output: DatabaseTable) -> None:
    database = output.database
    if source.database.name != database.name or output.table is None:
        return
    if database.in_file and not Path(database.address(output.source).name).exists():
        return
    with database.open_session(output, writing=True) as session:
        place, target = database.identity(session), database.target(session, output)
    with source.database.open_session(source) as session:
        if database.identity(session) != place:
            return
        read = database.read_by(session, database.resolve_selection(session, source))
    if target in read:
        raise OutputError(f"{output} would replace the data; choose another name")
