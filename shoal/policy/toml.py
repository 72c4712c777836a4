"""Reading and writing TOML: syntax errors in plain words, and a small writer (the standard library only reads)."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.support.machine.files import read_text
from shoal.support.wording import either

_PLACE = re.compile(r"\s*\(at line (\d+), column (\d+)\)|\s*\(at end of document\)")
_SECTION = re.compile(r"\s*\[\s*(data|columns|privacy|method|utility|population)\b")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises only `TOMLDecodeError`, also for what the standard library's parser fails at."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # of `int`, of dates
        raise tomllib.TOMLDecodeError("a number has too many digits, or a date does not exist") from None


def text_of(place: Path) -> str:
    """Read the text of a policy file. Raises PolicyError if there is none."""
    try:
        return read_text(place)
    except FileNotFoundError:
        nearby = sorted(file.name for file in place.parent.glob("*.toml")) if place.parent.is_dir() else []
        problem = ("there is no such file", did_you_mean(place.name, nearby) or f"{starter()} makes one")
    except IsADirectoryError:
        problem = ("is a folder", "name the policy file in it")
    except UnicodeDecodeError:
        problem = ("is not UTF-8 text", "save it as UTF-8")
    except OSError as error:
        problem = (f"cannot be read: {error.strerror}", "")
    raise PolicyError([Problem(str(place), *problem)])


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """Parse a TOML document; errors refer to it by `name`."""
    try:
        return load_toml(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        if place is not None and place[1]:
            line, column = int(place[1]), int(place[2])
        else:
            line, column = max(text.count("\n") + 1, 1), len(text.rsplit("\n", 1)[-1]) + 1
        lines = text.splitlines()
        written = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        reason = _PLACE.sub("", str(error))
        # The line itself is not shown: if somebody names the data by mistake, no row should appear on the screen.
        message = f"line {line}, column {column}: {reason[:1].lower()}{reason[1:]}"
        if not any(_SECTION.match(each) for each in lines):
            advice = f"is this a policy file? {starter()} makes one"
        else:
            advice = _advice(reason, written)
        raise PolicyError([Problem(name, message, advice)]) from None


def _advice(reason: str, written: str) -> str:
    """Return the usual fix for a line that is not TOML."""
    lowered = reason.lower()
    if "overwrite" in lowered or "declare" in lowered or "namespace" in lowered:
        return "a table or key is there twice: merge them"
    if "invalid value" in lowered:
        return 'text goes in quotes, as in role = "quasi"'
    if written.startswith("[") and not written.endswith("]"):
        return "a section ends with ]"
    if "=" in lowered or "key" in lowered or "table declaration" in lowered:
        return 'names with spaces or special characters go in quotes, as in [columns."zip code"]'
    return ""


def quote_text(text: str) -> str:
    """Write a basic TOML string."""
    out = []
    for character in text:
        if character in _ESCAPES:
            out.append(_ESCAPES[character])
        elif ord(character) < 32 or ord(character) == 127:
            out.append(f"\\u{ord(character):04X}")
        else:
            out.append(character)
    return '"' + "".join(out) + '"'


def key(name: str) -> str:
    """Write one key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quote_text(name)


def value(item: Any) -> str:
    """Write a value in one line."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return quote_text(item)
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, dt.datetime | dt.date | dt.time):
        return item.isoformat()
    if isinstance(item, Mapping):
        inside = ", ".join(f"{key(str(name))} = {value(inner)}" for name, inner in item.items())
        return f"{{ {inside} }}" if inside else "{}"
    return "[" + ", ".join(value(inner) for inner in item) + "]"


def starter() -> str:
    """Return what makes a policy to start from."""
    return either(command="`shoal init`", python="`shoal.suggest`")


def document(sections: Mapping[str, Any]) -> str:
    """Write sections and, under `columns`, one table per column."""
    blocks = []
    for name, section in sections.items():
        if name == "columns":
            blocks += [_table(f"columns.{key(column)}", entry) for column, entry in section.items()]
        else:
            blocks.append(_table(key(name), section))
    return "\n".join(blocks)


def _table(head: str, entries: Mapping[str, Any]) -> str:
    return "".join([f"[{head}]\n", *(f"{key(name)} = {value(item)}\n" for name, item in entries.items())])
