"""Texts that a reader sees as dates but Shoal does not: other formats, and words among ISO dates."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

ENOUGH = 0.95
"""Share of texts that must be dates of one format before a column counts as dates."""
FREQUENT = 5
"""A word among dates that occurs at least this often does not identify a person, so a message may name it."""
ISO = "yyyy-mm-dd"

_DAYS = {
    ISO: (r"^\d{4}-\d{2}-\d{2}$", "%Y-%m-%d"),
    "yyyy/mm/dd": (r"^\d{4}/\d{1,2}/\d{1,2}$", "%Y/%m/%d"),
    "dd.mm.yyyy": (r"^\d{1,2}\.\d{1,2}\.\d{4}$", "%d.%m.%Y"),
    "dd/mm/yyyy": (r"^\d{1,2}/\d{1,2}/\d{4}$", "%d/%m/%Y"),
    "mm/dd/yyyy": (r"^\d{1,2}/\d{1,2}/\d{4}$", "%m/%d/%Y"),
    "dd-mm-yyyy": (r"^\d{1,2}-\d{1,2}-\d{4}$", "%d-%m-%Y"),
    "mm-dd-yyyy": (r"^\d{1,2}-\d{1,2}-\d{4}$", "%m-%d-%Y"),
}
_SPELLINGS = _DAYS | {
    f"{spelling} {clock}": (f"{pattern[:-1]} {digits}$", f"{form} {signs}")
    for spelling, (pattern, form) in _DAYS.items()
    if spelling != ISO  # such times are read without being told
    for clock, digits, signs in (
        ("hh:mm", r"\d{1,2}:\d{2}", "%H:%M"),
        ("hh:mm:ss", r"\d{1,2}:\d{2}:\d{2}", "%H:%M:%S"),
    )
}
_TWINS = {"dd/mm/yyyy": "mm/dd/yyyy", "dd-mm-yyyy": "mm-dd-yyyy"}
"""Formats that differ in which of two numbers is the day."""


@dataclass(frozen=True)
class DateText:
    """A text column that looks like dates."""

    spelling: str
    """Their format, such as ``dd.mm.yyyy``."""
    format: str
    """The same in the signs of strftime; "" for ISO dates."""
    dates: int
    others: int
    """Texts that are not dates of this format."""
    word: str | None
    """The most frequent of these, if it occurs often enough to be named."""
    unclear: bool = False
    """Days and months cannot be distinguished."""

    @property
    def advice(self) -> str:
        """What to do, in words; empty if all texts are ISO dates."""
        lines = []
        if self.spelling != ISO:
            lines.append(
                f"looks like dates in the format {self.spelling}: tell Shoal so in the policy, for example "
                f'dates = {{ format = "{self.format}" }}'
            )
        if self.others:
            texts = "1 text is not a date" if self.others == 1 else f"{self.others:,} texts are not dates"
            named = f", among them '{self.word}'" if self.word is not None else ""
            example = f'["{self.word}"]' if self.word is not None and '"' not in self.word else '["unknown"]'
            among = "most texts are ISO dates, but " if self.spelling == ISO else ""
            lines.append(f"{among}{texts}{named}: list words for missing dates in null_values = {example}")
        return "; ".join(lines)


def dates_in(values: pl.Series) -> DateText | None:
    """Return the date format of a text column, or None if it does not look like dates.

    ISO dates may be mixed with fewer other texts than dates; for other formats at least 95 % must be dates. If
    days and months cannot be distinguished, both formats are named. O(n).
    """
    if values.dtype != pl.String:
        return None
    texts = values.drop_nulls()
    start = texts.head(1000)
    if texts.is_empty() or not start.str.contains(r"^\d+[-./]\d+[-./]\d+( [0-9:]+)?$").any():
        return None
    fits = {
        spelling: texts.str.contains(pattern) & _read(texts, form).is_not_null()
        for spelling, (pattern, form) in _SPELLINGS.items()
        if start.str.contains(pattern).any()
    }
    if not fits:
        return None
    counts = {spelling: int(fit.sum()) for spelling, fit in fits.items()}
    best = max(counts, key=lambda spelling: counts[spelling])
    dates = counts[best]
    if not (2 * dates > len(texts) if best == ISO else dates >= ENOUGH * len(texts)):
        return None
    others = texts.filter(~fits[best])
    word = None
    if len(others):
        top = others.rename("text").value_counts(name="times").sort("times", "text", descending=[True, False])
        word = str(top["text"][0]) if int(top["times"][0]) >= FREQUENT else None
    twin = next((best.replace(*pair) for pair in _TWINS.items() if pair[0] in best), None)
    unclear = twin is not None and counts.get(twin) == dates
    form = "" if best == ISO else _SPELLINGS[best][1]
    return DateText(f"{best} or {twin}" if unclear else best, form, dates, len(others), word, unclear)


def _read(texts: pl.Series, form: str) -> pl.Series:
    return (
        texts.str.to_datetime(form, strict=False) if "%H" in form else texts.str.to_date(form, strict=False)
    )
