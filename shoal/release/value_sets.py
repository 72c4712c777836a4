"""Value sets between codes and cells: lists in frames, ``{15, 20, 48}`` in text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.coding.hierarchy import Hierarchy
from shoal.coding.hierarchy.distinct_values import text_of
from shoal.coding.hierarchy.kinds import Kind
from shoal.io import factorize
from shoal.io.text_columns import elements_of, is_set
from shoal.release import ValueSets
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief


def column_sets(sets: ValueSets, columns: int, column: int) -> tuple[LongVector, IntVector]:
    """Return the value sets of one column: where each region's set starts, and all their codes."""
    begin, end = sets.start[column:-1:columns], sets.start[column + 1 :: columns]
    lengths = end - begin
    start = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return start, sets.codes[np.repeat(begin - start[:-1], lengths) + np.arange(start[-1])]


def render_sets(hierarchy: Hierarchy, start: LongVector, codes: IntVector) -> pl.Series:
    """Return sets of codes as lists of values. O(codes)."""
    import pyarrow as pa  # type: ignore[import-untyped]

    values = hierarchy.values(codes)
    lists = pl.Series(
        "sets", pl.from_arrow(pa.LargeListArray.from_arrays(pa.array(start, pa.int64()), values.to_arrow()))
    )
    if values.dtype == pl.String:
        # There are few sets, but many rows show them, so rows hold their numbers from here on.
        used = np.unique(codes)
        shown = hierarchy.values(used).drop_nulls()
        # Texts have an order only if they are numbers; null comes last.
        has_order = len(shown) and used[len(shown) - 1] < hierarchy.ordered
        lists = lists.cast(pl.List(pl.Enum(shown) if has_order else pl.Categorical()))
    return lists


@dataclass(frozen=True, eq=False, repr=False)
class PlacedCells(Brief):
    """The distinct cells of a column, located in its domain."""

    low: IntVector
    high: IntVector
    known: BoolVector
    above: BoolVector
    """Which cells are above the column's generalization limit: by their name, or because no allowed node covers the
    set. A cell with the name of a removed node is not `known`, but `low` and `high` enclose what it covers."""
    rest: tuple[int, ...] = ()
    """Which cells have the name of a node that lies above the limit for some of its values, and within it for the rest:
    they are read as the rest, but may stand for all."""
    sets: tuple[LongVector, IntVector] | None = None
    """The start of the set of each cell, and all codes, if the column shows sets."""
    finer: tuple[BoolVector, BoolVector] | None = None
    """Which cells tell values apart that the column never tells apart, and for which nobody can know; None if it has no
    such values."""


def read_cells(column: pl.Series, hierarchy: Hierarchy) -> tuple[IntVector, PlacedCells]:
    """Number the distinct cells of a published column, and locate them: names, ranges, or sets of values."""
    if isinstance(column.dtype, pl.List):
        return _read_lists(column, hierarchy)
    number, names = factorize(column)
    return number, replace(_read_names(names, hierarchy), finer=_finer(names, hierarchy))


def _finer(names: pl.Series, hierarchy: Hierarchy) -> tuple[BoolVector, BoolVector] | None:
    """Return which texts tell values apart that are never told apart, and for which nobody can know."""
    if hierarchy.hiding is None:
        return None
    found = [False if text is None else tells_more(hierarchy.hiding, text) for text in text_of(names)]
    return np.array([one is True for one in found], np.bool_), np.array(
        [one is None for one in found], np.bool_
    )


def tells_more(kind: Kind, text: str) -> bool | None:
    """Return whether a cell, or an element of a set, tells values apart that are never told apart; None if unknown."""
    words = elements_of(text) if is_set(text) else None
    found = [kind.tells_more(word) for word in ([text] if words is None else words) if word is not None]
    return True if True in found else None if None in found else False


def _read_names(names: pl.Series, hierarchy: Hierarchy) -> PlacedCells:
    low, high, known = hierarchy.read(names)
    if hierarchy.unlimited is not None:
        low, high = low.copy(), high.copy()
    above = _above_limit(names, hierarchy, low, high, known)
    rest = _rest(names, hierarchy, low, high, known & ~above)
    if known.all() or not isinstance(names.dtype, pl.String | pl.Categorical | pl.Enum):
        return PlacedCells(low, high, known, above, rest)
    lost = np.flatnonzero(~known & ~above)
    parsed = [elements_of(text) if is_set(text) else None for text in names.cast(pl.String).gather(lost)]
    if all(elements is None for elements in parsed):
        return PlacedCells(low, high, known, above, rest)
    words = [word for elements in parsed if elements is not None for word in elements]
    place = iter(_locate_values(pl.Series(words, dtype=pl.String), hierarchy))
    found: list[IntVector] = [np.arange(low[i], high[i] + 1, dtype=np.int32) for i in range(len(low))]
    for at, elements in zip(lost, parsed, strict=True):
        if elements is not None:
            codes = np.array([next(place) for _ in elements], np.int32)
            known[at] = codes.min() >= 0
            found[at] = np.unique(np.maximum(codes, 0))
    lengths = np.array([len(codes) for codes in found])
    return replace(_place_sets(lengths, np.concatenate(found), known, above, hierarchy), rest=rest)


