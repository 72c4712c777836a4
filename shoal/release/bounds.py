"""The ends of generalized numbers and dates as columns of their own, so that analysts can compute with them.

A column `age` with ``show = "bounds"`` gets two more, `age_low` and `age_high`. They are cells of the release like any
other: rows are in one class only if these are identical too, and a reader takes what label and bounds say together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from shoal.coding.column_plan import bound_names
from shoal.coding.hierarchy import Hierarchy
from shoal.coding.hierarchy.distinct_values import all_whole, is_ordered, parse, text_of
from shoal.coding.hierarchy.kinds import Kind
from shoal.coding.hierarchy.kinds.ends import Coded
from shoal.coding.hierarchy.meanings import Bound, Meaning
from shoal.io import factorize
from shoal.io.coded import Codes
from shoal.io.sheet import Sheet, code_values
from shoal.io.text_columns import as_text, elements_of, is_set, sets_as_text
from shoal.release.value_sets import PlacedCells, read_cells
from shoal.support.arrays import BoolVector, IntVector


def label_texts(column: pl.Series) -> pl.Series:
    """Return the cells of a published column as a text file shows them; null stays null."""
    if isinstance(column.dtype, pl.List):
        return sets_as_text(column)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        texts = [None if one is None else str(one) for one in column.to_list()]
        return pl.Series(column.name, texts, dtype=pl.String)
    plain = as_text(column)
    return plain if plain.dtype == pl.String else text_of(plain)


def meanings_of(
    kind: Kind, labels: Sequence[str], limit: int | tuple[str, ...] | None = None
) -> dict[str, Meaning]:
    """Return the meaning of each label: sets of values, which a method may show, and labels of the hierarchy."""
    sets = {text: elements for text in labels if is_set(text) and (elements := elements_of(text))}
    words = list(dict.fromkeys(word for elements in sets.values() for word in elements if word is not None))
    rest = [text for text in labels if text not in sets]
    read = dict(zip(rest, kind.meanings(rest, limit), strict=True))
    single = dict(zip(words, kind.meanings(words), strict=True))
    for text, elements in sets.items():
        found = [None if word is None else (single[word].values or (word,))[0] for word in elements]
        groups = [single[word] for word in elements if word is not None]
        grouped = any(one.kind not in ("value", "not-a-number") for one in groups)
        read[text] = Meaning("set", values=tuple(found), spread=_spread(groups) if grouped else None)
    return read


def _spread(meanings: Sequence[Meaning]) -> tuple[Bound | None, Bound | None]:
    """Return the lowest and the highest end of some values and ranges; None if one of them has none."""
    ends = [_ends(one, whole=False) for one in meanings]
    lows, highs = ([pair[side] for pair in ends] for side in (0, 1))
    numbers = all(not isinstance(end, str) for pair in ends for end in pair)
    key: Any = (lambda end: end) if numbers else str
    return (
        None if None in lows else min(lows, key=key),
        None if None in highs else max(highs, key=key),
    )


def bound_columns(
    column: pl.Series, kind: Kind, hierarchy: Hierarchy, seen: BoolVector | None
) -> list[pl.Series]:
    """Return the lower and the upper ends of published cells; null where there is none. O(rows).

    Both follow from the text of the cell, and from the values that are `seen` in published rows (None: all). Among
    whole numbers both ends are included; among others an interval ``[a, b)`` does not include its upper end. Neither
    does a group ``<18``: whether its values are whole numbers is not shown, and only suppressed rows may have others.
    """
    places, values = factorize(label_texts(column) if column.dtype.is_nested() else column)
    texts = label_texts(values).to_list()
    meanings = meanings_of(kind, [text for text in texts if text is not None])
    leaves = hierarchy.leaves.filter(
        pl.Series(~hierarchy.hidden if seen is None else seen & ~hierarchy.hidden)
    )
    # Texts may be fractions: no whole number is the last one below an end then.
    numbers = parse(leaves, pl.Float64()) if leaves.dtype == pl.String else leaves
    whole = numbers.dtype.is_integer() or all_whole(numbers)
    group = f"<{kind.ends[1]}" if isinstance(kind, Coded) else None
    found = [
        (None, None) if text is None else _ends(meanings[text], whole=whole and text != group)
        for text in texts
    ]
    dtype = _dtype(kind, hierarchy, found)
    return [
        _convert_ends([ends[side] for ends in found], dtype, column.name, side).gather(places)
        for side in (0, 1)
    ]


def _ends(meaning: Meaning, *, whole: bool) -> tuple[Bound | None, Bound | None]:
    if meaning.kind == "range":
        high = meaning.high
        if whole and isinstance(high, int) and not meaning.high_included:
            high -= 1
        return meaning.low, high
    if meaning.spread is not None and None not in meaning.values:
        return meaning.spread
    there = [one for one in meaning.values if one is not None]
    if meaning.kind not in ("value", "set") or not there or len(there) < len(meaning.values):
        return None, None
    numbers = [one for one in there if not isinstance(one, str)]
    if len(numbers) == len(there):
        return min(numbers), max(numbers)
    texts = sorted(map(str, there), key=lambda text: float(text) if text.endswith("inf") else 0.0)
    return (texts[0], texts[-1]) if len(there) == 1 else (min(texts), max(texts))


def _dtype(kind: Kind, hierarchy: Hierarchy, found: Sequence[tuple[Any, Any]]) -> pl.DataType:
    leaf = hierarchy.leaves.dtype
    if kind.by_calendar:
        return pl.Date()
    if is_ordered(leaf) and not leaf.is_numeric():
        return leaf
    ends = [end for pair in found for end in pair if end is not None]
    exact = all(isinstance(end, int) and abs(end) < 2**63 for end in ends)
    return pl.Int64() if exact and not leaf.is_float() and not leaf.is_decimal() else pl.Float64()


def _convert_ends(ends: Sequence[Bound | None], dtype: pl.DataType, name: str, side: int) -> pl.Series:
    called = bound_names(name)[side]
    if dtype.is_integer():
        return pl.Series(called, ends, dtype=dtype)
    texts = pl.Series(called, [None if end is None else str(end) for end in ends], dtype=pl.String)
    if isinstance(dtype, pl.Date):
        return texts.str.strip_chars().str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return parse(texts, dtype).alias(called)


# --- reading ------------------------------------------------------------------------------------------------


def bounds_among(
    columns: Collection[str], name: str, others: Collection[str]
) -> tuple[str | None, str | None]:
    """Return which columns of a release are the bounds of a column, by their names, unless they are `others`."""
    low, high = (one if one in columns and one not in others else None for one in bound_names(name))
    return low, high


def read_bounded(
    rows: Sheet, name: str, hierarchy: Hierarchy, bounds: tuple[str | None, str | None]
) -> tuple[Codes, PlacedCells]:
    """Number the distinct cells of a column together with its bounds, and locate what label and bounds say together."""
    from shoal.kernels.grouping import distinct_rows

    number, cells = rows.number_cells(name, partial(read_cells, hierarchy=hierarchy))
    there = [one for one in bounds if one is not None]
    if not there:
        return number, cells
    parts = [(rows.number_cells(one, code_values) if one is not None else None) for one in bounds]
    joint, first = distinct_rows([number, *(part[0] for part in parts if part is not None)])
    own = number[first]
    low, high = cells.low[own].copy(), cells.high[own].copy()
    known, above = cells.known[own].copy(), cells.above[own]
    for side, part in enumerate(parts):
        if part is None:
            continue
        places, values = part
        ends, readable = _codes_at(values, hierarchy, side)
        at = places[first]
        known &= readable[at]
        if side == 0:
            low = np.maximum(low, ends[at])
        else:
            high = np.minimum(high, ends[at])
    known &= low <= high
    low, high = np.where(low <= high, low, cells.low[own]), np.where(low <= high, high, cells.high[own])
    rest = tuple(int(at) for at in np.flatnonzero(np.isin(own, cells.rest)))
    found = replace(
        cells, low=low.astype(np.int32), high=high.astype(np.int32), known=known, above=above, rest=rest
    )
    if cells.finer is not None:
        found = replace(found, finer=(cells.finer[0][own], cells.finer[1][own]))
    return joint, replace(found, sets=_sets_within(cells, own, found)) if cells.sets is not None else found


def _codes_at(values: pl.Series, hierarchy: Hierarchy, side: int) -> tuple[IntVector, Any]:
    """Return the first code that is not below each lower end, or the last one that is not above each upper end, and
    whether the ends can be read. Null means that there is no end.
    """
    whole = hierarchy.size - 1
    open_end = np.full(len(values), 0 if side == 0 else whole, np.int32)
    if (
        hierarchy.ordered == 0
    ):  # values without an order, or in that of a limit: then bounds only split classes
        return open_end, np.ones(len(values), np.bool_)
    leaves, ends = _comparable(hierarchy, values)
    if leaves is None or ends is None:
        return open_end, values.is_null().to_numpy()
    order = np.flatnonzero(leaves.is_not_null().to_numpy())
    line = leaves.gather(order)
    place = line.search_sorted(
        ends.fill_null(line[0] if len(line) else 0), side="left" if side == 0 else "right"
    )
    at = np.asarray(place.to_numpy() if isinstance(place, pl.Series) else [place]).astype(np.int64)
    codes = at if side == 0 else at - 1
    none = ends.is_null().to_numpy()
    # An end beyond all values leaves nothing.
    found = np.where(
        none,
        open_end,
        np.where(
            codes < 0,
            -1,
            np.where(codes >= len(order), hierarchy.size, order[np.clip(codes, 0, max(len(order) - 1, 0))]),
        ),
    )
    return found.astype(np.int32), (values.is_null() | ends.is_not_null()).to_numpy()


def _comparable(hierarchy: Hierarchy, values: pl.Series) -> tuple[pl.Series | None, pl.Series | None]:
    """Return the leaves and some ends in a type in which they can be compared; None if there is none."""
    leaves = hierarchy.leaves
    texts = label_texts(values)
    if leaves.dtype.is_numeric() or (
        leaves.dtype == pl.String and hierarchy.ordered and not _days(leaves).is_not_null().any()
    ):
        numbers = parse(text_of(leaves), pl.Int64()), parse(texts, pl.Int64())
        if numbers[0].null_count() == leaves.null_count() and numbers[1].null_count() == values.null_count():
            return numbers
        return tuple(parse(text_of(one), pl.Float64()).fill_nan(None) for one in (leaves, texts))  # type: ignore[return-value]
    dated = texts.str.contains(r"^-?\d{4,}-\d{2}-\d{2}$") | texts.is_null()
    if dated.all() and not isinstance(leaves.dtype, pl.Time):
        return _days(leaves), _days(texts)
    return (leaves, parse(texts, leaves.dtype)) if is_ordered(leaves.dtype) else (None, None)


def _days(values: pl.Series) -> pl.Series:
    return text_of(values).str.strip_chars().str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)


def _sets_within(cells: PlacedCells, own: IntVector, found: PlacedCells) -> tuple[Any, IntVector]:
    """Return the sets of cells without the values outside of their bounds."""
    assert cells.sets is not None
    start, codes = cells.sets
    parts = []
    for at, cell in enumerate(own):
        part = codes[start[cell] : start[cell + 1]]
        inside = part[(part >= found.low[at]) & (part <= found.high[at])]
        parts.append(inside if len(inside) else part)
    begin = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)
    return begin, np.concatenate(parts).astype(np.int32)
