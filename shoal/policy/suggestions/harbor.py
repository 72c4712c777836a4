"""What HIPAA Safe Harbor makes of a column: its kind by name, type and hierarchy, and how far it is shown."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.hierarchy.kinds.cuts import Cuts
from shoal.coding.hierarchy.kinds.dates import Dates
from shoal.coding.hierarchy.kinds.widths import Widths
from shoal.coding.hierarchy.known.ages import Ages
from shoal.coding.roles import ROLES
from shoal.errors import DataError
from shoal.judging.models.safe_harbor import DIGITS, OLDEST, SAFE_HARBOR
from shoal.policy.suggestions.vocabulary import AGES, words_of
from shoal.support.machine.files import read_text
from shoal.support.wording import format_count, format_value

if TYPE_CHECKING:
    import polars as pl

HARBOR = SAFE_HARBOR.name
FEW_PEOPLE = 20_000
"""Areas with this many people or fewer may not be shown."""
_SHOWN_LINES = 10
"""Lines of a wrong file that a message shows."""


def _set(*words: str) -> frozenset[str]:
    return frozenset(word for part in words for word in part.split())


ZIPS = _set("zip zipcode postcode postal postalcode plz")
AREAS = _set(
    "city town village county district municipality borough precinct neighborhood neighbourhood place location",
    "latitude longitude lat lon lng geocode ort wohnort street address",
)
"""Words for areas smaller than a state, but zip codes."""
DAYS = _set(
    "date admission admitted discharge discharged death died visit visited arrival departure geburtsdatum geburtstag",
)
"""Words for days; a column of the type date or time needs none."""
BIRTHS = _set("birth birthdate birthday birthyear dob yob born geburtsdatum geburtstag geburtsjahr")

KINDS_OF_IDENTIFIERS = (
    "names",
    "areas smaller than a state, but three digits of zip codes",
    "dates about a person, but years; ages over 89",
    "telephone numbers",
    "fax numbers",
    "e-mail addresses",
    "social security numbers",
    "medical record numbers",
    "health plan beneficiary numbers",
    "account numbers",
    "certificate and license numbers",
    "vehicle identifiers, serial numbers and license plates",
    "device identifiers and serial numbers",
    "web addresses (URLs)",
    "IP addresses",
    "biometric identifiers, such as finger and voice prints",
    "full-face photographs and the like",
    "any other unique number, characteristic or code",
)
"""The 18 kinds of the rule, in its order."""


def of_column(
    name: str, entry: dict[str, Any], dtype: pl.DataType | None, small: Sequence[str] | None
) -> tuple[dict[str, Any], str]:
    """Return what the policy says about a column under the rule, and why it changed; empty if it did not."""
    words = words_of(name)
    known = {*words, *(a + b for a, b in zip(words, words[1:], strict=False))}  # noqa: RUF007
    if HARBOR in entry:
        return entry, ""  # somebody has decided already
    if ROLES[entry["role"]].removed:
        return _of_removed(entry)
    if known & ZIPS:
        return _of_zip(entry, dtype, small)
    if known & AREAS:
        return _remove_column("an area smaller than a state")
    temporal, integer = (False, False) if dtype is None else (dtype.is_temporal(), dtype.is_integer())
    dated = isinstance(parse_hierarchy(entry.get("hierarchy")), Dates) or temporal
    if known & BIRTHS and (dated or integer):
        return _of_birth(entry, dated=dated)
    if dated and str(dtype) != "Time":
        years = {"dates": ["year", "decade"], "finest": "year"}
        return _generalize_column(entry, "date", years), "dates become years"
    if dated or known & (DAYS | BIRTHS):
        return _remove_column("days and times, in a form that cannot become years")
    if known & AGES:
        return _of_age(entry, dtype)
    return {**entry, HARBOR: "other"}, ""


def _of_removed(entry: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return a column that is not published, without the codes for people that would be published in its place."""
    if entry.get("publish") is None:
        return {**entry, HARBOR: "identifier"}, ""
    left = {key: value for key, value in entry.items() if key not in ("publish", "order")}
    return {**left, HARBOR: "identifier"}, "a code for each person is one of the 18 kinds"


def _remove_column(why: str) -> tuple[dict[str, Any], str]:
    return {"role": "drop", HARBOR: "identifier"}, why


