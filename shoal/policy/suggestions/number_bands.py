"""Bands for numbers: of round widths, or nested cuts at round numbers where they save most."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from shoal.coding.hierarchy.known.amounts import Amounts
from shoal.support.arrays import FloatVector, LongVector

LEVELS = 4
"""Each level splits the bands of the one above, so the finest has sixteen."""
SLACK = 0.1
"""How much of what a cut saves may be given up for a rounder number."""


def bands(values: pl.Series, counts: LongVector | None = None) -> dict[str, Any] | str:
    """Return nested cuts, each of which splits a band where that saves most; "none" if there is nothing to cut.

    Bands follow the distribution: they are narrow where many people are. Of the numbers near the best cut, the roundest
    is taken, so a heavy tail is cut at 1000, 2000, 5000, 10000. With `counts`, values are distinct, and so many rows
    have each of them. O(n log n).
    """
    numbers = values.cast(pl.Float64, strict=False)
    usual = numbers.is_finite().fill_null(False).to_numpy()
    line, place = np.unique(numbers.to_numpy()[usual], return_inverse=True)
    rows = np.bincount(place, None if counts is None else counts[usual]).astype(np.float64)
    # Beyond this, floating-point numbers cannot distinguish neighbouring bands; free ranges still work.
    if not len(line) or not _apart(line):
        return "none"
    whole = values.dtype.is_integer()
    cuts: list[float] = []
    levels: list[list[float]] = []
    for _ in range(LEVELS):
        more = [
            cut for part in _parts(line, cuts) if (cut := _split(line[part], rows[part], whole)) is not None
        ]
        if not more:
            break
        cuts = sorted({*cuts, *more})
        levels.append(cuts)
    # A level whose bands are single values says no more than the values.
    levels = [level for level in levels if len(level) + 1 < len(line)]
    return {"cuts": [[_tidy(cut) for cut in level] for level in reversed(levels)]} if levels else "none"


def _apart(line: FloatVector) -> bool:
    span, largest = float(line[-1]) - float(line[0]), float(np.abs(line).max())
    return 1e-9 < span < 1e15 and largest <= 1e12 * span


def _parts(line: FloatVector, cuts: list[float]) -> Iterator[slice]:
    ends = [0, *np.searchsorted(line, np.array(cuts, np.float64)).tolist(), len(line)]
    return (slice(start, end) for start, end in pairwise(ends))


def _split(values: FloatVector, rows: FloatVector, whole: bool) -> float | None:
    """Return the round number that splits sorted values best, of which so many rows have each; None for a single one.

    A cell of a half covers as many values as the half has. So the best cut leaves the smallest sum of rows times
    values: the median if all values are equally frequent, and the beginning of the tail if only some are.
    """
    if len(values) < 2:
        return None
    everybody = rows.sum()
    below, left = np.arange(1, len(values)), np.cumsum(rows)[:-1]
    lost = left * below + (everybody - left) * (len(values) - below)
    best = int(lost.argmin())
    good = lost <= lost[best] + SLACK * (everybody * len(values) - lost[best])
    others = np.flatnonzero(~good)
    first = int(others[others < best].max(initial=-1)) + 1
    last = int(others[others > best].min(initial=len(lost))) - 1
    return _roundest(float(values[first]), float(values[last + 1]), whole)


def _roundest(low: float, high: float, whole: bool) -> float:
    """Return the roundest number above `low`, up to `high`: a power of ten, then 5 or 2 times one, then a multiple."""
    if low < 0 <= high:
        return 0.0
    for power in range(math.floor(math.log10(max(abs(low), abs(high)))), -320, -1):
        ten = Decimal(1).scaleb(power)
        for number in (ten, 5 * ten, 2 * ten, -ten, -5 * ten, -2 * ten):
            if low < number <= high:
                return float(number)
        for step in (ten, ten / 2, ten / 5):
            if whole and step < 1:
                return high  # whole numbers end here
            found = _multiple(low, high, step)
            if found is not None:
                return found
    return high


def _multiple(low: float, high: float, step: Decimal) -> float | None:
    """Return the multiple of a step above `low`, up to `high`, that is nearest to their middle."""
    first, last = math.floor(Decimal(low) / step) + 1, math.floor(Decimal(high) / step)
    middle = round(Decimal(low + high) / 2 / step)
    found = float(min(max(middle, first), last) * step)
    return found if first <= last and low < found <= high else None


def _tidy(number: float) -> float:
    """Return whole numbers as integers."""
    return int(number) if number.is_integer() else number


CROWDED = 1 / 3
"""If more rows than this share are in one of the bands, bands of another size say more."""


def regular_bands(values: pl.Series, counts: LongVector | None = None) -> dict[str, Any] | str:
    """Return bands of equal round widths; bands that grow with the amount if most rows would be in a single one and
    these divide them. "none" if there is nothing to divide.
    """
    spec = even_widths(values)
    if not isinstance(spec, dict):
        return spec
    numbers = values.cast(pl.Float64, strict=False).to_numpy()
    usual = np.isfinite(numbers)
    rows = np.ones(int(usual.sum())) if counts is None else counts[usual].astype(np.float64)
    even = _fullest(np.floor(numbers[usual] / spec["widths"][0]), rows)
    points = np.array(Amounts.spec["cuts"][0], np.float64)
    growing = _fullest(np.searchsorted(points, numbers[usual], side="right"), rows)
    return {"known": Amounts.name} if even > CROWDED and growing < even else spec


def _fullest(bands: np.ndarray[Any, Any], rows: FloatVector) -> float:
    """Return the share of rows in the band that has the most."""
    _, place = np.unique(bands, return_inverse=True)
    return float(np.bincount(place, rows).max() / rows.sum()) if len(rows) else 0.0


def even_widths(values: pl.Series) -> dict[str, Any] | str:
    """Return about sixteen intervals of a round width, then two levels of wider ones."""
    numbers = values.drop_nulls().cast(pl.Float64, strict=False)
    numbers = numbers.filter(numbers.is_finite())
    if numbers.is_empty():
        return "none"
    span = float(numbers.max()) - float(numbers.min())  # type: ignore[arg-type]
    largest = float(numbers.abs().max())  # type: ignore[arg-type]
    # Beyond this, floating-point numbers cannot distinguish neighbouring intervals; free ranges still work.
    if not 1e-9 < span < 1e15 or largest > 1e12 * span:
        return "none"
    width = _round_number(span / 16)
    if values.dtype.is_integer():
        width = max(width, 2)
    lead = round(width / 10 ** math.floor(math.log10(width) + 1e-9))
    factors = {1: (1, 5, 10), 2: (1, 5, 10), 5: (1, 2, 4)}[lead]
    widths = [_short(width * factor) for factor in factors if width * factor < span]
    return {"widths": widths} if widths else "none"


def _round_number(wanted: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, 50, .. that is at least the wanted number."""
    size = 10.0 ** math.floor(math.log10(wanted))
    return next(lead * size for lead in (1, 2, 5, 10) if lead * size >= wanted * (1 - 1e-9))


def _short(number: float) -> float:
    """Return whole numbers as integers, others without the noise of binary fractions."""
    return round(number) if number >= 1 else float(f"{number:.12g}")
