"""Docstrings under the fields of a class, for the JSON schema. They are read when somebody asks for them: to look for
the source of a class takes longer than to make it."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
import threading
from functools import cache
from typing import Any

_ALONE = threading.Lock()
"""Python 3.11 raises SystemError if two threads parse at once: they share a counter of depth."""


def field_notes(cls: type[Any]) -> dict[str, str]:
    """Return the docstring under each field of a class, inherited fields included."""
    notes: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        notes |= _own_notes(base)
    return notes


def describe_fields(schema: dict[str, Any], cls: type[Any]) -> None:
    """Add these docstrings to the JSON schema of a section of a policy, where fields have no other description."""
    notes = field_notes(cls)
    for name, entry in schema.get("properties", {}).items():
        if name in notes:
            entry.setdefault("description", notes[name])


@cache
def _own_notes(cls: type[Any]) -> dict[str, str]:
    try:
        with _ALONE:  # finding the source parses as well
            body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    except (OSError, TypeError, SyntaxError):
        return {}
    notes: dict[str, str] = {}
    for entry, after in itertools.pairwise(body.body if isinstance(body, ast.ClassDef) else []):
        if not isinstance(entry, ast.AnnAssign) or not isinstance(entry.target, ast.Name):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            notes[entry.target.id] = inspect.cleandoc(str(after.value.value))
    return notes
