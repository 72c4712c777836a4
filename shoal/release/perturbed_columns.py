"""Columns that are published with other values than their own: `perturb` of a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from shoal.coding import CodedTable
from shoal.coding.hierarchy.distinct_values import parse
from shoal.errors import PolicyError, Problem
from shoal.release.perturbing import Judged, Perturbation
from shoal.release.release import Release
from shoal.support.arrays import IntVector


def column_of(table: CodedTable, name: str) -> pl.Series:
    """Return a column that is published as it is, all rows of it."""
    found = table.kept.columns[name]
    return found if isinstance(found, pl.Series) else found.gather(slice(None)).alias(name)


def check_perturbed(table: CodedTable, ways: Mapping[str, Perturbation]) -> None:
    """Raise PolicyError, before the work, for columns whose values a perturbation is not for."""
    problems = []
    for name, way in ways.items():
        column = table.kept.columns[name]
        dtype = column.dtype if isinstance(column, pl.Series) else column.values.dtype
        why = way.why_unsuited(dtype)
        if why:
            message = f"{way.name} = {way.amount} {why}, but the column holds {dtype}"
            problems.append(Problem(f"columns.{name}.perturb", message, "leave it out, or take another way"))
    if problems:
        raise PolicyError(problems)


def perturb_columns(
    table: CodedTable,
    release: Release,
    ways: Mapping[str, Perturbation],
    random: np.random.Generator,
    as_shown: Callable[[pl.Series, str, IntVector], pl.Series],
) -> dict[str, pl.Series]:
    """Return the perturbed values of the columns, one per row of the table; null in suppressed rows. Only values of
    published rows count, and `as_shown` gives these the type that they have in the release, so nothing about suppressed
    rows shows. O(rows log rows) per column.
    """
    out = {}
    for name, way in ways.items():
        column = column_of(table, name)
        there = (release.region_of >= 0) & column.is_not_null().to_numpy()
        rows = np.flatnonzero(there).astype(np.int32)
        shown = way.apply(as_shown(column.gather(rows), name, rows), random)
        place = np.full(len(column), len(rows))
        place[rows] = np.arange(len(rows))
        out[name] = shown.extend_constant(None, 1).gather(place).alias(name)
    return out


def judge_column(
    before: pl.Series, shown: pl.Series, owner: IntVector | None, way: Perturbation
) -> Judged | None:
    """Check that a perturbation can turn the original column into the published one; None if this cannot be checked.
    Empty cells must stay empty.
    """
    if isinstance(before.dtype, pl.Categorical | pl.Enum):
        # Categories come back as text.
        before, shown = before.cast(pl.String), shown.cast(pl.String)
    empty = int(shown.null_count()) - int(before.null_count())
    before = before if owner is None else before.gather(owner)
    if before.dtype == pl.String != shown.dtype:
        # The value of a suppressed row may have made the column text; published rows have the type of their own values.
        read = parse(before, shown.dtype)
        before = read if owner is None or read.null_count() == before.null_count() else before
    if shown.dtype != before.dtype:
        return Judged(np.nan, None, False, f"the column holds {shown.dtype}, not {before.dtype}")
    if owner is None:
        found = way.judge_without_owners(before.drop_nulls(), shown.drop_nulls())
        if found is not None and empty > 0:
            return found._replace(holds=False, detail=f"{empty:,} more empty cells than in the original")
        return found
    there = before.is_not_null()
    moved = int((there != shown.is_not_null()).sum())
    if moved:
        return Judged(np.nan, None, False, f"{moved:,} cells are empty in one table only")
    return way.judge(before.filter(there), shown.filter(there))
