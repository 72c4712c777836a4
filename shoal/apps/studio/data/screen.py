"""The screen Data: open a table, look at it, and say how it is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from shoal.apps.samples import SAMPLES, write_sample
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.form_values import read_count, read_database, read_field
from shoal.apps.studio.page import render_part
from shoal.apps.studio.project import Project
from shoal.apps.studio.screens import Action, State
from shoal.errors import DataError, ShoalError
from shoal.io.formats import FORMATS, scheme_of, suffix_of, suffixes
from shoal.support.wording import Advice, format_count, printable

if TYPE_CHECKING:
    from shoal.apps.studio.form_fields import Field

WIDE = 24
"""Columns that a page shows at once."""
FIRST_SAMPLE = "patients"
"""The sample that a first visit is offered."""
SAMPLE_ROWS = 2_000
MOST_SAMPLE_ROWS = 2_000_000
"""A sample is made in memory, while the page waits for it."""
PLACE = ("source", "table", "query")
"""What `[data]` says about where the table is; the other options say how it is read."""
NEARBY = 12
"""Tables in the folder in which Studio was started, at most this many."""


def state(project: Project) -> State:
    """Return whether a table is open."""
    if project.opening:
        return State("open", "being read")
    if project.frame is None:
        return State("problem", "could not be opened") if project.failed else State("open", "open a table")
    size = f"{format_count(project.frame.rows, 'row')}, {format_count(len(project.frame.columns), 'column')}"
    warned = sum(bool(guess.warning) for guess in project.suggestion.columns) if project.suggestion else 0
    return State("attention", f"{size}; {format_count(warned, 'warning')}") if warned else State("done", size)


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return the table's first rows, or what can be opened."""
    found: dict[str, Any] = {
        "samples": sorted(SAMPLES.values(), key=lambda one: one.name != FIRST_SAMPLE),
        "sample_rows": SAMPLE_ROWS,
        "first_sample": FIRST_SAMPLE,
        "nearby": [] if project.opening else _nearby(),
        "endings": ",".join([*suffixes(), ".toml"]),
        "reading": _view_reading_options(project),
        "frame": None,
        "stored": _view_last_database(project),
        "addresses": _addresses(),
    }
    return found | (_view_table(project) if project.frame is not None else {})


def take_file(project: Project, path: Path, name: str, query: QueryParams) -> None:
    """Open a table that was dropped, or take a policy for the open one."""
    if name.lower().endswith(".toml"):
        _open_policy(project, path, name)
    else:
        project.open(Source(path, name, kept=True))


# --- what the page shows ----------------------------------------------------------------------------------


def _view_table(project: Project) -> dict[str, Any]:
    from shoal.apps.studio.data.column_facts import columns_of
    from shoal.apps.studio.data.rows import CHUNK, window

    columns, suggestion = columns_of(project), project.suggestion
    frame = columns.frame
    first = _first_column(project)
    names = columns.names[first : first + WIDE]
    roles = project.section("columns")
    return {
        "frame": frame,
        "heads": [
            {
                "place": place,
                "name": name,
                "type": columns.type_of(place),
                "role": _role(roles.get(name)),
                "facts": columns.facts(place),
            }
            for place, name in enumerate(names, first)
        ],
        "first_column": first,
        "column_pages": [
            (start, min(start + WIDE, len(columns.names)), columns.names[start])
            for start in range(0, len(columns.names), WIDE)
        ],
        "rows": window(frame, 0, CHUNK, names),
        "chunk": CHUNK,
        "size": None if frame.path is None else frame.path.stat().st_size if frame.path.exists() else None,
        "format": frame.kind,
        "identifying": suggestion.identifying if suggestion else (),
        "looked_at": suggestion.looked_at if suggestion else 0,
        "warnings": [(guess.name, guess.warning) for guess in suggestion.columns if guess.warning]
        if suggestion
        else [],
        "counting": columns.is_counting,
    }


def _role(entry: Any) -> str:
    return str(entry.get("role", "") if isinstance(entry, dict) else entry or "")


def _first_column(project: Project) -> int:
    frame = project.frame
    kept = project.store.get("data", {}).get("first", 0)
    return int(kept) if frame is not None and kept < len(frame.columns) else 0


def _view_reading_options(project: Project) -> list[Field]:
    """Return the reading options, with those that were detected."""
    if project.frame is None and project.failed is None:
        return []
    from shoal.apps.studio.form_fields import fields_of
    from shoal.policy.sections import Data as Reading

    used = asdict(project.frame.options) if project.frame is not None else {}
    asked = project.tried if project.frame is None else project.section("data")
    return fields_of(Reading, asked, used=used, without=PLACE)


