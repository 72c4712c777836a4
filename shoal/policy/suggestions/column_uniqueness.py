"""How identifying columns are together: the share of rows whose values no other row has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from shoal.io import factorize
from shoal.judging.linking.suda import find_minimal_uniques, keep_unique_in_none, size_for
from shoal.support.arrays import BoolVector

MOST_ROWS = 500_000
MOST_COLUMNS = 10
"""Pairs are formed among this many columns, those with the most values."""
BEAM = 5
"""This many of the worst pairs are extended to triples."""
KEPT = 3
"""This many of the worst sets of each size are reported."""
MOST_SETS = 400
"""At most so many sets of columns are looked at for minimal ones."""
KERNELS = 50_000
"""With more rows, loading the kernels costs less than to do without them."""
TOLD = 5
"""This many minimal sets are told."""


@dataclass(frozen=True)
class ColumnSet:
    """Some columns, and how many rows have a combination of values that no other row has."""

    columns: tuple[str, ...]
    unique: int
    share: float


@dataclass(frozen=True)
class MinimalSets:
    """Which sets of few columns single rows out, although no part of the set does."""

    worst: tuple[ColumnSet, ...]
    """Those that single most rows out. A row counts for each of its sets."""
    rows: int
    """How many rows some set singles out."""
    share: float
    size: int
    """Up to how many columns sets may have."""


def minimal_sets(table: pl.DataFrame, names: Sequence[str]) -> MinimalSets:
    """Find the minimal sets of columns that single rows out (SUDA2, see `shoal.judging.linking.suda`).

    One grouping per set, of the rows that no part of the set singles out: at most 400 sets of up to four columns.
    """
    codes, sizes = _code_columns(table, names)
    if codes.height > KERNELS:
        columns = [codes[name].to_numpy().astype(np.int32) for name in names]
        every = find_minimal_uniques(columns, codes.height, largest=size_for(len(names), MOST_SETS))
        sets = [(tuple(names[column] for column in one.columns), one.people) for one in every.sets]
        worst = sorted(sets, key=lambda one: -one[1])[:TOLD]
        told = tuple(ColumnSet(own, people, people / codes.height) for own, people in worst)
        return MinimalSets(told, every.people, every.people / codes.height, every.largest)
    found: list[ColumnSet] = []
    single = np.zeros(codes.height, np.bool_)
    left: dict[tuple[int, ...], BoolVector] = {(): ~single}
    largest = size_for(len(names), MOST_SETS)
    for size in range(1, largest + 1):
        below, left = left, {}
        for chosen in combinations(range(len(names)), size):
            candidates = keep_unique_in_none(below, chosen)
            if candidates is None:
                continue
            own = [names[column] for column in chosen]
            rows = codes[own].filter(candidates)
            alone = np.flatnonzero(candidates)[_key(rows, sizes, own).is_unique().to_numpy()]
            if len(alone):
                share = len(alone) / codes.height
                found.append(ColumnSet(tuple(own), len(alone), share))
            single[alone] = True
            candidates[alone] = False
            left[chosen] = candidates
    total, most = int(single.sum()), sorted(found, key=lambda one: -one.unique)[:TOLD]
    return MinimalSets(tuple(most), total, total / max(codes.height, 1), largest)


def _code_columns(table: pl.DataFrame, names: Sequence[str]) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return columns as codes, of all rows or of a sample, and how many values each has."""
    rows = pl.DataFrame({name: table.get_column(name) for name in names})
    if rows.height > MOST_ROWS:
        rows = rows.sample(MOST_ROWS, seed=0)
    # By hashing: ranks would sort every column, texts too.
    codes = pl.DataFrame({column.name: pl.Series(factorize(column)[0], dtype=pl.Int64) for column in rows})
    return codes, {name: int(codes[name].max() or 0) + 1 for name in names}  # type: ignore[arg-type]


def _key(codes: pl.DataFrame, sizes: dict[str, int], names: Sequence[str]) -> pl.Series:
    """Return one number per row for its values in some columns."""
    key, room = codes[names[0]], sizes[names[0]]
    for name in names[1:]:
        if (
            room * sizes[name] >= 1 << 63
        ):  # up to MOST_ROWS distinct keys, so that three more columns have room
            key = pl.Series(factorize(key)[0], dtype=pl.Int64)
            room = MOST_ROWS
        key, room = key * sizes[name] + codes[name], room * sizes[name]
    return key


def find_identifying_sets(table: pl.DataFrame, names: Sequence[str]) -> tuple[tuple[ColumnSet, ...], int]:
    """Return the most identifying sets of 1, 2 and 3 columns and of all columns, and how many rows were counted.

    All single columns, all pairs of the ten columns with the most values, and the extensions of the five
    worst pairs: at most 200 + 45 + 40 groupings. A null is a value like any other.
    """
    codes, sizes = _code_columns(table, names)
    singles = _count_sets(codes, sizes, [(name,) for name in names])
    widest = sorted(names, key=lambda name: (-sizes[name], names.index(name)))[:MOST_COLUMNS]
    widest.sort(key=names.index)
    pairs = _count_sets(codes, sizes, [(a, b) for i, a in enumerate(widest) for b in widest[i + 1 :]])
    triples = {
        tuple(sorted((*pair.columns, name), key=names.index))
        for pair in pairs[:BEAM]
        for name in widest
        if name not in pair.columns
    }
    found = [one for one in singles[:KEPT] if one.unique] or singles[:1]
    found += _worse(pairs, found)
    found += _worse(
        _count_sets(codes, sizes, sorted(triples, key=lambda t: [names.index(name) for name in t])), found
    )
    if len(names) > 3:
        unique = int(codes.is_unique().sum())
        found.append(ColumnSet(tuple(names), unique, unique / codes.height))
    return tuple(found), codes.height


def _worse(sets: Sequence[ColumnSet], known: Sequence[ColumnSet]) -> list[ColumnSet]:
    """Return the most identifying sets, without those that a known subset of their columns explains as well."""
    return [
        one
        for one in sets[:KEPT]
        if one.unique
        > max((part.unique for part in known if set(part.columns) < set(one.columns)), default=0)
    ]


def _count_sets(
    codes: pl.DataFrame, sizes: dict[str, int], sets: Iterable[tuple[str, ...]]
) -> list[ColumnSet]:
    """Count each set. The most identifying come first, ties in the given order."""
    out = []
    for names in sets:
        unique = int(_key(codes, sizes, names).is_unique().sum())
        out.append(ColumnSet(names, unique, unique / max(codes.height, 1)))
    return sorted(out, key=lambda one: -one.unique)
