"""Known hierarchies: code systems and scales that many tables use. A new one is a file here and a line in `KNOWN`.

Each follows from a public code system or from the calendar, never from the data, so its labels tell nothing about rows.
"""

from __future__ import annotations

from shoal.coding.hierarchy.kinds.kind import WordKind
from shoal.support.registry import Registry

_HERE = "shoal.coding.hierarchy.known"

KNOWN: Registry[WordKind] = Registry(
    "known hierarchy",
    {
        "months": f"{_HERE}.months:Months",
        "months-by-season": f"{_HERE}.months:MonthsBySeason",
        "weekdays": f"{_HERE}.weekdays:Weekdays",
        "quarters": f"{_HERE}.quarters:Quarters",
        "seasons": f"{_HERE}.seasons:Seasons",
        "iso-dates": f"{_HERE}.iso_dates:IsoDates",
        "times-of-day": f"{_HERE}.times_of_day:TimesOfDay",
        "ages": f"{_HERE}.ages:Ages",
        "amounts": f"{_HERE}.amounts:Amounts",
        "coordinates": f"{_HERE}.coordinates:Coordinates",
        "countries": f"{_HERE}.countries:Countries",
        "us-states": f"{_HERE}.us_states:UsStates",
        "nuts": f"{_HERE}.nuts:Nuts",
        "postcodes": f"{_HERE}.postcodes:Postcodes",
        "icd-9": f"{_HERE}.icd_9:Icd9",
        "icd-10": f"{_HERE}.icd_10:Icd10",
        "atc": f"{_HERE}.atc:Atc",
        "isco-08": f"{_HERE}.isco_08:Isco08",
        "nace": f"{_HERE}.nace:Nace",
        "sic": f"{_HERE}.sic:Sic",
        "prefixes": f"{_HERE}.prefixes:Prefixes",
        "codes": f"{_HERE}.flat_codes:FlatCodes",
    },
)

__all__ = ["KNOWN"]
