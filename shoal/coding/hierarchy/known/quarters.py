"""Quarters of the year."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.listed import Entry, Listed

_ORDINALS = ("1st", "2nd", "3rd", "4th")


@dataclass(frozen=True)
class Quarters(Listed):
    """Quarters by half-year."""

    name: ClassVar[str] = "quarters"
    example: ClassVar[str] = name
    title: ClassVar[str] = "quarters"
    meaning: ClassVar[str] = "half-years"
    levels: ClassVar[str] = "half-year"
    sample: ClassVar[tuple[str, ...]] = ("Q3", "Q3-Q4")
    entries: ClassVar[Sequence[Entry]] = tuple(
        Entry(
            (
                f"Q{at}",
                str(at),
                f"T{at}",
                f"{at}. Quartal",
                f"{_ORDINALS[at - 1]} quarter",
                f"{at}Q",
                f"quarter {at}",
            ),
            ("Q1-Q2" if at < 3 else "Q3-Q4",),
        )
        for at in range(1, 5)
    )
