"""The distinct values of a column: sorted, written as text, and read from text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import FloatVector, IntVector
from shoal.errors import HierarchyError
from shoal.hierarchy.tree import ROOT, Hierarchy, Level
from shoal.wording import counted, some_values

Numbers = NDArray[np.int64] | NDArray[np.float64]

_TIMES = (pl.Date, pl.Datetime, pl.Time, pl.Duration)


@dataclass(frozen=True, eq=False)
class Domain:
    """Distinct values in code order. NaN and null come last, each as a separate node."""

    leaves: pl.Series
    """The values, NaN and null last."""
    regular: int
    """How many leading values are neither NaN nor null."""
    numbers: Numbers | None = None
    """Positions of the regular values on the number line, ascending; None for categories."""

    def positions(self) -> FloatVector | None:
        """Return the position of every code on the number line: NaN for NaN and null, infinities clipped."""
        if self.numbers is None:
            return None
        places = np.full(len(self.leaves), np.nan)
        real = self.numbers.astype(np.float64)
        finite = real[np.isfinite(real)]
        if len(finite):
            real = np.clip(real, finite.min(), finite.max())
        else:
            real = np.sign(real)
        places[: self.regular] = real
        return places

    def hierarchy(self, *above: Level, free: bool = False) -> Hierarchy:
        """Return the hierarchy with these levels, which cover the regular codes, between leaves and root."""
        names = text_of(self.leaves)
        size = len(names)
        apart = np.arange(self.regular, size, dtype=np.int32)
        levels = [Level(np.arange(size, dtype=np.int32), names)]
        for level in above:
            starts = np.concatenate([level.starts, apart]).astype(np.int32)
            levels.append(Level(starts, pl.concat([level.names.alias("names"), names.gather(apart)])))
        if size > 1:
            levels.append(Level(np.zeros(1, np.int32), pl.Series("names", [ROOT])))
        ordered = self.regular if self.numbers is not None else 0
        return Hierarchy(self.leaves, tuple(levels), free, ordered, self.positions())


def distinct(values: pl.Series) -> pl.Series:
    """Return the distinct values in a type that hierarchies support: categories become strings, -0.0 becomes 0.0."""
    dtype = values.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null):
        values = values.cast(pl.String)
    elif dtype.is_float():
        values = one_zero(values)
    elif not (dtype.is_numeric() or isinstance(dtype, (pl.String, pl.Boolean, *_TIMES))):
        raise HierarchyError(
            f"values of type {dtype} cannot be generalized: turn them into text, numbers or dates"
        )
    return values.alias("leaves").unique()


def one_zero(values: pl.Series) -> pl.Series:
    """Replace -0.0 by 0.0: they are the same number but not the same text."""
    return values.set(values == 0.0, 0.0)


def is_ordered(dtype: pl.DataType) -> bool:
    """Return whether values of this type have positions on a line: numbers, dates and times."""
    return dtype.is_numeric() or isinstance(dtype, _TIMES)


def ordered_domain(values: pl.Series) -> Domain:
    """Sort distinct numbers or dates. O(n log n)."""
    leaves = values.sort(nulls_last=True)
    regular = len(leaves) - leaves.null_count()
    if leaves.dtype.is_float():
        regular -= int(leaves.is_nan().sum())
    return Domain(leaves, regular, numbers_of(leaves.head(regular)))


def category_domain(values: pl.Series) -> Domain:
    """Sort distinct categories by their text. O(n log n)."""
    leaves = values.sort(nulls_last=True)
    return Domain(leaves, len(leaves) - leaves.null_count())


def number_domain(values: pl.Series, wanted: str) -> Domain:
    """Sort distinct numbers, or texts that are all numbers (they stay as written). O(n log n).

    `wanted` names the setting that needs numbers, for the error that lists the values that are not.
    """
    if values.dtype.is_numeric():
        return ordered_domain(values)
    if values.dtype != pl.String:
        dated = isinstance(values.dtype, pl.Date | pl.Datetime)
        hint = "use { dates = [..] } for it" if dated else f"remove {wanted}"
        raise HierarchyError(f"{wanted} is for numbers, but the column holds {values.dtype} values: {hint}")
    frame = pl.DataFrame({"leaves": values, "number": parse(values, pl.Int64())})
    if frame["number"].null_count() > values.null_count():
        frame = frame.with_columns(number=parse(values, pl.Float64()))
    bad = frame.filter(pl.col("leaves").is_not_null() & pl.col("number").is_null())["leaves"].sort()
    if len(bad):
        raise HierarchyError(
            f"{wanted} is for numbers, but {counted(len(bad), 'value')} of the column "
            f"{'is' if len(bad) == 1 else 'are'} text: "
            f"{some_values(bad.to_list())}; correct them, make them null, or give the column a tree"
        )
    frame = frame.sort("number", "leaves", nulls_last=True)
    regular = len(values) - values.null_count()
    if frame["number"].dtype.is_float():
        regular -= int(frame["number"].is_nan().sum())
    return Domain(frame["leaves"], regular, numbers_of(frame["number"].head(regular)))


def numbers_of(values: pl.Series) -> Numbers:
    """Return numbers unchanged, dates in days and times in seconds; NaN for null."""
    dtype = values.dtype
    if isinstance(dtype, pl.Date):
        return values.to_physical().cast(pl.Int64).to_numpy()
    if isinstance(dtype, pl.Datetime | pl.Duration):
        per_second = {"ms": 1e3, "us": 1e6, "ns": 1e9}[dtype.time_unit]
        return values.to_physical().cast(pl.Float64).to_numpy() / per_second
    if isinstance(dtype, pl.Time):
        return values.to_physical().cast(pl.Float64).to_numpy() / 1e9
    if dtype.is_integer():
        exact = values.cast(pl.Int64, strict=False)
        if exact.null_count() == 0:
            return exact.to_numpy()
    return values.cast(pl.Float64).to_numpy()


def text_of(values: pl.Series) -> pl.Series:
    """Return the published text of values; null stays null."""
    if isinstance(values.dtype, pl.Duration):
        return values.dt.to_string("iso").alias("names")
    text = values.cast(pl.String).alias("names")
    if isinstance(values.dtype, pl.Datetime | pl.Time):
        return text.str.replace(r"\.0+($|[+-])", "$1")
    return text


def parse(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Read text as values of `dtype`; null if that fails. Numbers compare by value: "39.0" is 39."""
    if dtype == pl.String:
        return text
    plain = text.str.strip_chars()
    if isinstance(dtype, pl.Boolean):
        lowered = plain.str.to_lowercase()
        known = lowered.is_in(["true", "false"])
        frame = pl.DataFrame({"known": known, "value": lowered == "true"})
        return frame.select(pl.when("known").then("value")).to_series()
    if isinstance(dtype, pl.Date):
        return plain.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(dtype, pl.Datetime | pl.Duration | pl.Time):
        return _parse_times(plain, dtype)
    if dtype.is_integer():
        whole = plain.cast(dtype, strict=False)
        if whole.null_count() == plain.null_count():
            return whole
        real = plain.cast(pl.Float64, strict=False)
        exact = pl.DataFrame({"real": real, "whole": whole}).select(
            pl.coalesce(
                "whole",
                pl.when(pl.col("real") == pl.col("real").round()).then("real").cast(dtype, strict=False),
            )
        )
        return exact.to_series()
    read = plain.cast(dtype, strict=False)
    return one_zero(read) if dtype.is_float() else read


