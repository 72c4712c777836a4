"""What the nodes of a tree contain, as the policy or its file lists it, whatever the data holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from shoal.coding.hierarchy.meanings import ANY, WHOLE, Bound, Meaning, number_of, value
from shoal.errors import HierarchyError

if TYPE_CHECKING:
    from shoal.coding.hierarchy.kinds import Kind


def contents_of(kind: Kind, labels: Sequence[str], limit: int | Sequence[str] | None) -> list[Meaning]:
    """Return the values under the node of each label. The hierarchy is built without the data, so its contents tell
    nothing about rows; a label that it does not list is a value.
    """
    whole = hierarchy = kind.build(pl.Series([], dtype=pl.String))
    if limit is not None:
        try:
            hierarchy = whole.with_limit(limit)
        except HierarchyError:  # a level that exists only because the data has missing values
            hierarchy = whole
    low, high, known = hierarchy.read(pl.Series(labels, dtype=pl.String))
    leaves = hierarchy.levels[0].names.to_list()
    numbers = _as_numbers(leaves)
    out = []
    for at, label in enumerate(labels):
        first, last = int(low[at]), int(high[at])
        if not known[at]:
            out.append(value(label))
        elif label == ANY and last - first + 1 == whole.size:
            out.append(WHOLE)
        elif first == last:
            out.append(Meaning("value", values=(numbers[first],), codes=(first, first)))
        else:
            out.append(Meaning("set", values=tuple(numbers[first : last + 1]), codes=(first, last)))
    return out


def _as_numbers(leaves: Sequence[str | None]) -> list[Bound | None]:
    """Return the values as numbers if all of them are."""
    read = [None if leaf is None else number_of(leaf) for leaf in leaves]
    return (
        read
        if all((one is None) == (leaf is None) for one, leaf in zip(read, leaves, strict=True))
        else [*leaves]
    )
