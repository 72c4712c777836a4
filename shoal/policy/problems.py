"""From pydantic's errors to problems in Shoal's words: where, what, and what to do about it."""

from __future__ import annotations

import re
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from shoal.errors import Problem, did_you_mean
from shoal.support.wording import format_value

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")

_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "dataclass_type": "a table",
}

_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}

WORDS_OF_TAG: dict[str, tuple[str, ...]] = {}
"""Tag that pydantic reports, such as ``<one l>`` -> the words accepted there; `privacy` fills it."""


def format_path(*keys: str | int) -> str:
    """Write a path as in TOML: keys with dots, spaces or quotes in quotes, positions in brackets."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
            continue
        if not _BARE.match(key):
            key = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
        text += f".{key}" if text else key
    return text


def explain_errors(
    error: ValidationError, model: type[BaseModel] | None, *before: str | int
) -> list[Problem]:
    """Return the problems behind a validation error of `model`, whose place in the policy is `before`."""
    problems = []
    details = error.errors()
    for detail in details:
        # Pydantic also reports a list as too short because its wrong entries do not count.
        inside = [other for other in details if other["loc"][: len(detail["loc"])] == detail["loc"]]
        if detail["type"] == "too_short" and len(inside) > 1:
            continue
        keys = [key for key in detail["loc"] if not _is_tag(key)]
        message, hint = _words(detail, model)
        problems.append(Problem(format_path(*before, *keys) or "policy", message, hint))
    # Pydantic reports a value that matches none of several types once per type; the first is enough.
    return list({problem.path: problem for problem in reversed(problems)}.values())[::-1]


def _is_tag(key: str | int) -> bool:
    return isinstance(key, str) and key.startswith("<") and key.endswith(">")


def _keys_at(model: type[BaseModel] | None, path: tuple[str | int, ...]) -> list[str]:
    """Return what is allowed in place of the last key of a path."""
    known = list(model.model_fields) if model is not None else []
    for key in path[:-1]:
        inner = _table_at(model, str(key))
        if inner is not None:
            model, known = inner, list(inner.model_fields)
        known = list(WORDS_OF_TAG.get(str(key), known))
    return known


def _table_at(model: type[BaseModel] | None, key: str) -> type[BaseModel] | None:
    """Return the kind of table that a key of a table holds, if it holds one."""
    field = None if model is None else model.model_fields.get(key)
    waiting = [] if field is None else [field.annotation]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
        waiting += get_args(kind)
    return None


def _words(detail: Any, model: type[BaseModel] | None) -> tuple[str, str]:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "shoal":
        return context["message"], context["hint"]
    if kind == "extra_forbidden":
        return "is unknown here", did_you_mean(str(detail["loc"][-1]), _keys_at(model, detail["loc"]))
    if kind == "missing":
        return "is missing", _choices(model, detail["loc"][-1])
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", context["expected"])
        return f"{format_value(value)} is unknown", did_you_mean(str(value), known)
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}, not {format_value(value)}", ""
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return f"must be {words} {context[bound]:g}, not {format_value(value)}", ""
    if kind in ("too_short", "too_long"):
        wanted = context.get("min_length", context.get("max_length"))
        return f"must have {wanted} entries, not {context['actual_length']}", ""
    return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}", ""


def _choices(model: type[BaseModel] | None, key: str | int) -> str:
    """Return what a missing key may be, if it is one of a few words."""
    from typing import get_args

    field = model.model_fields.get(str(key)) if model is not None else None
    words = get_args(field.annotation) if field is not None else ()
    if words and all(isinstance(word, str) for word in words):
        return "one of " + ", ".join(words)
    return ""
