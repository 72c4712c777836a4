"""Where the tables of a policy are: files next to it, or tables in databases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.frames.databases import DatabaseTable, in_database
from shoal.frames.formats import scheme_of
from shoal.wording import either

if TYPE_CHECKING:
    from shoal.policy.parts import Data, InDatabase


def located(source: str, part: InDatabase, base: Path) -> Any:
    """Return a file relative to a folder, or a table in a database."""
    if not scheme_of(source):
        return in_database(base / source, part.table, part.query)
    found = in_database(source, part.table, part.query)
    return found.beside(base) if isinstance(found, DatabaseTable) else found


def own_source(data: Data, base: Path) -> Any:
    """Return the table that `[data]` names, or raise DataError."""
    if data.source is None:
        hint = either(command="name it (for a release: --original)", python="give a path or a frame")
        raise DataError(f"no data is given; {hint}, or write `source` into [data] of the policy")
    return located(data.source, data, base)


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
