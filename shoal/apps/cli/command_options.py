"""Options that several commands have."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.errors import COMMAND_LINE, PolicyError, Problem

if TYPE_CHECKING:
    from shoal.policy import Policy

USUAL_K = 5
"""Without a policy file and without --k."""
PATH = click.Path(path_type=Path)
"""Files and folders. The code that uses them checks that they exist: its messages say more."""


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


LOCAL = "local"
"""The engine that reads files itself, so that they can be checked before the work."""

SOURCE = _Source(path_type=Path)
"""Where a table comes from: a path, or a table in a database."""

TARGET = SOURCE
"""Where a release goes: the same."""


def stacked(*added: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return several options as one, in their order."""

    def add(command: Any) -> Any:
        for option in reversed(added):
            command = option(command)
        return command

    return add


table = click.option("--table", metavar="NAME", help="The table, if DATA is a database.")
query = click.option("--query", metavar="SELECT", help="A query instead of a table, if DATA is a database.")
release_table = click.option("--table", metavar="NAME", help="The table, if RELEASE is a database.")
release_query = click.option(
    "--query", metavar="SELECT", help="A query instead of a table, if RELEASE is a database."
)
original_table = click.option(
    "--original-table",
    metavar="NAME",
    help="The table of the original, if it is in a database [that of --original, the policy, or RELEASE].",
)
original_query = click.option(
    "--original-query", metavar="SELECT", help="A query instead of --original-table."
)
second_table = click.option(
    "--second-table",
    metavar="NAME",
    help="The table that is the second one of the release, in the database of --second or RELEASE.",
)

