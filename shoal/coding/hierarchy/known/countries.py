"""Countries by the regions of the United Nations (standard M49)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.country_list import COUNTRIES, OTHER_NAMES
from shoal.coding.hierarchy.known.listed import Entry, Listed


def _read_countries() -> tuple[Entry, ...]:
    """Return the countries region by region."""
    found = []
    for line in COUNTRIES.strip().splitlines():
        continent, region, countries = line.split(": ")
        for country in countries.split(", "):
            two, three, name = country.split(" ", 2)
            found.append(Entry((two, three, name, *OTHER_NAMES.get(two, ())), (region, continent)))
    return tuple(found)


@dataclass(frozen=True)
class Countries(Listed):
    """Countries by region and continent."""

    name: ClassVar[str] = "countries"
    example: ClassVar[str] = name
    title: ClassVar[str] = "countries"
    meaning: ClassVar[str] = "regions and continents"
    levels: ClassVar[str] = (
        "region, continent (UN M49); English names, or ISO 3166 codes of two or three letters"
    )
    sample: ClassVar[tuple[str, ...]] = ("PT", "Southern Europe", "Europe")
    hint: ClassVar[str] = "write former countries and parts of countries as a country of today"
    entries: ClassVar[Sequence[Entry]] = _read_countries()
