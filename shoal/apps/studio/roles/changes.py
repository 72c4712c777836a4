"""What a column is: its role, the guess and its reason, and what moves along when the role changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.apps.studio.form_fields import Field, fields_of
from shoal.coding.roles import DROP, PLAIN, QUASI
from shoal.policy.checks import problems_of
from shoal.policy.column_section import Column
from shoal.policy.problems import format_path

if TYPE_CHECKING:
    from shoal.apps.studio.history import Tables
    from shoal.errors import Problem

_ELSEWHERE = ("role", "hierarchy", "limit", "protected")
"""Settings of a column that have another place in Studio: the screen of hierarchies."""


def role_in(tables: Mapping[str, Any], name: str) -> str:
    """Return the role that a policy gives a column, by name or for all others; "" if it gives none."""
    entry = tables.get("columns", {}).get(name)
    if isinstance(entry, Mapping):
        return str(entry.get("role", ""))
    if entry is not None:
        return str(entry)
    others = tables.get("data", {}).get("other_columns")
    return str(others) if others in (DROP, PLAIN) else ""


@cache
def options_for(role: str) -> tuple[str, ...]:
    """Return the settings of a column that go with a role: those that a policy accepts for it."""
    return tuple(
        one.name
        for one in fields_of(Column, {}, without=_ELSEWHERE)
        if (example := _example(one)) is not None
        and not _is_refused(
            {"columns": {"x": {"role": role, one.name: example}, "y": {"role": QUASI.name}}}, "x", one.name
        )
    )


def _example(one: Field) -> Any:
    """Return a value that is not the default, to ask whether a policy accepts it."""
    known = {"number": 0.5, "yes-no": True, "list": ["x"], "text": "x"}
    return known.get(one.kind, one.choices[-1] if one.choices else None)


def _is_refused(tables: Tables, name: str, key: str) -> bool:
    at = format_path("columns", name, key)
    return any(one.path == at or one.path.startswith(f"{at}.") for one in problems_of(tables, Path()))


def give_role(
    tables: Tables, name: str, role: str, hierarchy: Any, kept: Mapping[str, Any], base: Path
) -> dict[str, Any]:
    """Give a column a role, in place, and return the settings that do not go with it, for when it comes back.

    `kept` are settings from the last time that it had such a role, `hierarchy` is a proposal for a quasi-identifier.
    Requirements about this column alone end with its being sensitive.
    """
    columns = tables.setdefault("columns", {})
    former = columns.get(name)
    entry: dict[str, Any] = dict(former) if isinstance(former, Mapping) else {}
    columns[name] = entry
    entry["role"] = role
    entry.update({key: value for key, value in kept.items() if key not in entry})
    if "hierarchy" not in entry and hierarchy is not None and role == QUASI:
        entry["hierarchy"] = hierarchy
    removed: dict[str, Any] = {}
    problems = problems_of(tables, base)
    for key in [key for key in entry if key != "role"]:
        if _is_misplaced(problems, name, key):
            removed[key] = entry.pop(key)
    privacy = tables.get("privacy", {})
    for key, asked in list(privacy.items()):
        if isinstance(asked, dict) and name in asked and _at(problems, format_path("privacy", key, name)):
            del asked[name]
            if not asked:
                del privacy[key]
    return removed


def _is_misplaced(problems: Iterable[Problem], name: str, key: str) -> bool:
    """Whether a setting does not go with the role. A missing file is another problem, which stays in sight."""
    found = _at(problems, format_path("columns", name, key))
    return any("goes with" in one.message for one in found)


def _at(problems: Iterable[Problem], path: str) -> list[Problem]:
    return [one for one in problems if one.path == path or one.path.startswith(f"{path}.")]


def find_columns(names: Sequence[str], text: str) -> list[int]:
    """Return the positions of the columns whose name contains a text, in any case."""
    wanted = text.strip().casefold()
    return [place for place, name in enumerate(names) if wanted in name.casefold()]
