"""What a generalized cell covers, by what its text says: one rule for each kind of hierarchy."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.oracles.checker.cells import NULL, elements, letters, number, same

ROOT = "*"


@dataclass(frozen=True)
class Domain:
    """What the policy says about the values of a quasi-identifier or of a sensitive column."""

    kind: str
    """The kind of hierarchy, by its name in a policy."""
    setting: Any = None
    """Widths, cuts, calendar levels, the side of a mask."""
    above: Mapping[str, Sequence[str]] | None = None
    """Text of a value -> its names from level 0 to the top, for trees and files; "" is null, if no row has it."""
    origin: float = 0
    loose: bool = False
    """The original is text without types."""
    limit: int | None = None
    """The highest level that cells may show."""
    top: float | None = None
    """Values from here on are one group; years, for dates."""
    bottom: float | None = None
    """Values below are one group."""
    finest: str | None = None
    """The finest level of the calendar that cells may show."""
    show: int | None = None
    """How many characters cells may show."""
    small: tuple[str, ...] = ()
    """Beginnings that are shown as zeros."""
    blank: bool = False
    """Some row has the empty text, so that it is not null in a tree, unless the original is text without types."""

    def allows(self, cell: Any, values: Sequence[Any]) -> bool:
        """Whether a cell is within the limit, given all values of the column."""
        if self.limit is None or self.above is None:
            only = elements(cell) if isinstance(cell, str) else cell if isinstance(cell, list) else None
            cell = only[0] if only and len(only) == 1 else cell  # A set of one value is this value.
            return self.limit is None or any(
                same(cell, value, self.loose) or self._at_level_0(cell, value) for value in values
            )
        shown = [name for value in values for name in self.names(value)[: self.limit + 1]]
        if letters(cell) in shown or any(same(cell, value, self.loose) for value in values):
            return True
        listed = elements(cell) if isinstance(cell, str) else cell
        own = [value for value in values if any(_named(each, value, self.loose) for each in listed or ())]
        return len({self.names(value)[self.limit] for value in own}) == 1

    def hides(self, cell: Any) -> bool:
        """Whether a cell tells nothing apart that the policy never tells apart: it covers all of it, or nothing."""
        if isinstance(cell, list):
            return all(self.hides(each) for each in cell)
        listed = elements(cell) if isinstance(cell, str) else None
        if listed is not None:
            return all(self.hides(each) for each in listed)
        for group in self._groups():
            if len({self.covers(cell, one) for one in group}) > 1:
                return False
        if self.show is not None and isinstance(cell, str):
            kept = cell.strip("*")
            return len(kept) <= self.show and kept not in self.small
        return True

    def _at_level_0(self, cell: Any, value: Any) -> bool:
        """Whether a cell is the group that takes the place of a value."""
        if not self._in_group(cell, value):
            return False
        if cell in (f"{self.top}+", f"<{self.bottom}"):
            return True
        if self.kind == "grid":
            low, high, outside = interval(cell) or (0, 0, False)
            return abs(high - low + (not outside) - self.setting) < 1e-9
        if self.finest is not None:
            return _calendar(replace(self, setting=[self.finest]), cell, value)
        return self.show is not None and len(cell.strip("*")) == min(self.show, len(_plain(value)))

    def _in_group(self, word: Any, value: Any) -> bool:
        """Whether an element of a set is a group that contains a value."""
        ends = (self.top, self.bottom, self.finest, self.show)
        hides = self.kind == "grid" or any(end is not None for end in ends)
        return hides and isinstance(word, str) and elements(word) is None and self.covers(word, value)

    def _groups(self) -> list[list[Any]]:
        """Return values that no cell may tell apart: some of those that the policy puts together."""
        found: list[list[Any]] = []
        if self.kind == "dates":
            days = [[dt.date(year, month, 1) for month in (1, 5, 12)] for year in (1999, 2023, 2024)]
            found += days if self.finest in ("year", "decade") else []
            if self.finest in ("month", "quarter", "year", "decade"):
                found += [[day.replace(day=9), day.replace(day=27)] for row in days for day in row]
            if self.finest == "week":
                mondays = [day - dt.timedelta(days=day.weekday()) for row in days for day in row]
                found += [[monday, monday + dt.timedelta(days=6)] for monday in mondays]
            if self.bottom is not None:
                found.append([dt.date(int(self.bottom) - back, 12, 31) for back in (1, 2, 30, 300)])
            if self.top is not None:
                found.append([dt.date(int(self.top) + on, 1, 1) for on in (0, 1, 30, 300)])
            return found
        if self.top is not None:
            found.append([self.top + on for on in (0, 1, 2, 9, 1000)])
        if self.bottom is not None:
            found.append([self.bottom - back for back in (1, 2, 9, 1000)])
        return found

    def names(self, value: Any) -> list[str]:
        """Return the names of a value in a tree, level by level."""
        assert self.above is not None
        text = "" if value is None else _plain(value)
        if text in self.above and not (value is None and self.blank and not self.loose):
            return list(self.above[text])
        height = len(next(iter(self.above.values())))
        return [NULL if value is None else text] * (height - 1) + [ROOT]

    @property
    def _has_root(self) -> bool:
        """Whether `*` stands for all values: not if the tree has another root, and `*` is one of its values."""
        above = self.above
        return above is None or ROOT not in above or any(names[-1] == ROOT for names in above.values())

    def covers(self, cell: Any, value: Any) -> bool:
        """Whether a cell may stand for a value."""
        if isinstance(cell, list):
            return any(same(each, value, self.loose) or self._in_group(each, value) for each in cell)
        if same(cell, value, self.loose) or (isinstance(cell, str) and cell == ROOT and self._has_root):
            return True
        untyped = self.loose and isinstance(cell, str) and isinstance(value, str)
        if untyped and number(value) is not None and number(cell) == number(value):
            return True
        if not isinstance(cell, str):
            return False
        listed = elements(cell)
        if listed is not None and any(
            _named(each, value, self.loose) or self._in_group(each, value) for each in listed
        ):
            return True
        if value is not None and (_at_an_end(self, cell, value) or _shortened(self, cell, value)):
            return True
        return (value is not None and RULES[self.kind](self, cell, value)) or (
            value is None and self.above is not None and cell in self.names(None)
        )


def _plain(value: Any) -> str:
    return str(letters(value))


def _named(text: str | None, value: Any, loose: bool) -> bool:
    return same(text, value, loose) or (value is not None and text == _plain(value))


def place(value: Any) -> float | None:
    """Return where a number, date or time lies on a line."""
    if isinstance(value, dt.datetime):
        return (
            value.replace(tzinfo=None)
            if value.tzinfo is None
            else value.astimezone(dt.UTC).replace(tzinfo=None)
        ).timestamp()
    if isinstance(value, dt.date):
        return float(value.toordinal())
    if isinstance(value, dt.time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    # As floats, neighbours beyond 2^53 would be one.
    return value if type(value) is int else number(value) if not isinstance(value, bool) else None


def _end(text: str, value: Any) -> float | None:
    """Read the end of a range in the type of a value."""
    from tests.oracles.checker.cells import duration

    try:
        if isinstance(value, dt.datetime):
            return place(dt.datetime.fromisoformat(text))
        if isinstance(value, dt.date):
            return place(dt.date.fromisoformat(text))
        if isinstance(value, dt.time):
            return place(dt.time.fromisoformat(text))
        if isinstance(value, dt.timedelta):
            return place(duration(text))
    except ValueError:
        return None
    if type(value) is int:
        return int(text) if re.fullmatch(r"-?\d+", text) else number(text)
    return number(text)


def _within(domain: Domain, cell: str, value: Any) -> bool:
    """``[first, last]``, both ends included."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return False
    at = place(value)
    parts = cell[1:-1].split(", ")
    if at is None or at != at:
        return False
    for cut in range(1, len(parts)):
        first, last = _end(", ".join(parts[:cut]), value), _end(", ".join(parts[cut:]), value)
        if first is not None and last is not None and first <= at <= last:
            return True
    return False


