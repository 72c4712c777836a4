"""What to require for each sensitive column, chosen by how its values are distributed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.support.arrays import LongVector
from shoal.support.brief import Brief
from shoal.support.wording import format_count

MANY = 10
"""For a column with at least this many values, propose l = 3; else l = 2."""
RARE = 0.2
"""A value in less than this share of rows is rare: requiring it in every class would cost too much."""
GAIN, GAIN_OF_EVEN = 0.2, 0.3
"""t for columns with a rare value, and for two values that are both frequent."""
MOST = 3
"""The largest l that a starter policy asks for."""


@dataclass(frozen=True, repr=False)
class Distribution(Brief):
    """How often each value of a sensitive column occurs, without saying which."""

    name: str
    counts: LongVector
    """Rows with each value, the most frequent first; missing values are not counted."""
    missing: int

    @property
    def values(self) -> int:
        """How many distinct values it has; missing is not one of them."""
        return len(self.counts)

    @property
    def rows(self) -> int:
        """How many rows the column has."""
        return int(self.counts.sum()) + self.missing

    def shares(self) -> np.ndarray[Any, Any]:
        """Return the shares of all values, missing included, the largest first."""
        counts = np.append(self.counts, self.missing) if self.missing else self.counts
        return np.sort(counts)[::-1] / max(self.rows, 1)

    def rarer(self) -> float:
        """Return the share of the less frequent of two values among the rows that have one."""
        return float(self.counts[-1] / self.counts.sum())

    def room(self, distinct: int, k: int) -> float:
        """Return an upper bound on the classes with so many distinct values, as a share of those that k allows."""
        from shoal.judging.models.demands import most_sensitive_classes

        counts = np.append(self.counts, self.missing) if self.missing else self.counts
        return most_sensitive_classes([counts], distinct, k).classes / max(self.rows // k, 1)


@dataclass(frozen=True)
class Protection:
    """What to require for one sensitive column."""

    column: str
    key: str
    """The key of `[privacy]`."""
    rule: str
    """The word under the key."""
    value: float
    reason: str
    """Why, in a sentence; it contains no value of the column."""


def distribution_of(column: pl.Series) -> Distribution:
    """Count the values of a column. O(n)."""
    filled = column.drop_nulls()
    counts = filled.value_counts().to_series(1).to_numpy().astype(np.int64)
    return Distribution(column.name, np.sort(counts)[::-1], len(column) - len(filled))


def protect_columns(
    columns: Iterable[Distribution], k: int, most: int | None = None
) -> tuple[Protection, ...]:
    """Return what to require for each sensitive column if classes have at least k rows; nothing for a column with a
    single value. `most` is the largest l to ask for; without it, that depends on the number of values.
    """
    return tuple(_protect(one, k, most) for one in columns if one.values >= 2)


def _protect(own: Distribution, k: int, most: int | None) -> Protection:
    """Return distinct l where every class of k rows can show l values, else t, which limits what a class adds to the
    blind guess. A missing value counts as one value more, so that it never stands in for one of the l.
    """
    if own.values == 2:
        rare = own.rarer() < RARE
        return _closeness(own, GAIN if rare else GAIN_OF_EVEN)
    missing = int(own.missing > 0)
    for wanted in range(most or (MOST if own.values >= MANY else 2), 1, -1):
        if own.values >= wanted and own.room(wanted + missing, k) >= 1:
            return _diversity(own, wanted)
    if 1 - own.shares()[0] <= RARE:
        return _closeness(own, GAIN)
    return _diversity(own, 2) if own.room(2 + missing, k) >= 0.5 else _closeness(own, GAIN_OF_EVEN)


def _diversity(own: Distribution, wanted: int) -> Protection:
    values = format_count(own.values, "value")
    reason = f"{values}, frequent enough: every class shows at least {wanted} of them"
    if not own.missing:
        return Protection(own.name, "l", "distinct", wanted, reason)
    reason += f"; {wanted + 1}, because a missing value also counts, and protects nobody"
    return Protection(own.name, "l", "distinct", wanted + 1, reason)


def _closeness(own: Distribution, gain: float) -> Protection:
    limit = f"no class may differ from the whole table by more than {gain:.0%}".replace("%", " %")
    if own.values == 2:
        rarer = f"{own.rarer():.1%}".replace("%", " %")
        what = f"2 values, the rarer one in {rarer} of {'filled ' if own.missing else ''}rows"
    else:
        what = f"{format_count(own.values, 'value')}, some of them rare"
    why = f"{what}: {limit}"
    if gain == GAIN:
        why += ", so nobody learns much; requiring a rare value in every class would lose far more detail"
    return Protection(own.name, "t", "equal", gain, why)


def as_privacy(protections: Iterable[Protection]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return protections as entries of `[privacy]`: key -> column -> rule -> value."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for one in protections:
        found.setdefault(one.key, {})[one.column] = {one.rule: one.value}
    return found
