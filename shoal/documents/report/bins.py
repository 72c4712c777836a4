"""The bins of a column in charts: a few groups of its values, chosen so that their names reveal nobody.

Numbers and dates get round limits that do not depend on single values, with open ends. Categories show themselves, or
nodes of their hierarchy if there are many. The gate of the edition then joins bins of too few people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.coding import Attribute
from shoal.coding.hierarchy import Hierarchy
from shoal.documents.report.gate import Gate
from shoal.support.arrays import FloatVector, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.wording import printable

MOST = 12
"""Bins in one chart."""
LONGEST = 40
"""Characters of a label."""
MISSING = "(missing)"
OTHER = "(other values)"
EVERYTHING = "(all values)"


@dataclass(frozen=True, eq=False, repr=False)
class Bins(Brief):
    """Groups of the values of one column."""

    column: str
    bin_of: IntVector
    """Code -> bin."""
    labels: tuple[str, ...]

    def count(self, per_code: FloatVector | LongVector) -> FloatVector:
        """Sum the values of the codes of each bin."""
        held = np.bincount(self.bin_of, weights=per_code, minlength=len(self.labels))
        return held.astype(np.float64)


def bins_of(attribute: Attribute, people: LongVector, gate: Gate, *, made_from_data: bool = False) -> Bins:
    """Choose the bins of a column; `people` is how many people have each code.

    `made_from_data`: the names of the hierarchy's nodes contain single values, as those of automatic ones do.
    O(codes).
    """
    hierarchy = attribute.hierarchy
    if hierarchy.ordered and hierarchy.positions is not None:
        bin_of, labels = _along_a_line(hierarchy, people, gate)
    else:
        bin_of, labels = _categories(hierarchy, people, gate, made_from_data)
    return Bins(attribute.name, bin_of, tuple(labels))


# --- categories -------------------------------------------------------------------------------------------


def _categories(
    hierarchy: Hierarchy, people: LongVector, gate: Gate, made_from_data: bool
) -> tuple[IntVector, list[str]]:
    level = _level(hierarchy, people, gate.public and made_from_data)
    nodes = hierarchy.levels[level]
    node_of = np.repeat(
        np.arange(len(nodes.starts)), np.diff(np.append(nodes.starts, hierarchy.size))
    ).astype(np.int32)
    held = np.bincount(node_of, weights=people, minlength=len(nodes.starts)).astype(np.int64)
    lumped = np.array(gate.hidden(held, MOST))
    shown = np.flatnonzero(~lumped)
    shown = shown[np.argsort(-held[shown], kind="stable")]
    names = nodes.names.gather(shown.astype(np.uint32)).to_list()
    labels = [label(name) for name in names]
    place = np.full(len(held), len(labels), np.int32)
    place[shown] = np.arange(len(shown), dtype=np.int32)
    if held[lumped].any():
        labels.append(OTHER if len(shown) else EVERYTHING)
    elif lumped.any():
        # Values that nobody has need no bin, though the release may spread some rows over them.
        labels.append(OTHER)
    return place[node_of], labels


def _level(hierarchy: Hierarchy, people: LongVector, leaves_only: bool) -> int:
    """Return the lowest level that fits into a chart; if none does, the highest one below the root."""
    if leaves_only:
        return 0
    used = people > 0
    below_root = [level for level, nodes in enumerate(hierarchy.levels) if len(nodes.starts) > 1] or [0]
    for level in below_root:
        if len(np.unique(hierarchy.low[level][used])) <= MOST:
            return level
    return below_root[-1]


def label(name: object) -> str:
    """Write a value on one line that fits, without characters that a page or a drawing cannot hold."""
    if name is None:
        return MISSING
    text = printable(str(name)) or "(empty)"
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


# --- numbers and dates ------------------------------------------------------------------------------------


def _along_a_line(hierarchy: Hierarchy, people: LongVector, gate: Gate) -> tuple[IntVector, list[str]]:
    """Cut the line at round places, and join bins until the gate lets them through."""
    assert hierarchy.positions is not None
    there = np.isfinite(hierarchy.positions)
    days = _days(hierarchy.leaves)
    if days is not None:
        edges, months = _calendar(days[there], people[there], gate.k)
        at = days
    else:
        at = hierarchy.positions
        whole = hierarchy.leaves.dtype.is_integer() or bool((at[there] == np.round(at[there])).all())
        edges, months = _round_edges(at[there], people[there], whole, gate.k), None
    bins = np.zeros(hierarchy.size, np.int64)
    bins[there] = np.searchsorted(edges, at[there], side="right")
    held = np.bincount(bins[there], weights=people[there], minlength=len(edges) + 1).astype(np.int64)
    runs = gate.runs(held)
    run_of = np.empty(len(held), np.int32)
    for number, (first, last) in enumerate(runs):
        run_of[first : last + 1] = number
    whole = days is None and whole
    labels = [_run_name(first, last, edges, months, whole) for first, last in runs]
    place = run_of[bins].astype(np.int32)
    missing = int(people[~there].sum())
    if (~there).any():
        if gate.public and int(held.sum()) < gate.k:
            return np.zeros(hierarchy.size, np.int32), [EVERYTHING]
        if gate.public and missing < gate.k:
            # Join it with the last run that has people, which then has k people.
            last = int(np.flatnonzero(np.bincount(run_of, weights=held))[-1])
            place[~there] = last
            labels[last] += " or missing" if missing else ""
        else:
            place[~there] = len(labels)
            labels.append(MISSING)
    return place, labels


def _run_name(first: int, last: int, edges: FloatVector, months: list[int] | None, whole: bool) -> str:
    """Name the bins ``first..last`` between edges; the ends of the line are open."""
    if not len(edges) or (first == 0 and last == len(edges)):
        return EVERYTHING
    if months is not None:
        if first == 0:
            return f"before {_moment(months[last])}"
        if last == len(edges):
            return f"{_moment(months[first - 1])} or later"
        return _period(months[first - 1], months[last])
    if first == 0:
        return f"under {_number(edges[last])}"
    low = edges[first - 1]
    if last == len(edges):
        return f"{_number(low)} or more"
    high = edges[last]
    if whole:
        return _number(low) if high - low == 1 else f"{_number(low)} to {_number(high - 1)}"
    return f"{_number(low)} to under {_number(high)}"


def _number(value: float) -> str:
    long = float(value).is_integer() and 10_000 <= abs(value) < 1e15
    return f"{value:,.0f}" if long else f"{value:.10g}"


def _middle(at: FloatVector, people: LongVector, k: int) -> tuple[float, float]:
    """Return the range of most people, without the outermost hundredths, and without at least k people on either side:
    the start and the width of bins must not follow from a single extreme person.
    """
    order = np.argsort(at, kind="stable")
    upto = np.cumsum(people[order])
    if not len(upto) or not upto[-1]:
        return 0.0, 0.0
    outside = min(max(0.01 * upto[-1], k), 0.5 * upto[-1])
    ends = np.searchsorted(upto, [outside, upto[-1] - outside])
    low, high = at[order[np.minimum(ends, len(order) - 1)]]
    return float(low), float(high)


def _round_edges(at: FloatVector, people: LongVector, whole: bool, k: int) -> FloatVector:
    """Return limits at multiples of 1, 2 or 5 times a power of ten, at most eleven of them."""
    low, high = _middle(at, people, k)
    width = (high - low) / (MOST - 2)
    if not width > 0:
        width = 1.0 if whole or not abs(low) > 0 else abs(low) / 10
    power = 10.0 ** math.floor(math.log10(width))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= width * (1 - 1e-9))
    if whole:
        step = max(1.0, float(round(step)))
    first = math.floor(low / step) + 1
    last = max(first, math.ceil(high / step))
    places = range(first, min(last, first + MOST - 2) + 1)
    # Round through text, so that 3 x 0.1 is 0.3.
    return np.array([float(f"{place * step:.12g}") for place in places])


def _days(leaves: pl.Series) -> FloatVector | None:
    """Return dates as days since 1970, NaN for null; None if the values are not dates."""
    if isinstance(leaves.dtype, pl.Date | pl.Datetime):
        dates = leaves.cast(pl.Date)
    elif isinstance(leaves.dtype, pl.String):
        dates = leaves.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
        if dates.null_count() > leaves.null_count():
            return None
    else:
        return None
    return dates.to_physical().cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _calendar(days: FloatVector, people: LongVector, k: int) -> tuple[FloatVector, list[int]]:
    """Return limits at the beginning of months, quarters, years or more: as days, and as months since the year 0."""
    low, high = (_month(day) for day in _middle(days, people, k))
    step = next((m for m in (1, 3, 12, 24, 60, 120, 240, 600) if (high - low) / m <= MOST - 2), 1200)
    first = low // step + 1
    months = [number * step for number in range(first, max(first, high // step) + 1)][: MOST - 1]
    edges = [float(np.datetime64(_moment(month, day=True), "D").astype(np.int64)) for month in months]
    return np.array(edges), months


def _month(day: float) -> int:
    return 1970 * 12 + int(np.datetime64(int(day), "D").astype("datetime64[M]").astype(np.int64))


def _moment(month: int, *, day: bool = False) -> str:
    year = f"{month // 12:04d}"
    return (
        f"{year}-{month % 12 + 1:02d}-01"
        if day
        else year
        if month % 12 == 0
        else f"{year}-{month % 12 + 1:02d}"
    )


def _period(start: int, end: int) -> str:
    """Name the months from `start` to before `end`: 2024-03, 2024-Q1, 2024, 2020 to 2029."""
    if start % 12 == 0 and end % 12 == 0:
        first, last = start // 12, end // 12 - 1
        return f"{first}" if first == last else f"{first} to {last}"
    if end - start == 3 and start % 3 == 0:
        return f"{start // 12}-Q{start % 12 // 3 + 1}"
    first_month, last_month = (_moment(month, day=True)[:7] for month in (start, end - 1))
    return first_month if first_month == last_month else f"{first_month} to {last_month}"