def _rest(
    names: pl.Series, hierarchy: Hierarchy, low: IntVector, high: IntVector, within: BoolVector
) -> tuple[int, ...]:
    """Return which names within the limit are those of a node with more values, some of which it is above."""
    if hierarchy.unlimited is None:
        return ()
    whole, texts = hierarchy.unlimited, text_of(names)
    first, last, there = whole.read(names)
    found = []
    for at in np.flatnonzero(within & there & (last - first > high - low)):
        codes = whole.locate(hierarchy.leaves[int(low[at]) : int(high[at]) + 1])
        begin, end = codes.min(), codes.max()
        own = end - begin == high[at] - low[at] and any(
            whole.low[index, begin] == begin
            and whole.high[index, begin] == end
            and level.names[int(np.searchsorted(level.starts, begin))] == texts[int(at)]
            for index, level in enumerate(whole.levels)
        )
        if not own:
            found.append(int(at))
    return tuple(found)


def _above_limit(
    names: pl.Series, hierarchy: Hierarchy, low: IntVector, high: IntVector, known: BoolVector
) -> BoolVector:
    """Return which names are above the generalization limit: those of removed nodes, and ranges over several blocks.

    A name that an allowed node has is allowed, even if nodes of several blocks share it. `low` and `high` of a removed
    node become the smallest range that covers its values.
    """
    if hierarchy.unlimited is None:
        return np.zeros(len(known), np.bool_)
    above = known & (hierarchy.blocks[low] != hierarchy.blocks[high])
    if above.any():
        above &= ~text_of(names).is_in(hierarchy.name_table["names"].implode()).fill_null(True).to_numpy()
    if not known.all():
        first, last, there = hierarchy.unlimited.read(names)
        # A limit may have put codes into a new order.
        moved = hierarchy.locate(hierarchy.unlimited.leaves)
        for at in np.flatnonzero(there & ~known):
            codes = moved[first[at] : last[at] + 1]
            low[at], high[at], above[at] = codes.min(), codes.max(), True
    return np.asarray(above)


def _read_lists(column: pl.Series, hierarchy: Hierarchy) -> tuple[IntVector, PlacedCells]:
    from shoal.kernels.ring import number_lists

    if column.null_count() or (column.list.len() == 0).any():
        # An empty cell says nothing, so it has no place in the domain.
        column = column.fill_null(pl.Series([[]], dtype=column.dtype))
    lengths = column.list.len().to_numpy().astype(np.int64)
    elements = column.filter(column.list.len() > 0).explode(empty_as_null=True)
    each, values = factorize(elements)
    each_value = each
    codes = _locate_values(values, hierarchy)[each] if len(values) else np.zeros(0, np.int32)
    start = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    # By their values, not by codes: values outside the domain have none, and lists of them would pass for equal.
    number, first = number_lists(start, each.astype(np.int32))
    lengths = start[first + 1] - start[first]
    each = np.repeat(np.arange(len(first)), lengths)
    own = codes[np.repeat(start[first] - np.cumsum(lengths) + lengths, lengths) + np.arange(len(each))]
    known = lengths > 0
    known[each[own < 0]] = False
    # Ascending, each code once; unknown and missing ones become the first code.
    cells = np.unique(
        np.concatenate([each[known[each]], np.flatnonzero(~known)]) * hierarchy.size
        + np.concatenate([own[known[each]], np.zeros((~known).sum(), np.int32)])
    )
    counts = np.bincount(cells // hierarchy.size, minlength=len(first))
    none = np.zeros(len(known), np.bool_)
    placed = _place_sets(counts, (cells % hierarchy.size).astype(np.int32), known, none, hierarchy)
    finer = _finer(values, hierarchy)
    if finer is None:
        return number, placed
    of_list = np.repeat(start[first] - np.cumsum(lengths) + lengths, lengths) + np.arange(len(each))
    shown = each_value[of_list]
    told = [np.bincount(each, side[shown], len(first)) > 0 for side in finer]
    return number, replace(placed, finer=(told[0], told[1]))


def _locate_values(values: pl.Series, hierarchy: Hierarchy) -> IntVector:
    """Return the codes of single values, by value or by name; -1 if unknown."""
    codes = hierarchy.locate(values)
    if isinstance(values.dtype, pl.String | pl.Enum | pl.Categorical) and (codes < 0).any():
        low, high, known = hierarchy.read(values)
        single = hierarchy.merge_hidden(low) == hierarchy.merge_hidden(high)
        codes = np.where((codes < 0) & known & single, low, codes).astype(np.int32)
    return codes


def _place_sets(
    lengths: LongVector, codes: IntVector, known: BoolVector, above: BoolVector, hierarchy: Hierarchy
) -> PlacedCells:
    start = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    low, high = codes[start[:-1]], codes[start[1:] - 1]
    if hierarchy.unlimited is not None:
        # Codes of a block are contiguous, so the ends of a set tell whether it lies in one.
        above = above | (known & (hierarchy.blocks[low] != hierarchy.blocks[high]))
    return PlacedCells(low, high, known, above, sets=(start, codes))


def class_sets(cells: Sequence[PlacedCells], shown: IntMatrix) -> ValueSets:
    """Write out the sets of all classes; `shown` is which cell each class shows in each column.

    A cell that is not a set stands for all values in its range.
    """
    starts, lengths, everything = [], [], []
    base = 0
    for j, column in enumerate(cells):
        if column.sets is None:
            widths = column.high.astype(np.int64) - column.low + 1
            start = np.concatenate(([0], np.cumsum(widths)))
            codes = (np.repeat(column.low - start[:-1], widths) + np.arange(start[-1])).astype(np.int32)
        else:
            start, codes = column.sets
        starts.append(start[shown[:, j]] + base)
        lengths.append(np.diff(start)[shown[:, j]])
        everything.append(codes)
        base += len(codes)
    source, length = np.stack(starts, axis=1).ravel(), np.stack(lengths, axis=1).ravel()
    begin = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    return ValueSets(
        begin, np.concatenate(everything)[np.repeat(source - begin[:-1], length) + np.arange(begin[-1])]
    )
