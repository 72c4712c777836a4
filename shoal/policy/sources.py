"""Where the tables of a policy are: files next to it, or tables in databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.hierarchy.kinds.file import File
from shoal.errors import DataError
from shoal.io.databases import DatabaseTable, in_database
from shoal.io.databases.database_table import database_at
from shoal.io.formats import scheme_of
from shoal.io.output_checks import file_of
from shoal.policy import toml
from shoal.policy.file_limits import places_in
from shoal.support.wording import either

if TYPE_CHECKING:
    from shoal.policy.policy import Policy
    from shoal.policy.sections import Data, InDatabase


def locate_source(source: str, part: InDatabase, base: Path) -> Any:
    """Return a file relative to a folder, or a table in a database."""
    if not scheme_of(source):
        return in_database(base / source, part.table, part.query)
    found = in_database(source, part.table, part.query)
    return found.beside(base) if isinstance(found, DatabaseTable) else found


def inputs_of(policy: Policy) -> dict[Any, str]:
    """Return the file of a policy, every file and table that it names, and what each is. Nothing may be written over
    them: who wrote the policy would decide what is lost.
    """
    base, population = policy.base, policy.population
    found: dict[Any, str] = {} if policy.file is None else {policy.file: "the policy"}
    if policy.data.source is not None and (
        file := file_of(locate_source(policy.data.source, policy.data, base))
    ):
        found[file] = "the data that the policy names"
    if population is not None and population.file is not None:
        found[locate_source(population.file, population, base)] = "the population"
    for one in policy.earlier:
        found |= dict.fromkeys(one.values(), "an earlier release")
    for name, column in policy.columns.items():
        kind = parse_hierarchy(column.hierarchy) if column.hierarchy is not None else None
        if isinstance(kind, File):
            found[base / kind.path] = f"the hierarchy of '{name}'"
    if policy.utility.workload is not None:
        found[base / policy.utility.workload] = "the workload"
    return found


def own_source(data: Data, base: Path) -> Any:
    """Return the table that `[data]` names, or raise DataError."""
    if data.source is None:
        hint = either(command="name it (for a release: --original)", python="give a path or a frame")
        raise DataError(f"no data is given; {hint}, or write `source` into [data] of the policy")
    return locate_source(data.source, data, base)


def with_table(given: Any, data: Data) -> Any:
    """Return a given source; if it is a database and names no table, with the table or query of `[data]`."""
    found = in_database(given)
    if isinstance(found, DatabaseTable) and found.table is None and found.query is None:
        return in_database(found, data.table, data.query)
    return found


def apart(population: Any, keywords: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the population that was given as a path or a frame, and the keywords of a policy: a table of settings,
    such as ``{"size": 9_000_000}``, is a section of the policy.
    """
    if isinstance(population, Mapping):
        return None, {**keywords, "population": population}
    return population, dict(keywords)


def without_folders(text: str) -> str:
    """Return the text of a policy in which no file has an absolute path: a document that leaves this machine must not
    say where its users keep their files.
    """
    tables = toml.parse_toml(text, "policy")
    found = [(part, key) for _, part, key in places_in(tables) if _is_absolute(part[key])]
    for part, key in found:
        part[key] = name_of(part[key])
    return toml.document(tables) if found else text


def name_of(place: str) -> str:
    """Return the name of a file, or the address of a database in a file, without the folder; other addresses as they
    are.
    """
    name, database = PureWindowsPath(_path_in(place)).name, database_at(place)
    if not name or database is None:
        return name or place
    return replace(database.address(place), name=name).beside(Path())


def _is_absolute(place: object) -> bool:
    path = _path_in(place) if isinstance(place, str) else ""
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def _path_in(place: str) -> str:
    """Return the path of the file that a table is in; empty for a table elsewhere."""
    database = database_at(place)
    if database is None:
        return "" if scheme_of(place) else place
    return database.address(place).name if database.in_file else ""
