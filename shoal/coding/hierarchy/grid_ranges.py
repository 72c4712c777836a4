"""Ranges between the lines of a grid: labels that follow from the policy, and not from the values of rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import distinct_values, runs
from shoal.coding.hierarchy.domains import number_domain
from shoal.coding.hierarchy.intervals import Number, count_lines, whole_name
from shoal.coding.hierarchy.labels import FOUND, Ends, Found
from shoal.coding.hierarchy.tree import Hierarchy, Level
from shoal.errors import HierarchyError
from shoal.support.arrays import BoolVector, IntVector

_WHOLE = re.compile(r"(-?[0-9]+)(?:-| to )(-?[0-9]+)")
_REAL = re.compile(r"\[([^,\s]+), ([^,\s]+)\)")


@dataclass(frozen=True)
class GridLines(Ends):
    """A range is named by the lines of the grid around it."""

    whole: bool = False
    """The values are whole numbers: `20-24`, and not `[20.0, 25.0)`."""
    lines: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The name of a cell of the grid -> its lines."""

    def narrow_to_seen(
        self, hierarchy: Hierarchy, low: IntVector, high: IntVector, seen: BoolVector
    ) -> tuple[IntVector, IntVector]:
        """Return the ranges themselves: labels do not depend on values."""
        return low, high

    def rename_nodes(
        self, hierarchy: Hierarchy, names: pl.Series, low: IntVector, high: IntVector, seen: BoolVector
    ) -> pl.Series:
        """Return the names themselves."""
        return names

    def text(
        self, names: pl.Series, low: IntVector, high: IntVector, seen: BoolVector | None = None
    ) -> pl.Series:
        """Return the name of each range of codes; `names` are those of the cells."""
        firsts, lasts = names.gather(low).to_list(), names.gather(high).to_list()
        found = [
            _name(self.lines[a][0], self.lines[b][1], whole=self.whole)
            for a, b in zip(firsts, lasts, strict=True)
        ]
        return pl.Series("names", found, dtype=pl.String)

    def read(self, hierarchy: Hierarchy, texts: pl.Series, unknown: pl.Series) -> Found:
        """Return the cells between the lines that each text names."""
        level = hierarchy.levels[0]
        places = [
            (self.lines[name], at) for at, name in enumerate(level.names.to_list()) if name in self.lines
        ]
        ends = np.append(level.starts[1:], hierarchy.size) - 1
        rows = []
        for text in unknown.to_list():
            found = (_WHOLE if self.whole else _REAL).fullmatch(text)
            lines = None if found is None else _numbers(found)
            if lines is None:
                continue
            low, high = lines[0], lines[1] + (1 if self.whole else 0)
            inside = [at for (first, last), at in places if low <= first and last <= high]
            cut = any(first < edge < last for (first, last), _ in places for edge in (low, high))
            if inside and not cut:
                rows.append((text, int(level.starts[inside[0]]), int(ends[inside[-1]])))
        return pl.DataFrame(rows, schema=FOUND, orient="row")


def _name(low: float, high: float, *, whole: bool) -> str:
    """Return the name of a range between two lines."""
    return whole_name(int(low), int(high) - 1) if whole else f"[{float(low)!r}, {float(high)!r})"


def _numbers(found: re.Match[str]) -> tuple[float, float] | None:
    try:
        return float(found[1]), float(found[2])
    except ValueError:
        return None


def from_grid(values: pl.Series, grid: Number, origin: Number = 0) -> Hierarchy:
    """Allow any range of cells of a grid, ``[origin + i grid, origin + (i + 1) grid)``. Values of a cell are never told
    apart. O(n log n).
    """
    domain = number_domain(distinct_values(values), "grid")
    numbers = domain.numbers
    assert numbers is not None
    if not np.isfinite(numbers.astype(np.float64)).all():
        raise HierarchyError("a grid is for finite numbers, but the column has infinite ones: make them null")
    bins, first, last, whole = count_lines(numbers, grid, origin)
    starts = runs(bins)
    lines = list(zip(first[starts].tolist(), last[starts].tolist(), strict=True))
    names = [_name(low, high, whole=whole) for low, high in lines]
    naming = GridLines("[", ", ", ")", whole=whole, lines=dict(zip(names, lines, strict=True)))
    finest = Level(starts, pl.Series("names", names, dtype=pl.String))
    return domain.hierarchy(free=True, naming=naming, finest=finest)
