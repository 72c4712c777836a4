"""How a column could be generalized: what its values mean decides, then regular bands; never the order of codes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.coding.hierarchy.date_text import dates_in
from shoal.policy.suggestions.known_columns import recognize, word_set
from shoal.policy.suggestions.number_bands import regular_bands
from shoal.policy.suggestions.vocabulary import is_code, words_of
from shoal.support.arrays import LongVector

Spec = dict[str, Any] | str | None
FEW_CODES = 15
"""Whole numbers with at most so many different values are codes, unless the name says that they count or measure."""
QUANTITIES = word_set(
    "age ages alter edad year years jahr jahre anno año ano month months monat day days tage tag hour hours stunden "
    "week weeks minutes num number numbers no nr n count counts anzahl nombre numero número total sum size children "
    "child kids kinder enfants hijos persons people members personen rooms bedrooms zimmer cars vehicles visits "
    "admissions times episodes births pregnancies siblings grade level stage score rating scale rank points stufe "
    "note quantity qty amount height weight length distance income salary price cost dose duration los stay bmi"
)
"""Words in names of numbers that count, measure or rank something."""
ORDINALS = word_set(
    "never rarely seldom sometimes often usually always hourly daily weekly monthly yearly once twice low lower medium "
    "middle high higher very none slight slightly mild moderate severe agree disagree neutral satisfied dissatisfied "
    "poor fair good excellent bad worse better less more than under over small large first second third "
    "nie selten manchmal oft häufig immer täglich wöchentlich monatlich niedrig mittel hoch sehr eher stimme gut "
    "schlecht jamais rarement parfois souvent toujours faible moyen élevé nunca raramente veces siempre bajo medio alto"
)
"""Words in labels whose order means something."""


def suggest_hierarchy(
    name: str,
    values: pl.Series,
    distinct: int,
    counts: LongVector | None = None,
    labels: Mapping[Any, str] | None = None,
) -> Spec:
    """Propose how to generalize a quasi-identifier.

    A known hierarchy where all values fit one; the calendar for dates; regular round bands for numbers; masks for codes
    of one length. Labels such as never, sometimes, always are grouped in their order. Other codes and texts stay as
    they are, or become `*`: their order means nothing. With `counts`, values are distinct, and so many rows have each
    of them. `labels` name the codes of the column.
    """
    if values.null_count() == len(values):
        return "none"
    if are_codes(name, values, labels):
        known = recognize(name, values)
        return {"known": known or "codes"} if distinct > 2 else "none"
    if distinct <= 3:
        return "none"
    if values.dtype in (pl.Date, pl.Datetime):
        return _dates(values)
    written = dates_in(values)
    if written is not None:
        # Other formats do not sort by date as text, so propose no hierarchy until the column is corrected.
        return "none" if written.advice else _dates(values.str.to_date("%Y-%m-%d"))
    if is_code(name) and (values.dtype.is_integer() or _have_one_length(values)):
        return {"mask": "right"}
    known = recognize(name, values)
    if known is not None:
        return {"known": known}
    if values.dtype.is_numeric():
        return regular_bands(values, counts)
    if isinstance(values.dtype, pl.Enum) and _are_ordinal(values.dtype.categories):
        return "auto"
    return {"mask": "right"} if values.dtype == pl.String and _are_digits(values) else "none"


def are_codes(name: str, values: pl.Series, labels: Mapping[Any, str] | None = None) -> bool:
    """Return whether whole numbers are codes (1 = single, 2 = married): if most have a label, or if they are few and
    the name does not say that they count or measure something.
    """
    if not values.dtype.is_integer():
        return False
    numbers = values.drop_nulls().unique()
    if labels and 2 * sum(number in labels for number in numbers) >= len(numbers):
        return True
    if len(numbers) > FEW_CODES or QUANTITIES.intersection(words_of(name)):
        return False
    line = numbers.sort().cast(pl.Int64, strict=False).drop_nulls().to_numpy()
    years = len(line) > 0 and line[0] >= 1800 and line[-1] <= 2100
    steps = int(np.gcd.reduce(np.diff(line))) if len(line) > 2 else 1
    return not years and steps < 5  # 0, 10, 20, 30 are measured


def _are_ordinal(labels: pl.Series) -> bool:
    """Return whether at least half of the labels of an ordered list say how much or how often."""
    return 2 * sum(bool(ORDINALS.intersection(words_of(label))) for label in labels) >= len(labels) > 0


def _have_one_length(values: pl.Series) -> bool:
    """Return whether most texts are equally long and short, as zip codes are."""
    if values.dtype != pl.String:
        return False
    lengths = values.drop_nulls().head(10_000).str.len_chars().to_numpy()
    found, often = np.unique(lengths, return_counts=True)
    usual = int(found[often.argmax()])
    return bool(often.max() > 0.8 * len(lengths)) and 3 <= usual <= 10


def _are_digits(values: pl.Series) -> bool:
    """Return whether texts are codes of digits and of one length."""
    return _have_one_length(values) and bool(values.drop_nulls().head(10_000).str.contains(r"^\d+$").all())


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
