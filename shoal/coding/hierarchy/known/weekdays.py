"""Days of the week, in English, German, French and Spanish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.listed import Entry, Listed

_SPELLED = (
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
    ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
    ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
    ["lun", "mar", "mer", "jeu", "ven", "sam", "dim"],
    ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
    ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"],
    ["", "Tues", "Weds", "Thur", "", "Sonnabend", ""],
    ["", "Tu", "We", "Thurs", "", "", "Su"],
)
_PARTS = ("Mon-Fri",) * 5 + ("Sat-Sun",) * 2


@dataclass(frozen=True)
class Weekdays(Listed):
    """Working days and weekend."""

    name: ClassVar[str] = "weekdays"
    example: ClassVar[str] = name
    title: ClassVar[str] = "days of the week"
    meaning: ClassVar[str] = "working days and weekend"
    levels: ClassVar[str] = "working days and weekend; names in English, German, French or Spanish"
    sample: ClassVar[tuple[str, ...]] = ("Saturday", "Sat-Sun")
    hint: ClassVar[str] = (
        "numbers of days differ between systems (which day is 1?), so write names, or give a tree"
    )
    entries: ClassVar[Sequence[Entry]] = tuple(
        Entry(tuple(system[day] for system in _SPELLED), (_PARTS[day],)) for day in range(7)
    )
