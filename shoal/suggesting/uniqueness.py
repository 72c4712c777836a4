"""How identifying columns are together: the share of rows whose values no other row has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.frames import factorize

MOST_ROWS = 500_000
MOST_COLUMNS = 10
"""Pairs are formed among this many columns, those with the most values."""
BEAM = 5
"""This many of the worst pairs are extended to triples."""
KEPT = 3
"""This many of the worst sets of each size are reported."""


@dataclass(frozen=True)
class ColumnSet:
    """Some columns, and how many rows have a combination of values that no other row has."""

    columns: tuple[str, ...]
    unique: int
    share: float


def identifying_sets(table: pl.DataFrame, names: Sequence[str]) -> tuple[tuple[ColumnSet, ...], int]:
    """Return the most identifying sets of 1, 2 and 3 columns and of all columns, and how many rows were counted.

    All single columns, all pairs of the ten columns with the most values, and the extensions of the five
    worst pairs: at most 200 + 45 + 40 groupings. A null is a value like any other.
    """
    rows = pl.DataFrame({name: table.get_column(name) for name in names})
    if rows.height > MOST_ROWS:
        rows = rows.sample(MOST_ROWS, seed=0)
    # By hashing: ranks would sort every column, texts too.
    codes = pl.DataFrame({column.name: pl.Series(factorize(column)[0], dtype=pl.Int64) for column in rows})
    sizes = {name: int(codes[name].max() or 0) + 1 for name in names}  # type: ignore[arg-type]

    singles = _counted(codes, sizes, [(name,) for name in names])
    widest = sorted(names, key=lambda name: (-sizes[name], names.index(name)))[:MOST_COLUMNS]
    widest.sort(key=names.index)
    pairs = _counted(codes, sizes, [(a, b) for i, a in enumerate(widest) for b in widest[i + 1 :]])
    triples = {
        tuple(sorted((*pair.columns, name), key=names.index))
        for pair in pairs[:BEAM]
        for name in widest
        if name not in pair.columns
    }
    found = [one for one in singles[:KEPT] if one.unique] or singles[:1]
    found += _worse(pairs, found)
    found += _worse(
        _counted(codes, sizes, sorted(triples, key=lambda t: [names.index(name) for name in t])), found
    )
    if len(names) > 3:
        unique = int(codes.is_unique().sum())
        found.append(ColumnSet(tuple(names), unique, unique / rows.height))
    return tuple(found), rows.height


def _worse(sets: Sequence[ColumnSet], known: Sequence[ColumnSet]) -> list[ColumnSet]:
    """Return the most identifying sets, without those that a known subset of their columns explains as well."""
    return [
        one
        for one in sets[:KEPT]
        if one.unique
        > max((part.unique for part in known if set(part.columns) < set(one.columns)), default=0)
    ]


def _counted(codes: pl.DataFrame, sizes: dict[str, int], sets: Iterable[tuple[str, ...]]) -> list[ColumnSet]:
    """Count each set. The most identifying come first, ties in the given order."""
    out = []
    for names in sets:
        # Three columns of at most MOST_ROWS values each fit in 63 bits.
        key = codes[names[0]]
        for name in names[1:]:
            key = key * sizes[name] + codes[name]
        unique = int(key.is_unique().sum())
        out.append(ColumnSet(names, unique, unique / max(len(key), 1)))
    return sorted(out, key=lambda one: -one.unique)
