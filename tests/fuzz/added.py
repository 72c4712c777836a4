"""Columns that a release has in addition to those of its table: the ends of cells, and pseudonyms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.fuzz.cases import Case
from tests.oracles.checker.cells import letters
from tests.oracles.checker.readers import Cells


def without_added(case: Case, table: Cells) -> tuple[Cells, list[str]]:
    """Return the table without added columns, for the checker, and what is wrong with these."""
    ends = {name: (f"{name}_low", f"{name}_high") for name in case.bounded}
    added = [*case.followed, *(one for pair in ends.values() for one in pair)]
    if not added or not table.columns:
        return table, []
    missing = [name for name in added if name not in table.columns]
    if missing:
        return table, [f"added: no column {missing[0]!r}"]
    found = [problem for name in case.followed for problem in _tokens(case, table, name)]
    found += [problem for name, pair in ends.items() for problem in _ends(table, name, *pair)]
    keep = [at for at, name in enumerate(table.columns) if name not in added]
    types = {name: kind for name, kind in table.types.items() if name not in added}
    rows = [[row[at] for at in keep] for row in table.rows]
    return Cells([table.columns[at] for at in keep], rows, table.texts, types), found


def _tokens(case: Case, table: Cells, name: str) -> Iterator[str]:
    """Tokens are random, and one for each identifier."""
    tokens = [str(letters(cell)) for cell in table.column(name)]
    if not all(re.fullmatch(r"p[0-9a-f]{16}", token) for token in tokens):
        yield f"pseudonyms: {name!r} shows something else"
    people = next(column for column in case.columns if column.name == name).values
    if len(set(people)) == len(people) and len(set(tokens)) != len(tokens):
        yield f"pseudonyms: {name!r} gives two people one token"


def _ends(table: Cells, name: str, low: str, high: str) -> Iterator[str]:
    """Ends belong to the label: rows with the same label have the same ends, and the lower is not above the upper."""
    seen: dict[str, tuple[str, str]] = {}
    for cell, first, last in zip(table.column(name), table.column(low), table.column(high), strict=True):
        pair = str(letters(first)), str(letters(last))
        if seen.setdefault(str(letters(cell)), pair) != pair:
            yield f"bounds: {name!r} shows {cell!r} with {seen[str(letters(cell))]} and {pair}"
            return
        if _above(first, last):
            yield f"bounds: {name!r} shows {cell!r} with {first!r} above {last!r}"
            return


def _above(first: Any, last: Any) -> bool:
    try:
        return float(first) > float(last)
    except (TypeError, ValueError):
        return first not in (None, "") and last not in (None, "") and str(letters(first)) > str(letters(last))
