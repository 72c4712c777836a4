"""Several ways to generalize one column, to choose from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import distinct_values
from shoal.coding.hierarchy.domains import number_domain
from shoal.coding.hierarchy.kinds import KINDS, Kind, TableKind, parse_hierarchy
from shoal.coding.hierarchy.kinds.auto_kind import Automatic
from shoal.coding.hierarchy.kinds.cuts import Cuts
from shoal.errors import ShoalError
from shoal.judging.models.safe_harbor import OLDEST
from shoal.policy.suggestions.hierarchy_guess import Spec, suggest_hierarchy
from shoal.policy.suggestions.number_bands import bands, even_widths
from shoal.policy.suggestions.vocabulary import AGES, words_of
from shoal.support.arrays import LongVector

DEEPEST = 12
"""A proposal with more levels is not worth reading."""
ALPHABETICAL = "groups of neighbours in the alphabet: only where this order means something"
PARTS = 8
"""Into how many groups of about equal size the finest quantiles divide the rows."""


@dataclass(frozen=True)
class Proposal:
    """One way to generalize a column."""

    spec: Spec
    note: str = ""
    """What is particular about it, in a few words; empty if its kind says all."""


def proposals(name: str, values: pl.Series, counts: LongVector) -> list[Proposal]:
    """Return hierarchies that fit a column, the best guess first.

    `values` are distinct, `counts` are their rows. Kinds that list all values are left out: only people know them.
    """
    guesses = [Proposal(suggest_hierarchy(name, values, len(values), counts))]
    if values.dtype.is_numeric():
        guesses.append(Proposal(even_widths(values), "bands of equal width"))
        irregular = "bands that are narrow where many people are: least loss, but irregular"
        guesses.append(Proposal(bands(values, counts), irregular))
        if AGES.intersection(words_of(name)):
            grouped = {"widths": [5, 10], "top": OLDEST + 1}
            guesses.append(Proposal(grouped, f"ages over {OLDEST} are one group, which no release divides"))
    guesses.append(Proposal(quantile_cuts(values, counts), "quantiles: about as many rows in each band"))
    unordered = values.dtype == pl.String
    others = [
        Proposal(kind.example, ALPHABETICAL if unordered and kind.name == Automatic.name else "")
        for kind in KINDS.values()
        if not kind.knows_domain and _is_for(kind, values) and _builds(kind.parse(kind.example), values)
    ]
    found: list[Proposal] = []
    for one in [*guesses, *others]:
        same = [other for other in found if other.spec == one.spec]
        first = one in guesses or not any(_same_kind(one.spec, other.spec) for other in found)
        if one.spec is not None and not same and first:
            # A word says all about itself, whatever led to it.
            found.append(one if isinstance(one.spec, dict) or one in others else Proposal(one.spec))
    return found


def _same_kind(one: Spec, other: Spec) -> bool:
    return parse_hierarchy(one).name == parse_hierarchy(other).name


def quantile_cuts(values: pl.Series, counts: LongVector, parts: int = PARTS) -> Spec:
    """Return cut points that divide the rows into about equal parts, in levels of half as many parts each.

    Points are round numbers, because a point that is a person's own value would be published with the names of
    intervals. None if the column has no numbers, or too few.
    """
    numbers, rows = number_line(values, counts)
    if len(numbers) < 4:
        return None
    order = np.argsort(numbers, kind="stable")
    numbers, rows = numbers[order], rows[order]
    share = np.cumsum(rows) / rows.sum()
    whole = bool((numbers == np.round(numbers)).all())
    levels: list[list[float]] = []
    while parts >= 2:
        at = np.searchsorted(share, np.arange(1, parts) / parts)
        points = sorted({_round(float(numbers[min(i + 1, len(numbers) - 1)]), numbers, whole) for i in at})
        points = [point for point in points if numbers[0] < point <= numbers[-1]]
        if levels:
            points = [point for point in points if point in levels[-1]]
        if points and (not levels or len(points) < len(levels[-1])):
            levels.append(points)
        parts //= 2
    return {Cuts.name: levels} if levels else None


def number_line(values: pl.Series, counts: LongVector) -> tuple[np.ndarray[Any, Any], LongVector]:
    """Return the finite numbers of a column, ascending, and how many rows have each; nothing if it has others."""
    none = np.zeros(0), np.zeros(0, np.int64)
    try:
        domain = number_domain(distinct_values(values), Cuts.name)
    except ShoalError:
        return none
    if domain.numbers is None or not len(domain.numbers):
        return none
    rows = pl.DataFrame({"leaves": values.alias("leaves"), "rows": counts})
    joined = (
        domain.leaves.head(domain.regular)
        .alias("leaves")
        .to_frame()
        .join(rows, on="leaves", how="left", maintain_order="left")
    )
    numbers = domain.numbers.astype(np.float64)
    finite = np.isfinite(numbers)
    return numbers[finite], joined["rows"].fill_null(0).to_numpy()[finite].astype(np.int64)


def _round(point: float, numbers: np.ndarray[Any, Any], whole: bool) -> float:
    """Round to about a hundredth of the span."""
    span = float(numbers[-1] - numbers[0]) or 1.0
    grain = 10.0 ** math.floor(math.log10(span / 50))
    if whole:
        grain = max(grain, 1.0)
    made = round(point / grain) * grain
    return round(made) if whole else float(f"{made:.12g}")


def _is_for(kind: type[Kind], values: pl.Series) -> bool:
    """Whether an example of a kind says something about a column: not if its numbers were chosen for another."""
    if not issubclass(kind, TableKind):
        return True
    numbers = any(isinstance(each, int | float) for each in _inner(list(kind.example.values())))
    return not numbers and not values.dtype.is_numeric()


def _inner(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _inner(each)
    else:
        yield value


def _builds(kind: Kind, values: pl.Series) -> bool:
    try:
        made = kind.build(values)
    except ShoalError:
        return False
    # Masks spell characters of dates as well, but nobody reads 1984-0*.
    readable = values.dtype == pl.String or made.positions is not None
    return not isinstance(kind, TableKind) or (readable and 2 < len(made.levels) <= DEEPEST)
