"""States of the United States, by the divisions and regions of the Census Bureau."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.listed import Entry, Listed

# Region: division: postal code, FIPS code, name.
_STATES = """
Northeast: New England: CT 09 Connecticut, ME 23 Maine, MA 25 Massachusetts, NH 33 New Hampshire, RI 44 Rhode Island, VT 50 Vermont
Northeast: Middle Atlantic: NJ 34 New Jersey, NY 36 New York, PA 42 Pennsylvania
Midwest: East North Central: IL 17 Illinois, IN 18 Indiana, MI 26 Michigan, OH 39 Ohio, WI 55 Wisconsin
Midwest: West North Central: IA 19 Iowa, KS 20 Kansas, MN 27 Minnesota, MO 29 Missouri, NE 31 Nebraska, ND 38 North Dakota, SD 46 South Dakota
South: South Atlantic: DE 10 Delaware, DC 11 District of Columbia, FL 12 Florida, GA 13 Georgia, MD 24 Maryland, NC 37 North Carolina, SC 45 South Carolina, VA 51 Virginia, WV 54 West Virginia
South: East South Central: AL 01 Alabama, KY 21 Kentucky, MS 28 Mississippi, TN 47 Tennessee
South: West South Central: AR 05 Arkansas, LA 22 Louisiana, OK 40 Oklahoma, TX 48 Texas
West: Mountain: AZ 04 Arizona, CO 08 Colorado, ID 16 Idaho, MT 30 Montana, NV 32 Nevada, NM 35 New Mexico, UT 49 Utah, WY 56 Wyoming
West: Pacific: AK 02 Alaska, CA 06 California, HI 15 Hawaii, OR 41 Oregon, WA 53 Washington
U.S. territories: U.S. territories: AS 60 American Samoa, GU 66 Guam, MP 69 Northern Mariana Islands, PR 72 Puerto Rico, VI 78 U.S. Virgin Islands
Armed Forces: Armed Forces: AA _ Armed Forces Americas, AE _ Armed Forces Europe, AP _ Armed Forces Pacific
"""  # noqa: E501
_MORE = {"DC": ("Washington DC", "D.C."), "VI": ("Virgin Islands",)}


def _read_states() -> tuple[Entry, ...]:
    """Return the states in the order of the Census Bureau."""
    found = []
    for line in _STATES.strip().splitlines():
        region, division, states = line.split(": ")
        for state in states.split(", "):
            code, fips, name = state.split(" ", 2)
            fips = "" if fips == "_" else fips
            spellings = (code, name, fips, fips.lstrip("0"), *_MORE.get(code, ()))
            found.append(Entry(spellings, (division, region)))
    return tuple(found)


@dataclass(frozen=True)
class UsStates(Listed):
    """US states by census division and region."""

    name: ClassVar[str] = "us-states"
    example: ClassVar[str] = name
    title: ClassVar[str] = "US states"
    meaning: ClassVar[str] = "census divisions and regions"
    levels: ClassVar[str] = (
        "census division, region; territories and the armed forces (AA, AE, AP) are groups of their own; "
        "postal codes, names or FIPS codes"
    )
    sample: ClassVar[tuple[str, ...]] = ("OH", "East North Central", "Midwest")
    entries: ClassVar[Sequence[Entry]] = _read_states()
