"""From a proposed release to the rows that are published; `reading` reads them back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.coding.column_plan import bound_names
from shoal.coding.hierarchy import Hierarchy
from shoal.coding.hierarchy.labels import within
from shoal.io.coded import Coded
from shoal.io.sheet import Cells, Sheet
from shoal.release import Release
from shoal.release.bounds import bound_columns
from shoal.release.pseudonyms import Pseudonyms
from shoal.release.two_tables import choose_name, split
from shoal.release.value_sets import column_sets, render_sets
from shoal.support.arrays import BoolVector, IntMatrix, IntVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE, in_threads

BUCKET = "bucket"
BUCKETS = 8
"""Buckets of rows for each piece, when they are put in a random order."""


@dataclass(frozen=True, eq=False, repr=False)
class Rendered(Brief):
    """The rows that will be published: in the order of the table they came from, until they are shuffled."""

    sheet: Sheet
    owner: IntVector
    """Published row -> row of the table. Never leaves the process."""
    bucket: str | None
    """Name of the bucket column, if the release shows buckets."""
    second: pl.DataFrame | None = None
    """The sensitive values by bucket, if they are published as a separate table."""

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows, all in memory."""
        return self.sheet.whole()


def render(
    table: CodedTable,
    release: Release,
    pseudonyms: Pseudonyms | None = None,
    instead: Mapping[str, pl.Series] | None = None,
) -> Rendered:
    """Write what each row shows: names of ranges, kept columns, no identifiers but as pseudonyms, no suppressed rows.

    A column that shows only single values keeps its type, except that categories are text until `frames` gives them
    back; otherwise it holds names. `instead` are columns that show other values than their own, row by row.
    O(rows x columns) look-ups; names are made once per distinct range.
    """
    rows = _KeptRows(table, release)
    shown = _render_quasi(rows) | _render_kept(
        {**table.kept.columns, **(instead or {})}, rows.owner, rows.place
    )
    tokens = Pseudonyms() if pseudonyms is None else pseudonyms
    for column in () if table.named is None else table.named:
        shown[column.name] = rows.cells(tokens.of(column if rows.everyone else column.gather(rows.owner)))
    if not release.layout.in_buckets:
        return Rendered(rows.sheet(shown), rows.owner, None)
    for j, attribute in enumerate(table.sensitive, start=len(table.attributes)):
        moved = table.kept[attribute.name].gather(release.layout.sources(rows.owner, j))
        shown[attribute.name] = rows.cells(moved)
    bucket = bucket_name(table.taken)
    sheet = rows.sheet(shown, rows.cells(pl.Series(bucket, release.layout.bucket_of[rows.owner])))
    if not release.layout.apart:
        return Rendered(sheet, rows.owner, bucket)
    first, second = split(sheet.whole(), bucket, [attribute.name for attribute in table.sensitive])
    return Rendered(Sheet.of(first), rows.owner, bucket, second)


class _KeptRows:
    """The rows of a table that are published, in its order."""

    def __init__(self, table: CodedTable, release: Release) -> None:
        self.table, self.release = table, release
        self.everyone = bool(release.region_of.min(initial=0) >= 0)
        self.owner: IntVector = np.arange(table.rows, dtype=np.int32)
        self.place: IntVector | None = None
        if not self.everyone:
            there = release.region_of >= 0
            self.owner = self.owner[there]
            self.place = np.cumsum(there, dtype=np.int32) - np.int32(1)

    def cells(self, values: pl.Series) -> Cells:
        """Return a column of which each published row has a value of its own."""
        return Cells(values, self.place)

    def sheet(self, shown: Mapping[str, Cells], *more: Cells) -> Any:
        """Return the columns that the table shows, in its order, and further ones."""
        cells = {name: shown[name] for name in self.table.release_columns}
        cells |= {column.values.name: column for column in more}
        return Sheet(cells, len(self.owner), None if self.everyone else self.owner)

    @cached_property
    def own_regions(self) -> tuple[IntVector, IntVector | None]:
        """As `regions` of rows that show their own values."""
        region_of = self.release.region_of
        index, used = self.regions(region_of if self.everyone else region_of[self.owner])
        return (region_of if used is None else index), used

    def regions(self, shown: IntVector) -> tuple[IntVector, IntVector | None]:
        """Return row of the table -> place among the regions that are shown, and these regions; see
        `_find_used_regions`.
        """
        return _find_used_regions(shown, len(self.release.low), self.owner, self.table.rows)