_WHOLE = re.compile(r"(-?\d+)-(\d+)|(-?\d+) to (-?\d+)")
_HALF_OPEN = re.compile(r"\[(\S+), (\S+)\)")


def interval(cell: str) -> tuple[float, float, bool] | None:
    """Return the ends of an interval, and whether the upper end is outside."""
    whole = _WHOLE.fullmatch(cell)
    if whole:
        low, high = (part for part in whole.groups() if part is not None)
        return int(low), int(high), False
    half = _HALF_OPEN.fullmatch(cell)
    if half and number(half[1]) is not None and number(half[2]) is not None:
        return float(half[1]), float(half[2]), True
    return None


def _at_an_end(domain: Domain, cell: str, value: Any) -> bool:
    """``90+`` and ``<18``, and ranges up to one of them."""
    at = value.year if isinstance(value, dt.date) else number(value)
    if isinstance(value, str) and domain.kind == "dates":
        at = number(value[:4])
    if at is None or (domain.top is None and domain.bottom is None):
        return False
    high, low = f"{domain.top}+", f"<{domain.bottom}"
    if cell in (high, low):
        return at >= (domain.top or 0) if cell == high else at < (domain.bottom or 0)
    first, _, last = cell[1:-1].partition(", ") if cell[:1] + cell[-1:] == "[]" else ("", "", "")
    if not last or (first != low and last != high):
        return False
    return (first == low or (number(first) or 0) <= at) and (last == high or at <= (number(last) or 0))


