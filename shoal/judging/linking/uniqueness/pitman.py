"""Pitman's model (Hoshino 2001): the population grows person by person, and whoever comes next is the first of a new
class with probability (theta + u alpha) / (theta + n), or joins a class of f people with (f - alpha) / (theta + n).

The probability of the sizes is then, up to a factor without parameters,

    prod_{i=1}^{u-1} (theta + i alpha) / prod_{i=1}^{n-1} (theta + i) * prod_classes prod_{i=1}^{f-1} (i - alpha)

and its maximum over 0 < alpha < 1, theta > -alpha gives the parameters. A person stays alone with the probability that
nobody joins: E[S_1] = N (theta + alpha)(theta + alpha + 1).. / ((theta + 1)(theta + 2)..), N - 1 factors each,
which is Gamma(theta + 1) / Gamma(theta + alpha) N^alpha where theta is small against N.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from shoal.judging.linking.uniqueness.sample_sizes import Refusal, Sample
from shoal.support.arrays import FloatVector

_PLAIN = 1000
"""So many terms of a sum are added one by one; the others by an integral."""
_WIDEST = 1e15
"""A larger theta says that the likelihood has no maximum."""


def pitman(sample: Sample) -> float:
    """Return the share of the population that is unique, or refuse if the likelihood has no maximum inside its bounds.

    O(sizes that occur) per step, about 60 x 60 steps.
    """
    theta, alpha = fit(sample)
    return uniques(theta, alpha, sample.people) / sample.people


def uniques(theta: float, alpha: float, people: int) -> float:
    """Return the expected number of unique people in Pitman's model."""
    from scipy.special import gammaln

    grown = gammaln(theta + alpha + people - 1) - gammaln(theta + people)
    return float(people * math.exp(grown + gammaln(theta + 1) - gammaln(theta + alpha)))


def fit(sample: Sample) -> tuple[float, float]:
    """Return theta and alpha of the greatest likelihood."""
    from scipy.optimize import brentq

    if sample.classes == sample.rows:
        raise Refusal("all rows are unique, so that any number of classes is as likely")
    if sample.classes == 1:
        raise Refusal("all rows are equal, so that nothing says how classes differ")

    def slope(alpha: float) -> float:
        return _by_alpha(sample, _theta(sample, alpha), alpha)

    # The largest alpha first: there the slope falls to minus infinity, because some class has two rows.
    alphas = (1e-9, *np.linspace(0.02, 0.98, 49), 1 - 1e-9)
    slopes = [slope(alpha) for alpha in alphas]
    falls = [i for i in range(len(alphas) - 1) if slopes[i] > 0 >= slopes[i + 1]]
    if not falls:
        raise Refusal("class sizes are more even than its model has them, at alpha = 0")
    maxima = [float(brentq(slope, alphas[i], alphas[i + 1], xtol=1e-12)) for i in falls]
    best = max(maxima, key=lambda alpha: likelihood(sample, _theta(sample, alpha), alpha))
    return _theta(sample, best), best


def likelihood(sample: Sample, theta: float, alpha: float) -> float:
    """Return the logarithm of the probability of the sizes, up to a constant."""
    from scipy.special import gammaln

    size, count = sample.tally
    grown = gammaln(theta + sample.rows) - gammaln(theta + 1)
    # gammaln(size - alpha) - gammaln(1 - alpha): the sum of log(i - alpha) below each size.
    joined = count @ (gammaln(size - alpha) - gammaln(1 - alpha))
    return float(_sum(lambda i: np.log(theta + i * alpha), sample.classes - 1) - grown + joined)


def _theta(sample: Sample, alpha: float) -> float:
    """Return the theta that is most likely with this alpha. The slope falls once from above to below zero."""
    from scipy.optimize import brentq

    def slope(log: float) -> float:
        return _by_theta(sample, math.exp(log) - alpha, alpha)

    lowest, highest = math.log(1e-12), math.log(_WIDEST)
    if slope(highest) >= 0:
        raise Refusal("nearly all rows are unique, so that the likelihood has no maximum")
    if slope(lowest) <= 0:
        return math.exp(lowest) - alpha
    return float(math.exp(brentq(slope, lowest, highest, xtol=1e-13)) - alpha)


def _by_theta(sample: Sample, theta: float, alpha: float) -> float:
    """Return the derivative of `likelihood` by theta, times theta + 1, so that it does not vanish for large ones."""
    scale = theta + 1
    fresh = _sum(lambda i: scale / (theta + i * alpha), sample.classes - 1)
    return fresh - _sum(lambda i: scale / (theta + i), sample.rows - 1)


def _by_alpha(sample: Sample, theta: float, alpha: float) -> float:
    """Return the derivative of `likelihood` by alpha."""
    from scipy.special import digamma

    size, count = sample.tally
    joined = count @ (digamma(size - alpha) - digamma(1 - alpha))
    return float(_sum(lambda i: i / (theta + i * alpha), sample.classes - 1) - joined)


@cache
def _nodes(last: int) -> tuple[FloatVector, FloatVector]:
    """Return points and weights for the integral from `_PLAIN` to `last`, by the logarithm."""
    points, weights = np.polynomial.legendre.leggauss(48)
    low, high = math.log(_PLAIN), math.log(last)
    at = np.exp(low + (points + 1) / 2 * (high - low))
    return at, weights * (high - low) / 2 * at


def _sum(term: Callable[[FloatVector], FloatVector], last: int) -> float:
    """Return ``term(1) + .. + term(last)`` for a smooth term, by Euler and Maclaurin beyond the first thousand.

    Differences of gamma functions would lose all digits for a small alpha.
    """
    if last < 1:
        return 0.0
    if last <= 2 * _PLAIN:
        return float(term(np.arange(1.0, last + 1)).sum())
    points, weights = _nodes(last)
    first, end = float(_PLAIN), float(last)
    ends = term(np.array([first, first + 1, end - 1, end]))
    slopes = (ends[3] - ends[2]) - (ends[1] - ends[0])
    head = term(np.arange(1.0, _PLAIN)).sum()
    return float(head + weights @ term(points) + (ends[0] + ends[3]) / 2 + slopes / 12)
