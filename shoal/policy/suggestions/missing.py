"""Codes for missing values: words beside numbers or dates, and special numbers far from all others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

WORDS = frozenset(
    (
        "n", "na", "n/a", "n.a.", "n. a.", "#n/a", "#na", "#null!", "#value!", "nan", "null", "missing", "unknown",
        "unk", "not applicable", "not available", "not stated", "not reported", "not asked", "no answer", "no response",
        "refused", "declined", "don't know", "dont know", "dk", "nd", "n.d.", ".", "..", "-", "--", "---", "?", "??",
        "k.a.", "k. a.", "keine angabe", "unbekannt", "entfällt", "weiß nicht", "trifft nicht zu", "fehlt", "inconnu",
        "sans réponse", "desconocido", "s/d", "n/d", "onbekend",
    )
)  # fmt: skip
"""Words that mean no value wherever they are next to numbers or dates. They are nobody's value."""
AMBIGUOUS = frozenset(
    {"n", "na", "nd", "dk", "-", "--", "---", ".", "..", "unk", "k.a.", "declined", "fehlt"}
)
"""Words that may be somebody's value next to other words: no, Namibia, a grade."""
PHRASES = (
    "missing", "refus", "no answer", "no response", "not applicable", "inapplicable", "don't know", "dont know",
    "unknown", "not asked", "not stated", "not reported", "not available", "keine angabe", "weiß nicht",
    "trifft nicht zu", "verweigert",
)  # fmt: skip
"""What labels of codes for missing say."""
REPEATED = 3
"""A special number is a code if it occurs at least this often: a rare one may be somebody's value."""
OTHERS = 6
"""So many other values show what is usual."""
HEAP = 3
"""A code next to other numbers occurs more often than this many times the most frequent of the numbers just below."""
NEXT = 3
"""So many numbers just below a code show what is usual there."""
FAR = 0.25
"""A code at the upper end is farther from all others than this share of their range."""
DAYS = frozenset(
    dt.date(year, month, day)
    for year, month, day in (
        (1, 1, 1), (1800, 1, 1), (1899, 12, 30), (1899, 12, 31), (1900, 1, 1), (1901, 1, 1), (1970, 1, 1),
        (2099, 12, 31), (2100, 1, 1), (2999, 12, 31), (9999, 1, 1), (9999, 12, 31),
    )
)  # fmt: skip
"""Days that programs write where they know none."""


def is_missing_word(text: str) -> bool:
    """Return whether a text means no value; so does a row of the letter b, which census files use."""
    plain = text.strip().casefold()
    return plain in WORDS or (len(plain) > 1 and set(plain) == {"b"})


def is_missing_label(text: str) -> bool:
    """Return whether a text means no value next to other words, such as `N/A` or `unknown`."""
    return is_missing_word(text) and text.strip().casefold() not in AMBIGUOUS and set(text.strip()) != {"b"}


def special_codes(values: pl.Series) -> list[float | str]:
    """Return the codes for missing among numbers or dates, from small to large.

    Negative codes (-9, -99) stand beside numbers that are never negative. Others (99, 9999) are repeated, and far above
    all other numbers, or many more rows have it than any number just below (99 next to ages up to 97). Special days are
    far from all other days. O(n log n).
    """
    filled = values.drop_nulls()
    if isinstance(values.dtype, pl.Date):
        return _days(filled)
    if not values.dtype.is_numeric() or isinstance(values.dtype, pl.Decimal):
        return []
    numbers, counts = np.unique(filled.cast(pl.Float64).to_numpy(), return_counts=True)
    numbers, counts = numbers[np.isfinite(numbers)], counts[np.isfinite(numbers)]
    return [
        int(code)
        for code in (*_below(numbers, counts), *(_above(numbers, counts) or _heaped(numbers, counts)))
    ]


def find_labelled_codes(values: pl.Series, labels: Mapping[Any, str]) -> list[float | str]:
    """Return the codes that occur in a column and whose labels mean a missing value."""
    if not values.dtype.is_numeric():
        return []
    told = [code for code, text in labels.items() if any(phrase in text.casefold() for phrase in PHRASES)]
    used = set(values.drop_nulls().unique().to_list())
    return sorted(int(code) if code == int(code) else code for code in told if code in used)


def _below(numbers: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> Sequence[float]:
    """Return negative numbers that are all special, beside enough others that are not negative."""
    negative = numbers < 0
    codes, others = numbers[negative], numbers[~negative]
    if not len(codes) or len(codes) > 5 or len(others) < OTHERS or not all(map(_is_special, -codes)):
        return []
    if counts[negative].sum() < REPEATED:
        return []
    spacing = (others[-1] - others[0]) / (len(others) - 1)
    # -1 next to 0 may be a number like others; -9 is none where nothing else is negative.
    return list(codes) if codes[0] <= -7 or others[0] - codes[-1] > 3 * spacing else []


def _above(numbers: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> Sequence[float]:
    """Return special numbers at the upper end that are far above all others."""
    first = len(numbers)
    while first and numbers[first - 1] >= 77 and _is_special(numbers[first - 1]):
        first -= 1
    others = numbers[:first][numbers[:first] >= 0]
    if first == len(numbers) or len(others) < OTHERS or counts[first:].max() < REPEATED:
        return []
    spacing = (others[-1] - others[0]) / (len(others) - 1)
    far = numbers[first] - others[-1] > max(FAR * (others[-1] - others[0]), 3 * spacing)
    return list(numbers[first:]) if far else []


def _heaped(numbers: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> Sequence[float]:
    """Return 98 or 99, 998 or 999 and so on at the upper end if many more rows have them than any number just below,
    and a number before them is missing: a group of the oldest follows the others without a gap.
    """
    first = len(numbers)
    while first and numbers[first - 1] >= 88 and _is_special(numbers[first - 1]):
        usual = counts[max(first - 1 - NEXT, 0) : first - 1].max(initial=0)
        if counts[first - 1] <= max(HEAP * usual, REPEATED):
            break
        first -= 1
    others = numbers[:first]
    if first == len(numbers) or len(others) < OTHERS or others[0] < 0 or numbers[first] - others[-1] < 2:
        return []
    return list(numbers[first:])


def _is_special(number: float) -> bool:
    """Return whether a number looks like a code: 1 to 9, or digits from 6 to 9 of which all but the last are equal."""
    if number != int(number):
        return False
    text = str(int(number))
    return len(text) == 1 or (text[0] in "6789" and set(text[:-1]) == {text[0]} and text[-1] in "6789")


def _days(filled: pl.Series) -> list[float | str]:
    days = filled.value_counts(sort=False).sort(filled.name)
    dates, counts = days.to_series(0).to_list(), days.to_series(1).to_list()
    often = dict(zip(dates, counts, strict=True))
    others = [day for day in dates if day not in DAYS]
    if len(others) < OTHERS:
        return []
    span = max((others[-1] - others[0]).days, 1)
    return [
        day.isoformat()
        for day in dates
        if day in DAYS
        and often[day] >= REPEATED
        and min(abs((day - others[0]).days), abs((day - others[-1]).days)) > FAR * span
        and not others[0] < day < others[-1]
    ]
