"""Options that say where tables are: the data of a command, or a release that was received."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.apps.cli.command_options import PATH, combine_options, gather
from shoal.errors import COMMAND_LINE, PolicyError, Problem

if TYPE_CHECKING:
    from shoal.policy import Policy


class _Source(click.Path):
    """A file, or the URI of another source, which a path would garble: ``a://b`` would become ``a:/b``."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        from shoal.io.databases import in_database
        from shoal.io.formats import REMOTE, format_of, scheme_of

        if not scheme_of(value):
            in_database(value)  # raises if it is the address of a database in another form
            return super().convert(value, parameter, context)
        if scheme_of(value) in REMOTE:
            return value  # the engine says whether it can read from there
        format_of(value)  # raises if Shoal cannot read from there
        return in_database(value)  # raises if it contains a password


SOURCE = _Source(path_type=Path)
"""Where a table comes from: a path, or a table in a database."""

TARGET = SOURCE
"""Where a release goes: the same."""


def _in_database(of: str) -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option("--table", metavar="NAME", help=f"The table, if {of} is a database."),
        click.option("--query", metavar="SELECT", help=f"A query instead of a table, if {of} is a database."),
    )


def chosen_source(source: Any, table: str | None, query: str | None, beside: Any = None) -> Any:
    """Return a source with its table or query. Without one, a table is in the database of the source `beside` it."""
    from shoal.io.databases import DatabaseTable, in_database

    if source is None and (table is not None or query is not None):
        if not isinstance(beside, DatabaseTable):
            option = "a table" if table is not None else "a query"
            raise PolicyError(
                [Problem(option, "is given, but no database", "give its address too")], where=COMMAND_LINE
            )
        source = DatabaseTable(beside.source)
    return None if source is None else in_database(source, table, query)


def _source_of(policy: Policy) -> Any:
    return policy.source() if policy.data.source is not None else None


@dataclass(frozen=True)
class Data:
    """The table that a command is about, as the command line names it."""

    data: Any
    table: str | None
    query: str | None

    def find(self, policy: Policy | None = None) -> Any:
        """Return where the table is: as named on the command line, else in the policy."""
        if policy is None:
            return chosen_source(self.data, self.table, self.query)
        if self.data is None and policy.data.source is None:
            hint = "name a file or a database, or write `source` into [data] of the policy"
            raise PolicyError([Problem("DATA", "is missing", hint)], where=COMMAND_LINE)
        return policy.source(chosen_source(self.data, self.table, self.query, _source_of(policy)))


def data(*, required: bool = False) -> Callable[[Any], Any]:
    """Return the argument DATA with its options."""
    argument = click.argument("data", type=SOURCE, required=required)
    return combine_options(gather("data", Data, "data", "table", "query"), argument, *_in_database("DATA"))


