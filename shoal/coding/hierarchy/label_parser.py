"""From text back to codes: published names to ranges, values of the data to leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import is_ordered, numbers_of, one_zero, parse, text_of
from shoal.coding.hierarchy.labels import FOUND, INTERVAL, ROOT
from shoal.io.type_inference import moments_in, numbers_in
from shoal.support.arrays import BoolVector, FloatVector, IntVector

if TYPE_CHECKING:
    from shoal.coding.hierarchy.tree import Hierarchy

_RANGE = r"(?s)^\[(.*?), (.*)\]$"


def locate(leaves: pl.Series, values: pl.Series) -> IntVector:
    """Return the code of each value, -1 if it is not a leaf. O(values + leaves)."""
    dtype = values.dtype
    if leaves.dtype == pl.String or dtype != leaves.dtype:
        leaves, values = text_of(leaves), text_of(values)
    elif dtype.is_float():
        values = one_zero(values)
    known = pl.DataFrame({"value": leaves, "code": np.arange(len(leaves), dtype=np.int32)})
    wanted = values.alias("value").to_frame()
    found = wanted.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
    codes: IntVector = found["code"].fill_null(-1).to_numpy().astype(np.int32)
    if leaves.dtype.is_float():
        # A join may treat two NaN as different (it does for a single row), but here NaN is one value.
        nan = leaves.is_nan().fill_null(False).arg_true()
        if len(nan):
            codes[values.is_nan().fill_null(False).to_numpy()] = nan[0]
    return codes


def read_names(hierarchy: Hierarchy, names: pl.Series) -> tuple[IntVector, IntVector, BoolVector]:
    """Implement `Hierarchy.read`."""
    text = text_of(names)
    each = text.unique().to_frame()
    found = each.join(hierarchy.name_table, on="names", how="left", nulls_equal=True, maintain_order="left")
    lost = found.filter(pl.col("low").is_null())["names"].drop_nulls()
    found = found.drop_nulls("low")
    if hierarchy.naming is not None:
        made = hierarchy.naming.read(hierarchy, each["names"], lost)
        found = found.vstack(made).group_by("names").agg(pl.col("low").min(), pl.col("high").max())
        lost = lost.filter(~lost.is_in(made["names"].implode()))
    if len(lost) and _is_on_line(hierarchy):
        found = found.vstack(_by_value(hierarchy, lost))
    elif len(lost) and hierarchy.by_meaning:
        found = found.vstack(_by_meaning(hierarchy.leaves, lost))
    if (lost == ROOT).any() and not (found["names"] == ROOT).any():
        # A single value has no root, and a limit may remove it, but another tool may write it.
        whole = {"names": [ROOT], "low": [0], "high": [hierarchy.size - 1]}
        found = found.vstack(pl.DataFrame(whole, schema=found.schema))
    rows = text.to_frame().join(found, on="names", how="left", nulls_equal=True, maintain_order="left")
    low = rows["low"].fill_null(0).to_numpy().astype(np.int32, copy=False)
    high = rows["high"].fill_null(hierarchy.size - 1).to_numpy().astype(np.int32, copy=False)
    low, high = hierarchy.wholly(low, high)
    return low, high, rows["low"].is_not_null().to_numpy()


def _is_on_line(hierarchy: Hierarchy) -> bool:
    return hierarchy.ordered > 0 and is_ordered(hierarchy.leaves.dtype)


def build_name_table(hierarchy: Hierarchy) -> pl.DataFrame:
    """Implement `Hierarchy.name_table`."""
    nodes = pl.concat(
        pl.DataFrame(
            {
                "names": level.names,
                "low": level.starts,
                "high": np.append(level.starts[1:], np.int32(hierarchy.size)) - np.int32(1),
            },
            schema={"names": pl.String, "low": pl.Int32, "high": pl.Int32},
        )
        for level in (*hierarchy.levels, *hierarchy.aliases)
    )
    return nodes.group_by("names").agg(pl.col("low").min(), pl.col("high").max())


def _by_value(hierarchy: Hierarchy, lost: pl.Series) -> pl.DataFrame:
    """Place names by value: ``39`` among floats, other formats of a time, ranges with ends between leaves."""
    inside = numbers_of(hierarchy.leaves.head(hierarchy.ordered)).astype(np.float64)
    dtype = pl.Float64() if hierarchy.leaves.dtype.is_numeric() else hierarchy.leaves.dtype

    def read(texts: pl.Series) -> FloatVector:
        return numbers_of(parse(texts, dtype)).astype(np.float64)

    codes = np.arange(hierarchy.ordered, dtype=np.int32)
    return _on_line(lost, inside, codes, read, ranges=hierarchy.naming == INTERVAL)


def _by_meaning(leaves: pl.Series, lost: pl.Series) -> pl.DataFrame:
    """Place names among texts by the numbers or times that these are: ``2.5`` is the text ``2.50``."""
    placed = []
    for meaning in (numbers_in, moments_in):

        def read(texts: pl.Series, meaning: Callable[[pl.Series], pl.Series] = meaning) -> FloatVector:
            return numbers_of(meaning(texts)).astype(np.float64)

        places = read(leaves)
        codes = np.argsort(places, kind="stable")[: np.count_nonzero(~np.isnan(places))].astype(np.int32)
        ranges = bool((np.diff(codes) > 0).all())
        if len(codes):
            placed.append(_on_line(lost, places[codes], codes, read, ranges=ranges))
            lost = lost.filter(~lost.is_in(placed[-1]["names"].implode()))
    return pl.concat(placed) if placed else pl.DataFrame(schema=FOUND)


def _on_line(
    lost: pl.Series,
    line: FloatVector,
    codes: IntVector,
    read: Callable[[pl.Series], FloatVector],
    *,
    ranges: bool,
) -> pl.DataFrame:
    """Place single values, and `ranges` if these are read, among `codes` whose values are `line`, ascending."""
    single, first, last = (
        read(lost if group is None else lost.str.extract(_RANGE, group)) for group in (None, 1, 2)
    )
    low = np.searchsorted(line, np.where(np.isnan(single), first, single), side="left")
    high = np.searchsorted(line, np.where(np.isnan(single), last, single), side="right") - 1
    usable = ~np.isnan(single) | (~np.isnan(first) & ~np.isnan(last) & ranges)
    usable &= low <= high
    placed = {"names": lost.filter(pl.Series(usable)), "low": codes[low[usable]], "high": codes[high[usable]]}
    return pl.DataFrame(placed, schema=FOUND)
