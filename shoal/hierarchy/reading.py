"""From text back to codes: published names to ranges, values of the data to leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.arrays import BoolVector, FloatVector, IntVector
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
    known = _named(hierarchy)
    each = text.unique().to_frame()
    found = each.join(known, on="names", how="left", nulls_equal=True, maintain_order="left")
    lost = found.filter(pl.col("low").is_null())["names"].drop_nulls()
    if len(lost) and (hierarchy.free or _lined(hierarchy)):
        found = found.drop_nulls("low").vstack(_read_ranges(hierarchy, lost, known))
    rows = text.to_frame().join(found, on="names", how="left", nulls_equal=True, maintain_order="left")
    low = rows["low"].fill_null(0).to_numpy().astype(np.int32, copy=False)
    high = rows["high"].fill_null(hierarchy.size - 1).to_numpy().astype(np.int32, copy=False)
    return low, high, rows["low"].is_not_null().to_numpy()


def _lined(hierarchy: Hierarchy) -> bool:
    return hierarchy.ordered > 0 and is_ordered(hierarchy.leaves.dtype)


def _named(hierarchy: Hierarchy) -> pl.DataFrame:
    """Return every name once, with the smallest range that covers all nodes of that name."""
    nodes = pl.concat(
        pl.DataFrame(
            {
                "names": level.names,
                "low": level.starts,
                "high": np.append(level.starts[1:], np.int32(hierarchy.size)) - np.int32(1),
            },
            schema={"names": pl.String, "low": pl.Int32, "high": pl.Int32},
        )
        for level in hierarchy.levels
    )
    return nodes.group_by("names").agg(pl.col("low").min(), pl.col("high").max())


def _read_ranges(hierarchy: Hierarchy, lost: pl.Series, known: pl.DataFrame) -> pl.DataFrame:
    """Read ``[first, last]``, and numbers that are written in another way than the leaves."""
    frame = lost.to_frame().with_columns(
        first=pl.col("names").str.extract(_RANGE, 1), last=pl.col("names").str.extract(_RANGE, 2)
    )
    if hierarchy.free:
        first = known.select(pl.col("names").alias("first"), "low")
        last = known.select(pl.col("names").alias("last"), "high")
        frame = frame.join(first, on="first", how="left").join(last, on="last", how="left")
        frame = _other_splits(frame, known)
    else:
        frame = frame.with_columns(low=pl.lit(None, pl.Int32), high=pl.lit(None, pl.Int32))
    if _lined(hierarchy):
        frame = _by_value(hierarchy, frame)
    whole = pl.col("low").is_not_null() & pl.col("high").is_not_null() & (pl.col("low") <= pl.col("high"))
    return frame.select(
        "names", pl.when(whole).then("low").alias("low"), pl.when(whole).then("high").alias("high")
    )


def _other_splits(frame: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Try the other commas if the first one did not separate two names: leaves may contain commas."""
    open_ = pl.col("first").is_not_null() & (pl.col("low").is_null() | pl.col("high").is_null())
    several = frame.filter(open_ & pl.col("last").str.contains(", ", literal=True))
    if several.is_empty():
        return frame
    ends = {name: (low, high) for name, low, high in known.iter_rows()}
    found: dict[str, tuple[int, int]] = {}
    for name in several["names"]:
        parts = name[1:-1].split(", ")
        for cut in range(1, len(parts)):
            first, last = ends.get(", ".join(parts[:cut])), ends.get(", ".join(parts[cut:]))
            if first and last and first[0] <= last[1]:
                found[name] = (first[0], last[1])
                break
    if not found:
        return frame
    more = pl.DataFrame(
        {"names": list(found), "l": [r[0] for r in found.values()], "h": [r[1] for r in found.values()]},
        schema={"names": pl.String, "l": pl.Int32, "h": pl.Int32},
    )
    joined = frame.join(more, on="names", how="left")
    return joined.with_columns(low=pl.coalesce("l", "low"), high=pl.coalesce("h", "high")).drop("l", "h")


def _by_value(hierarchy: Hierarchy, frame: pl.DataFrame) -> pl.DataFrame:
    """Place the remaining names by value: ``39`` among floats, other formats of a time, ends between leaves."""
    inside = numbers_of(hierarchy.leaves.head(hierarchy.ordered)).astype(np.float64)
    dtype = pl.Float64() if hierarchy.leaves.dtype.is_numeric() else hierarchy.leaves.dtype

    def column(name: str) -> FloatVector:
        return numbers_of(parse(frame[name], dtype)).astype(np.float64)

    single, first, last = column("names"), column("first"), column("last")
    low = np.searchsorted(inside, np.where(np.isnan(single), first, single), side="left")
    high = np.searchsorted(inside, np.where(np.isnan(single), last, single), side="right") - 1
    usable = ~np.isnan(single) | (~np.isnan(first) & ~np.isnan(last) & hierarchy.free)
    usable &= low <= high
    placed = frame.with_columns(
        by_low=pl.Series(low.astype(np.int32)),
        by_high=pl.Series(high.astype(np.int32)),
        usable=pl.Series(usable),
    )
    take = pl.col("usable") & (pl.col("low").is_null() | pl.col("high").is_null())
    return placed.with_columns(
        low=pl.when(take).then("by_low").otherwise("low"),
        high=pl.when(take).then("by_high").otherwise("high"),
    )
