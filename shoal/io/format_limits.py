"""What a file or a database cannot hold, and which formats can."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from shoal.io.formats import FORMATS
from shoal.io.formats.format import FileFormat, Holder

if TYPE_CHECKING:
    import polars as pl


def refusal(
    chosen: Holder,
    data: pl.DataFrame | Sequence[pl.DataFrame],
    sensitive: Collection[str] = (),
    columns: Sequence[str] = (),
    rows: int = 0,
) -> str:
    """Return why a format cannot hold a table, all reasons at once, and what to do; "" if it can.

    `columns` and `rows` are those of the whole table, if `data` is only a part of it, or what each column shows.
    """
    parts = data if isinstance(data, Sequence) else [data]
    columns = columns or [name for part in parts for name in part.columns]
    rows = rows or max((part.height for part in parts), default=0)

    def reasons(kind: Holder) -> list[str]:
        found = kind.misfits(columns, rows)
        for part in parts:
            found += kind.problems(part, [name for name in sensitive if name in part.columns])
        return found

    found = reasons(chosen)
    if not found:
        return ""
    advice = instead(chosen, lambda other: not reasons(other))
    if len(found) == 1:
        return f"{found[0]}; {advice}"
    return "\n".join([f"{chosen.title} cannot hold this table; {advice}", *(f"  {why}" for why in found)])


def instead(chosen: Holder, able: Callable[[Holder], bool]) -> str:
    """Return which other formats to take."""
    others = [
        kind() for name, kind in FORMATS.items() if issubclass(kind, FileFormat) and name != chosen.name
    ]
    names = [f"{other.title} ({other.suffixes[0]})" for other in others if able(other)]
    if not names:
        return "turn such columns into text first"
    return f"write {', '.join(names[:-1])}{' or ' if names[1:] else ''}{names[-1]} instead"
