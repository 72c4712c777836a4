"""Hierarchies for columns without one: free ranges, the whole domain, or a balanced tree from the data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.coding.hierarchy.date_text import dates_in
from shoal.coding.hierarchy.distinct_values import distinct_values, is_ordered, text_of
from shoal.coding.hierarchy.domains import Domain, category_domain, sort_domain
from shoal.coding.hierarchy.labels import INTERVAL, SPAN, Ends, style_of
from shoal.coding.hierarchy.tree import Hierarchy, Level
from shoal.errors import HierarchyError
from shoal.io.type_inference import numbers_in

FAN_OUT = 4


def from_nothing(values: pl.Series) -> Hierarchy:
    """Allow any range for ordered values; categories are exact or the whole domain.

    O(n log n).
    """
    data = distinct_values(values)
    if is_ordered(data.dtype):
        return sort_domain(data).hierarchy(free=True)
    return category_domain(data).hierarchy()


def automatic(values: pl.Series) -> Hierarchy:
    """Build a balanced tree with about four children per node, by quantiles of the distinct values.

    Numbers and dates get intervals ``[first, last]``. Texts are sorted, numbers inside them by value, unless their type
    lists them in an order, and nodes are named ``{a, b, c}`` if that is short, else ``first..last``; texts that are all
    numbers or dates are named like these. Texts are not masked, even if all look like codes: one that does not, in a
    suppressed row, would change all names. Raises HierarchyError for dates that are not ISO dates, because sorting them
    as text would put them out of order. O(n log n).
    """
    data = distinct_values(values)
    if is_ordered(data.dtype):
        domain = sort_domain(data)
        return replace(_build_balanced(domain, INTERVAL), grown=True)
    written = dates_in(data)
    if written is not None and written.advice:
        raise HierarchyError(f"'auto' cannot sort these texts: {written.advice}, or write your own hierarchy")
    domain = _sort_as_listed(data, values.dtype) if isinstance(values.dtype, pl.Enum) else _natural(data)
    return replace(_build_balanced(domain, SPAN), grown=True)


def _sort_as_listed(data: pl.Series, dtype: pl.Enum) -> Domain:
    """Sort texts in the order of their Enum type, so labels of codes keep the order of the codes."""
    place = data.cast(dtype).to_physical()
    frame = pl.DataFrame({"leaves": data, "place": place})
    return Domain(frame.sort("place", nulls_last=True)["leaves"], len(data) - data.null_count())


def _natural(data: pl.Series) -> Domain:
    """Sort texts so that the first number inside them counts by value: item 2 before item 10."""
    if data.dtype != pl.String:
        return category_domain(data)
    number = numbers_in(data)  # -10 and 2.5 as a whole, too
    inside = data.str.extract(r"^\D*(\d+)", 1).cast(pl.Float64, strict=False)
    word = data.str.extract(r"^(\D*)", 1).set(number.is_not_null(), "")
    frame = pl.DataFrame({"leaves": data, "word": word, "number": number.fill_null(inside)})
    leaves = frame.sort("word", "number", "leaves", nulls_last=[True, False, True])["leaves"]
    return Domain(leaves, len(data) - data.null_count())


def _build_balanced(domain: Domain, naming: Ends) -> Hierarchy:
    count = domain.regular
    if count <= FAN_OUT:
        return domain.hierarchy(naming=naming)
    height = max(1, math.ceil(math.log(count, FAN_OUT) - 0.3))
    fan = max(2, math.ceil(count ** (1 / height) - 1e-9))
    names = text_of(domain.leaves)
    style = style_of(domain.leaves) if naming == SPAN else naming
    levels: list[Level] = []
    for power in range(height - 1, 0, -1):
        parts = np.arange(fan**power, dtype=np.int64)
        # Equal shares of the distinct values; each start of a coarser level is also a start of every finer level.
        starts = np.unique(parts * count // fan**power).astype(np.int32)
        if 1 < len(starts) < count:
            ends = np.append(starts[1:], np.int32(count)) - np.int32(1)
            levels.append(Level(starts, style.text(names, starts, ends)))
    return domain.hierarchy(*_unambiguous(levels), naming=naming)


def _unambiguous(levels: list[Level]) -> list[Level]:
    """Number nodes of a level that would have the same name, which unusual texts can cause."""
    out = []
    for level in levels:
        names = level.names
        if names.is_duplicated().any():
            marked = pl.DataFrame({"name": names, "at": level.starts}).select(
                pl.when(names.is_duplicated()).then(pl.format("{} #{}", "name", "at")).otherwise("name")
            )
            names = marked.to_series().alias("names")
        out.append(Level(level.starts, names))
    return out
