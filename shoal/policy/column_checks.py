"""Problems of single columns of a policy: settings that do not go with the role, or not with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from shoal.coding.column_plan import bound_names
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.errors import Problem
from shoal.policy.column_section import Column
from shoal.policy.hierarchies import file_problem
from shoal.policy.problems import format_path

WANTS = {
    "limit": ("quasi-identifiers", "only they are generalized"),
    "weight": ("quasi-identifiers", "only they lose precision"),
    "protected": ("sensitive columns", ""),
    "show": ("quasi-identifiers", "only they are generalized"),
    "publish": ("identifiers and people", "only they become pseudonyms"),
    "order": ("", ""),
    "group": ("the role person", "give it the role person, or leave it out"),
    "hierarchy": ("quasi and sensitive columns", ""),
}
"""Setting that only some roles have -> the columns that it goes with, in words, and a hint. `order` needs more."""


def column_problems(name: str, column: Column, base: Path) -> list[Problem]:
    """Return what is wrong with a column by itself; files are relative to `base`."""
    found: list[tuple[str, str, str]] = []
    for key, (whom, hint) in WANTS.items():
        if getattr(column, key) == Column.model_fields[key].default:
            continue
        if key != "order" and key not in column.role.settings:
            found.append((key, f"goes with {whom}, but the column is {column.role}", hint))
        else:
            found += _contradictions(key, name, column, base)
    return [Problem(format_path("columns", name, key), message, hint) for key, message, hint in found]


def _contradictions(key: str, name: str, column: Column, base: Path) -> Iterator[tuple[str, str, str]]:
    """Yield what does not go together with a setting of a column that has the right role: where, what, and a hint."""
    kind = parse_hierarchy(column.hierarchy)
    if key == "show" and not kind.has_bounds:
        message = f"labels of the hierarchy kind '{kind.name}' have no bounds"
        yield key, message, "leave it out, or use widths, cuts or dates"
    elif key == "order" and (not column.role.counted or column.publish is None):
        message = "goes with people whose rows can be followed, and nobody can follow rows by this column"
        yield key, message, 'leave it out, or add publish = "pseudonym" to a column with the role person'
    elif key == "order" and column.order == name:
        message = "says whose a row is, so it cannot order the rows of a person"
        yield key, message, "name another column"
    elif column.group is not None and key == "group":
        if not column.group.strip():
            yield key, "is blank, so verdicts could not say what they count", 'name it: group = "household"'
        elif column.publish is not None:
            message = "would show which people belong together, which nothing protects"
            yield "publish", message, "leave it out"
    elif key == "hierarchy":
        if column.role.protected and kind.hides:
            message = "hides values, but a sensitive column is published as it is"
            yield key, message, "make the column quasi, or group these values before you open the table"
        missing = file_problem(column.hierarchy, base)
        if missing is not None:
            yield key, *missing


def without_safe_harbor(columns: Mapping[str, Column]) -> list[Problem]:
    """Return the published columns that say nothing about Safe Harbor, if others do: the rule is about all of them."""
    if all(column.safe_harbor is None for column in columns.values()):
        return []
    message = "is missing, and the rule is about every column"
    return [
        Problem(
            format_path("columns", name, "safe_harbor"),
            message,
            'say what it is, such as safe_harbor = "other"',
        )
        for name, column in columns.items()
        if column.safe_harbor is None and not (column.role.removed and column.publish is None)
    ]


def collisions(columns: Mapping[str, Column], names: Sequence[str]) -> list[Problem]:
    """Return the columns whose bounds would have the name of another column."""
    added = {name: bound_names(name) for name, column in columns.items() if column.show is not None}
    return [
        Problem(
            format_path("columns", name, "show"),
            f"would add a column '{one}', but the table has one already",
            "rename that column, or leave `show` out",
        )
        for name, own in added.items()
        for one in own
        if one in names or any(one in others for other, others in added.items() if other != name)
    ]
