"""From a proposed release to the rows that are published; `reading` reads them back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.arrays import BoolVector, IntVector
from shoal.brief import Brief
from shoal.hierarchy import Hierarchy
from shoal.kernels.grouping import distinct
from shoal.release import Release
from shoal.release.bounds import bound_columns
from shoal.release.pseudonyms import Pseudonyms
from shoal.release.two_tables import split, unused_name
from shoal.release.value_sets import column_sets, shown_sets
from shoal.table import CodedTable
from shoal.table.plan import bound_names

BUCKET = "bucket"


@dataclass(frozen=True, eq=False, repr=False)
class Rendered(Brief):
    """The rows that will be published: in the order of the table they came from, until they are shuffled."""

    rows: pl.DataFrame
    owner: IntVector
    """Published row -> row of the table. Never leaves the process."""
    bucket: str | None
    """Name of the bucket column, if the release shows buckets."""
    second: pl.DataFrame | None = None
    """The sensitive values by bucket, if they are published as a separate table."""


def render(table: CodedTable, release: Release, pseudonyms: Pseudonyms | None = None) -> Rendered:
    """Write what each row shows: names of ranges, kept columns, no identifiers but as pseudonyms, no suppressed rows.

    A column that shows only single values keeps its type, except that categories are text until `frames` gives them
    back; otherwise it holds names.
    O(rows x columns) look-ups; names are made once per distinct range.
    """
    owner = np.flatnonzero(release.region_of >= 0).astype(np.int32)
    everyone = len(owner) == table.rows
    shown = {}
    for j, attribute in enumerate(table.attributes):
        source = owner if release.shown_from is None else release.shown_from[owner, j]
        column = _cells(table, release, j, source)
        shown[attribute.name] = column.gather(release.region_of[source])
        if attribute.bounds is not None:
            ends = bound_columns(shown[attribute.name], attribute.bounds, attribute.hierarchy)
            shown |= {
                end.name: end
                for end in (
                    own.alias(name) for own, name in zip(ends, bound_names(attribute.name), strict=True)
                )
            }
    for column in table.kept:
        shown[column.name] = column if everyone else column.gather(owner)
    tokens = Pseudonyms() if pseudonyms is None else pseudonyms
    for column in () if table.named is None else table.named:
        shown[column.name] = tokens.of(column if everyone else column.gather(owner))
    if release.shown_from is not None:
        for j, attribute in enumerate(table.sensitive, start=len(table.attributes)):
            shown[attribute.name] = table.kept[attribute.name].gather(release.shown_from[owner, j])
    rows = pl.DataFrame({name: shown[name] for name in table.shown_columns})
    bucket = None
    if release.bucket_of is not None:
        bucket = bucket_name(table.taken)
        rows = rows.with_columns(pl.Series(bucket, release.bucket_of[owner]))
        if release.apart:
            rows, second = split(rows, bucket, [attribute.name for attribute in table.sensitive])
            return Rendered(rows, owner, bucket, second)
    return Rendered(rows, owner, bucket)


def bucket_name(taken: Collection[str]) -> str:
    """Return a name for the column of buckets that no other column has."""
    return unused_name(BUCKET, taken)


def _cells(table: CodedTable, release: Release, j: int, source: IntVector) -> pl.Series:
    """Return what each region shows in column j, if it shows the values of the rows `source`."""
    hierarchy = table.attributes[j].hierarchy
    low, high = release.low[:, j], release.high[:, j]
    level = release.levels[j] if release.levels is not None else None
    if not level and np.array_equal(low, high):
        return hierarchy.leaves.gather(low)
    if release.sets is not None:
        return shown_sets(hierarchy, *column_sets(release.sets, release.low.shape[1], j))
    seen = seen_codes(table, source, j, release if release.relocated else None)
    return cells_of(hierarchy, low, high, level, seen)


def cells_of(
    hierarchy: Hierarchy, low: IntVector, high: IntVector, level: int | None, seen: BoolVector | None
) -> pl.Series:
    """Return what ranges of a column show: values, if all are single, else names as categories. `seen` says which codes
    published rows have, None: all.
    """
    if not level and np.array_equal(low, high):
        return hierarchy.leaves.gather(low)
    ends = hierarchy.shown(low, high, seen)
    if not level and np.array_equal(*ends):
        return hierarchy.leaves.gather(ends[0])
    number, first = distinct(np.stack([low, high], axis=1))
    names = hierarchy.names(low[first], high[first], level, seen)
    return _as_categories(names, ends[0][first], ends[1][first], hierarchy.ordered).gather(number)


def _as_categories(names: pl.Series, low: IntVector, high: IntVector, ordered: int) -> pl.Series:
    """Return names as categories: an Enum in the order of the values if they have one, else without an order.

    Names have an order if their ranges are apart and cover numbers or dates only, the first `ordered` codes. ``[1, 5]``
    is not before ``[3, 9]``, and the order of a tree's nodes means nothing.
    """
    shown = np.flatnonzero(names.is_not_null().to_numpy())
    place = shown[np.argsort(low[shown], kind="stable")]
    first, last = low[place], high[place]
    apart = bool((last[:-1] < first[1:]).all()) and int(last.max(initial=-1)) < ordered
    in_order = names.gather(place)
    if apart and in_order.n_unique() == len(in_order):
        return names.cast(pl.Enum(in_order))
    return names.cast(pl.Categorical)


def seen_codes(
    table: CodedTable, source: IntVector, j: int, relocated: Release | None = None
) -> BoolVector | None:
    """Return which codes of column j published rows have; None if all of them are public, or no name depends on it.

    `source` holds the rows of the table whose values are shown. The adversary knows the population, so its values are
    public anyway. In a release with `relocated` cells, a row does not show a value that its cell does not cover.
    O(rows).
    """
    if table.population is not None or table.attributes[j].hierarchy.naming is None:
        return None
    if len(source) == table.rows and relocated is None:
        seen = table.value_counts[j] > 0
    else:
        codes = table.column(j)[source]
        if relocated is not None:
            region = relocated.region_of[source]
            codes = codes[(relocated.low[region, j] <= codes) & (codes <= relocated.high[region, j])]
        seen = np.zeros(table.attributes[j].hierarchy.size, np.bool_)
        seen[codes] = True
    return None if seen.all() else seen


def shuffled(rendered: Rendered, random: np.random.Generator) -> Rendered:
    """Return the rows of each table in a random order: the order of the input reveals whose row is whose."""
    order = random.permutation(len(rendered.rows))
    second = rendered.second
    if second is not None:
        second = second[random.permutation(len(second))]
    return replace(rendered, rows=rendered.rows[order], owner=rendered.owner[order], second=second)
