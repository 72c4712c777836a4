"""How Shoal writes counts, numbers and names for people, and hints in the words of the command line or of Python."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Voice = Literal["python", "command", "studio"]
"""Whose words hints are in: those of a program, of the command line, or of Studio."""

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


class Fix(NamedTuple):
    """A setting of the policy that would help, as ``--set`` takes it."""

    path: str
    value: str


class Advice(str):
    """A text that proposes settings, for which Studio shows buttons. Text added with ``+`` keeps them; f-strings and
    methods of `str` return plain text.
    """

    fixes: tuple[Fix, ...]

    def __new__(cls, text: str, *of: str | Fix) -> Advice:
        """Return a text that proposes the given settings, and those that the given texts propose."""
        made = super().__new__(cls, text)
        made.fixes = tuple(fix for one in of for fix in ([one] if isinstance(one, Fix) else list_fixes(one)))
        return made

    def __add__(self, other: str) -> Advice:
        return Advice(super().__add__(other), self, other)

    def __radd__(self, other: str) -> Advice:
        return Advice(other.__add__(self), other, self)

    def __str__(self) -> Advice:
        return self  # so that `str` of an error keeps them, too


def list_fixes(text: str) -> tuple[Fix, ...]:
    """Return the settings that a text proposes."""
    return text.fixes if isinstance(text, Advice) else ()


def format_setting(path: str, value: object) -> str:
    """Return how to set a value of a policy: ``--set utility.suppression=0.05``, ``suppression=0.05`` in Python, or
    ``set utility.suppression = 0.05`` in Studio.

    An ellipsis as the value leaves it open; any other value is proposed (`Advice`).
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
    words = either(
        command=f"--set {shlex.quote(f'{path}={bare}')}",
        python=f"{keys[0]}={inner}",
        studio=f"set {path} = {bare}",
    )
    return words if value is ... else Advice(words, Fix(path, bare))


def more_suppression() -> str:
    """Advise to allow more suppressed rows."""
    return f"allow more suppression ({format_setting('utility.suppression', ...)})"


def role_of(role: str) -> str:
    """Return how a column gets a role: ``role = "quasi"`` in a policy file, ``quasi=[..]`` in Python."""
    return either(
        command=f'role = "{role}"', python=f"a role: {'survey_weight' if role == 'weight' else role}=[..]"
    )


def format_count(count: int, one: str, many: str = "") -> str:
    """Write a number with its noun: ``1 class``, ``2,000 classes``."""
    return f"1 {one}" if count == 1 else f"{count:,} {many or one + 's'}"


def percent(share: float) -> str:
    """Write a share with two digits; one that is not 0 is never written as 0."""
    return "<0.01%" if 0 < share < 0.00005 else f"{share:.2%}"


def format_parts(classes: int | None, buckets: int | None, *, explained: bool = False) -> str:
    """Count the buckets of a release if it has any, else its classes: shuffled rows form no useful classes."""
    if buckets is None:
        return (
            format_count(classes or 0, "class", "classes")
            + " of rows with identical quasi-identifiers" * explained
        )
    return (
        format_count(buckets, "bucket")
        + ", within which columns were shuffled against each other" * explained
    )


def shorten(text: str, most: int) -> str:
    """Shorten a text to about `most` characters: keep its start and its end, which often contains the hint."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]} … {text[-(most // 3) :]}"


def some_values(values: Sequence[object], most: int = 8) -> str:
    """List a few values for a message: ``'a', 'b' and 3 more``."""
    shown = ", ".join(shorten(repr(value), 100) for value in values[:most])
    rest = len(values) - most
    return f"{shown} and {rest:,} more" if rest > 0 else shown


ROUNDING = 1e-12
"""What is smaller comes from rounding: it is written as 0, and so is -0."""


def number(value: object) -> str:
    """Write a number as briefly as people still understand it."""
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        value = 0.0 if abs(value) < ROUNDING else value
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def round_down(value: float) -> str:
    """Format a lower bound, rounded down so that it stays a lower bound."""
    if value <= 0 or float(value).is_integer():
        return number(float(value))
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    return number(math.floor(value / step) * step)


def visible(text: str) -> str:
    """Return a text for the terminal. Line breaks stay; other characters that control it, or turn the direction of the
    text, are shown as their codes, such as \\x1b: names and values are hostile input.
    """
    return "".join(
        one
        if one in "\n\t" or unicodedata.category(one) not in _CONTROLS
        else one.encode("unicode_escape").decode()
        for one in text
    )


_CONTROLS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def escape_markdown(text: object) -> str:
    """Return a text for a cell of a table in Markdown, on one line: portals render it, and data is hostile input."""
    flat = " ".join("".join(one if one.isprintable() else " " for one in str(text)).split())
    for sign in "\\`*_[]|#":
        flat = flat.replace(sign, f"\\{sign}")
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_formula(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: with an apostrophe before it, unless it is a number or
    a range."""
    return (
        f"'{text}"
        if text.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(text)
        else text
    )


_NUMBER = re.compile(r"[+-]?[0-9][0-9 .,eE+-]*( to [+-]?[0-9][0-9 .,eE+-]*)?")
"""Numbers and ranges of numbers, such as -20 to -1."""


def printable(text: str) -> str:
    """Return a column's name on one line, without characters that would control the terminal."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


_WRITTEN = (str, int, float, dt.date, dt.time, type(None))
"""Types of single values in a policy."""
_MOST_ENTRIES = 8


def format_value(value: object) -> str:
    """Show a wrong value as a policy has it, shortened. Only what a person writes into a policy is shown: frames, and
    lists that come from columns, hold rows of the data, and messages end in logs.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        keys = [str(key) for key in value]
        return f"a table with {', '.join(keys[:4])}" if keys else "an empty table"
    if isinstance(value, list | tuple):
        plain = type(value) in (list, tuple) and all(isinstance(one, _WRITTEN) for one in value)
        if not plain or len(value) > _MOST_ENTRIES:
            return f"a list of {format_count(len(value), 'entry', 'entries')}"
    elif not isinstance(value, _WRITTEN):
        return f"a {kind_name(value)}"
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def kind_name(value: object) -> str:
    """Return the name of the type of an object, with the package it comes from: polars.DataFrame."""
    package, name = type(value).__module__.partition(".")[0], type(value).__name__
    return name if package == "builtins" else f"{package}.{name}"


def first_line(error: BaseException) -> str:
    """Return the first line of a library's message, shortened."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


_DEEP = 4
"""Levels of a nested type, and fields of one level, that messages show."""


def type_name(dtype: Any, levels: int = _DEEP) -> str:
    """Return a polars type for a message, without categories: those are values of the data."""
    name = str(dtype.base_type().__name__)
    if name in ("Enum", "Categorical") or not dtype.is_nested():
        return name if name in ("Enum", "Categorical") else str(dtype)
    if not levels:
        return "…"
    if name in ("List", "Array"):
        return f"{name}({type_name(dtype.inner, levels - 1)})"
    if name == "Struct":
        fields = [f"{field.name}: {type_name(field.dtype, levels - 1)}" for field in dtype.fields[:_DEEP]]
        return f"Struct({', '.join([*fields, *(['…'] if len(dtype.fields) > _DEEP else [])])})"
    return str(dtype)