def _view_last_database(project: Project) -> dict[str, str]:
    """Return the database that the user tried last, to fill in its form."""
    tried = project.failed[0] if project.failed is not None else project.source
    place = None if tried is None or isinstance(tried.place, str | Path) else tried.place
    if place is None:
        return {"address": "", "table": "", "query": ""}
    return {"address": str(place.source), "table": place.table or "", "query": place.query or ""}


def _nearby() -> list[str]:
    """Return tables in the folder in which Studio was started."""
    try:
        names = sorted(entry.name for entry in os.scandir() if entry.is_file() and suffix_of(entry.name))
    except OSError:
        return []
    return [name for name in names if printable(name) == name][:NEARBY]


def _rows(project: Project, query: QueryParams) -> Response:
    """Return a chunk of rows."""
    from shoal.apps.studio.data.rows import CHUNK, window

    if project.frame is None:
        raise DataError("no table is open yet")
    first = read_count(query, "first", 0)
    names = project.frame.columns[_first_column(project) :][:WIDE]
    return render_part("data_rows.html", rows=window(project.frame, first, CHUNK, names))


# --- what can be done -------------------------------------------------------------------------------------


def _open_path(project: Project, form: FormData) -> None:
    given, policy = read_field(form, "path"), read_field(form, "policy")
    if not given:
        raise DataError("no path was given; name a file, such as ~/visits.csv")
    place = read_database(form, given) if scheme_of(given) else Path(given).expanduser()
    project.open(Source(place, str(place)), Path(policy).expanduser() if policy else None)


def _open_database(project: Project, form: FormData) -> None:
    """Open a table of a database, or the result of a query."""
    address = read_field(form, "address")
    if not scheme_of(address):
        known = ", ".join(_addresses())
        raise DataError(f"this is not the address of a database; it begins with {known}")
    place = read_database(form, address)
    project.open(Source(place, str(place)))


def _addresses() -> list[str]:
    """Return how the addresses of databases begin."""
    return [f"{scheme}://" for kind in FORMATS.values() if kind.is_database for scheme in kind.schemes]


def _open_nearby(project: Project, form: FormData) -> None:
    name = str(form["name"])
    if name not in _nearby():
        raise DataError(f"{name} is not in the folder any more")
    project.open(Source(Path(name), name))


def _open_policy(project: Project, path: Path, name: str) -> None:
    """Take a policy for the table that it names, else for the open one."""
    from shoal.policy import Policy

    try:
        policy = Policy.read(path)
    except ShoalError as error:  # it lies under another name in Studio's folder
        words = str(error)
        raise DataError(Advice(words.replace(str(path), name).replace(path.name, name), words)) from None
    if policy.data.source is not None and project.source is None:
        place = policy.source()
        project.open(Source(place, str(place)), path)
    elif project.source is not None:
        project.open(project.source, path)
    else:
        raise DataError(f"{name} is a policy: open its table first, then drop the policy again")


def _open_sample(project: Project, form: FormData) -> None:
    name = str(form["name"])
    rows = read_count(form, "rows", 0) or SAMPLE_ROWS
    if rows > MOST_SAMPLE_ROWS:
        raise DataError(f"{rows:,} rows are too many for a sample: ask for at most {MOST_SAMPLE_ROWS:,}")
    table, policy, *_ = write_sample(name, rows, project.folder.inside("files") / f"{name}.csv", force=True)
    project.tour = project.tour or bool(form.get("tour"))
    project.open(Source(table, table.name, kept=True), policy if form.get("policy") else None)


def _read_so(project: Project, form: FormData) -> None:
    """Take reading options; the table is read again if they differ."""
    from shoal.apps.studio.form_fields import taken
    from shoal.policy.sections import Data as Reading

    settings = taken(Reading, {key: form[key] for key in form if key not in PLACE}, "data")
    if project.failed is not None and project.frame is None:
        project.open(*project.failed, settings)
        return
    with project.edit("reading options") as tables:
        former = tables.pop("data", {})
        settings.update({key: former[key] for key in PLACE if key in former})
        if settings:
            tables["data"] = settings


def _turn(project: Project, form: FormData) -> None:
    """Show other columns."""
    from shoal.apps.studio.data.column_facts import columns_of

    columns = columns_of(project)
    wanted = str(form.get("name", ""))
    first = columns.names.index(wanted) if wanted in columns.names else read_count(form, "first", 0)
    project.store.setdefault("data", {})["first"] = min(first, len(columns.names) - 1) // WIDE * WIDE


PARTS = {"rows": _rows}
ACTIONS: Mapping[str, Action] = {
    "path": _open_path,
    "database": _open_database,
    "sample": _open_sample,
    "nearby": _open_nearby,
    "reading": _read_so,
    "columns": _turn,
}