def _render_quasi(rows: _KeptRows) -> dict[str, Cells]:
    """Return what the quasi-identifiers show, and the bounds of their cells."""
    table, release, shown = rows.table, rows.release, dict[str, Cells]()
    for j, attribute in enumerate(table.attributes):
        source = release.layout.sources(rows.owner, j)
        moved = release.layout.in_buckets
        index, used = rows.regions(release.region_of[source]) if moved else rows.own_regions
        values = _cells(table, release, j, source, slice(None) if used is None else used)
        shown[attribute.name] = Cells(values, index)
        if attribute.bounds is not None:
            seen = seen_codes(table, source, j, release if release.relocated else None)
            ends = bound_columns(values.alias(attribute.name), attribute.bounds, attribute.hierarchy, seen)
            names = bound_names(attribute.name)
            shown |= {name: Cells(end, index) for end, name in zip(ends, names, strict=True)}
    return shown


def _find_used_regions(
    regions: IntVector, many: int, owner: IntVector, rows: int
) -> tuple[IntVector, IntVector | None]:
    """Number the regions that published rows use. Return the number of each row of the table, and the used regions
    (None if all are used). `regions` has the region of each published row.
    """
    there = _find_occurring(regions, many)
    used = None if there.all() else np.flatnonzero(there).astype(np.int32)
    if used is not None:
        regions = (np.cumsum(there, dtype=np.int32) - np.int32(1))[regions]
    if len(owner) == rows:
        return regions, used
    index = np.full(rows, -1, np.int32)
    index[owner] = regions
    return index, used


def _find_occurring(numbers: NDArray[Any], many: int) -> BoolVector:
    """Return which of the numbers 0, 1, .. below `many` occur. O(rows), in threads."""
    there = np.zeros(many, np.bool_)

    def mark(start: int) -> None:
        there[numbers[start : start + PIECE]] = True

    in_threads(mark, range(0, len(numbers), PIECE))
    return there


def _render_kept(
    columns: Mapping[str, Coded | pl.Series], owner: IntVector, place: IntVector | None
) -> dict[str, Cells]:
    """Return the columns that are published as they are, without the values that only suppressed rows have."""
    found = {}
    for name, column in columns.items():
        if isinstance(column, pl.Series):
            found[name] = Cells(column if place is None else column.gather(owner), place)
            continue
        codes = column.codes if place is None else column.codes[owner]
        there = _find_occurring(codes, len(column.values))
        if there.all():
            found[name] = Cells(column.values, column.codes)
        else:
            number = np.maximum(np.cumsum(there) - 1, 0).astype(column.codes.dtype)
            found[name] = Cells(column.values.filter(there), number[column.codes])
    return found


def bucket_name(taken: Collection[str]) -> str:
    """Return a name for the column of buckets that no other column has."""
    return choose_name(BUCKET, taken)


def _cells(
    table: CodedTable, release: Release, j: int, source: IntVector, used: IntVector | slice
) -> pl.Series:
    """Return what the regions that are `used` show in column j, if they show the values of the rows `source`."""
    hierarchy = table.attributes[j].hierarchy
    low, high = hierarchy.wholly(release.low[used, j], release.high[used, j])
    level = release.levels[j] if release.levels is not None else None
    if not level and np.array_equal(low, high) and not hierarchy.hidden[low].any():
        return hierarchy.leaves.gather(low)
    if release.sets is not None:
        sets = render_sets(hierarchy, *column_sets(release.sets, release.low.shape[1], j))
        return sets if isinstance(used, slice) else sets.gather(used)
    seen = seen_codes(table, source, j, release if release.relocated else None)
    return cells_of(hierarchy, low, high, level, seen)


def cells_of(
    hierarchy: Hierarchy, low: IntVector, high: IntVector, level: int | None, seen: BoolVector | None
) -> pl.Series:
    """Return what ranges of a column show: values, if all are single, else names as categories. `seen` says which codes
    published rows have, None: all.
    """
    from shoal.kernels.grouping import distinct

    low, high = hierarchy.wholly(low, high)
    if not level and np.array_equal(low, high) and not hierarchy.hidden[low].any():
        return hierarchy.leaves.gather(low)
    ends = hierarchy.narrow_to_seen(low, high, seen)
    if not level and np.array_equal(*ends) and not hierarchy.hidden[ends[0]].any():
        return hierarchy.leaves.gather(ends[0])
    number, first = distinct(np.stack([low, high], axis=1))
    names = hierarchy.names(low[first], high[first], level, seen)
    there = (low[first], high[first]) if seen is None else within(low[first], high[first], seen)[:2]
    return _as_categories(names, *there, hierarchy.in_line(seen)).gather(number)


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