policy_file = click.option(
    "-p", "--policy", "policy_file", type=PATH, required=True, help="The policy, a TOML file."
)
settings = click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Change the policy: privacy.k=10."
)
original = click.option(
    "--original", type=SOURCE, help="The data that the release was made from [that of the policy]."
)
second = click.option(
    "--second",
    type=SOURCE,
    help="The second table, if the release has two [RELEASE-sensitive.*, if that file exists].",
)
suppressed_as = click.option(
    "--suppressed-as",
    metavar="TEXT",
    help="Rows that show this text in every quasi-identifier, such as '*', count as suppressed [none do].",
)
record = click.option(
    "--record",
    type=PATH,
    help="The private record of the run that made the release; it says how the release was made.",
)
codebooks = click.option(
    "--codebook",
    "codebooks",
    multiple=True,
    type=PATH,
    help="Write what each column and label means here (.md, .json, .csv, .jsonld, datapackage.json; may be given "
    "several times).",
)
sign_off = stacked(
    click.option("--owner", default="", help="Who owns the data. What is not given is a line to write on."),
    click.option("--purpose", default="", help="What the release is for."),
    click.option("--recipient", default="", help="Who gets the release."),
    click.option("--date", default="", help="The date of the sign-off, as you write it."),
    click.option(
        "--signed-by", default="", help="Who approves the release. The signature is written by hand."
    ),
)
"""What a person says about a release."""
engine = click.option(
    "--engine",
    type=click.Choice([LOCAL, "spark"]),
    help="Where the work is done: on this machine, or on Apache Spark [that of the policy].",
)
force = click.option("--force", is_flag=True, help="Replace existing files.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def names_of(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Complete the names of a registry."""

    def complete(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        names = [*registry(kind), "auto"] if kind == "methods" else registry(kind)
        return [name for name in names if name.startswith(typed)]

    return complete


def registry(kind: str) -> Any:
    """Return the registry of a kind of thing: methods, models, measures or attacks."""
    folder = "shoal" if kind == "methods" else "shoal.judging"
    return getattr(import_module(f"{folder}.{kind}"), kind.upper())


def listed(_context: click.Context, _parameter: click.Parameter, text: str | None) -> list[str]:
    """Split a list of names, ``a,b``."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def role(name: str, what: str, metavar: str = "A,B,..") -> Callable[[Any], Any]:
    """Return the option for the columns with a role."""
    return click.option(f"--{name}", callback=listed, metavar=metavar, help=f"Without a policy: {what}.")


quasi = role("quasi", "the quasi-identifiers")
sensitive = role("sensitive", "the sensitive columns")
person = role("person", "columns that say whose a row is; guarantees then count people")


def _groups(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, list[str]]:
    """Read groups of people, ``household=a,b``."""
    found: dict[str, list[str]] = {}
    for text in given:
        kind, sign, names = text.partition("=")
        if not kind.strip() or not sign or not listed(_context, _parameter, names):
            raise click.BadParameter(f"{text!r} names no columns; for example household=address")
        found.setdefault(kind.strip(), []).extend(listed(_context, _parameter, names))
    return found


groups = click.option(
    "--group",
    "groups",
    multiple=True,
    callback=_groups,
    metavar="KIND=A,B,..",
    help="Without a policy: columns that name groups of people, such as household=address; guarantees then count "
    "these as well.",
)


def with_engine(settings: tuple[str, ...], engine: str | None) -> tuple[str, ...]:
    """Return the settings of a command with the engine that it names."""
    return settings if engine is None else (*settings, f"engine.name={engine}")


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


def chosen_data(policy: Policy, source: Any, table: str | None, query: str | None) -> Any:
    """Return the table that a command is about: named on the command line, else in the policy."""
    if source is None and policy.data.source is None:
        hint = "name a file or a database, or write `source` into [data] of the policy"
        raise PolicyError([Problem("DATA", "is missing", hint)], where=COMMAND_LINE)
    beside = policy.source() if policy.data.source is not None else None
    return policy.source(chosen_source(source, table, query, beside))


def chosen_original(policy: Policy, source: Any, table: str | None, query: str | None, release: Any) -> Any:
    """Return the original: named on the command line, else in the policy; a table alone is in one of the databases."""
    beside = policy.source() if policy.data.source is not None else None
    return policy.source(chosen_source(source, table, query, beside if _stored(beside) else release))


def _stored(source: Any) -> bool:
    from shoal.io.databases import DatabaseTable

    return isinstance(source, DatabaseTable)


def chosen_tables(
    policy: Policy, release: Any, given: dict[str, Any], *, original: bool = True
) -> tuple[Any, Any, Any]:
    """Return the release, the original and the second table, and remove what names them from what was `given`. Unless
    the `original` is needed, it counts only if it is given.
    """
    names = ("table", "query", "original", "original_table", "original_query", "second", "second_table")
    table, query, *before, second, second_table = (given.pop(name, None) for name in names)
    release = chosen_source(release, table, query)
    found = None
    if original or any(one is not None for one in before):
        found = chosen_original(policy, before[0], before[1], before[2], release)
    return release, found, chosen_source(second, second_table, None, release)


earlier = stacked(
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


def chosen_earlier(
    releases: tuple[Any, ...], originals: tuple[Any, ...], records: tuple[Any, ...]
) -> list[dict[str, Any]]:
    """Return the earlier releases, each with its original and record."""
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
        with output.database.opened(output, writing=True):
            pass
    return output


def _password(address: str) -> str:
    """Ask for a password on the terminal, without showing it."""
    import getpass

    try:
        return getpass.getpass(f"Password for {address}: ")
    except EOFError:
        return ""


def policy_of(path: Path, settings: tuple[str, ...]) -> Policy:
    """Read a policy file, and apply the settings of the command line."""
    from shoal.policy import Policy

    return Policy.read(path, settings)


def chosen_policy(
    path: Path | None, settings: tuple[str, ...], method: str | None, k: int | None, roles: Mapping[str, Any]
) -> Policy:
    """Return the policy of a command, from a file or from roles on the command line, with all settings applied."""
    from shoal.policy import Policy

    if path is not None:
        problems = [
            Problem(
                f"--{name.replace('_', '-').removesuffix('s')}",
                "cannot be combined with a policy file",
                "give one or the other",
            )
            for name, columns in roles.items()
            if columns
        ]
        if problems:
            raise PolicyError(problems, where=COMMAND_LINE)
    elif not roles["quasi"]:
        hint = "give -p POLICY, or --quasi with --k; `shoal init` writes one"
        raise PolicyError([Problem("policy", "is missing", hint)], where=COMMAND_LINE)
    # The options say the same as settings do, so two that differ are a contradiction.
    changes = [*settings]
    changes += [] if method is None else [f"method.name={json.dumps(method)}"]
    changes += [] if k is None else [f"privacy.k={k}"]
    if path is not None:
        return Policy.read(path, changes)
    policy = Policy.from_keywords(**roles, k=USUAL_K)
    return policy.override(changes) if changes else policy
