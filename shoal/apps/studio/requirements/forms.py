"""What `[privacy]` and `[method]` ask for, as forms: every model, parameter and option, from the registries."""

from __future__ import annotations

import inspect
import threading
import tomllib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from functools import cache
from typing import Any, cast, get_args, get_type_hints

from pydantic import TypeAdapter

from shoal.errors import PolicyError, Problem
from shoal.judging.models import MODELS, Model
from shoal.judging.models.keys import bounds, parameters
from shoal.judging.models.ratios import format_ratio
from shoal.methods import METHODS
from shoal.policy import toml
from shoal.policy.field_docs import field_notes
from shoal.policy.method_options import AUTO, method_kind, option_types
from shoal.policy.privacy import KINDS, NOTION_KEY, NOTIONS, SENSITIVE_KEYS
from shoal.policy.problems import format_path
from shoal.support.wording import number


@dataclass(frozen=True)
class Entry:
    """One requirement as it stands in `[privacy]`."""

    key: str
    rule: str
    """The word of the key's table; empty if the key has none."""
    column: str | None
    """The sensitive column that it is for; None: all of them, or none."""
    value: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further words of the same table that go with it."""

    @property
    def value_text(self) -> str:
        """The value for people."""
        values = self.value if isinstance(self.value, list | tuple) else (self.value,)
        told = [number(value) if isinstance(value, int | float) else str(value) for value in values]
        return ", ".join([*told, *(f"{name} {number(own)}" for name, own in self.options.items())])


@dataclass(frozen=True)
class Field:
    """One number of a model, or one option of a method."""

    name: str
    note: str
    """Its docstring."""
    kind: str
    """``whole``, ``number``, ``yes-no`` or ``text``."""
    value: str = ""
    """What a policy says, as the field shows it; empty: nothing."""
    usual: str = ""
    """What is meant without a value, or a usual one."""
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    """The words to choose from, if it is one of a few."""


@dataclass(frozen=True)
class Question:
    """A requirement that a policy may make: a model, under one of its words."""

    key: str
    rule: str
    title: str
    summary: str
    note: str
    """The docstring of the model."""
    fields: tuple[Field, ...]
    options: tuple[Field, ...]
    """Fields that need not be filled in."""
    per_column: bool
    entries: tuple[Entry, ...]
    """How the policy asks for it now."""


def entries(privacy: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the requirements of a section `[privacy]` one by one, except the notion of k and adversaries."""
    for key, kinds in KINDS.items():
        if key not in privacy or key == NOTION_KEY:
            continue
        value = privacy[key]
        per_column = key in SENSITIVE_KEYS and isinstance(value, Mapping) and _names_columns(value, kinds)
        for column, own in value.items() if per_column else [(None, value)]:
            yield from _entries_of_column(key, kinds, column, own)


def _names_columns(value: Mapping[str, Any], kinds: Sequence[type[Model]]) -> bool:
    """Whether the keys of a table are columns, and not words of the models."""
    return not kinds[0].rules or any(isinstance(one, Mapping) for one in value.values())


def _entries_of_column(
    key: str, kinds: Sequence[type[Model]], column: str | None, value: Any
) -> Iterator[Entry]:
    """Yield what a key asks for a column, word by word."""
    if not kinds[0].rules:
        yield Entry(key, "", column, value)
        return
    rules = value if isinstance(value, Mapping) else {kinds[0].key.shorthand: value}
    for rule, one in rules.items():
        kind = next((kind for kind in kinds if rule in kind.rules), None)
        if kind is not None or all(rule not in other.options for other in kinds):
            known = () if kind is None else kind.options
            options = {name: own for name, own in rules.items() if name in known}
            yield Entry(key, rule, column, one, options)


def with_entry(privacy: Mapping[str, Any], new: Entry, sensitive: Sequence[str]) -> dict[str, Any]:
    """Return `[privacy]` with one more requirement, or with another value of one."""
    kept = [
        one for one in entries(privacy)
        if not (one.key == new.key and one.rule == new.rule and new.column in (None, one.column))
    ]  # fmt: skip
    return _written(privacy, [*kept, new], sensitive)


