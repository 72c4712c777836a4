"""Individual risk by Benedetti and Franconi (1998): how likely a person of the population is found in the published
rows, if survey weights say how many people each row stands for.

A class of f rows whose weights add up to W stands for about W people: each of its F people is in the sample with
probability p = f / W, so that F, given f, has a negative binomial distribution. The risk of a row is E[1 / F]:

    r(f, p) = sum over h >= f of C(h - 1, f - 1) p^f q^(h - f) / h            with q = 1 - p
            = p * the integral of s^(f - 1) / (p + q s) over s from 0 to 1

From the integral: r(1, p) = p / q ln(1 / p), and r(f + 1, p) = p / q (1 / f - r(f, p)), hence
r(2, p) = p / q^2 (q + p ln p) and r(3, p) = p / q (1/2 - r(2, p)). As a series it is p / f 2F1(1, 1; f + 1; q), with
terms that fall by q m / (f + m).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.support.arrays import FloatVector, IntVector, LongVector
from shoal.support.brief import Brief

FEW = 20
"""Classes of up to so many rows are computed by the recurrence, if p is below one half; it then loses no digits."""
TERMS = 400
"""The series is cut after so many terms at most; what is left of it then is below rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class IndividualRisk(Brief):
    """The individual risks of a table."""

    of_class: FloatVector
    """``[classes]``."""
    sizes: LongVector
    """``[classes]`` rows."""
    class_of: IntVector

    @property
    def of_row(self) -> FloatVector:
        """``[rows]``."""
        return self.of_class[self.class_of]

    @property
    def highest(self) -> float:
        """The highest risk of a row; 0 without rows."""
        return float(self.of_class.max(initial=0.0))

    @property
    def expected(self) -> float:
        """Expected number of rows that are re-identified if an adversary tries all of them."""
        return float(self.of_class @ self.sizes)

    @property
    def mean(self) -> float:
        """The average risk of a row; 0 without rows."""
        return self.expected / max(int(self.sizes.sum()), 1)


def individual_risk(class_of: IntVector, classes: int, weights: FloatVector) -> IndividualRisk:
    """Return the risk of each class, from the survey weight of each row. O(rows + classes).

    A class whose weights add up to fewer people than it has rows stands for its rows: p is 1 at most.
    """
    sizes = np.bincount(class_of, minlength=classes).astype(np.int64)
    totals = np.bincount(class_of, weights=weights, minlength=classes).astype(np.float64)
    return IndividualRisk(compute_expected_inverse(sizes, totals), sizes, class_of)


def compute_expected_inverse(sizes: LongVector, totals: FloatVector) -> FloatVector:
    """Return E[1 / F] for classes with these sizes and these total survey weights."""
    risk = np.empty(len(sizes))
    p = sizes / np.maximum(totals, sizes)
    steps = (p < 0.5) & (sizes <= FEW)
    risk[steps] = _by_steps(sizes[steps], p[steps])
    risk[~steps] = _by_series(sizes[~steps], p[~steps])
    return risk


def _by_steps(sizes: LongVector, p: FloatVector) -> FloatVector:
    """Go up from f = 1 by the recurrence. An error is multiplied by p / q < 1 in each step."""
    odds = p / (1 - p)
    risk = -odds * np.log(p)
    found = risk.copy()
    for size in range(1, int(sizes.max(initial=1))):
        risk = odds * (1 / size - risk)
        found = np.where(sizes == size + 1, risk, found)
    return found


def _by_series(sizes: LongVector, p: FloatVector) -> FloatVector:
    """Add up the series: all terms are positive, so nothing cancels out."""
    q = 1 - p
    term = np.ones(len(sizes))
    total = term.copy()
    for m in range(1, TERMS):
        term = term * q * m / (sizes + m)
        total += term
        if not (term > 1e-17 * total).any():
            break
    return p / sizes * total
