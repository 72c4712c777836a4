"""The tables of a policy from keywords of Python: columns by role, requirements by key, and settings of columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from shoal.coding.roles import PERSON, ROLES
from shoal.errors import Problem, did_you_mean
from shoal.policy.privacy import Privacy
from shoal.policy.problems import format_path
from shoal.policy.python_values import python_values

SETTINGS = {
    "hierarchies": "hierarchy",
    "weights": "weight",
    "limits": "limit",
    "protected": "protected",
    "publish": "publish",
    "order": "order",
    "show": "show",
    "safe_harbor": "safe_harbor",
    "reading": "",
}
"""Keyword -> the setting that it gives to columns; `reading` gives several."""
UTILITY = ("measure", "suppression", "suppress", "levels", "workload", "regression", "predict")
SECTIONS = ("population", "release", "engine")


def tables_of(
    given: Mapping[str, Any], requirements: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Problem]]:
    """Return the tables that keywords stand for, and what is wrong with the keywords. `given` holds all that have a
    default, `requirements` the others: keys of `[privacy]`.
    """
    columns, problems = _columns(given)
    keys = Privacy.model_fields
    problems += [
        Problem(name, "is not a keyword of a policy", did_you_mean(name, [*keys, *given]))
        for name in requirements
        if name not in keys
    ]
    problems += _give_settings(columns, given)
    method, workload = given["method"], given["workload"]
    tables = {
        "data": {"other_columns": given["other_columns"], **(given["data"] or {})},
        "columns": columns,
        "privacy": {key: value for key, value in requirements.items() if key in keys and value is not None},
        "method": {"name": method} if isinstance(method, str) else method,
        "utility": {key: given[key] for key in UTILITY}
        | {"workload": None if workload is None else os.fspath(workload)},
    }
    return tables | {name: given[name] for name in SECTIONS if given[name] is not None}, problems


def _columns(given: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], list[Problem]]:
    """Turn columns by role into columns with roles; a column with two roles is a problem."""
    columns: dict[str, dict[str, Any]] = {}
    problems: list[Problem] = []
    by_keyword = {role.keyword: role.name for role in ROLES.values()}
    asked = {by_keyword[keyword]: names for keyword, names in given.items() if keyword in by_keyword}
    for role, names in python_values(asked).items():
        for name in _names(names, role, problems):
            former = columns.setdefault(name, {"role": role})["role"]
            if former != role:
                problems.append(_two_roles(name, former, role))
    for kind, names in python_values(given["groups"] or {}).items():
        for name in _names(names, format_path("groups", kind), problems):
            if name in columns:
                problems.append(_two_roles(name, columns[name].get("group", columns[name]["role"]), kind))
            columns.setdefault(name, {"role": PERSON.name, "group": kind})
    return columns, problems


def _two_roles(name: str, former: str, role: str) -> Problem:
    return Problem(format_path("columns", name), f"has two roles, {former} and {role}", "keep one of them")


def _give_settings(columns: dict[str, dict[str, Any]], given: Mapping[str, Any]) -> list[Problem]:
    """Add the settings to their columns; return those of columns that have no role."""
    problems = []
    for keyword, key in SETTINGS.items():
        for name, value in python_values(given[keyword] or {}).items():
            if name in columns:
                columns[name] |= {key: value} if key else value
            else:
                problems.append(
                    Problem(format_path(keyword, name), "has no role", did_you_mean(name, columns))
                )
    return problems


def _names(given: Any, where: str, problems: list[Problem]) -> Collection[str]:
    """Return names of columns as text; rows in their place are a problem, which does not show them."""
    names = [given] if isinstance(given, str) else list(given or ())
    if any(isinstance(name, list | tuple | Mapping) for name in names):
        problems.append(Problem(where, "must be names of columns, not rows or tables"))
        return ()
    return [str(name) for name in names]
