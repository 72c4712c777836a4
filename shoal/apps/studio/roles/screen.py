"""The screen Roles: what each column is, why Shoal thinks so, and who is unique by the quasi-identifiers."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from polars.exceptions import PolarsError
from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from shoal.apps.studio.data.column_facts import Columns, columns_of
from shoal.apps.studio.form_fields import fields_of, taken
from shoal.apps.studio.form_values import pick, read_field
from shoal.apps.studio.page import render_part
from shoal.apps.studio.project import Project
from shoal.apps.studio.roles.changes import find_columns, give_role, options_for, role_in
from shoal.apps.studio.screens import Action, State
from shoal.coding.roles import PERSON, QUASI, ROLES, SENSITIVE
from shoal.errors import DataError, check_known
from shoal.io import Frame
from shoal.policy.column_section import Column
from shoal.policy.privacy import SENSITIVE_KEYS
from shoal.policy.problems import format_path
from shoal.policy.suggestions.column_uniqueness import find_identifying_sets, minimal_sets
from shoal.policy.suggestions.hierarchy_guess import suggest_hierarchy
from shoal.policy.suggestions.sensitivity import as_privacy, distribution_of, protect_columns
from shoal.support.wording import format_count, printable

PAUSE = 1.0
"""Seconds after the last change of a role after which sets of columns are counted."""
FEW = 50_000
"""Up to this many cells, sets of columns are counted before the page is shown."""


def state(project: Project) -> State:
    """Return how many columns are quasi-identifiers and sensitive, or what is wrong."""
    own = project.problems_at("columns")
    if own:
        return State("problem", own[0].message)
    assert project.frame is not None
    tables = project.tables
    given = [role_in(tables, name) for name in project.frame.columns]
    quasi, sensitive = given.count(QUASI), given.count(SENSITIVE)
    words = f"{format_count(quasi, 'quasi-identifier')}, {sensitive} sensitive"
    return State("done", words) if sensitive else State("attention", f"{words}; is nothing secret?")


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return every column with its role, guess and counts."""
    columns, tables = columns_of(project), project.tables
    guesses = {guess.name: guess for guess in project.suggestion.columns} if project.suggestion else {}
    given = [role_in(tables, name) for name in columns.names]
    entries = [_entry(tables, name) for name in columns.names]
    cards: dict[str, list[dict[str, Any]]] = {role: [] for role in (*ROLES, "")}
    for place, (name, role, entry) in enumerate(zip(columns.names, given, entries, strict=True)):
        options = options_for(role) if role else ()
        cards.setdefault(role, []).append(
            {
                "place": place,
                "name": name,
                "type": columns.type_of(place),
                "facts": columns.facts(place),
                "guess": guesses.get(name),
                "options": bool(options),
                "set": [key.replace("_", " ") for key in options if key in entry],
                "problems": project.problems_at(format_path("columns", name)),
            }
        )
    quasi = [place for place, role in enumerate(given) if role == QUASI]
    whose = [place for place, role in enumerate(given) if role == PERSON and "group" not in entries[place]]
    names = [columns.names[place] for place in quasi]
    return {
        "roles": tuple(ROLES.values()),
        "cards": cards,
        "rows": columns.rows,
        "columns": columns.names,
        "quasi": names,
        "whose": bool(whose),
        "unique": columns.unique_rows(quasi, whose),
        "sets": _find_identifying_sets(project, names),
        "problems": [
            one
            for one in project.problems
            if one.path.startswith(("columns", "privacy", "data.other_columns"))
        ],
        "counting": columns.is_counting,
    }


