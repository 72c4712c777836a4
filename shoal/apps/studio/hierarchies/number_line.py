"""Numbers and dates on a line: their histogram, the bands of a hierarchy, and the cut points between them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.apps.studio.hierarchies.preview import Counted, Tried
from shoal.coding.hierarchy.distinct_values import numbers_of
from shoal.coding.hierarchy.kinds.cuts import Cuts
from shoal.coding.hierarchy.kinds.widths import Widths
from shoal.errors import HierarchyError
from shoal.policy.suggestions.proposals import number_line, quantile_cuts
from shoal.support.arrays import FloatVector, LongVector

WIDTH, HEIGHT, LANE, SIDE = 720, 150, 38, 14
"""Of the drawing: the width, the height of the bars, the height of a level, and the space left and right."""
BARS = 60
BANDS = 80
"""A level with more bands is not drawn."""
STEPS = (
    (1, "D"), (7, "D"), (1, "M"), (3, "M"), (1, "Y"), (2, "Y"), (5, "Y"), (10, "Y"), (20, "Y"), (50, "Y"), (1000, "Y"),
)  # fmt: skip
"""Of the marks on a line of dates."""
Number = int | float


@dataclass(frozen=True)
class Bar:
    """One bar of the histogram."""

    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True)
class Band:
    """One band of a level."""

    x: float
    width: float
    name: str
    rows: int

    @property
    def label(self) -> str:
        """The name, if there is room for it."""
        return self.name if len(self.name) * 7 + 8 <= self.width else ""


@dataclass(frozen=True)
class Line:
    """A drawing of the column on its line."""

    low: float
    high: float
    whole: bool
    dated: bool
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    lanes: tuple[tuple[Band, ...] | None, ...]
    """Per level between the values and the root; None if it has too many bands."""

    @property
    def height(self) -> int:
        """Of the whole drawing."""
        return HEIGHT + 26 + LANE * len(self.lanes) + 8

    def x(self, value: float) -> float:
        """Return where a number lies."""
        span = (self.high - self.low) or 1.0
        return round(SIDE + (min(max(value, self.low), self.high) - self.low) / span * (WIDTH - 2 * SIDE), 2)


def line_of(found: Counted, tried: Tried) -> Line | None:
    """Draw a column of numbers or dates with the levels of its hierarchy; None for other columns."""
    dated = isinstance(found.values.dtype, pl.Date | pl.Datetime)
    if dated:
        kept = found.values.is_not_null()
        numbers = np.asarray(numbers_of(found.values.filter(kept)), np.float64)
        rows = found.counts[kept.to_numpy()]
    else:
        numbers, rows = number_line(found.values, found.counts)
    if len(numbers) < 2:
        return None
    whole = not dated and bool((numbers == np.round(numbers)).all())
    low, high = float(numbers.min()), float(numbers.max())
    if not math.isfinite(high - low):
        return None
    high += 1.0 if whole else 0.0
    line = Line(low, high, whole, dated, (), (), ())
    bars = _bars(line, numbers, rows)
    if dated:
        ticks = _days(line, found)
    else:
        ticks = tuple((line.x(value), _written(value, whole)) for value in _ticks(low, high, whole))
    return Line(low, high, whole, dated, bars, ticks, tuple(_lanes(line, tried)))


def _bars(line: Line, numbers: FloatVector, rows: LongVector) -> tuple[Bar, ...]:
    span = line.high - line.low
    bins = int(span) if line.whole and span <= BARS else BARS
    edges = np.linspace(line.low, line.high, bins + 1)
    heights, _ = np.histogram(numbers, edges, weights=rows)
    top = float(heights.max()) or 1.0
    made = []
    for at, height in enumerate(heights.tolist()):
        if height:
            tall = max(1.5, height / top * (HEIGHT - 8))
            x, end = line.x(float(edges[at])), line.x(float(edges[at + 1]))
            words = f"{int(height):,} rows"
            made.append(
                Bar(x + 0.5, round(HEIGHT - tall, 2), round(max(end - x - 1, 0.8), 2), round(tall, 2), words)
            )
    return tuple(made)


def _ticks(low: float, high: float, whole: bool) -> list[float]:
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(step * lead for lead in (1, 2, 5, 10) if (high - low) / (step * lead) <= 8)
    if whole:
        step = max(step, 1.0)
    first = math.ceil(low / step)
    return [at * step for at in range(first, math.floor(high / step) + 1)]


def _written(value: float, whole: bool) -> str:
    return f"{round(value):,}" if whole else f"{value:,.6g}"


def _days(line: Line, found: Counted) -> tuple[tuple[float, str], ...]:
    """Mark about eight years, months or days of a line of dates."""
    unit = "D" if isinstance(found.values.dtype, pl.Date) else "s"
    ends = np.array([line.low, line.high]).astype(np.int64).astype(f"datetime64[{unit}]")
    for step, scale in STEPS:
        first, last = ends.astype(f"datetime64[{scale}]").astype(np.int64).tolist()
        if last - first <= 8 * step:
            break
    year = 1970 if scale == "Y" else 0  # numpy counts years from 1970, people from 0
    numbers = np.array([at for at in range(first, last + 1) if (at + year) % step == 0], np.int64)
    marks = numbers.astype(f"datetime64[{scale}]")
    places = marks.astype(f"datetime64[{unit}]").astype(np.float64).tolist()
    found_marks = zip(places, map(str, marks), strict=True)
    return tuple((line.x(at), words) for at, words in found_marks if line.low <= at <= line.high)


def _lanes(line: Line, tried: Tried) -> list[tuple[Band, ...] | None]:
    hierarchy = tried.hierarchy
    if hierarchy is None or hierarchy.positions is None or hierarchy.category or not hierarchy.ordered:
        return []
    cuts = tried.kind.cuts if isinstance(tried.kind, Cuts) else None
    made: list[tuple[Band, ...] | None] = []
    for level in range(1, hierarchy.height):
        nodes = hierarchy.levels[level]
        inside = nodes.starts < hierarchy.ordered
        starts = nodes.starts[inside]
        if len(starts) > BANDS:
            made.append(None)
            continue
        sizes = np.add.reduceat(tried.counts[: hierarchy.ordered], starts).tolist()
        firsts = hierarchy.positions[starts].tolist()
        if cuts is not None:
            edges = np.array(cuts[level - 1], np.float64)
            at = np.searchsorted(edges, firsts, side="right")
            firsts = [line.low if index == 0 else float(edges[index - 1]) for index in at]
        ends = [*firsts[1:], line.high]
        names = nodes.names.filter(pl.Series(inside)).to_list()
        made.append(
            tuple(
                Band(line.x(first), round(line.x(end) - line.x(first), 2), name or "", rows)
                for first, end, name, rows in zip(firsts, ends, names, sizes, strict=True)
            )
        )
    return made


# --- cut points -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """One cut point, in how many levels it is, and where it is drawn."""

    value: Number
    levels: int
    x: float
    least: Number
    most: Number


def cut_points(line: Line, cuts: Sequence[Sequence[Number]]) -> list[Cut]:
    """Return the cut points of all levels with the room that each has between its neighbours."""
    points = sorted({point for level in cuts for point in level})
    grain = 1 if line.whole else (line.high - line.low) / 1000
    made = []
    for at, point in enumerate(points):
        before = points[at - 1] + grain if at else min(line.low + (1 if line.whole else 0), point)
        after = (
            points[at + 1] - grain
            if at + 1 < len(points)
            else max(line.high - (1 if line.whole else 0), point)
        )
        within = [neat(before), neat(after)]
        made.append(Cut(point, sum(point in level for level in cuts), line.x(point), *within))
    return made


def read_points(text: str) -> list[Number]:
    """Read the numbers that somebody typed: ``18, 30; 45 65``, in any order, each once."""
    found: set[Number] = set()
    for word in re.split(r"[\s,;]+", text.strip()):
        if not word:
            continue
        try:
            value = float(word)
        except ValueError:
            raise HierarchyError(f"{word[:40]!r} is not a number; write cut points as 18, 30, 45.5") from None
        if not math.isfinite(value):
            raise HierarchyError(f"{word[:40]!r} is not a finite number")
        found.add(neat(value))
    return sorted(found)


def nest_levels(levels: Sequence[Sequence[Number]]) -> list[list[Number]]:
    """Return levels from fine to coarse: a point of a level belongs to all below it, and empty levels go."""
    made: list[list[Number]] = []
    above: set[Number] = set()
    for level in reversed(levels):
        above |= set(level)
        if above and (not made or sorted(above) != made[-1]):
            made.append(sorted(above))
    return made[::-1]


def coarser(levels: Sequence[Sequence[Number]]) -> list[list[Number]]:
    """Add a level on top with every second point of the one below."""
    made = [list(level) for level in levels]
    if made and len(made[-1]) > 1:
        made.append(made[-1][1::2])
    return made


def as_cuts(found: Counted, tried: Tried) -> dict[str, list[list[Number]]]:
    """Return the bands of a hierarchy as cut points; quantiles if it has no bands that could be."""
    kind = tried.kind
    if isinstance(kind, Widths):
        numbers, _ = number_line(found.values, found.counts)
        levels = []
        for width in kind.widths:
            first = math.floor((float(numbers[0]) - kind.origin) / width) + 1
            last = math.floor((float(numbers[-1]) - kind.origin) / width)
            if 0 < last - first + 1 <= BANDS:
                levels.append([neat(kind.origin + at * width) for at in range(first, last + 1)])
        if levels:
            return {Cuts.name: nest_levels(levels)}
    made = quantile_cuts(found.values, found.counts)
    if not isinstance(made, dict):
        raise HierarchyError("the column has too few numbers for cut points")
    return made


def divide_column(found: Counted, parts: int, by: str) -> dict[str, list[list[Number]]]:
    """Return cut points that divide a column into parts of about equal rows, or of equal width."""
    numbers, _ = number_line(found.values, found.counts)
    if len(numbers) < 2:
        raise HierarchyError("the column has too few numbers for cut points")
    if not 2 <= parts <= BANDS:
        raise HierarchyError(f"a column can be divided into 2 to {BANDS} parts, not {parts}")
    if by == "rows":
        made = quantile_cuts(found.values, found.counts, parts)
        if not isinstance(made, dict):
            raise HierarchyError("the column has too few numbers for cut points")
        return {Cuts.name: made[Cuts.name]}
    low, high = float(numbers[0]), float(numbers[-1])
    whole = bool((numbers == np.round(numbers)).all())
    points = [low + (high - low) * at / parts for at in range(1, parts)]
    level = sorted({neat(round(point) if whole else float(f"{point:.4g}")) for point in points})
    return {Cuts.name: nest_levels([[point for point in level if low < point <= high]])}


def neat(value: float) -> Number:
    """Return whole numbers as integers, others without the noise of binary fractions."""
    return round(value) if float(value).is_integer() and abs(value) < 2**53 else float(f"{value:.12g}")
