"""Domains: the distinct values of a column in the order of their codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import Numbers, numbers_of, parse, text_of
from shoal.coding.hierarchy.labels import Naming
from shoal.coding.hierarchy.tree import ROOT, Hierarchy, Level
from shoal.errors import HierarchyError
from shoal.io.type_inference import numbers_in
from shoal.support.arrays import FloatVector
from shoal.support.brief import Brief
from shoal.support.wording import format_count, some_values, type_name


@dataclass(frozen=True, eq=False, repr=False)
class Domain(Brief):
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

    def hierarchy(
        self,
        *above: Level,
        free: bool = False,
        naming: Naming | None = None,
        finest: Level | None = None,
    ) -> Hierarchy:
        """Return the hierarchy with these levels, which cover the regular codes, between leaves and root. `finest`
        takes the place of the leaves, if some values are never shown as they are.
        """
        names = text_of(self.leaves)
        size = len(names)
        apart = np.arange(self.regular, size, dtype=np.int32)
        levels = [] if finest is not None else [Level(np.arange(size, dtype=np.int32), names)]
        for level in above if finest is None else (finest, *above):
            starts = np.concatenate([level.starts, apart]).astype(np.int32)
            levels.append(Level(starts, pl.concat([level.names.alias("names"), names.gather(apart)])))
        if size > 1:
            levels.append(Level(np.zeros(1, np.int32), pl.Series("names", [ROOT])))
        ordered = self.regular if self.numbers is not None else 0
        return Hierarchy(self.leaves, tuple(levels), free, ordered, self.positions(), naming=naming)


def sort_domain(values: pl.Series) -> Domain:
    """Return the domain of distinct numbers or dates, in ascending order. O(n log n)."""
    leaves = values.sort(nulls_last=True)
    regular = len(leaves) - leaves.null_count()
    if leaves.dtype.is_float():
        regular -= int(leaves.is_nan().sum())
    return Domain(leaves, regular, numbers_of(leaves.head(regular)))


def category_domain(values: pl.Series) -> Domain:
    """Sort distinct categories by their text, numbers among them first and by value: a text that is not a number, which
    only a suppressed row may have, changes the order of no others. O(n log n).
    """
    frame = values.alias("leaves").to_frame()
    if values.dtype == pl.String:
        frame = frame.with_columns(numbers_in(values).alias("number"))
    leaves = frame.sort(frame.columns[::-1], nulls_last=True)["leaves"]
    return Domain(leaves, len(leaves) - leaves.null_count())


def number_domain(values: pl.Series, wanted: str) -> Domain:
    """Sort distinct numbers, or texts that are all numbers (they stay as written). O(n log n).

    `wanted` names the setting that needs numbers, for the error that lists the values that are not.
    """
    if values.dtype.is_numeric():
        return sort_domain(values)
    if values.dtype != pl.String:
        dated = isinstance(values.dtype, pl.Date | pl.Datetime)
        hint = "use { dates = [..] } for it" if dated else f"remove {wanted}"
        raise HierarchyError(
            f"{wanted} is for numbers, but the column holds {type_name(values.dtype)} values: {hint}"
        )
    frame = pl.DataFrame({"leaves": values, "number": parse(values, pl.Int64())})
    if frame["number"].null_count() > values.null_count():
        frame = frame.with_columns(number=parse(values, pl.Float64()))
    bad = frame.filter(pl.col("leaves").is_not_null() & pl.col("number").is_null())["leaves"].sort()
    if len(bad):
        raise HierarchyError(
            f"{wanted} is for numbers, but {format_count(len(bad), 'value')} of the column "
            f"{'is' if len(bad) == 1 else 'are'} text: "
            f"{some_values(bad.to_list())}; correct them, make them null, or give the column a tree"
        )
    frame = frame.sort("number", "leaves", nulls_last=True)
    regular = len(values) - values.null_count()
    if frame["number"].dtype.is_float():
        regular -= int(frame["number"].is_nan().sum())
    return Domain(frame["leaves"], regular, numbers_of(frame["number"].head(regular)))