def _entry(tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return what a policy says about a column besides its role."""
    entry = tables.get("columns", {}).get(name)
    return entry if isinstance(entry, Mapping) else {}


def _settings(project: Project, query: QueryParams) -> Response:
    """Return the form with the other settings of a column."""
    columns, place = _read_column(project, query)
    name, tables = columns.names[place], project.tables
    options = options_for(role_in(tables, name))
    fields = fields_of(Column, _entry(tables, name), used={"weight": 1})
    return render_part(
        "roles_settings.html", place=place, fields=[one for one in fields if one.name in options]
    )


def _read_column(project: Project, form: FormData | QueryParams) -> tuple[Columns, int]:
    """Return the column that a form is about."""
    columns = columns_of(project)
    place = pick(form, "column", range(len(columns.names)))
    if place is None:
        raise DataError("there is no such column any more")
    return columns, place


def _role(form: FormData) -> str:
    role = read_field(form, "role")
    check_known("role", role, ROLES)
    return role


def _give(project: Project, form: FormData) -> None:
    """Give one column a role."""
    columns, place = _read_column(project, form)
    _given(project, columns, {place: _role(form)})


def _give_several(project: Project, form: FormData) -> None:
    """Give all columns a role whose name contains a text."""
    columns = columns_of(project)
    places = find_columns(columns.names, read_field(form, "find"))
    if not places:
        raise DataError("no column has such a name")
    _given(project, columns, dict.fromkeys(places, _role(form)))


def _given(project: Project, columns: Columns, wanted: Mapping[int, str]) -> None:
    """Give columns roles, as one step."""
    kept = project.store.setdefault("roles", {})
    proposals = {place: _proposal(project, columns, place) for place, role in wanted.items() if role == QUASI}
    label = f"roles of {format_count(len(wanted), 'column')}"
    if len(wanted) == 1:
        ((place, role),) = wanted.items()
        label = f"{printable(columns.names[place])[:40]}: {role}"
    with project.edit(label) as tables:
        for place, role in wanted.items():
            name = columns.names[place]
            if role_in(tables, name) != role or name not in tables.get("columns", {}):
                former = kept.get(name, {})
                removed = give_role(tables, name, role, proposals.get(place), former, project.base)
                kept[name] = {**former, **removed}
                if role == SENSITIVE:
                    _protect(project, tables, name)


def _protect(project: Project, tables: dict[str, Any], name: str) -> None:
    """Ask for what suits a new sensitive column, where the policy asks column by column and this one has nothing."""
    privacy, columns = tables.get("privacy", {}), tables.get("columns", {})
    asked = [own for key, own in privacy.items() if key in SENSITIVE_KEYS]
    by_column = [isinstance(own, Mapping) and any(one in columns for one in own) for own in asked]
    if project.frame is None or not asked or not all(by_column) or any(name in own for own in asked):
        return
    found = protect_columns([distribution_of(project.frame.data[name])], int(privacy.get("k", 1)))
    for key, own in as_privacy(found).items():
        tables["privacy"][key] = {**privacy.get(key, {}), **own}


def _proposal(project: Project, columns: Columns, place: int) -> Any:
    """Return the hierarchy that Shoal proposes for a column."""
    name = columns.names[place]
    guesses = project.suggestion.columns if project.suggestion else ()
    guess = next((one for one in guesses if one.name == name), None)
    if guess is not None and guess.hierarchy is not None:
        return guess.hierarchy
    try:
        values, rows = columns.values(place)
    except DataError:  # such a type cannot be a quasi-identifier, which the policy says
        return None
    return suggest_hierarchy(name, values, len(values), rows)


def _back_to_guesses(project: Project, form: FormData) -> None:
    """Give every column, or one, the role that Shoal guessed."""
    if project.suggestion is None:
        return
    columns, tables = columns_of(project), project.tables
    only = _read_column(project, form)[1] if "column" in form else None
    guessed = {guess.name: guess.role for guess in project.suggestion.columns}
    wanted = {
        place: guessed[name]
        for place, name in enumerate(columns.names)
        if only in (None, place) and name in guessed and role_in(tables, name) != guessed[name]
    }
    if wanted:
        _given(project, columns, wanted)


def _set_options(project: Project, form: FormData) -> None:
    """Take the other settings of a column."""
    columns, place = _read_column(project, form)
    name = columns.names[place]
    with project.edit(f"settings of {printable(name)[:40]}") as tables:
        role = role_in(tables, name)
        sent = {key: form[key] for key in options_for(role) if key in form}
        entry = {key: value for key, value in _entry(tables, name).items() if key not in sent}
        given = taken(Column, sent, format_path("columns", name))
        tables.setdefault("columns", {})[name] = {"role": role, **entry, **given}


def _ask_less(project: Project, form: FormData) -> None:
    """Take a requirement out of the policy that is about sensitive columns, if there are none."""
    _, _, rest = str(form.get("path", "")).partition(".")
    key = rest.partition(".")[0]
    with project.edit(f"without {printable(key)}") as tables:
        tables.get("privacy", {}).pop(key, None)


# --- small sets of columns --------------------------------------------------------------------------------


def _find_identifying_sets(project: Project, quasi: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the most identifying sets of the current quasi-identifiers; None while they are being counted."""
    suggestion, frame = project.suggestion, project.frame
    if suggestion is None or frame is None or not quasi:
        return {"sets": (), "rows": 0}
    if tuple(quasi) == suggestion.names("quasi"):
        return {"sets": suggestion.identifying, "rows": suggestion.looked_at, "minimal": suggestion.minimal}
    store: dict[Any, Any] = project.store.setdefault("identifying", {})
    key = frozenset(quasi)
    if key not in store:
        store[key] = None
        if frame.rows * len(quasi) <= FEW:
            store[key] = _count_sets(frame, quasi)
        else:

            def count() -> None:
                time.sleep(PAUSE)
                if project.store.get("identifying") is not store or store.get("latest") != key:
                    store.pop(key, None)  # another set is asked about by now
                    return
                store[key] = _count_sets(frame, quasi)
                project.mark_changed()

            threading.Thread(target=count, daemon=True).start()
    store["latest"] = key
    found: Mapping[str, Any] | None = store.get(key)
    return found


def _count_sets(frame: Frame, quasi: Sequence[str]) -> Mapping[str, Any]:
    try:
        sets, rows = find_identifying_sets(frame.data, list(quasi))
        minimal = minimal_sets(frame.data, list(quasi))
    except (DataError, PolarsError):  # a type whose values cannot be counted
        return {"sets": (), "rows": 0}
    return {"sets": sets, "rows": rows, "minimal": minimal}


PARTS = {"settings": _settings}
ACTIONS: Mapping[str, Action] = {
    "give": _give,
    "several": _give_several,
    "guesses": _back_to_guesses,
    "options": _set_options,
    "ask_less": _ask_less,
}
