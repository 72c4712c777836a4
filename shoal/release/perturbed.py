"""Columns that are published with other values than their own: `perturb` of a policy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.arrays import IntVector
from shoal.errors import PolicyError, Problem
from shoal.perturbing import Judged, Perturbation
from shoal.release.release import Release
from shoal.table import CodedTable


def column_of(table: CodedTable, name: str) -> pl.Series:
    """Return a column that is published as it is, all rows of it."""
    found = table.kept_columns[name]
    return found if isinstance(found, pl.Series) else found.gather(slice(None)).alias(name)


def check_perturbed(table: CodedTable, ways: Mapping[str, Perturbation]) -> None:
    """Raise PolicyError, before the work, for columns whose values a perturbation is not for."""
    problems = []
    for name, way in ways.items():
        column = table.kept_columns[name]
        dtype = column.dtype if isinstance(column, pl.Series) else column.values.dtype
        why = way.unsuited(dtype)
        if why:
            message = f"{way.name} = {way.amount} {why}, but the column holds {dtype}"
            problems.append(Problem(f"columns.{name}.perturb", message, "leave it out, or take another way"))
    if problems:
        raise PolicyError(problems)


def perturbed(
    table: CodedTable, release: Release, ways: Mapping[str, Perturbation], random: np.random.Generator
) -> dict[str, pl.Series]:
    """Return what the columns show instead of their values, row by row of the table. Only values of published rows
    count, so nothing about suppressed rows shows; these keep their own. O(rows log rows) per column.
    """
    out = {}
    for name, way in ways.items():
        column = column_of(table, name)
        there = (release.region_of >= 0) & column.is_not_null().to_numpy()
        rows = np.flatnonzero(there)
        shown = way.applied(column.gather(rows), random)
        if len(rows) == len(column):
            out[name] = shown
            continue
        # Each row finds its value among the new ones, or its own after them.
        place = np.arange(len(rows), len(rows) + len(column))
        place[rows] = np.arange(len(rows))
        out[name] = pl.concat([shown, column]).gather(place).alias(name)
    return out


def judged(before: pl.Series, shown: pl.Series, owner: IntVector | None, way: Perturbation) -> Judged | None:
    """Say whether a published column is what its way can make of the original; None if nothing can be said.

    Empty cells have to stay empty.
    """
    if isinstance(before.dtype, pl.Categorical | pl.Enum):
        # Categories come back as text.
        before, shown = before.cast(pl.String), shown.cast(pl.String)
    if shown.dtype != before.dtype:
        return Judged(np.nan, None, False, f"the column holds {shown.dtype}, not {before.dtype}")
    if owner is None:
        empty = int(shown.null_count()) - int(before.null_count())
        found = way.judged_apart(before.drop_nulls(), shown.drop_nulls())
        if found is not None and empty > 0:
            return found._replace(holds=False, detail=f"{empty:,} more empty cells than in the original")
        return found
    own = before.gather(owner)
    there = own.is_not_null()
    moved = int((there != shown.is_not_null()).sum())
    if moved:
        return Judged(np.nan, None, False, f"{moved:,} cells are empty in one table only")
    return way.judged(own.filter(there), shown.filter(there))
