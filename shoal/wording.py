"""How Shoal writes counts, numbers and names for people, and hints in the words of the command line or of Python."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Literal

Voice = Literal["python", "command", "studio"]
"""Whose words hints are in: those of a program, of the command line, or of Studio."""

MARK = "\N{INVISIBLE SEPARATOR}"
"""Stands around a setting in the words of Studio, so that no name of a column or file is taken for one."""

_voice: Voice = "python"


def speak(voice: Voice) -> Voice:
    """Give hints in these words from now on; return the former voice."""
    global _voice  # one process serves one of them, and threads of it serve the same
    before, _voice = _voice, voice
    return before


def voice() -> Voice:
    """Return whose words hints are in."""
    return _voice


def either(*, command: str, python: str, studio: str | None = None) -> str:
    """Return the words that the reader can use: ``--force`` on the command line, ``force=True`` in Python. Where Studio
    has no words of its own, it uses those of the command line.
    """
    if _voice == "studio" and studio is not None:
        return studio
    return python if _voice == "python" else command


def setting(path: str, value: object) -> str:
    """Return how to set a value of a policy: ``--set utility.suppression=0.05``, ``suppression=0.05`` in Python, or
    ``set utility.suppression = 0.05`` in Studio, which makes a button of it.

    An ellipsis as the value leaves it open.
    """
    section, _, rest = path.partition(".")
    keys = rest.split(".")
    inner = ".." if value is ... else json.dumps(value)
    bare = value if isinstance(value, str) else inner.replace(" ", "")
    if section in ("data", "release", "population", "engine") and keys != ["other_columns"]:
        keys = [section, *keys]
    elif section == "method":
        keys = ["method"] if keys == ["name"] else ["method", *keys]
    for key in reversed(keys[1:]):
        inner = f'{{"{key}": {inner}}}'
    if section == "method" and len(keys) > 1:
        inner = inner.replace("{", '{"name": .., ', 1)
    return either(
        command=f"--set {shlex.quote(f'{path}={bare}')}",
        python=f"{keys[0]}={inner}",
        studio=f"{MARK}set {path} = {bare}{MARK}",
    )


def more_suppression() -> str:
    """Advise to allow more suppressed rows."""
    return f"allow more suppression ({setting('utility.suppression', ...)})"


def role_of(role: str) -> str:
    """Return how a column gets a role: ``role = "quasi"`` in a policy file, ``quasi=[..]`` in Python."""
    return either(
        command=f'role = "{role}"', python=f"a role: {'survey_weight' if role == 'weight' else role}=[..]"
    )


def counted(count: int, one: str, many: str = "") -> str:
    """Write a number with its noun: ``1 class``, ``2,000 classes``."""
    return f"1 {one}" if count == 1 else f"{count:,} {many or one + 's'}"


def percent(share: float) -> str:
    """Write a share with two digits; one that is not 0 is never written as 0."""
    return "<0.01%" if 0 < share < 0.00005 else f"{share:.2%}"


def counted_parts(classes: int | None, buckets: int | None, *, explained: bool = False) -> str:
    """Count the buckets of a release if it has any, else its classes: shuffled rows form no useful classes."""
    if buckets is None:
        return (
            counted(classes or 0, "class", "classes")
            + " of rows with identical quasi-identifiers" * explained
        )
    return counted(buckets, "bucket") + ", within which columns were shuffled against each other" * explained


def some_values(values: Sequence[object], most: int = 8) -> str:
    """List a few values for a message: ``'a', 'b' and 3 more``."""
    shown = ", ".join(repr(value) for value in values[:most])
    rest = len(values) - most
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def number(value: object) -> str:
    """Write a number as briefly as people still understand it."""
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def rounded_down(value: float) -> str:
    """Write a lower bound so that it stays one."""
    if value <= 0 or float(value).is_integer():
        return number(float(value))
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    return number(math.floor(value / step) * step)


def printable(text: str) -> str:
    """Return a column's name on one line, without characters that would control the terminal."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


def shown(value: object) -> str:
    """Show a wrong value as a policy has it, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        keys = [str(key) for key in value]
        return f"a table with {', '.join(keys[:4])}" if keys else "an empty table"
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def first_line(error: BaseException) -> str:
    """Return the first line of a library's message, shortened."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def type_name(dtype: Any) -> str:
    """Return a polars type for a message, without categories: those are values of the data."""
    name = dtype.base_type().__name__
    if name in ("Enum", "Categorical"):
        return str(name)
    if name in ("List", "Array"):
        return f"{name}({type_name(dtype.inner)})"
    if name == "Struct":
        return f"Struct({', '.join(f'{field.name}: {type_name(field.dtype)}' for field in dtype.fields)})"
    return str(dtype)