@dataclass(frozen=True)
class Received:
    """A release that was received, with what it was made from and how it is read."""

    release: Any
    original: Any
    second: Any
    suppressed_as: str | None
    record: Path | None

    def check_readable(self) -> None:
        """Refuse what Shoal cannot read."""
        check_readable(self.release, self.original, self.second)

    @property
    def keywords(self) -> dict[str, Any]:
        """What the functions that judge a release take besides the release."""
        return {
            "original": self.original,
            "second": self.second,
            "suppressed_as": self.suppressed_as,
            "record": self.record,
        }

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What must not be overwritten; None where something was not given."""
        return self.release, self.second, self.original, self.record


@dataclass(frozen=True)
class ReceivedOptions:
    """A release that was received, as the command line names it; the policy may complete it."""

    release: Any
    original: Any
    original_table: str | None
    original_query: str | None
    second: Any
    suppressed_as: str | None
    record: Path | None
    table: str | None = None
    query: str | None = None
    second_table: str | None = None

    def find(self, policy: Policy, *, with_original: bool = True) -> Received:
        """Find the release, its original and its second table. Unless it is to come with its original, that counts only
        if it is given.
        """
        release = chosen_source(self.release, self.table, self.query)
        before = (self.original, self.original_table, self.original_query)
        original = None
        if with_original or any(one is not None for one in before):
            beside = _source_of(policy)
            original = policy.source(
                chosen_source(*before, beside if _is_database_table(beside) else release)
            )
        second = chosen_source(self.second, self.second_table, None, release)
        return Received(release, original, second, self.suppressed_as, self.record)


def add_release_options(*, default_original: str = "", file: bool = False) -> Callable[[Any], Any]:
    """Return the argument RELEASE with the options about it; it may be required to be a `file`."""
    in_database = () if file else _in_database("RELEASE")
    of_second = click.option(
        "--second-table",
        metavar="NAME",
        help="The table that is the second one of the release, in the database of --second or RELEASE.",
    )
    return combine_options(
        gather("received", ReceivedOptions, *ReceivedOptions.__dataclass_fields__),
        click.argument("release", type=PATH if file else SOURCE, required=not file),
        *in_database,
        click.option(
            "--original",
            type=SOURCE,
            help=f"The data that the release was made from{default_original}.",
        ),
        click.option(
            "--original-table",
            metavar="NAME",
            help="The table of the original, if it is in a database [that of --original, the policy, or RELEASE].",
        ),
        click.option("--original-query", metavar="SELECT", help="A query instead of --original-table."),
        click.option(
            "--second",
            type=SOURCE,
            help="The second table, if the release has two [RELEASE-sensitive.*, if that file exists].",
        ),
        *(() if file else (of_second,)),
        click.option(
            "--suppressed-as",
            metavar="TEXT",
            help="Rows that show this text in every quasi-identifier, such as '*', count as suppressed [none do].",
        ),
        click.option(
            "--record",
            type=PATH,
            help="The private record of the run that made the release; it says how the release was made.",
        ),
    )


def _is_database_table(source: Any) -> bool:
    from shoal.io.databases import DatabaseTable

    return isinstance(source, DatabaseTable)


@dataclass(frozen=True)
class Earlier:
    """Earlier releases of the same people, as the command line names them."""

    earlier_releases: tuple[Any, ...]
    earlier_originals: tuple[Any, ...]
    earlier_records: tuple[Any, ...]

    @property
    def inputs(self) -> tuple[Any, ...]:
        """All their files."""
        return *self.earlier_releases, *self.earlier_originals, *self.earlier_records

    def find(self) -> list[dict[str, Any]]:
        """Return the earlier releases, each with its original and record."""
        releases, originals, records = self.earlier_releases, self.earlier_originals, self.earlier_records
        for name, given in (("--earlier-original", originals), ("--earlier-record", records)):
            if given and len(given) != len(releases):
                problem = Problem(
                    name,
                    f"is given {len(given):,} times, but --earlier {len(releases):,} times",
                    "give one for each earlier release, in the same order",
                )
                raise PolicyError([problem], where=COMMAND_LINE)
        check_readable(*releases, *originals)
        none = (None,) * len(releases)
        return [
            {"release": release, "original": original, "record": record}
            for release, original, record in zip(releases, originals or none, records or none, strict=True)
        ]


earlier = combine_options(
    gather("earlier", Earlier, *Earlier.__dataclass_fields__),
    click.option(
        "--earlier",
        "earlier_releases",
        type=SOURCE,
        multiple=True,
        help="An earlier release of the same people, to intersect with; may be repeated.",
    ),
    click.option(
        "--earlier-original",
        "earlier_originals",
        type=SOURCE,
        multiple=True,
        help="What an earlier release was made from, in the order of --earlier.",
    ),
    click.option(
        "--earlier-record",
        "earlier_records",
        type=PATH,
        multiple=True,
        help="The private record of an earlier release, in the order of --earlier.",
    ),
)
"""Earlier releases of the same people."""


def check_readable(*sources: Any) -> None:
    """Refuse what Shoal cannot read, before importing anything that takes time. Asks for the password of a database, if
    it must.
    """
    from shoal.io.databases import DatabaseTable, passwords
    from shoal.io.formats import format_of
    from shoal.io.formats.format import check_readable as check

    passwords.ask_with(_password if sys.stdin is not None and sys.stdin.isatty() else None)
    for source in sources:
        if isinstance(source, DatabaseTable):
            source.database.check(source)
        elif source is not None:
            found = format_of(source)
            if isinstance(source, Path) and found.suffixes:  # a folder of files has none
                check(source)


def chosen_output(output: Any, table: str | None) -> Any:
    """Return where a release goes, with its table in a database. Asks for a password, if the server wants one."""
    from shoal.io.databases import DatabaseTable
    from shoal.io.formats import format_of

    if table is not None and not isinstance(output, DatabaseTable):
        problem = Problem("--output-table", f"goes with a database, and {output} is a file", "leave it out")
        raise PolicyError([problem], where=COMMAND_LINE)
    if isinstance(output, str):
        format_of(output)  # raises: only Spark writes there
    output = chosen_source(output, table, None)
    if isinstance(output, DatabaseTable) and not output.database.in_file:
        with output.database.open_session(output, writing=True):
            pass
    return output


def _password(address: str) -> str:
    """Ask for a password on the terminal, without showing it."""
    import getpass

    try:
        return getpass.getpass(f"Password for {address}: ")
    except EOFError:
        return ""
