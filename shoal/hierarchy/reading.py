"""From text back to codes: published names to ranges, values of the data to leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.arrays import BoolVector, FloatVector, IntVector
from shoal.hierarchy.naming import INTERVAL, ROOT
from shoal.hierarchy.values import is_ordered, numbers_of, one_zero, parse, text_of

if TYPE_CHECKING:
    from shoal.hierarchy.tree import Hierarchy

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
    found = each.join(hierarchy.named, on="names", how="left", nulls_equal=True, maintain_order="left")
    lost = found.filter(pl.col("low").is_null())["names"].drop_nulls()
    found = found.drop_nulls("low")
    if hierarchy.naming is not None:
        made = hierarchy.naming.read(hierarchy, each["names"], lost)
        found = found.vstack(made).group_by("names").agg(pl.col("low").min(), pl.col("high").max())
        lost = lost.filter(~lost.is_in(made["names"].implode()))
    if len(lost) and _lined(hierarchy):
        found = found.vstack(_by_value(hierarchy, lost))
    if (lost == ROOT).any() and not (found["names"] == ROOT).any():
        # A single value has no root, and a limit may remove it, but another tool may write it.
        whole = {"names": [ROOT], "low": [0], "high": [hierarchy.size - 1]}
        found = found.vstack(pl.DataFrame(whole, schema=found.schema))
    rows = text.to_frame().join(found, on="names", how="left", nulls_equal=True, maintain_order="left")
    low = rows["low"].fill_null(0).to_numpy().astype(np.int32, copy=False)
    high = rows["high"].fill_null(hierarchy.size - 1).to_numpy().astype(np.int32, copy=False)
    low, high = hierarchy.wholly(low, high)
    return low, high, rows["low"].is_not_null().to_numpy()


def _lined(hierarchy: Hierarchy) -> bool:
    return hierarchy.ordered > 0 and is_ordered(hierarchy.leaves.dtype)


def named(hierarchy: Hierarchy) -> pl.DataFrame:
    """Implement `Hierarchy.named`."""
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
    frame = lost.to_frame().with_columns(
        first=pl.col("names").str.extract(_RANGE, 1), last=pl.col("names").str.extract(_RANGE, 2)
    )
    inside = numbers_of(hierarchy.leaves.head(hierarchy.ordered)).astype(np.float64)
    dtype = pl.Float64() if hierarchy.leaves.dtype.is_numeric() else hierarchy.leaves.dtype

    def column(name: str) -> FloatVector:
        return numbers_of(parse(frame[name], dtype)).astype(np.float64)

    single, first, last = column("names"), column("first"), column("last")
    low = np.searchsorted(inside, np.where(np.isnan(single), first, single), side="left")
    high = np.searchsorted(inside, np.where(np.isnan(single), last, single), side="right") - 1
    usable = ~np.isnan(single) | (~np.isnan(first) & ~np.isnan(last) & (hierarchy.naming == INTERVAL))
    usable &= low <= high
    placed = {"names": lost, "low": low.astype(np.int32), "high": high.astype(np.int32)}
    return pl.DataFrame(placed).filter(pl.Series(usable))
