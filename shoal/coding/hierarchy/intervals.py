"""Numeric intervals: by widths, each a multiple of the one before, or by cut points."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import Numbers, distinct_values, runs
from shoal.coding.hierarchy.domains import Domain, number_domain
from shoal.coding.hierarchy.end_groups import Groups
from shoal.coding.hierarchy.labels import Whole
from shoal.coding.hierarchy.tree import Hierarchy, Level
from shoal.errors import HierarchyError
from shoal.support.arrays import FloatVector, LongVector

Number = int | float

_EXACT = 2.0**53
_LARGEST = 2.0**62


def from_widths(
    values: pl.Series,
    widths: Sequence[Number],
    origin: Number = 0,
    top: Number | None = None,
    bottom: Number | None = None,
) -> Hierarchy:
    """Build levels of intervals ``[origin + i w, origin + (i + 1) w)``, one level per width. With `top` or `bottom`, an
    interval ends there, and what lies beyond is one node up to the root.

    Leaves are exactly the values of the data: these are what an outsider can distinguish. Intervals are
    named ``20-24`` for integers (``-5 to -1`` if one end is negative) and ``[20.0, 25.0)`` otherwise.
    Infinite values are separate nodes below the root. O(n log n).
    """
    domain = number_domain(distinct_values(values), "widths")
    numbers = domain.numbers
    assert numbers is not None
    given = [*widths, origin, *(end for end in (top, bottom) if end is not None)]
    whole = _all_whole(numbers, given)
    groups = Groups.among(numbers, top, bottom)
    between = np.zeros(len(numbers), np.bool_)
    between[groups.first : groups.last] = True
    inside = numbers[between & np.isfinite(numbers)]
    largest = float(np.abs(inside.astype(np.float64) - origin).max(initial=0.0))
    _check_width(widths[0], largest, whole=whole)
    least, most = numbers == -np.inf, numbers == np.inf
    below, end = int((least | ~between)[: groups.last].sum()), int(groups.last - (most & between).sum())
    step, bins = 1, _bins(inside, widths[0], origin, whole)
    levels: list[Level] = []
    words: dict[str, str] = {}
    mixed = _is_mixed(domain, given)
    clip = (bottom, top)
    for width in widths:
        ratio = round(width / widths[0])
        # No bin is as far from 0 as the largest divisor, so a larger divisor would give the same result.
        bins, step = np.floor_divide(bins, min(ratio // step, int(_LARGEST))), ratio
        first = runs(bins)
        starts, names = [first + below], _names(bins[first], width, origin, whole, clip)
        if mixed:
            words.update(zip(names, _names(bins[first], width, origin, True, clip), strict=True))
        if below > groups.first:
            starts, names = [np.array([groups.first], np.int32), *starts], ["-inf", *names]
        if end < groups.last:
            starts, names = [*starts, np.array([end], np.int32)], [*names, "inf"]
        inner = np.concatenate(starts).astype(np.int32)
        levels.append(groups.level(domain.regular, inner, pl.Series("names", names, dtype=pl.String)))
    return domain.hierarchy(*levels, naming=Whole(words) if mixed else None, finest=groups.finest_of(domain))


def count_lines(
    numbers: Numbers, width: Number, origin: Number
) -> tuple[LongVector, FloatVector, FloatVector, bool]:
    """Return the interval of each number, where it begins and ends, and whether all are whole numbers."""
    whole = _all_whole(numbers, [width, origin])
    largest = float(np.abs(numbers.astype(np.float64) - origin).max(initial=0.0))
    _check_width(width, largest, whole=whole)
    bins = _bins(numbers, width, origin, whole)
    return bins, _edges(bins, width, origin) + 0.0, _edges(bins + 1, width, origin) + 0.0, whole


def from_cuts(
    values: pl.Series,
    cuts: Sequence[Sequence[Number]],
    top: Number | None = None,
    bottom: Number | None = None,
) -> Hierarchy:
    """Build levels of intervals ``[a, b)`` between cut points, one level per list, from fine to coarse. Points beyond
    `top` or below `bottom` would divide the groups there, so they do not count.

    Intervals are named ``<18``, ``18-29``, ``>=65`` for integers and ``[18.0, 30.0)`` otherwise. Leaves are the values
    of the data. O(n log n).
    """
    domain = number_domain(distinct_values(values), "cuts")
    numbers = domain.numbers
    assert numbers is not None
    within = [[p for p in level if _is_between(p, bottom, top)] for level in cuts]
    points = [point for level in within for point in level]
    whole, mixed = _all_whole(numbers, points), _is_mixed(domain, points)
    levels: list[Level] = []
    words: dict[str, str] = {}
    for level in filter(None, within):
        bins = np.searchsorted(np.array(level, np.int64 if whole else np.float64), numbers, side="right")
        starts = runs(bins)
        places = bins[starts].tolist()
        names = _name_intervals(places, level, whole)
        if mixed:
            words.update(zip(names, _name_intervals(places, level, True), strict=True))
        levels.append(Level(starts, pl.Series("names", names, dtype=pl.String)))
    finest = Groups.among(numbers, top, bottom).finest_of(domain)
    return domain.hierarchy(*levels, naming=Whole(words) if mixed else None, finest=finest)


def _check_width(width: Number, largest: float, *, whole: bool) -> None:
    """Refuse a width that numbers as large as `largest` cannot be divided by."""
    if largest >= (_LARGEST if whole else _EXACT * width):
        raise HierarchyError(
            f"the width {width} is too small for values as large as {largest:g}: use wider intervals, or an origin "
            "near the values"
        )


def _is_between(point: Number, bottom: Number | None, top: Number | None) -> bool:
    return (top is None or point <= top) and (bottom is None or point >= bottom)


def _all_whole(numbers: Numbers, settings: Sequence[Number]) -> bool:
    """Return whether 64-bit integers can represent the intervals; larger settings become floats."""
    return numbers.dtype.kind == "i" and all(
        float(number).is_integer() and abs(number) <= _LARGEST for number in settings
    )


def _is_mixed(domain: Domain, settings: Sequence[Number]) -> bool:
    """Return whether names depend on which values are published: some may not be whole numbers."""
    assert domain.numbers is not None
    return (
        not domain.leaves.dtype.is_integer()
        and domain.numbers.dtype.kind == "f"
        and all(float(number).is_integer() and abs(number) <= _LARGEST for number in settings)
    )


def _bins(numbers: Numbers, width: Number, origin: Number, whole: bool) -> LongVector:
    if whole:
        return np.floor_divide(numbers - int(origin), int(width)).astype(np.int64)
    numbers = numbers.astype(np.float64)
    bins = np.floor((numbers - origin) / width).astype(np.int64)
    # Division rounds: a value must lie in the interval whose printed ends enclose it.
    bins += numbers >= _edges(bins + 1, width, origin)
    bins -= numbers < _edges(bins, width, origin)
    return bins


def _edges(bins: LongVector, width: Number, origin: Number) -> FloatVector:
    """Return lower ends, rounded to the digits with which width and origin are written."""
    digits = max(0, *(-int(Decimal(str(part)).as_tuple().exponent) for part in (width, origin)))
    return np.round(origin + bins * np.float64(width), digits)


def _names(
    bins: LongVector,
    width: Number,
    origin: Number,
    whole: bool,
    clip: tuple[Number | None, Number | None] = (None, None),
) -> list[str]:
    """Return the names of intervals; none goes beyond the two ends of `clip`."""
    bottom, top = clip
    if whole:
        firsts = (bins * int(width) + int(origin)).tolist()
        return [
            whole_name(
                first if bottom is None else max(first, int(bottom)),
                first + int(width) - 1 if top is None else min(first + int(width), int(top)) - 1,
            )
            for first in firsts
        ]
    lows, highs = _edges(bins, width, origin) + 0.0, _edges(bins + 1, width, origin) + 0.0
    lows = lows if bottom is None else np.maximum(lows, float(bottom))
    highs = highs if top is None else np.minimum(highs, float(top))
    return [f"[{low!r}, {high!r})" for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]


def whole_name(low: int, high: int) -> str:
    """Return the name of whole numbers from `low` to `high`."""
    if low == high:
        return str(low)
    return f"{low} to {high}" if low < 0 else f"{low}-{high}"


def _name_intervals(places: Sequence[int], cuts: Sequence[Number], whole: bool) -> list[str]:
    """Return the names of some of the intervals between cut points; interval 0 ends at the first point."""
    edges = [int(cut) if whole else float(cut) for cut in cuts]
    between = [
        whole_name(int(low), int(high) - 1) if whole else f"[{low}, {high})" for low, high in pairwise(edges)
    ]
    names = [f"<{edges[0]}", *between, f">={edges[-1]}"]
    return [names[place] for place in places]