def _generalize_column(entry: dict[str, Any], what: str, hierarchy: dict[str, Any]) -> dict[str, Any]:
    """Return a column that is generalized; only quasi-identifiers are."""
    kept = {key: value for key, value in entry.items() if key in ("dates", "null_values", "unit", "weight")}
    return {"role": "quasi", **kept, "hierarchy": hierarchy, HARBOR: what}


def _of_zip(
    entry: dict[str, Any], dtype: pl.DataType | None, small: Sequence[str] | None
) -> tuple[dict[str, Any], str]:
    if dtype is not None and dtype.is_numeric():
        return _remove_column(
            "zip codes that are numbers have lost their zeros at the front: read them as text"
        )
    if small is None:
        return _remove_column(
            f"zip codes: which areas of {DIGITS} digits have 20,000 people or fewer is not known; give the list"
        )
    spec = {"mask": "right", "show": DIGITS, "small": sorted(small)}
    return _generalize_column(
        entry, "zip", spec
    ), f"zip codes keep {DIGITS} digits, and small areas become 000"


def _of_birth(entry: dict[str, Any], *, dated: bool) -> tuple[dict[str, Any], str]:
    bottom = dt.date.today().year - OLDEST
    spec: dict[str, Any] = {"dates": ["year", "decade"], "finest": "year", "bottom": bottom}
    if not dated:
        spec = {"widths": [5, 10], "bottom": bottom}
    why = (
        f"years of birth, and one group before {bottom}: these people are over {OLDEST} in {bottom + OLDEST}"
    )
    return _generalize_column(entry, "birth", spec), why


def _of_age(entry: dict[str, Any], dtype: pl.DataType | None) -> tuple[dict[str, Any], str]:
    if dtype is not None and not dtype.is_numeric():
        return {**entry, HARBOR: "age"}, ""
    kind = parse_hierarchy(entry.get("hierarchy"))
    kind = parse_hierarchy(Ages.spec) if entry.get("hierarchy") == {"known": Ages.name} else kind
    own = kind.settings() if isinstance(kind, Widths | Cuts) else {}
    spec = {**{key: _plain(value) for key, value in own.items()}, "top": OLDEST + 1}
    return _generalize_column(entry, "age", spec), f"ages over {OLDEST} are one group"


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def small_areas(path: Path) -> tuple[str, ...]:
    """Read the three-digit areas with 20,000 people or fewer from a file: one per line, or every area with its number
    of people after a comma, semicolon or tab. Lines that begin with # are left out, and a first line without digits
    names the columns. Any other line is rejected: an area that is not understood would be published.
    """
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: the list of small areas cannot be read: {error}") from None
    filled = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    given = [(number, line) for number, line in filled if not line.startswith("#")]
    if given and not re.search(r"\d", given[0][1]):
        del given[0]
        if not given:
            raise DataError(
                f"{path}: the list has no area, only a line without digits; write # if there are none"
            )
    if not filled:
        raise DataError(f"{path}: the list of small areas is empty; write # if there are none")
    people: dict[str, int] = {}
    wrong = []
    for number, line in given:
        area, count = _read_area(line)
        if not area:
            wrong.append(f"line {number}: {format_value(line)}")
        elif people.setdefault(area, count) != count:
            wrong.append(f"line {number}: {format_value(line)} (before: {people[area]:,} people)")
    if wrong:
        more = len(wrong) - _SHOWN_LINES
        raise DataError(
            f"{path}: {format_count(len(wrong), 'line')} cannot be used: each area has {DIGITS} digits and occurs "
            "once, "
            "with or without its number of people as a whole number without points or commas: write 036, or 036;17705. "
            + "; ".join(wrong[:_SHOWN_LINES])
            + (f"; and {format_count(more, 'line')} more" if more > 0 else "")
        )
    return tuple(area for area, count in people.items() if count <= FEW_PEOPLE)


def _read_area(line: str) -> tuple[str, int]:
    """Return an area and its number of people, 0 if the line has none; no area if the line cannot be understood."""
    area, *rest = (cell.strip().strip('"') for cell in re.split(r"[,;\t]", line))
    count = re.sub(r"[ _']", "", rest[0]) if rest else "0"
    understood = re.fullmatch(rf"[0-9]{{{DIGITS}}}", area) and re.fullmatch("[0-9]{1,12}", count)
    return (area, int(count)) if understood and len(rest) <= 1 else ("", 0)
