"""What each column of a table seems to be, and how it could be generalized."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from shoal.brief import Brief
from shoal.hierarchy.date_text import DateText, dates_in
from shoal.suggesting.vocabulary import is_code, is_key, role_by_name

FEW_ROWS = 20
"""With fewer rows, distinct numbers mean nothing: the ages of a dozen people may all differ too."""
FREE_TEXT = 40
"""Texts with at least this mean length count as free text."""

Spec = dict[str, Any] | str | None


@dataclass(frozen=True)
class Guess:
    """What a column seems to be."""

    name: str
    role: str
    reason: str
    """Why, in a few words; contains no values of the column."""
    hierarchy: Spec = None
    distinct: int = 0
    advice: str = ""
    """What to think about before publishing."""
    warning: str = ""
    """What is wrong with the values and has to be corrected first."""


@dataclass(frozen=True, repr=False)
class _Facts(Brief):
    """What is counted about a column before any guess."""

    name: str
    values: pl.Series
    rows: int
    filled: int
    distinct: int
    """Distinct values, null included."""
    written: DateText | None = None
    """The format of the dates, if texts look like dates."""

    @property
    def dtype(self) -> pl.DataType:
        return self.values.dtype

    @property
    def spread(self) -> float:
        """Distinct values per filled row."""
        return (self.distinct - (self.filled < self.rows)) / max(self.filled, 1)

    @property
    def counted(self) -> str:
        if self.distinct == 1:
            return "the same value in every row"
        values = f"{self.distinct:,} distinct values"
        return f"{values} in {self.rows:,} rows" if self.spread > 0.1 else values


def guess_columns(table: pl.DataFrame) -> tuple[Guess, ...]:
    """Guess the role and a hierarchy of every column. At least one becomes a quasi-identifier."""
    guesses = tuple(_guess(_facts(column)) for column in table)
    if any(guess.role == "quasi" for guess in guesses):
        return guesses
    # A policy needs a quasi-identifier: take the column whose role is least certain.
    order = {"plain": 0, "sensitive": 1, "identifier": 2}
    chosen = min(range(len(guesses)), key=lambda i: (guesses[i].distinct == 0, order[guesses[i].role]))
    former = guesses[chosen]
    promoted = replace(
        former,
        role="quasi",
        hierarchy="none",
        reason=f"a policy needs a quasi-identifier, and no column looks like one; else {former.role}: {former.reason}",
    )
    return tuple(promoted if i == chosen else guess for i, guess in enumerate(guesses))


def _facts(values: pl.Series) -> _Facts:
    filled = len(values) - values.null_count()
    try:
        distinct = values.n_unique()
    except pl.exceptions.PolarsError:
        distinct = len(values)  # nested and binary objects cannot always be counted
    return _Facts(values.name, values, len(values), filled, distinct, dates_in(values))


def _guess(facts: _Facts) -> Guess:
    role, reason, advice = _role(facts)
    hierarchy = suggested_hierarchy(facts.name, facts.values, facts.distinct) if role == "quasi" else None
    distinct = 0 if facts.filled == 0 else facts.distinct
    warning = "" if facts.written is None else facts.written.advice
    return Guess(facts.name, role, reason, hierarchy, distinct, advice, warning)


def _role(facts: _Facts) -> tuple[str, str, str]:
    """Return role, reason and advice. Names decide first, then uniqueness, then type; in doubt the safer role."""
    if facts.filled == 0:
        return "identifier", "empty: there is nothing to publish", ""
    if facts.dtype.is_nested() or facts.dtype in (pl.Binary, pl.Object):
        return (
            "identifier",
            f"values of type {facts.dtype.base_type()} cannot be generalized",
            "split it into simple columns first",
        )
    by_name = role_by_name(facts.name)
    if by_name is not None and by_name[0] == "identifier":
        return "identifier", f"its name says '{by_name[1]}'; {facts.counted}", ""
    text = facts.dtype == pl.String
    if text and facts.distinct > 3 and _mean_length(facts.values) > FREE_TEXT:
        advice = "texts may name people; read them before you publish them"
        return "identifier", f"looks like free text; {facts.counted}", advice
    if by_name is not None:
        return by_name[0], f"its name says '{by_name[1]}'; {facts.counted}", ""
    if facts.distinct == 1:
        return "plain", "the same in every row", ""
    if is_key(facts.name) and facts.spread > 0.2:
        return "identifier", f"its name says it is a key; {facts.counted}", ""
    enough = facts.rows >= FEW_ROWS
    if text and facts.spread > 0.5 and facts.filled > 2 and facts.written is None:
        return "identifier", f"most rows have a value that no other row has; {facts.counted}", ""
    if facts.dtype.is_numeric() and facts.spread > 0.9 and enough:
        advice = "make it plain if nobody else can know these numbers, quasi if somebody can"
        return "identifier", f"nearly every row has a value that no other row has; {facts.counted}", advice
    if facts.dtype.is_temporal() or facts.written is not None:
        return "quasi", f"other people often know the dates of events; {facts.counted}", ""
    advice = "make it plain if nobody else can know it, sensitive if nobody should"
    return "quasi", f"other people may know it, so to be safe it is generalized; {facts.counted}", advice


def _mean_length(values: pl.Series) -> float:
    return float(values.head(10_000).drop_nulls().str.len_chars().mean() or 0)  # type: ignore[arg-type]


# --- hierarchies ------------------------------------------------------------------------------------------


def suggested_hierarchy(name: str, values: pl.Series, distinct: int) -> Spec:
    """Propose how to generalize a quasi-identifier, from its type, span and number of values."""
    if distinct <= 3 or values.null_count() == len(values):
        return "none"
    if values.dtype in (pl.Date, pl.Datetime):
        return _dates(values)
    written = dates_in(values)
    if written is not None:
        # Other formats do not sort by date as text, so propose no hierarchy until the column is corrected.
        return "none" if written.advice else _dates(values.str.to_date("%Y-%m-%d"))
    if values.dtype.is_integer() and is_code(name):
        return {"mask": "right"}
    if values.dtype.is_numeric():
        return _widths(values)
    if values.dtype == pl.String:
        return {"mask": "right"} if _are_codes(name, values) else "auto"
    return "auto" if values.dtype in (pl.Categorical, pl.Enum) else "none"


def _are_codes(name: str, values: pl.Series) -> bool:
    """Return whether values are codes such as zip codes: short, equally long, and named so or all digits."""
    some = values.drop_nulls().head(10_000)
    lengths = some.str.len_chars()
    usual = lengths.mode()[0]
    alike = float((lengths == usual).mean() or 0) > 0.8
    digits = bool(some.str.contains(r"^\d+$").all())
    return alike and 3 <= usual <= 10 and (digits or is_code(name))


def _dates(values: pl.Series) -> Spec:
    first, last = values.min(), values.max()
    if not isinstance(first, dt.date) or not isinstance(last, dt.date):
        return "none"
    days = (last - first).days
    levels = ["day"] if values.dtype == pl.Datetime else []
    if days > 10 * 365:
        levels += ["month", "year", "decade"]
    elif days > 365:
        levels += ["month", "quarter", "year"]
    elif days > 31:
        levels += ["month", "quarter"]
    return {"dates": levels} if levels else "none"


def _widths(values: pl.Series) -> Spec:
    """Return about sixteen intervals of a round width, then two levels of wider ones."""
    numbers = values.drop_nulls().cast(pl.Float64, strict=False)
    numbers = numbers.filter(numbers.is_finite())
    if numbers.is_empty():
        return "none"
    span = float(numbers.max()) - float(numbers.min())  # type: ignore[arg-type]
    largest = float(numbers.abs().max())  # type: ignore[arg-type]
    # Beyond this, floating-point numbers cannot distinguish neighbouring intervals; free ranges still work.
    if not 1e-9 < span < 1e15 or largest > 1e12 * span:
        return "none"
    width = _round_number(span / 16)
    if values.dtype.is_integer():
        width = max(width, 2)
    lead = round(width / 10 ** math.floor(math.log10(width) + 1e-9))
    factors = {1: (1, 5, 10), 2: (1, 5, 10), 5: (1, 2, 4)}[lead]
    widths = [_tidy(width * factor) for factor in factors if width * factor < span]
    return {"widths": widths} if widths else "none"


def _round_number(wanted: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, 50, .. that is at least the wanted number."""
    size = 10.0 ** math.floor(math.log10(wanted))
    return next(lead * size for lead in (1, 2, 5, 10) if lead * size >= wanted * (1 - 1e-9))


def _tidy(number: float) -> float:
    """Return whole numbers as integers, others without the noise of binary fractions."""
    return round(number) if number >= 1 else float(f"{number:.12g}")