def ends_of_cells(table: CodedTable, release: Release) -> tuple[IntMatrix, IntMatrix]:
    """Return the first and the last code of the cells of each region, as their published names say. O(rows)."""
    low, high = release.low.copy(), release.high.copy()
    kept = np.flatnonzero(release.region_of >= 0).astype(np.int32)
    for j, attribute in enumerate(table.attributes):
        seen = seen_codes(table, kept, j, release)
        low[:, j], high[:, j] = attribute.hierarchy.narrow_to_seen(low[:, j], high[:, j], seen)
    return low, high


def seen_codes(
    table: CodedTable, source: IntVector, j: int, relocated: Release | None = None
) -> BoolVector | None:
    """Return which codes of column j published rows have; None if all of them are public.

    `source` holds the rows of the table whose values are shown. The adversary knows the population, so its values are
    public anyway. In a release with `relocated` cells, a row does not show a value that its cell does not cover.
    O(rows).
    """
    if table.context.population is not None:
        return None
    if len(source) == table.rows and relocated is None:
        seen = table.value_counts[j] > 0
    else:
        codes = table.quasi.narrow[j][source]
        if relocated is not None:
            region = relocated.region_of[source]
            codes = codes[(relocated.low[region, j] <= codes) & (codes <= relocated.high[region, j])]
        seen = np.zeros(table.attributes[j].hierarchy.size, np.bool_)
        seen[codes] = True
    seen = seen[table.attributes[j].hierarchy.merge_hidden(np.arange(len(seen), dtype=np.int32))]
    return None if seen.all() else seen


def shuffle_rows(rendered: Rendered, random: np.random.Generator) -> Rendered:
    """Return the rows of each table in a random order: the order of the input reveals whose row is whose. Buckets are
    numbered in that order, too: a search also numbers buckets of rows that are suppressed.
    """
    sheet, owner = rendered.sheet, rendered.owner
    order = permute_rows(len(sheet), random)
    second = rendered.second
    if second is not None:
        second = second[random.permutation(len(second))]
    rows = sheet.taken(order)
    if rendered.bucket is not None:
        old = rows[rendered.bucket].unique(maintain_order=True)
        new = pl.Series(np.arange(len(old)), dtype=old.dtype)
        rows = rows.with_values(
            lambda shown: shown.replace_strict(old, new) if shown.name == old.name else shown
        )
        if second is not None:
            second = second.with_columns(second[old.name].replace_strict(old, new))
    everyone = sheet.order is None and np.array_equal(owner, np.arange(len(owner), dtype=owner.dtype))
    # Its order is the row of the table, if the sheet is one of its rows.
    owner = rows.order if rows.order is not None and (sheet.order is owner or everyone) else owner[order]
    return replace(rendered, sheet=rows, owner=owner, second=second)


def permute_rows(rows: int, random: np.random.Generator) -> IntVector:
    """Return the numbers of rows in a random order; every order is equally likely.

    Many rows first choose a bucket each, at random, and then each bucket is put in a random order by itself. That is as
    likely to give any order as one that is drawn at once (Rao 1961, Sandelius 1962), but buckets fit in the
    processor's cache, and threads share them. O(rows).
    """
    from shoal.kernels.grouping import by_value

    if rows <= PIECE:
        return random.permutation(np.arange(rows, dtype=np.int32))
    buckets = -(-rows // PIECE) * BUCKETS
    bucket = random.integers(0, buckets, rows, dtype=np.int32)
    start, order = by_value(bucket, np.arange(rows, dtype=np.int32), buckets)
    own = random.spawn(BUCKETS)

    def shuffle(share: int) -> None:
        for at in range(share, buckets, BUCKETS):
            own[share].shuffle(order[start[at] : start[at + 1]])

    in_threads(shuffle, range(BUCKETS))
    found: IntVector = order
    return found
