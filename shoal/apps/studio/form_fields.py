"""Fields of forms from the sections of a policy: their help is the docstring, their kind follows from the type."""

from __future__ import annotations

import tomllib
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from shoal.errors import PolicyError, Problem
from shoal.policy import toml
from shoal.policy.field_docs import field_notes

FieldKind = Literal["text", "list", "choice", "yes-no", "number", "toml"]


@dataclass(frozen=True)
class Field:
    """One field of a form."""

    name: str
    title: str
    kind: FieldKind
    help: str
    value: str
    """What the field shows now."""
    choices: tuple[str, ...] = ()
    placeholder: str = ""
    """What is used if it stays empty."""


def fields_of(
    section: type[BaseModel],
    values: Mapping[str, Any],
    *,
    without: Iterable[str] = (),
    used: Mapping[str, Any] | None = None,
) -> list[Field]:
    """Return a field for each setting of a section of a policy. `values` are those that are set; `used` are those that
    are in use where nothing is set, such as a delimiter that was detected.
    """
    out, notes = [], field_notes(section)
    for name, entry in section.model_fields.items():
        if name in without:
            continue
        kind, choices = _kind(entry.annotation)
        value = values.get(name, entry.default if kind in ("choice", "yes-no") else None)
        default = (used or {}).get(name)
        title = name.replace("_", " ").capitalize()
        help_ = " ".join((entry.description or notes.get(name, "")).replace("`", "").split())
        out.append(
            Field(name, title, kind, help_, format_field(kind, value), choices, format_field(kind, default))
        )
    return out


def format_field(kind: FieldKind, value: Any) -> str:
    """Return the text that a form field shows for a value."""
    if value is None or value in ((), [], {}):
        return ""
    if kind == "yes-no":
        return "yes" if value else "no"
    if kind == "list" and not isinstance(value, str):
        return ", ".join(str(one) for one in value)
    if kind == "toml":
        return toml.value(list(value) if isinstance(value, tuple) else value)
    return {"\t": "tab", " ": "space"}.get(str(value), str(value))


def taken(section: type[BaseModel], form: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the settings that a form gives; fields that are empty or at their default are left out."""
    out: dict[str, Any] = {}
    problems = []
    for name, entry in section.model_fields.items():
        if name not in form:
            continue
        text = str(form[name])
        kind, _ = _kind(entry.annotation)
        if not text.strip():
            continue
        value: Any = text
        if kind == "yes-no":
            value = text == "yes"
        elif kind == "list":
            value = [one.strip() for one in text.split(",") if one.strip()]
        elif kind in ("number", "toml"):
            try:
                value = toml.load_toml(f"value = {text}")["value"]
            except tomllib.TOMLDecodeError:
                wanted = (
                    "a number" if kind == "number" else 'a TOML value, such as "text" or { column = "text" }'
                )
                problems.append(Problem(f"{path}.{name}", f"{text!r} is not {wanted}"))
                continue
        if value != entry.default:
            out[name] = value
    if problems:
        raise PolicyError(problems)
    return out


def _kind(annotation: Any) -> tuple[FieldKind, tuple[str, ...]]:
    """Return the kind of a field for a type, and what can be chosen."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [one for one in get_args(annotation) if one is not type(None)]
        if len(inner) > 1:
            return "toml", ()
        annotation = inner[0]
    if hasattr(annotation, "__metadata__"):
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Literal:
        return "choice", tuple(str(one) for one in get_args(annotation))
    if get_origin(annotation) in (tuple, list):
        return "list", ()
    known: dict[Any, FieldKind] = {str: "text", bool: "yes-no", float: "number", int: "number"}
    return known.get(annotation, "toml"), ()
