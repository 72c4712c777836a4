"""Which known hierarchy fits a column: by its name and all of its values."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from shoal.coding.hierarchy.distinct_values import distinct_values, plain_text
from shoal.coding.hierarchy.known import KNOWN
from shoal.coding.hierarchy.known.code_system import CodeSystem
from shoal.policy.suggestions.missing import is_missing_word
from shoal.policy.suggestions.vocabulary import AGES, words_of

MOST_VALUES = 100_000
"""Codes of columns with more distinct values are not looked at."""
OLDEST = 125
LEAST = 4
"""A column has at least so many different values before they are taken for a code system; words are clearer."""
TELLING = 12
"""So many different codes of two letters are hardly by chance all countries or all states."""


@dataclass(frozen=True)
class Sign:
    """What says that a column holds a code system."""

    known: str
    names: frozenset[str] = frozenset()
    """Words of column names that say so."""
    alone: str | None = None
    """A pattern: if all values match it, they say so without the name. None if only the name can say it."""


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


_WORD = r"^\D{3,}$"
"""No digits, three letters or more: month and country names."""
SIGNS = (
    Sign("months", word_set("month months monat monate mois mes meses mth mon"), _WORD),
    Sign("weekdays", word_set("day weekday dayofweek dow wochentag tag jour dia día"), _WORD),
    Sign("seasons", word_set("season saison jahreszeit estacion estación"), _WORD),
    Sign("quarters", word_set("quarter quartal trimestre qtr"), r"^(?i)[QT][1-4]$|quart"),
    Sign("times-of-day", word_set("hour hours stunde heure hora hr time uhrzeit"), r"^\d{1,2}:\d{2}"),
    Sign("us-states", word_set("state states province bundesstaat usps"), _WORD),
    Sign(
        "countries",
        word_set(
            "country countries nation nationality land pays pais país citizenship staat iso origin native"
        ),
        _WORD,
    ),
    Sign("nuts", word_set("nuts")),
    Sign("atc", word_set("atc"), r"^[A-Z][0-9]{2}[A-Z]{2}[0-9]{2}$"),
    Sign("isco-08", word_set("isco")),
    Sign("nace", word_set("nace")),
    Sign("sic", word_set("sic")),
    Sign(
        "icd-10", word_set("icd diag diagnosis diagnoses diagnose dx cause cim cie"), r"^[A-Z][0-9]{2}\.[0-9]"
    ),
    Sign("icd-9", word_set("icd diag diagnosis diagnoses diagnose dx cause")),
)
COORDINATES = word_set(
    "lat latitude latitud breite breitengrad breitengrade lon lng long longitude longitud längengrad laengengrad"
)
POSTCODES = word_set("zip zipcode postcode postal postalcode plz")


def recognize(name: str, values: pl.Series) -> str | None:
    """Return the name of the known hierarchy that fits a column; None if none does.

    All values must be codes of the system, empty cells left out: a single other value would stop the run. Its name must
    say so, too, or values that can hardly mean anything else. O(distinct values).
    """
    words = {*words_of(name), "".join(words_of(name))}
    if values.dtype.is_numeric():
        if AGES & words and _within(values, 0, OLDEST):
            return "ages"
        if COORDINATES & words and _within(values, -180, 180) and not values.dtype.is_integer():
            return "coordinates"
    elif values.dtype not in (pl.String, pl.Time, pl.Categorical, pl.Enum):
        return None
    data = distinct_values(values).drop_nulls()
    if not LEAST <= len(data) <= MOST_VALUES:
        return None
    if values.dtype == pl.Time:
        return "times-of-day"
    texts = plain_text(data)
    number = values.dtype.is_numeric()
    found = [sign for sign in SIGNS if sign.names & words and _fits(sign.known, texts, number)]
    if found:
        return found[0].known
    if number:
        return None
    telling = [sign.known for sign in SIGNS if _says(sign, texts) and _fits(sign.known, texts, number)]
    return telling[0] if len(telling) == 1 else None


def _says(sign: Sign, texts: pl.Series) -> bool:
    """Whether values say by themselves what they are."""
    if sign.alone is None:
        return False
    if sign.known in ("countries", "us-states") and bool(texts.str.contains("^[A-Za-z]{2}$").all()):
        return len(texts) >= TELLING
    return bool(texts.str.contains(sign.alone).all())


def _fits(known: str, texts: pl.Series, number: bool) -> bool:
    """Whether all texts are codes of a system. Numbers are only codes of systems that count something."""
    if number and known == "weekdays":
        return False
    system = KNOWN[known]()
    if not isinstance(system, CodeSystem):
        return False
    if number and system.leading_zeros and texts.str.len_chars().n_unique() > 1:
        return False
    return all(system.place(system.tidy(text)) is not None for text in texts)


def _within(values: pl.Series, low: float, high: float) -> bool:
    least, most = values.min(), values.max()
    return isinstance(least, int | float) and isinstance(most, int | float) and low <= least and most <= high


def find_missing_words(name: str, column: pl.Series) -> tuple[str, ...]:
    """Return the words for missing values without which a column of texts is one of a known code system."""
    if column.dtype != pl.String:
        return ()
    distinct = column.drop_nulls().unique()
    if len(distinct) > MOST_VALUES:
        return ()
    words = [text for text in distinct if is_missing_word(text)]
    rest = distinct.filter(~distinct.is_in(words))
    if not words or recognize(name, rest) is None:
        return ()
    lengths = set(rest.str.len_chars())
    # NA is Namibia among codes of two letters, and no value among names.
    codes = recognize(name, distinct) is not None and {len(text) for text in words} <= lengths
    return () if codes else tuple(sorted(words))
