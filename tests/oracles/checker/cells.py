"""Cells as an outsider reads them, next to values of the original."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

NULL = "\0null"
"""The letters of a cell without a value; no text of a table has them."""


class Number(str):
    """A number as a JSON file writes it, letter by letter."""


def letters(cell: Any) -> Any:
    """Return a cell letter by letter: rows belong to one class if these are equal."""
    if cell is None:
        return NULL
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return repr(cell)
    if isinstance(cell, dt.date | dt.time):
        return cell.isoformat()
    if isinstance(cell, list | tuple):
        return tuple(letters(each) for each in cell)
    if isinstance(cell, dict):
        return tuple((name, letters(each)) for name, each in cell.items())
    return written(cell) if isinstance(cell, dt.timedelta) else str(cell)


def written(length: dt.timedelta) -> str:
    """Write a duration by ISO 8601."""
    whole = abs(length)
    hours, rest = divmod(whole.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    small = f".{whole.microseconds:06}".rstrip("0") if whole.microseconds else ""
    parts = [(hours, "H"), (minutes, "M")]
    clock = "".join(f"{count}{unit}" for count, unit in parts if count) + (
        f"{seconds}{small}S" if seconds or small else ""
    )
    days = f"{whole.days}D" if whole.days else ""
    return f"{'-' * (length < dt.timedelta())}P{days}{'T' + clock if clock else '' if days else 'T0S'}"


def key(value: Any) -> str:
    """Return a value of the original as a text that no other value has."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value + 0.0)
    if isinstance(value, Decimal):
        return str(value.normalize())
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).isoformat()
    return f"text:{value}" if isinstance(value, str) else str(letters(value))


def same(cell: Any, value: Any, loose: bool = False) -> bool:
    """Whether a cell shows a value. `loose`: the original was text without types, so that 1.10 may be shown as 1.1."""
    if cell is None or value is None:
        return (cell is None and value is None) or (loose and cell in (None, "") and value in (None, ""))
    if isinstance(value, bool):
        return cell is value or (isinstance(cell, str) and cell == letters(value))
    if isinstance(value, int | float | Decimal):
        return _same_number(cell, value)
    if isinstance(value, str):
        return cell == value or (loose and _same_loosely(cell, value))
    if isinstance(value, dt.datetime):
        return _same_moment(cell, value)
    if isinstance(value, dt.date):
        if isinstance(cell, dt.datetime):
            return cell == dt.datetime.combine(value, dt.time())
        return cell == value or (isinstance(cell, str) and cell == value.isoformat())
    if isinstance(value, dt.time):
        return cell == value or (isinstance(cell, str) and _read(dt.time.fromisoformat, cell) == value)
    if isinstance(value, dt.timedelta):
        return cell == value or (isinstance(cell, str) and duration(cell) == value)
    if isinstance(value, bytes):
        return bool(cell == value)
    if isinstance(value, list | tuple):
        return _same_list(cell, list(value))
    if isinstance(value, dict):
        return (
            isinstance(cell, dict)
            and cell.keys() == value.keys()
            and all(same(cell[name], each) for name, each in value.items())
        )
    raise TypeError(f"no rule for {type(value)}")


def _same_number(cell: Any, value: int | float | Decimal) -> bool:
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal | str):
        return False
    if isinstance(value, float):
        number = _read(float, cell)
        return number is not None and (number == value or (math.isnan(number) and math.isnan(value)))
    if isinstance(value, Decimal) and isinstance(cell, float):
        return cell == float(value)
    return _read(Decimal, cell) == value


def _same_loosely(cell: Any, value: str) -> bool:
    if isinstance(cell, bool | dt.date | dt.time):
        return (
            bool(_read(type(cell).fromisoformat, value) == cell)
            if not isinstance(cell, bool)
            else value == letters(cell)
        )
    found, wanted = (
        _read(float, each) if isinstance(each, str | int | float) else None for each in (cell, value)
    )
    return found is not None and (
        found == wanted or (found != found and wanted != wanted and wanted is not None)
    )


def _same_moment(cell: Any, value: dt.datetime) -> bool:
    read = _read(dt.datetime.fromisoformat, cell) if isinstance(cell, str) else cell
    if not isinstance(read, dt.datetime) or (read.tzinfo is None) != (value.tzinfo is None):
        return False
    if value.tzinfo is not None:
        # In the hour that the clock repeats, Python calls times of two zones different.
        return read.astimezone(dt.UTC) == value.astimezone(dt.UTC)
    return read == value


def _same_list(cell: Any, value: list[Any]) -> bool:
    if isinstance(cell, str):
        cell = elements(cell)
    return isinstance(cell, list) and len(cell) == len(value) and all(map(same, cell, value))


def _read(how: Any, text: Any) -> Any:
    try:
        return how(text)
    except (ValueError, InvalidOperation, TypeError):
        return None


def number(text: Any) -> float | None:
    """Read a number, None if the text is none."""
    return _read(float, text)


_DURATION = re.compile(r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,6}))?S)?)?")


def duration(text: str) -> dt.timedelta | None:
    """Read an ISO 8601 duration of days, hours, minutes and seconds."""
    found = _DURATION.fullmatch(text)
    if not found:
        return None
    sign, *parts, small = found.groups()
    days, hours, minutes, seconds = (int(part or 0) for part in parts)
    length = dt.timedelta(
        days=days,
        hours=hours,
        minutes=minutes,
        seconds=seconds,
        microseconds=int((small or "0").ljust(6, "0")),
    )
    return -length if sign else length


def elements(text: str) -> list[str | None] | None:
    """Read a value set such as ``{15, "a, b", null}``; None if the text is no such set."""
    if len(text) < 2 or text[0] != "{" or text[-1] != "}":
        return None
    inside, found = text[1:-1], []
    item = re.compile(r'"((?:[^"]|"")*)"|([^,{}"]*)', re.DOTALL)
    if not inside:
        return []
    at = 0
    while True:
        part = item.match(inside, at)
        assert part is not None
        quoted, bare = part.groups()
        found.append(quoted.replace('""', '"') if quoted is not None else None if bare == "null" else bare)
        at = part.end()
        if at == len(inside):
            return found
        if inside[at : at + 2] != ", ":
            return None
        at += 2
