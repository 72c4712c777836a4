"""HIPAA Safe Harbor, 45 CFR 164.514(b)(2): does a column show what the rule forbids?"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.coding.hierarchy.kinds import Kind, parse_hierarchy
from shoal.coding.hierarchy.kinds.ends import divides
from shoal.coding.hierarchy.meanings import ANY, Meaning, calendar_label, interval_label
from shoal.judging.models.keys import Key
from shoal.judging.models.model import AskedIn, Model, Readings
from shoal.judging.models.threats import Threat
from shoal.support.wording import format_count

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.verdict import Verdict

OLDEST = 89
"""Ages over this are one category."""
DIGITS = 3
"""So many digits of a zip code may be shown."""
SAFE_HARBOR = Key("safe_harbor", "what a column is under HIPAA Safe Harbor")
ASKS = {
    "identifier": "not published",
    "zip": f"zip codes with {DIGITS} digits, and 000 for areas of 20,000 people or fewer",
    "date": "dates as years",
    "birth": f"years of birth, and one group for people over {OLDEST}",
    "age": f"one group for ages over {OLDEST}",
    "other": "no contacts, numbers of people, addresses or dates in its texts",
}
"""What a column is -> what the rule asks of it."""
WORDS = tuple(ASKS)

NAMING = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[^@\s.]+",
    "web addresses": r"(?i)\b(?:https?://|www\.)",
    "IP addresses": r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    "social security numbers": r"(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)",
    "telephone numbers": r"(?:(?:(?<!\d[eE])\+|(?<!\d[.,])\b00)[1-9][0-9 ()/.-]{6,20}\d)"
    r"|\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b",
    "bank accounts": r"\b[A-Z]{2}[0-9]{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}\b",
    "dates": r"(?<!\d)(?:\d{4}([-/.])\d{2}\1\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4}"
    r"|[0-3]?\d-[0-3]?\d-(?:1[89]|20)\d{2})(?!\d)",
}
"""What a text may contain that the rule forbids."""
_YEARS = re.compile(r"(?:<|>=)?\d{4}|\d{4}\+|\d{4}s|\d{4}-\d{4}|\[<?\d{4}, \d{4}\+?\]")


@dataclass(frozen=True, kw_only=True)
class SafeHarbor(Model):
    """What HIPAA Safe Harbor asks of one column, judged by the text of its cells.

    The policy says what the column is; nobody can tell that from published cells alone.
    """

    name: ClassVar[str] = "safe-harbor"
    threat: ClassVar[Threat] = ""
    summary: ClassVar[str] = "the column shows nothing that HIPAA Safe Harbor (45 CFR 164.514(b)(2)) forbids"
    key: ClassVar[Key] = SAFE_HARBOR
    asked_in: ClassVar[AskedIn] = "columns"
    readings: ClassVar[Readings] = "any"
    usual: ClassVar[Any] = "other"
    public: ClassVar[Any] = "always"
    higher_is_safer: ClassVar[bool] = False

    column_name: str
    what: str
    kind: Kind

    @classmethod
    def from_policy(cls, value: Any, rule: str = "", **place: Any) -> Model:
        """Return the model for what a column is."""
        return cls(what=value, **{"kind": parse_hierarchy(None), **place})

    @classmethod
    def of_column(cls, name: str, column: Any) -> Model | None:
        """Return the model of a column, which also knows its hierarchy: it lists small areas, and the oldest years."""
        if column.safe_harbor is None:
            return None
        return cls.from_policy(column.safe_harbor, column_name=name, kind=parse_hierarchy(column.hierarchy))

    @property
    def title(self) -> str:
        """Name the column and what is asked of it."""
        return f"Safe Harbor: {self.column_name}: {ASKS[self.what]}"

    @property
    def threshold(self) -> int:
        """No cell may break the rule."""
        return 0

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """People grow older: a year from which on they are told apart may be too early by now."""
        bottom, least = getattr(self.kind, "bottom", None), dt.date.today().year - OLDEST
        if self.what != "birth" or bottom is None or bottom >= least:
            return None
        return (
            f"Safe Harbor: people born in {bottom} are over {OLDEST} this year, and '{self.column_name}' would show "
            f"their year: set bottom = {least} in its hierarchy"
        )

    def verify(self, evidence: Evidence) -> Verdict:
        """Count the cells that break the rule. O(distinct cells)."""
        shown, published = evidence.count_texts(self.column_name), evidence.published
        if shown is None:
            return self.verdict(published, 0, True, "not published")
        texts, rows = shown
        if self.what == "identifier":
            many = int(rows.sum())
            return self.verdict(published, many, False, f"it is published: {format_count(many, 'cell')}")
        missing = self._find_gap()
        breaks = [self._breaks(text) for text in texts.to_list()]
        count = sum(int(many) for many, why in zip(rows, breaks, strict=True) if why)
        if not count:
            return self.verdict(published, 0, True)
        if missing and all(why in ("", missing) for why in breaks):
            return self.verdict_unknown(published, missing)
        reasons = dict.fromkeys(why for why in breaks if why and why != missing)
        return self.verdict(published, count, False, f"{format_count(count, 'cell')}: {', '.join(reasons)}")

    def _find_gap(self) -> str:
        """Return which setting the policy must add before the rule can be checked; empty if none."""
        if self.what == "zip" and getattr(self.kind, "small", None) is None:
            return f"which areas of {DIGITS} digits have 20,000 people or fewer; list them in small of its hierarchy"
        if self.what == "birth" and getattr(self.kind, "bottom", None) is None:
            return f"before which year people over {OLDEST} were born; add bottom to its hierarchy"
        return ""

    def _breaks(self, text: str | None) -> str:
        """Return why a cell breaks the rule, or an empty text."""
        from shoal.io.text_columns import elements_of, is_set

        if text is None or text == ANY:
            return ""
        words = (elements_of(text) or [text]) if is_set(text) and self.what != "other" else [text]
        found = (RULES[self.what](self, word) for word in words if word is not None)
        return next(filter(None, found), "")

    def _of_zip(self, text: str) -> str:
        kept = text.rstrip("*")
        if not kept.isdecimal() or len(kept) > DIGITS:
            return f"more than {DIGITS} digits, or none"
        if len(kept) < DIGITS or set(kept) == {"0"}:
            return ""
        small = getattr(self.kind, "small", None)
        return self._find_gap() if small is None else "a small area" if kept in small else ""

    def _of_date(self, text: str) -> str:
        return "" if _YEARS.fullmatch(text.strip()) else "more than a year"

    def _of_birth(self, text: str) -> str:
        if self._of_date(text):
            return self._of_date(text)
        meaning = interval_label(text) if text.startswith(("[", ">")) else calendar_label(text)
        if self._find_gap() or meaning is None:
            return self._find_gap() or "cannot be read"
        old = divides(_by_year(meaning), None, getattr(self.kind, "bottom", None))
        return "" if old is False else f"a year of birth of people over {OLDEST}"

    def _of_age(self, text: str) -> str:
        meaning = interval_label(text.strip())
        told = None if meaning is None else divides(meaning, OLDEST + 1, None)
        return "cannot be read" if told is None else f"an age over {OLDEST}" if told else ""

    def _of_text(self, text: str) -> str:
        return next((what for what, pattern in NAMING.items() if re.search(pattern, text)), "")


def _by_year(meaning: Meaning) -> Meaning:
    """Return a range of days as one of years; a range of numbers is one already."""

    def year(end: Any) -> int | None:
        return None if end is None else int(str(end)[:4])

    low, high = (meaning.values[0],) * 2 if meaning.kind == "value" else (meaning.low, meaning.high)
    last = year(high)
    return Meaning("range", year(low), None if last is None else last + 1, high_included=False)


RULES: dict[str, Callable[[SafeHarbor, str], str]] = {
    "zip": SafeHarbor._of_zip,
    "date": SafeHarbor._of_date,
    "birth": SafeHarbor._of_birth,
    "age": SafeHarbor._of_age,
    "other": SafeHarbor._of_text,
}
"""What a column is -> why a cell of it breaks the rule."""
