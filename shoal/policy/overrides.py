"""Changes of single values of a policy, such as ``--set privacy.k=10``."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from shoal.errors import ARGUMENTS, PolicyError, Problem, did_you_mean
from shoal.policy.column_section import Column
from shoal.policy.draft import SECTIONS
from shoal.policy.privacy import KINDS
from shoal.policy.problems import explain_errors, format_path
from shoal.policy.sections import Data
from shoal.policy.toml import load_toml
from shoal.support.wording import format_value

if TYPE_CHECKING:
    from shoal.io import ReadOptions


SETTINGS = "the settings"
"""Where problems with ``path=value`` are."""


def apply_settings(raw: Mapping[str, Any], settings: Iterable[str]) -> tuple[dict[str, Any], list[Problem]]:
    """Return the tables of a policy with ``path=value`` settings applied, in their order.

    Settings with an unknown path or an invalid value are left out and returned as problems, and so are two settings
    that contradict each other.
    """
    out = copy.deepcopy(long_form(raw))
    problems: list[Problem] = []
    parsed: list[tuple[list[str], Any]] = []
    for setting in settings:
        path_text, equals, value_text = setting.partition("=")
        if not equals or not path_text.strip():
            problems.append(Problem(setting, "is not a setting", "write PATH=VALUE, as in privacy.k=10"))
            continue
        path = _keys(path_text.strip())
        problem = _check_path(path, out) or _unreadable(path, value_text.strip())
        if problem is not None:
            problems.append(problem)
            continue
        parsed.append(_long(path, _value(value_text.strip())))
    # A new method or engine comes first: it drops what the former one was told, not what is set along with it.
    parsed.sort(key=lambda setting: setting[0] not in (["method", "name"], ["engine", "name"]))
    for path, value in parsed:
        _put(out, path, value)
    for path, value in parsed:
        found: Any = out
        for name in path:
            found = _table(found).get(name)
        if not _is_kept(value, found, path):
            message = f"is set to {format_value(value)} and to {format_value(found)}"
            problems.append(Problem(format_path(*path), message, "give one of them"))
    return out, problems


def long_form(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Expand the short form of a column, ``age = "quasi"``."""
    out = dict(raw)
    if isinstance(out.get("columns"), Mapping):
        out["columns"] = {
            name: {"role": entry} if isinstance(entry, str) else entry
            for name, entry in out["columns"].items()
        }
    if isinstance(out.get("method"), str):
        out["method"] = {"name": out["method"]}
    return out


def _is_kept(value: Any, found: Any, path: Sequence[str]) -> bool:
    """Return whether later settings kept a value; they may have added keys to its table."""
    if not isinstance(found, dict):
        return bool(value == found)
    own = _table(value, path)
    return bool(own) and all(name in found and _is_kept(one, found[name], ()) for name, one in own.items())


def parse_reading_options(settings: Iterable[str]) -> ReadOptions:
    """Return how to read a table that has no policy yet, from settings such as ``data.encoding=latin-1``."""
    raw, problems = apply_settings({"columns": {}}, settings)
    hint = "only data.* can be set here; change the rest in the policy afterwards"
    problems += [Problem(name, "is not about reading", hint) for name in raw if name != "data" and raw[name]]
    return read_as(raw.get("data", {}), problems, where=SETTINGS)


def read_as(raw: Mapping[str, Any], known: Iterable[Problem] = (), *, where: str = ARGUMENTS) -> ReadOptions:
    """Return how to read a table from a section `[data]`, or raise its problems together with the known ones."""
    problems = list(known)
    try:
        data = Data.model_validate(raw)
    except ValidationError as error:
        problems += explain_errors(error, Data, "data")
    if problems:
        raise PolicyError(problems, where=where)
    return data.options()


def _keys(text: str) -> list[str]:
    """Split a dotted path; names with dots are in quotes."""
    try:
        table: Any = load_toml(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        return [part.strip() for part in text.split(".")]
    keys = []
    while isinstance(table, dict):
        ((name, table),) = table.items()
        keys.append(name)
    return keys


def _value(text: str) -> Any:
    try:
        return load_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _unreadable(path: list[str], text: str) -> Problem | None:
    """Return a problem if a value looks like TOML and is not; anything else that is not TOML is a bare word."""
    try:
        load_toml(f"value = {text}")
    except tomllib.TOMLDecodeError as error:
        if not text:
            return Problem(format_path(*path), "has no value", "write PATH=VALUE, as in privacy.k=10")
        if text[0] in "[{\"'":
            reason = str(error).partition(" (at")[0]
            return Problem(format_path(*path), f"{text} is not a TOML value", reason[:1].lower() + reason[1:])
    return None


def _check_path(path: list[str], raw: dict[str, Any]) -> Problem | None:
    """Return a problem if a path names no setting."""
    sections = ["columns", *SECTIONS]
    where = format_path(*path)
    columns = raw.get("columns", {})
    columns = columns if isinstance(columns, Mapping) else {}
    if path[0] not in sections:
        return Problem(where, f"there is no section '{path[0]}'", did_you_mean(path[0], sections))
    if len(path) == 1:
        known = list(SECTIONS[path[0]].model_fields) if path[0] in SECTIONS else list(columns)
        example = format_path(path[0], known[0]) if known else path[0]
        return (
            None
            if path[0] == "method"
            else Problem(where, "is a section", f"set a value in it: {example}=..")
        )
    if path[0] == "columns":
        if path[1] not in columns and path[2:] not in ([], ["role"]):
            hint = did_you_mean(path[1], columns)
            return Problem(where, f"the policy has no column '{path[1]}'", hint)
        if len(path) > 2 and path[2] not in Column.model_fields:
            return Problem(where, f"a column has no '{path[2]}'", did_you_mean(path[2], Column.model_fields))
    elif path[0] != "method" and path[1] not in SECTIONS[path[0]].model_fields:
        known = list(SECTIONS[path[0]].model_fields)
        return Problem(where, f"there is no '{path[1]}' in [{path[0]}]", did_you_mean(path[1], known))
    return None


def _long(path: list[str], value: Any) -> tuple[list[str], Any]:
    """Spell a short path out: ``method=mondrian``, ``columns.age=quasi``."""
    if isinstance(value, str) and (path == ["method"] or (path[0] == "columns" and len(path) == 2)):
        return [*path, "name" if path == ["method"] else "role"], value
    return path, value


def _put(raw: dict[str, Any], path: list[str], value: Any) -> None:
    if path == ["method", "name"] and _table(raw.get("method")).get("name") != value:
        raw["method"] = {}
    if path == ["engine", "name"]:
        engine = _table(raw.get("engine"))
        if engine.get("name") != value:
            raw["engine"] = {name: one for name, one in engine.items() if name not in ("master", "settings")}
    table = raw
    for at, name in enumerate(path[:-1], 1):
        table[name] = table = _table(table.get(name), path[:at])
    table[path[-1]] = value


def _table(value: Any, path: Sequence[str] = ()) -> dict[str, Any]:
    """Return a value as a table: a bare number in [privacy] stands for its word, anything else is replaced."""
    if isinstance(value, dict):
        return value
    kinds = KINDS.get(path[1], ()) if len(path) == 2 and path[0] == "privacy" else ()
    word = kinds[0].key.shorthand if kinds else ""
    return {word: value} if word and isinstance(value, int | float) else {}
