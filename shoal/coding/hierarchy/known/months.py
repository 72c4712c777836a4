"""Months of the year, in English, German, French and Spanish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.listed import Entry, Listed

_ENGLISH = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_GERMAN = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]
_FRENCH = [
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
]
_SPANISH = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
]
_SHORT = (
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    ["Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"],
    ["janv", "févr", "mars", "avr", "mai", "juin", "juil", "août", "sept", "oct", "nov", "déc"],
    ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"],
)
_MORE = {1: ("Jänner", "Jän"), 2: ("fév", "Feber"), 3: ("Mrz",), 9: ("Sept", "setiembre", "set")}


def _spell_month(month: int) -> tuple[str, ...]:
    """Return how a month is written, the English name first."""
    at = month - 1
    names = (_ENGLISH[at], _SHORT[0][at], str(month), f"{month:02}", _GERMAN[at], _FRENCH[at], _SPANISH[at])
    return (*names, *(short[at] for short in _SHORT[1:]), *_MORE.get(month, ()))


def _year_from(first: int, thirds: Sequence[str], halves: Sequence[str]) -> tuple[Entry, ...]:
    """Return the months of a year that begins with one of them, under nodes of three and of six months."""
    months = [(first + at - 1) % 12 + 1 for at in range(12)]
    return tuple(
        Entry(_spell_month(month), (thirds[at // 3], halves[at // 6])) for at, month in enumerate(months)
    )


@dataclass(frozen=True)
class Months(Listed):
    """Months by quarter and half-year."""

    name: ClassVar[str] = "months"
    example: ClassVar[str] = name
    title: ClassVar[str] = "months"
    meaning: ClassVar[str] = "quarters and half-years"
    levels: ClassVar[str] = "quarter, half-year; names in English, German, French or Spanish, or numbers"
    sample: ClassVar[tuple[str, ...]] = ("August", "Jul-Sep", "Jul-Dec")
    entries: ClassVar[Sequence[Entry]] = _year_from(
        1, ("Jan-Mar", "Apr-Jun", "Jul-Sep", "Oct-Dec"), ("Jan-Jun", "Jul-Dec")
    )


@dataclass(frozen=True)
class MonthsBySeason(Listed):
    """Months by season: the year goes round, so December, January and February are neighbours."""

    name: ClassVar[str] = "months-by-season"
    example: ClassVar[str] = name
    title: ClassVar[str] = "months"
    meaning: ClassVar[str] = "seasons and half-years"
    levels: ClassVar[str] = "season, half-year; December, January and February are neighbours"
    sample: ClassVar[tuple[str, ...]] = ("December", "Dec-Feb", "Dec-May")
    entries: ClassVar[Sequence[Entry]] = _year_from(
        12, ("Dec-Feb", "Mar-May", "Jun-Aug", "Sep-Nov"), ("Dec-May", "Jun-Nov")
    )