def _shortened(domain: Domain, cell: str, value: Any) -> bool:
    """``021*``, and ``000*`` for small ones."""
    if domain.show is None or not cell.strip("*"):
        return False
    text = _plain(value)
    if domain.setting == "left":
        cell, text = cell[::-1], text[::-1]
    kept, few = cell.rstrip("*"), [one if domain.setting == "right" else one[::-1] for one in domain.small]
    zeros = "0" * domain.show
    if few and kept == zeros:
        return text[: domain.show] in (*few, zeros)
    return cell.endswith("*") and text.startswith(kept) and text[: domain.show] not in few


def _in_widths(domain: Domain, cell: str, value: Any) -> bool:
    found, at = interval(cell), number(value)
    if found is None or at is None:
        return False
    low, high, outside = found
    wide = high - low + (not outside)
    known = any(abs(wide - width) <= 1e-9 * max(abs(width), abs(low)) for width in domain.setting)
    # An interval ends where a group begins.
    known |= low == domain.bottom or (high if outside else high + 1) == domain.top
    return known and (low <= at < high if outside else low <= at <= high)


def _in_grid(domain: Domain, cell: str, value: Any) -> bool:
    """Both ends are lines of the grid."""
    found, at = interval(cell), number(value)
    if found is None or at is None:
        return False
    low, high, outside = found
    lines = (low, high if outside else high + 1)
    steps = [(line - domain.origin) / domain.setting for line in lines]
    if any(abs(step - round(step)) > 1e-9 * max(abs(step), 1) for step in steps):
        return False
    return low <= at < high if outside else low <= at <= high


def _in_cuts(domain: Domain, cell: str, value: Any) -> bool:
    at = number(value)
    if at is None:
        return False
    points = {float(point) for level in domain.setting for point in level}
    for sign, inside in (("<", lambda a, b: a < b), (">=", lambda a, b: a >= b)):
        end = number(cell.removeprefix(sign)) if cell.startswith(sign) else None
        if end is not None:
            return end in points and inside(at, end)
    found = interval(cell)
    if found is None and number(cell) is not None:
        found = float(cell), float(cell), False
    if found is None:
        return False
    low, high, outside = found
    known = low in points and (high if outside else high + 1) in points
    return known and (low <= at < high if outside else low <= at <= high)


def _masked(domain: Domain, cell: str, value: Any) -> bool:
    text = _plain(value)
    if domain.setting == "left":
        cell, text = cell[::-1], text[::-1]
    stars = len(cell) - len(cell.rstrip("*"))
    return any(
        text.startswith(cell[: len(cell) - masked]) and len(cell) - masked <= len(text) <= len(cell)
        for masked in range(1, stars + 1)
    )


def _calendar(domain: Domain, cell: str, value: Any) -> bool:
    try:
        day = dt.date.fromisoformat(value[:10]) if isinstance(value, str) else value
    except ValueError:
        return False
    if not isinstance(day, dt.date):
        return False
    if day.year < (domain.bottom or 0) or day.year >= (domain.top or 10000):
        return False
    year, week, _ = day.isocalendar()
    first = max(day.year // 10 * 10, int(domain.bottom or 0))
    last = min(day.year // 10 * 10 + 9, int(domain.top or 10000) - 1)
    known = {
        "day": f"{day.year:04}-{day.month:02}-{day.day:02}",
        "week": f"{year}-W{week:02}",
        "month": f"{day.year}-{day.month:02}",
        "quarter": f"{day.year}-Q{(day.month + 2) // 3}",
        "year": str(day.year),
        "decade": f"{day.year // 10 * 10}s",
    }
    if (first % 10, last % 10) != (0, 9):
        known["decade"] = str(first) if first == last else f"{first}-{last}"
    return cell in {known[level] for level in domain.setting}


def _in_tree(domain: Domain, cell: str, value: Any) -> bool:
    return cell in domain.names(value)


def _natural(text: str) -> tuple[str, float, str]:
    if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        return "", float(text), text
    found = re.match(r"(?s)^(\D*)(\d+)?", text)
    assert found is not None
    return found[1], float(found[2]) if found[2] else -1.0, text


def _automatic(domain: Domain, cell: str, value: Any) -> bool:
    cell = re.sub(r" #\d+$", "", cell)
    if _within(domain, cell, value):
        return True
    text = _plain(value)
    parts = cell.split("..")
    return any(
        _natural("..".join(parts[:cut])) <= _natural(text) <= _natural("..".join(parts[cut:]))
        for cut in range(1, len(parts))
    )


RULES: dict[str, Callable[[Domain, str, Any], bool]] = {
    "none": _within,
    "auto": _automatic,
    "widths": _in_widths,
    "grid": _in_grid,
    "cuts": _in_cuts,
    "mask": _masked,
    "dates": _calendar,
    "known": _in_tree,
    "top": _within,
    "tree": _in_tree,
    "file": _in_tree,
}
"""Kind of hierarchy -> whether a cell covers a value that it does not show exactly."""