def without_entry(privacy: Mapping[str, Any], old: Entry, sensitive: Sequence[str]) -> dict[str, Any]:
    """Return `[privacy]` without one requirement."""
    place = (old.key, old.rule, old.column)
    kept = [one for one in entries(privacy) if (one.key, one.rule, one.column) != place]
    return _written(privacy, kept, sensitive)


def _written(privacy: Mapping[str, Any], asked: Sequence[Entry], sensitive: Sequence[str]) -> dict[str, Any]:
    """Write requirements as tables. A key is given for all columns or for each of them, so one for all is repeated for
    each where another one is for a single column."""
    out = {name: value for name, value in privacy.items() if name not in KINDS or name == NOTION_KEY}
    single = {one.key for one in asked if one.column is not None}
    for one in asked:
        names = list(sensitive) if one.key in single and one.column is None else [one.column]
        for name in names:
            table, place = out, one.key
            if name is not None:
                table, place = table.setdefault(place, {}), name
            if one.rule:
                table, place = table.setdefault(place, {}), one.rule
            if one.column is not None or place not in table:
                table[place] = one.value
            if one.options:
                table.update(one.options)
    return out


# --- questions ------------------------------------------------------------------------------------------------


def questions(privacy: Mapping[str, Any]) -> list[tuple[str, str, list[Question]]]:
    """Return every requirement that a policy may make besides k, by key, each with the meaning of the key."""
    asked = list(entries(privacy))
    found = []
    for key, kinds in KINDS.items():
        if key == NOTION_KEY:
            continue
        own = [
            _question(key, kind, rule, tuple(one for one in asked if (one.key, one.rule) == (key, rule)))
            for kind in kinds
            for rule in kind.rules or ("",)
        ]
        found.append((key, kinds[0].key.meaning, own))
    return found


def _question(key: str, kind: type[Model], rule: str, asked: tuple[Entry, ...]) -> Question:
    names = parameters(kind)
    usual = kind.usual if len(names) > 1 else (kind.usual,)
    notes = _notes(kind)
    return Question(
        key=key,
        rule=rule,
        title=f"{rule} {key}" if rule else key,
        summary=kind.summary,
        note=inspect.getdoc(kind) or "",
        fields=tuple(
            Field(
                name,
                notes.get(name, ""),
                _form_of(kind, name),
                usual=value if isinstance(value, str) else f"{value:g}",
                least=_end(kind, name, "g"),
                most=_end(kind, name, "l"),
            )
            for name, value in zip(names, usual, strict=True)
        ),
        options=tuple(_option(kind, name, told, asked) for name, told in kind.options.items()),
        per_column=key in SENSITIVE_KEYS,
        entries=asked,
    )


def _form_of(kind: type[Model], name: str) -> str:
    own = bounds(kind)[name][0]
    return "whole" if own is int else "text" if own is Fraction else "number"


def _option(kind: type[Model], name: str, told: str, asked: tuple[Entry, ...]) -> Field:
    """Return the field of a further word, with what the policy says, and what is meant without it."""
    default = next(entry.default for entry in fields(cast(Any, kind)) if entry.name == name)
    usual = format_ratio(default) if isinstance(default, Fraction) else str(default)
    said = next((number(one.options[name]) for one in asked if name in one.options), "")
    words = () if name in bounds(kind) else get_args(get_type_hints(kind)[name])
    form = _form_of(kind, name) if name in bounds(kind) else "text"
    return Field(name, f"{told[:1].upper()}{told[1:]}.", form, said, usual, choices=words)


def _end(kind: type[Model], name: str, side: str) -> float | None:
    """Return a bound of a parameter; "g": the lower one."""
    given = bounds(kind)[name][1].given
    return given.get(f"{side}e", given.get(f"{side}t"))


def notions() -> list[tuple[str, str, str]]:
    """Return what k may count: name, summary and docstring."""
    return [(name, MODELS[name].summary, inspect.getdoc(MODELS[name]) or "") for name in NOTIONS]


