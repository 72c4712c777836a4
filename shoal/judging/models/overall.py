"""Rules over all classes together: what the rows risk on average, or how many of them risk too much."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, fsum
from typing import NamedTuple

import numpy as np

from shoal.judging.models.population_estimates import compute_expected_risk
from shoal.support.arrays import BoolVector, FloatVector, LongVector

CLOSE = 1e-9
"""Sums of floats that are closer to a threshold are computed again with fractions."""


class Seen(NamedTuple):
    """Classes as an adversary sees them: how many people each has in the release, and in the population."""

    sizes: LongVector
    crowd: LongVector | None = None
    """People of the population who match each class, where they were counted."""
    share: float | None = None
    """The share of the population that is in the table, where only its size is known."""
    note: str = ""
    """Why only the people of the release count, if the adversary looks for people of a population."""

    @property
    def risks(self) -> FloatVector:
        """The risk of a row of each class; expected, if only the size of the population is known."""
        if self.share is not None:
            return compute_expected_risk(self.sizes, self.share)
        return np.asarray(1.0 / (self.sizes if self.crowd is None else self.crowd), np.float64)

    def above(self, risk: Fraction) -> BoolVector:
        """Return which classes have a risk above a threshold, exactly."""
        if self.share is not None:
            return np.asarray(compute_expected_risk(self.sizes, self.share) > float(risk))
        people = self.sizes if self.crowd is None else self.crowd
        return np.asarray(people < ceil(1 / risk))


@dataclass(frozen=True, kw_only=True)
class Overall:
    """A rule ``sum over classes of size x weight <= most x sum of sizes``, with a weight that falls with the size of a
    class: the risk of a row, or 1 if it is above a threshold and else 0.

    Splitting a class never lowers the sum: of two parts, each row has at least the weight that it had before. Nor does
    suppressing part of a class lower it by more than the share of rows that is suppressed.
    """

    title: str
    most: Fraction
    enough: int
    """Classes of so many people satisfy the rule, whatever the others are like."""
    above: Fraction | None = None
    """The threshold, if rows above one are counted; None: risks are averaged."""
    share: float | None = None
    """The share of the population that is in the table, if risks are estimated from it."""
    of_population: bool = False
    """People of a population count, where a table of them is given."""
    of_targets: bool = False
    """The adversary may choose whom to look for in the population: the average over its matching people counts, too."""

    def weights(self, sizes: LongVector) -> FloatVector:
        """Return the weight of a row in classes of these sizes; upper bounds if a population was counted."""
        seen = Seen(sizes, None, self.share)
        return seen.risks if self.above is None else seen.above(self.above).astype(np.float64)

    def value(self, seen: Seen) -> float:
        """Return the average risk, or the share of rows whose risk is above the threshold."""
        rows = max(int(seen.sizes.sum()), 1)
        if self.above is not None:
            return int(seen.sizes[seen.above(self.above)].sum()) / rows
        if seen.crowd is None and seen.share is None:
            return len(seen.sizes) / rows
        found = fsum((seen.sizes * seen.risks).tolist()) / rows
        return max(found, self._targets(seen))

    def _targets(self, seen: Seen) -> float:
        if not self.of_targets or seen.crowd is None or not len(seen.crowd):
            return 0.0
        return len(seen.crowd) / int(seen.crowd.sum())

    def holds(self, seen: Seen) -> bool:
        """Return whether the rule holds: exactly, unless risks are estimated."""
        rows = int(seen.sizes.sum())
        if not rows:
            return True
        if self.above is not None:
            return int(seen.sizes[seen.above(self.above)].sum()) <= self.most * rows
        if seen.share is not None:
            return self.value(seen) <= float(self.most)
        if seen.crowd is None:
            return len(seen.sizes) <= self.most * rows
        if self.of_targets and len(seen.crowd) > self.most * int(seen.crowd.sum()):
            return False
        found = fsum((seen.sizes * seen.risks).tolist()) / rows
        if abs(found - float(self.most)) > CLOSE:
            return found < float(self.most)
        pairs, count = np.unique(np.stack([seen.sizes, seen.crowd]), axis=1, return_counts=True)
        exact = sum(
            (
                Fraction(int(size) * int(times), int(people))
                for size, people, times in zip(*pairs, count, strict=True)
            ),
            Fraction(0),
        )
        return exact <= self.most * rows

    def fewest_dropped(self, sizes: LongVector, most: int) -> LongVector | None:
        """Return which classes to suppress so that the rule holds for the others, the smallest first, at most `most`
        people; None if that is not enough. Suppressing the riskiest rows first lowers the sum fastest.
        """
        order = np.argsort(sizes, kind="stable")
        excess = (sizes * (self.weights(sizes) - float(self.most)))[order]
        lost = np.concatenate([[0], np.cumsum(sizes[order])])
        left = float(excess.sum()) - np.concatenate([[0.0], np.cumsum(excess)])
        for count in np.flatnonzero((left <= CLOSE * max(1, int(sizes.sum()))) & (lost <= most)):
            kept = order[count:]
            if len(kept) and self.holds(Seen(sizes[kept], None, self.share)):
                return order[:count]
            if count > len(order):
                break
        return None

    def out_of_reach(self, sizes: LongVector, most: int) -> bool:
        """Return whether no way to split these classes, with at most `most` people suppressed, satisfies the rule.

        The least sum is that of the classes themselves, and suppressing people lowers it by at most the weight of the
        riskiest. True only if the sum stays above the threshold by more than rounding errors.
        """
        weights = self.weights(sizes) - float(self.most)
        order = np.argsort(-weights, kind="stable")
        before = np.cumsum(sizes[order]) - sizes[order]
        taken = np.clip(most - before, 0, sizes[order])
        gone = taken * np.maximum(weights[order], 0.0)
        return float((sizes * weights).sum() - gone.sum()) > CLOSE * max(1, int(sizes.sum()))
