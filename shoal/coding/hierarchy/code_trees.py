"""The hierarchy of a column of codes, by a code system."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import distinct_values, plain_text
from shoal.coding.hierarchy.domains import Domain
from shoal.coding.hierarchy.tree import Hierarchy, Level
from shoal.errors import HierarchyError
from shoal.support.wording import some_values

if TYPE_CHECKING:
    from shoal.coding.hierarchy.known.code_system import CodeSystem, Place


def from_codes(values: pl.Series, system: CodeSystem) -> Hierarchy:
    """Build the levels of a code system over the codes of a column. Leaves are the values of the data, as written;
    which nodes lie above a value follows from the value alone. Null and NaN are separate nodes under the root.

    Raises HierarchyError if a value is not a code of the system. O(n log n).
    """
    data = distinct_values(values)
    texts = plain_text(data)
    apart = data.is_null()
    if data.dtype.is_float():
        apart = apart | data.is_nan().fill_null(False)
    regular = [(at, text) for at, (text, odd) in enumerate(zip(texts, apart, strict=True)) if not odd]
    _check_zeros(data, [text for _, text in regular], system)
    found = [(system.place(system.tidy(text)), text, at) for at, text in regular]
    placed = [(place, text, at) for place, text, at in found if place is not None]
    if len(placed) < len(found):
        raise HierarchyError(_describe_unknown([text for place, text, _ in found if place is None], system))
    placed.sort(key=lambda one: (one[0].key, one[1]))
    others = [at for at, odd in enumerate(apart) if odd]
    others.sort(key=lambda at: data[at] is None)
    leaves = data.gather([at for _, _, at in placed] + others)
    levels = _build_levels([place for place, _, _ in placed])
    return replace(Domain(leaves, len(placed)).hierarchy(*levels), category=True)


def _build_levels(places: list[Place]) -> list[Level]:
    """Return the levels over places in their order. A node begins where its name, or a name above it, changes."""
    levels = []
    for depth in range(len(places[0].above) if places else 0):
        starts = [0] + [
            at
            for at, (one, other) in enumerate(pairwise(places), start=1)
            if one.above[depth:] != other.above[depth:]
        ]
        names = pl.Series("names", [places[at].above[depth] for at in starts], dtype=pl.String)
        levels.append(Level(np.array(starts, np.int32), names))
    return levels


def _check_zeros(data: pl.Series, texts: list[str], system: CodeSystem) -> None:
    """Refuse numbers of different lengths where codes may begin with zeros: these are lost."""
    if system.leading_zeros and data.dtype.is_numeric() and len({len(text) for text in texts}) > 1:
        raise HierarchyError(
            f"'{system.name}' needs codes as they are written, but the column holds numbers of different lengths, so "
            "zeros at the front are lost: read the column as text"
        )


def _describe_unknown(unknown: list[str], system: CodeSystem) -> str:
    """Say which values are no codes, and what to do."""
    are = "1 value of the column is" if len(unknown) == 1 else f"{len(unknown):,} values of the column are"
    more = f"; {system.hint}" if system.hint else ""
    return (
        f"'{system.name}' is for {system.title}, but {are} none of them: {some_values(sorted(unknown))}. Correct "
        "them, list those that mean no value in null_values of the column, or write a hierarchy file that has a line "
        f"for each value{more}"
    )
