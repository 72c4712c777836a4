"""Names that say little by themselves, such as `PINCP` or `iage`: matched together with what the column holds."""

from __future__ import annotations

import polars as pl

from shoal.policy.suggestions.vocabulary import letters_of, words_of

OLDEST = 125
FEW = 15
"""A column of categories has at most this many values."""
MANY = 10
"""A column of ages or amounts has at least this many values."""

ABBREVIATIONS: dict[str, tuple[str, str, str]] = {
    **dict.fromkeys(("age", "alter", "edad"), ("quasi", "age", "ages")),
    **dict.fromkeys(("sex", "gender", "gndr", "geschl"), ("quasi", "sex", "categories")),
    **dict.fromkeys(("dob", "birth", "brth", "bday", "gebdat"), ("quasi", "birth", "times")),
    **dict.fromkeys(("yob", "byear", "birthyr", "gebjahr", "doby"), ("quasi", "birth", "years")),
    **dict.fromkeys(("zip", "plz", "postcd", "pcode"), ("quasi", "zip", "anything")),
    **dict.fromkeys(("race", "rac", "ethn", "hisp"), ("quasi", "ethnicity", "categories")),
    **dict.fromkeys(("marst", "marstat", "mastat", "famstd", "mar"), ("quasi", "marital status", "categories")),
    **dict.fromkeys(("educ", "schl", "qual"), ("quasi", "education", "anything")),
    **dict.fromkeys(("occ", "soc", "isco", "jbsoc"), ("quasi", "occupation", "anything")),
    **dict.fromkeys(("nchild", "nkids", "hhsize"), ("quasi", "children", "categories")),
    **dict.fromkeys(("inc", "income", "einkom"), ("sensitive", "income", "amounts")),
    **dict.fromkeys(("wag", "wage", "salary", "pern", "earn"), ("sensitive", "pay", "amounts")),
    **dict.fromkeys(("relig", "rlgn"), ("sensitive", "religion", "categories")),
    **dict.fromkeys(("dphy", "dear", "deye", "drem", "dout", "ddrs"), ("sensitive", "disability", "categories")),
    "disab": ("sensitive", "disability", "categories"),
    **dict.fromkeys(("hicov", "privcov", "pubcov"), ("sensitive", "health insurance", "categories")),
}  # fmt: skip
"""Part of a name -> role, what it is about, and what the column must hold."""
WHOLE_WORDS = frozenset(
    {"since", "zinc", "inch", "incl", "socks", "march", "mark", "marks", "occur", "swag", "learn"}
)
"""Words that have such a part by chance."""
CONTACTS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s.]+$",
    "telephone numbers": r"^(\+|00)[1-9][0-9 ()/.-]{6,20}$",
    "bank accounts": r"^[A-Z]{2}[0-9]{2} ?([A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}$",
}
MOST = 0.5
"""If more than this share of texts are such, the column is."""
AROUND = 2
"""So many other letters may stand before or after such a part, as in `iage` and `PINCP`."""


def role_by_content(name: str, values: pl.Series, distinct: int) -> tuple[str, str] | None:
    """Return the role and the word that a shortened name suggests, if the column holds what it says; else None."""
    return next(
        (
            found
            for word in dict.fromkeys([letters_of(name), *words_of(name)])
            if (found := _role_of(word, values, distinct))
        ),
        None,
    )


def _role_of(word: str, values: pl.Series, distinct: int) -> tuple[str, str] | None:
    if word in WHOLE_WORDS:
        return None
    parts = sorted(ABBREVIATIONS, key=len, reverse=True)
    for part in parts:
        at = word.find(part)
        around = (at, len(word) - at - len(part))
        if at < 0 or max(around) > AROUND or (len(part) < 4 and sum(around) > AROUND):
            continue
        role, meaning, holds = ABBREVIATIONS[part]
        if _holds(holds, values, distinct):
            return role, meaning
    return None


def _holds(what: str, values: pl.Series, distinct: int) -> bool:
    if what == "anything":
        return True
    if what == "categories":
        return distinct <= FEW
    if what == "times":
        return values.dtype in (pl.Date, pl.Datetime) or _within(values, 1880, 2030)
    if what == "years":
        return _within(values, 1880, 2030)
    if what == "ages":
        return distinct >= MANY and _within(values, 0, OLDEST)
    return distinct >= MANY and values.dtype.is_numeric() and not _within(values, 0, OLDEST)  # amounts


def _within(values: pl.Series, low: float, high: float) -> bool:
    if not values.dtype.is_numeric():
        return False
    least, most = values.min(), values.max()
    return isinstance(least, int | float) and isinstance(most, int | float) and low <= least and most <= high


def contacts_in(texts: pl.Series) -> str:
    """Return what texts are that name people whatever their column is called; "" if they are something else. O(n)."""
    some = texts.drop_nulls().head(10_000).str.strip_chars()
    for what, pattern in CONTACTS.items():
        if int(some.str.contains(pattern).sum()) > MOST * len(some):
            return what
    return ""


def is_row_key(values: pl.Series) -> bool:
    """Return whether numbers seem to number rows or people: nearly consecutive, or all of one length of six or more.

    Measures with many digits are no keys: they have fractions, or differ in length.
    """
    if not values.dtype.is_integer():
        return False
    numbers = values.drop_nulls()
    least, most = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
    if most - least < 2 * len(numbers):
        return True
    lengths = numbers.abs().cast(pl.String).str.len_bytes()
    usual = lengths.mode()[0]
    return usual >= 6 and float((lengths == usual).mean() or 0) > 0.95
