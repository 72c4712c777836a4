"""Distances to the closest record, and membership: were the nearest people trained on?"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from shoal.support.arrays import FloatVector, IntVector
from shoal.support.confidence_intervals import NORMAL_95
from shoal.support.run import Run
from shoal.synthetic.distances import find_nearest
from shoal.synthetic.rates import Rate
from shoal.synthetic.tables import Tables

QUANTILES = (0.05, 0.25, 0.5, 0.75)
FALSE_ALARMS = 0.01
"""The adversary accuses so many people wrongly at most, when single members are to be found."""


@dataclass(frozen=True)
class Membership:
    """Whether the distance to the nearest synthetic row distinguishes training rows from holdout rows."""

    area: float
    """Under the ROC curve: the chance that a training row is nearer than a holdout row, ties half. 0.5 says nothing."""
    error: float
    """The standard error of the area (Hanley and McNeil 1982)."""
    found: Rate
    """The training rows that are accused if the nearest are, and 1 % of the holdout rows with them."""

    def interval(self, normal: float = NORMAL_95) -> tuple[float, float]:
        """Return the interval of the area."""
        half = normal * self.error
        return max(self.area - half, 0.0), min(self.area + half, 1.0)

    def summary(self) -> dict[str, Any]:
        """Return plain data."""
        low, high = self.interval()
        return {"area": self.area, "low": low, "high": high, "found_at_1_percent": self.found.summary()}


@dataclass(frozen=True)
class Closest:
    """Distances to the closest record."""

    train: tuple[float, ...]
    """Quantiles of the mean distance per column, 0 to 1, from training rows to the nearest synthetic row."""
    control: tuple[float, ...] | None
    """The same from holdout rows."""
    nearer: Rate | None
    """Synthetic rows whose nearest real row is a training row and not a holdout row, among equally many of both; ties
    count half. Expected are 50 %."""

    def summary(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "quantiles": list(QUANTILES),
            "train": list(self.train),
            "control": None if self.control is None else list(self.control),
            "nearer_to_train": None if self.nearer is None else self.nearer.summary(),
        }


def guess_membership(train: IntVector, control: IntVector) -> Membership:
    """Compare the distances of training rows and of holdout rows. O(rows log rows)."""
    area = chance_to_be_nearer(train, control)
    own, other = len(train), len(control)
    both = area / (2 - area), 2 * area**2 / (1 + area)
    variance = (area * (1 - area) + (own - 1) * (both[0] - area**2) + (other - 1) * (both[1] - area**2)) / (
        own * other
    )
    # Without any variance, as with an area of 1, one wrong order of rows more or less remains possible.
    error = max(sqrt(max(variance, 0.0)), 1 / max(min(own, other), 1) / 2)
    return Membership(area, error, Rate(share_found(train, control), own))


def share_found(train: IntVector, control: IntVector) -> float:
    """Return the share of the training rows that are accused if 1 % of the holdout rows may be. Of rows at the same
    distance as the last, a part is drawn that fills the 1 %: many may be exact copies.
    """
    limit = np.sort(control)[min(int(FALSE_ALARMS * len(control)), len(control) - 1)]
    part = (FALSE_ALARMS - float((control < limit).mean())) / float((control == limit).mean())
    return float((train < limit).mean() + part * (train == limit).mean())


def chance_to_be_nearer(train: IntVector, control: IntVector) -> float:
    """Return how often a training row has a smaller distance than a holdout row; ties count half."""
    ordered = np.sort(control)
    less = len(control) - np.searchsorted(ordered, train, side="right")
    equal = np.searchsorted(ordered, train, side="right") - np.searchsorted(ordered, train, side="left")
    return float((less + equal / 2).mean() / len(control))


def measure_closest(
    tables: Tables, targets: int, train: IntVector, control: IntVector | None, run: Run
) -> Closest:
    """Return the distances, and of which table the nearest real rows of some synthetic rows are."""
    scale = tables.unit * len(tables.columns)

    def quantiles(distance: IntVector) -> tuple[float, ...]:
        found: FloatVector = np.quantile(distance / scale, QUANTILES)
        return tuple(found.tolist())

    nearer = None
    if tables.holdout is not None:
        rows = min(tables.original.count, tables.holdout.count)
        chosen = run.random.permutation(tables.synthetic.count)[:targets]
        aims = np.ascontiguousarray(tables.synthetic.places[:, chosen])
        found = []
        for at, part in enumerate((tables.original, tables.holdout)):
            drawn = np.sort(run.random.permutation(part.count)[:rows])
            places = part.places if rows == part.count else np.ascontiguousarray(part.places[:, drawn])
            stage = ("closest records", 0.65 + 0.05 * at, 0.7 + 0.05 * at)
            found.append(find_nearest(places, aims, tables.numbers, tables.unit, run, stage).distance[0])
        share = (found[0] < found[1]) + 0.5 * (found[0] == found[1])
        nearer = Rate(float(share.mean()), len(share))
    return Closest(quantiles(train), None if control is None else quantiles(control), nearer)