@cache
def _notes(kind: Hashable) -> dict[str, str]:
    return field_notes(cast(type[Any], kind))


def read_value(key: str, rule: str, texts: Sequence[str]) -> Any:
    """Read the value of a requirement from the fields of its form."""
    kind = next(kind for kind in KINDS[key] if rule in (kind.rules or ("",)))
    path = format_path(*(name for name in ("privacy", key, rule) if name))
    values = [_given(kind, name, text, path) for name, text in zip(parameters(kind), texts, strict=True)]
    return values if len(values) > 1 else values[0]


def read_options(key: str, rule: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Read the optional fields of a requirement's form, without the empty ones."""
    kind = next(kind for kind in KINDS[key] if rule in (kind.rules or ("",)))
    return {
        name: _given(kind, name, text, format_path("privacy", key, name)) if name in bounds(kind) else text
        for name, text in texts.items()
        if text and name in kind.options
    }


def _given(kind: type[Model], name: str, text: str, path: str) -> Any:
    """Read one field of a model; a fraction stays a text."""
    own = bounds(kind)[name][0]
    if own is Fraction and "/" in text:
        return text
    return as_number(text, path, whole=own is int)


def as_number(text: str, path: str, *, whole: bool) -> float:
    """Read a number that somebody typed."""
    try:
        return int(text) if whole else float(text.replace(",", "."))
    except ValueError:
        wanted = "a whole number" if whole else "a number"
        raise PolicyError([Problem(path, f"must be {wanted}, not '{text[:40]}'")]) from None


# --- methods --------------------------------------------------------------------------------------------------


@cache
def _schemas(method: str) -> dict[str, dict[str, Any]]:
    kind = method_kind(method)
    return {name: TypeAdapter(own).json_schema() for name, own in option_types(kind).items()}


def _kind_of(schema: Mapping[str, Any]) -> str:
    options = schema.get("anyOf", [schema])
    kinds = {"boolean": "yes-no", "integer": "whole", "number": "number", "string": "text"}
    return next((kinds[one["type"]] for one in options if one.get("type") in kinds), "toml")


_ready = threading.Event()


def prepare() -> None:
    """Import every method, which takes a second or two; until then pages show their names alone."""
    _ = questions({})  # reads the docstrings of all models
    for name in (*METHODS, AUTO):
        _ = method_kind(name)
    _ready.set()


def is_ready() -> bool:
    """Whether all methods are imported."""
    return _ready.is_set()


def methods() -> list[tuple[str, str, str]]:
    """Return every method, and the one that chooses among them: name, summary, paper."""
    names = (*METHODS, AUTO)
    if not is_ready():
        return [(name, "", "") for name in names]
    return [(name, method_kind(name).summary, method_kind(name).paper) for name in names]


def options(method: str, given: Mapping[str, Any]) -> list[Field]:
    """Return the options of a method, with what a policy says about each."""
    kind = method_kind(method)
    notes = _notes(cast(Hashable, kind))
    found = []
    for entry in fields(kind):
        if not entry.init:
            continue
        default = None if entry.default is MISSING else entry.default
        schema = _schemas(method)[entry.name]
        said = given.get(entry.name)
        own = _kind_of(schema)
        found.append(
            Field(
                entry.name,
                notes.get(entry.name, ""),
                own,
                _format_value(said, own),
                _format_value(default, own) or "none",
            )
        )
    return found


def _format_value(value: Any, kind: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if kind == "text":
        return str(value)
    return toml.value(list(value) if isinstance(value, tuple) else value)


def option_value(method: str, name: str, text: str) -> Any:
    """Return what a field of an option says."""
    kind, path = _kind_of(_schemas(method)[name]), format_path("method", name)
    if kind == "yes-no":
        return text == "yes"
    if kind in ("whole", "number"):
        return as_number(text, path, whole=kind == "whole")
    if kind == "text":
        return text
    try:
        return toml.load_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        hint = 'write for example ["a", "b"]'
        raise PolicyError([Problem(path, f"'{text[:60]}' is not a list", hint)]) from None
