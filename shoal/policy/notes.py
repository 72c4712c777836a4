"""Docstrings under the fields of a class, for the JSON schema."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
import threading
from typing import Any

_ALONE = threading.Lock()
"""Python 3.11 raises SystemError if two threads parse at once: they share a counter of depth."""


def field_notes(cls: type[Any]) -> dict[str, str]:
    """Return the docstring under each field of a class, inherited fields included."""
    notes: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            with _ALONE:  # finding the source parses as well
                body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        except (OSError, TypeError, SyntaxError):
            continue
        lines = body.body if isinstance(body, ast.ClassDef) else []
        for entry, after in itertools.pairwise(lines):
            if not isinstance(entry, ast.AnnAssign) or not isinstance(entry.target, ast.Name):
                continue
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                notes[entry.target.id] = inspect.cleandoc(str(after.value.value))
    return notes