def _parse_times(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Read times and date-times. Durations are compared as text."""
    if isinstance(dtype, pl.Time):
        return text.str.to_time("%H:%M:%S%.f", strict=False)
    if not isinstance(dtype, pl.Datetime):
        return pl.Series("leaves", [None] * len(text), dtype=dtype)
    spaced = text.str.replace("T", " ", literal=True)
    if dtype.time_zone is not None:
        zoned = spaced.str.replace("Z$", "+00:00").str.to_datetime(
            "%Y-%m-%d %H:%M:%S%.f%:z", time_unit=dtype.time_unit, time_zone="UTC", strict=False
        )
        return zoned.dt.convert_time_zone(dtype.time_zone)
    read = spaced.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit=dtype.time_unit, strict=False)
    days = spaced.str.to_date("%Y-%m-%d", strict=False).cast(dtype)
    return pl.DataFrame({"read": read, "days": days}).select(pl.coalesce("read", "days")).to_series()


def runs(keys: NDArray[np.generic]) -> IntVector:
    """Return where each run of equal neighbouring keys begins."""
    if not len(keys):
        return np.empty(0, np.int32)
    changes: NDArray[np.bool_] = np.concatenate([[True], keys[1:] != keys[:-1]])
    return np.flatnonzero(changes).astype(np.int32)
