"""What labels of a release mean, read from their text as an analyst reads it: values, ranges, sets, masks.

Nothing here knows the data. A label means what its text says and what the policy says about its kind of hierarchy, so a
meaning tells nothing that the label and the policy do not.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

ANY = "*"
Bound = int | float | str
"""A number, or a date, time or text as written."""
Sort = Literal[
    "value",
    "range",
    "set",
    "starts-with",
    "ends-with",
    "text-range",
    "any",
    "missing",
    "not-a-number",
    "unknown",
    "listed",
]

NATURAL = (
    "texts are compared by what is before their first digit, then by the number there, then as a whole, all by "
    "Unicode code points; a text that is a number counts as this number"
)
"""The order in which `text-range` is meant."""


@dataclass(frozen=True)
class Meaning:
    """Which values a label stands for."""

    kind: Sort
    low: Bound | None = None
    """The lower end of a range; None if it has none."""
    high: Bound | None = None
    """The upper end of a range; None if it has none."""
    low_included: bool = True
    high_included: bool = True
    values: tuple[Bound | None, ...] = ()
    """The value, or the values of a set; None is a missing value. Several texts that values start or end with."""
    text: str = ""
    """What values start or end with."""
    but: tuple[str, ...] = ()
    """Labels whose values it does not stand for, because the policy limits how far these are generalized."""
    spread: tuple[Bound | None, Bound | None] | None = field(default=None, compare=False)
    """Where the values of a set begin and end, if some of them are groups such as `90+`."""
    codes: tuple[int, int] | None = field(default=None, compare=False)
    """First and last place among the values that a policy lists, for their order."""

    def words(self, name: str) -> str:
        """Say it for people: ``18 <= age <= 44``."""
        said = self._said(name)
        return f"{said}, but not {', '.join(self.but)}" if self.but else said

    def _said(self, name: str) -> str:
        if self.kind == "value":
            return f"{name} = {_format_bound(self.values[0])}"
        if self.kind == "set":
            return f"{name} is one of {', '.join(map(_format_bound, self.values))}"
        if self.kind == "text-range":
            return f"{self.low} to {self.high}, in natural order of text"
        if self.kind in ("starts-with", "ends-with"):
            return f"{name} {self.kind.replace('-', ' ')} {self.text or ' or '.join(map(_format_bound, self.values))}"
        return self._range(name) if self.kind == "range" else _WORDS[self.kind]

    def _range(self, name: str) -> str:
        if self.low is None and self.high is None:
            return f"any {name}"
        low = "" if self.low is None else f"{self.low} {'<=' if self.low_included else '<'} "
        high = "" if self.high is None else f" {'<=' if self.high_included else '<'} {self.high}"
        if not low and high:
            return f"{name}{high}"
        if low and not high:
            return f"{name} {'>=' if self.low_included else '>'} {self.low}"
        return f"{low}{name}{high}"

    def summary(self) -> dict[str, Any]:
        """Return plain data: only what this kind of meaning has."""
        out: dict[str, Any] = {"kind": self.kind}
        if self.kind in ("range", "text-range"):
            out |= {
                "low": self.low,
                "high": self.high,
                "low_included": self.low_included,
                "high_included": self.high_included,
            }
        if self.kind in ("value", "set") or self.values:
            out["values"] = list(self.values)
        if self.text:
            out["text"] = self.text
        if self.but:
            out["except"] = list(self.but)
        return out

    @property
    def ends(self) -> tuple[Any, Any]:
        """Where its first and last value come among those of its column; `*` and missing values come last."""
        if self.kind in _LAST:
            return (2, _LAST.index(self.kind), ""), (2, 0, "")
        if self.codes is not None:
            return (0, self.codes[0], ""), (0, self.codes[1], "")
        first, last = (self.low, self.high) if not self.values else (self.values[0], self.values[-1])
        if self.text:
            first, last = self.text, f"{self.text}\U0010ffff"
        return _rank(first, -math.inf), _rank(last, math.inf)


_WORDS = {
    "any": "any value, or none",
    "missing": "no value",
    "not-a-number": "not a number",
    "unknown": "not defined by the policy",
    "listed": "a group of values, which the codebook lists",
}
_LAST = ("any", "not-a-number", "missing", "unknown")
Reader = Callable[[str], "Meaning | None"]


def _format_bound(value: Bound | None) -> str:
    return "no value" if value is None else str(value)


def _rank(value: Bound | None, missing: float) -> tuple[float, float, str]:
    if value is None:
        return (0, missing, "")
    if isinstance(value, str):
        number = float(value) if value in ("inf", "-inf") else None
        return (0, number, "") if number is not None else (1, 0, value)
    return (0, float(value), "")


MISSING = Meaning("missing")
WHOLE = Meaning("any")
UNKNOWN = Meaning("unknown")


def value(one: Bound | None) -> Meaning:
    """Return the meaning of a single value."""
    return Meaning("value", values=(one,))


# --- numbers ----------------------------------------------------------------------------------------------

_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-?inf"
_LOOSE = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-?inf"
_STRICTLY, _LOOSELY, _WHOLLY = re.compile(_NUMBER), re.compile(_LOOSE), re.compile(r"[+-]?[0-9]+")
_SPAN = re.compile(r"([0-9]+)-([0-9]+)|(-?[0-9]+) to (-?[0-9]+)")
_LONGEST = 308
"""Characters of the longest number; a whole number of more digits is too large for a float."""
_CUT = re.compile(rf"(<|>=)({_NUMBER})")
_TOP = re.compile(rf"({_NUMBER})\+")
_TO_AN_END = re.compile(rf"\[(<)?({_LOOSE}), ({_LOOSE})(\+)?\]")


def number_of(text: str, *, loose: bool = False) -> Bound | None:
    """Return the number that a text is, exactly; None if it is none. `loose` also takes ``007``, ``5.`` and ``.5``"""
    if len(text) > _LONGEST:
        return None
    if text.isdecimal() and text.isascii() and (text[0] != "0" or loose or text == "0"):
        return int(text)  # as nearly all are: quickly
    if (_LOOSELY if loose else _STRICTLY).fullmatch(text) is None:
        return None
    if text.endswith("inf"):
        return text
    return int(text) if _WHOLLY.fullmatch(text) else float(text)


def number_label(label: str, *, loose: bool = False) -> Meaning | None:
    """Read a number, ``[a, b]`` or ``[a, b)``; None if it is something else."""
    if label == "NaN":
        return Meaning("not-a-number")
    one = number_of(label, loose=loose)
    if one is not None:
        return value(one)
    return _parse_interval(label, lambda text: number_of(text, loose=loose))


def interval_label(label: str) -> Meaning | None:
    """Read an interval as widths and cuts name it: ``20-24``, ``-5 to -1``, ``<18``, ``>=65``, ``[a, b)``; or a group
    at an end, ``90+``, and a range up to one, ``[85, 90+]``.
    """
    found = _SPAN.fullmatch(label)
    if found is not None and len(label) <= _LONGEST:
        low, high = (int(part) for part in found.groups() if part is not None)
        return Meaning("range", low, high)
    cut = _CUT.fullmatch(label)
    if cut is not None:
        end = number_of(cut[2])
        return Meaning("range", high=end, high_included=False) if cut[1] == "<" else Meaning("range", low=end)
    top, spread = _TOP.fullmatch(label), _TO_AN_END.fullmatch(label)
    if top is not None:
        return Meaning("range", low=number_of(top[1]))
    if spread is not None and (spread[1] or spread[4]):
        first, last = (number_of(spread[at], loose=True) for at in (2, 3))
        return Meaning("range", None if spread[1] else first, None if spread[4] else last)
    return number_label(label, loose=True)


def _parse_interval(label: str, read: Callable[[str], Bound | None]) -> Meaning | None:
    if not (label.startswith("[") and label[-1:] in ("]", ")") and label.count(", ") == 1):
        return None
    low, high = map(read, label[1:-1].split(", "))
    if low is None or high is None:
        return None
    return Meaning("range", low, high, high_included=label[-1] == "]")


# --- dates and times --------------------------------------------------------------------------------------

_DAY = r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
_TIME = re.compile(rf"{_DAY}(?:[T ]{_CLOCK}(?: ?(?:Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}}))?)?|{_CLOCK}")
_DURATION = re.compile(r"-?P(?=.)[0-9A-Z.-]*")


def time_of(text: str) -> str | None:
    """Return a text if it is an ISO date, time or duration."""
    return text if _TIME.fullmatch(text) or _DURATION.fullmatch(text) else None


def time_label(label: str) -> Meaning | None:
    """Read a date, time or duration, or ``[a, b]``; None if it is something else."""
    return value(label) if time_of(label) else _parse_interval(label, time_of)


def calendar_label(label: str) -> Meaning | None:
    """Read a unit of the calendar as a range of days, both included: ``2024-W09``, ``2024-Q1``, ``2020s``,
    ``1937-1939``; or the years at an end, ``<1937``, ``2020+``.
    """
    try:
        return _unit(label) or time_label(label)
    except (ValueError, OverflowError):  # a year that Python's calendar does not have
        return UNKNOWN


def _unit(label: str) -> Meaning | None:
    end = re.fullmatch(r"(<)?([0-9]{4})(\+)?", label)
    if end is not None and bool(end[1]) != bool(end[3]):
        if end[1]:
            return Meaning("range", high=(dt.date(int(end[2]), 1, 1) - dt.timedelta(days=1)).isoformat())
        return Meaning("range", low=dt.date(int(end[2]), 1, 1).isoformat())
    years = re.fullmatch(r"([0-9]{4})-([0-9]{4})", label)
    if years is not None:
        return _days(dt.date(int(years[1]), 1, 1), dt.date(int(years[2]), 12, 31))
    found = re.fullmatch(r"([0-9]{1,4})(?:(s)|-W([0-9]{2})|-Q([1-4])|-([0-9]{2}))?", label)
    if found is None:
        return UNKNOWN if re.fullmatch(r"-?[0-9]+(?:s|-W[0-9]{2}|-Q[1-4]|-[0-9]{2})?", label) else None
    year, decade, week, quarter, month = int(found[1]), *found.groups()[1:]
    if week:
        return _days(dt.date.fromisocalendar(year, int(week), 1), dt.date.fromisocalendar(year, int(week), 7))
    first, last = (1, 12)
    if quarter:
        first, last = 3 * int(quarter) - 2, 3 * int(quarter)
    elif month:
        first = last = int(month)
    until = year + 9 if decade else year
    year = max(year, 1) if decade else year
    return _days(dt.date(year, first, 1), dt.date(until, last, calendar.monthrange(until, last)[1]))


def _days(first: dt.date, last: dt.date) -> Meaning:
    return Meaning("range", first.isoformat(), last.isoformat())


# --- texts ------------------------------------------------------------------------------------------------


def mask_label(label: str, side: str) -> Meaning:
    """Read a masked code: ``021**`` starts with 021."""
    kept = label.rstrip(ANY) if side == "right" else label.lstrip(ANY)
    if kept == label:
        return value(label)
    return Meaning("starts-with" if side == "right" else "ends-with", text=kept)


def span_label(label: str) -> Meaning:
    """Read a text, or a group of texts as `auto` names it: ``{a, b, c}`` or ``first..last``."""
    if label.startswith("{") and label.endswith("}") and ", " in label:
        return Meaning("set", values=tuple(label[1:-1].split(", ")))
    if label.count("..") == 1 and "..." not in label and all(label.split("..")):
        first, last = label.split("..")
        return Meaning("text-range", first, last)
    return value(label)


def all_read(labels: Sequence[str], *readers: Reader) -> list[Meaning] | None:
    """Read all labels of a column by the first reader that can read every one of them but `*`; None if none can."""
    for reader in readers:
        found = [WHOLE if label == ANY else reader(label) for label in labels]
        if all(meaning is not None for meaning in found):
            return [meaning for meaning in found if meaning is not None]
    return None


def without(meanings: Sequence[Meaning], limits: Sequence[Meaning], names: Sequence[str]) -> list[Meaning]:
    """Return meanings without the nodes that the policy limits: a wider label never stands for their values."""
    return [
        replace(
            meaning,
            but=tuple(name for name, node in zip(names, limits, strict=True) if _wider(meaning, node)),
        )
        for meaning in meanings
    ]


def _wider(meaning: Meaning, node: Meaning) -> bool:
    """Whether a label would cover a node, and more."""
    if meaning.kind == "any":
        return node.kind != "any"
    if meaning.kind in ("starts-with", "ends-with"):
        return _begins_wider(meaning, node)
    if meaning.kind == "set":
        return node.kind in ("set", "value") and set(node.values) < set(meaning.values)
    if meaning.kind != "range" or node.kind not in ("range", "value"):
        return False
    ends = (node.values[0], node.values[0]) if node.kind == "value" else (node.low, node.high)
    below = _rank(meaning.low, -math.inf) <= _rank(ends[0], -math.inf)
    above = _rank(ends[1], math.inf) <= _rank(meaning.high, math.inf)
    return below and above and (meaning.low, meaning.high) != ends


def _begins_wider(meaning: Meaning, node: Meaning) -> bool:
    """Whether all codes of a node begin (or end) as a label says, and other codes do, too."""
    wide = (meaning.text,) if meaning.text else tuple(map(str, meaning.values))
    if node.kind not in (meaning.kind, "value"):
        return False
    own = (node.text,) if node.text else tuple(map(str, node.values))
    inside = str.startswith if meaning.kind == "starts-with" else str.endswith
    return own != wide and all(inside(one, wide) for one in own)
