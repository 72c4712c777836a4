"""SNB, the slide negative binomial model (Chen and Keller-McNulty 1998): a class has 1 + X people, where X has a
negative binomial distribution with shape alpha and mean m; K classes, and N = K (1 + m) people.

Each person is in the sample with probability pi. From the generating function of 1 + X, with c = 1 + m pi / alpha:

    P(f = 0) = (1 - pi) c^-alpha        P(f = 1) = pi c^-alpha (1 + (1 - pi) m / c)

Three moments give K, m and alpha: the people N, the classes of the sample K (1 - P(f = 0)), and its unique rows
K P(f = 1). The population has E[S_1] = K (1 + m / alpha)^-alpha unique people: K beta^alpha, with
beta = alpha / (alpha + m).
"""

from __future__ import annotations

import math

import numpy as np

from shoal.judging.linking.uniqueness.sample_sizes import Refusal, Sample

_STEEP, _FLAT = 1e-9, 1e9
"""Shapes below and above cannot be told from the ends of the model: all excess in one class, and Poisson."""


def slide_negative_binomial(sample: Sample) -> float:
    """Return the share of the population that is unique, or refuse if no parameters give the sample's moments. If
    several do, the largest share counts.
    """
    alone = (classes * math.exp(-_log_growth(mean, shape)) for classes, mean, shape in fit(sample))
    return max(alone) / sample.people


def fit(sample: Sample) -> list[tuple[float, float, float]]:
    """Return K, m and alpha; all of them, if several give the same moments. For each alpha, the number of classes in
    the sample gives K; alpha is where the unique rows agree, too.
    """
    from scipy.optimize import brentq

    if sample.classes == sample.rows:
        raise Refusal("all rows are unique, so that nothing says how large classes are")

    def excess(log: float) -> float:
        return _expect_uniques(sample, *_parameters(sample, math.exp(log))) - sample.uniques

    tried = np.linspace(math.log(_STEEP), math.log(_FLAT), 120)
    values = [excess(log) for log in tried]
    roots = [
        float(brentq(excess, tried[i], tried[i + 1], xtol=1e-12))
        for i in range(len(tried) - 1)
        if values[i] * values[i + 1] < 0
    ]
    if not roots:
        even = "even" if values[-1] > 0 else "uneven"
        raise Refusal(f"class sizes are more {even} than its model has them")
    return [_parameters(sample, math.exp(log)) for log in roots]


def _log_growth(mean: float, shape: float) -> float:
    """Return alpha log(1 + mean / alpha), which grows with alpha up to the mean."""
    return shape * math.log1p(mean / shape)


def _parameters(sample: Sample, shape: float) -> tuple[float, float, float]:
    """Return K, m and alpha, for this alpha. The population has between 1 and 1 / pi times as many classes as the
    sample: at the lower end too few would be missing in the sample, at the upper end too many.
    """
    from scipy.optimize import brentq

    def mean(more: float) -> float:
        return max(sample.people / (sample.classes * math.exp(more)) - 1, 0.0)

    def excess(more: float) -> float:
        # c^-alpha by the classes of the sample, minus c^-alpha by the parameters; both may be nearly 1.
        by_sample = (math.exp(-more) - sample.fraction) / (1 - sample.fraction)
        return -math.expm1(-_log_growth(mean(more) * sample.fraction, shape)) - by_sample

    found = float(brentq(excess, 0.0, -math.log(sample.fraction), xtol=1e-15))
    return sample.classes * math.exp(found), mean(found), shape


def _expect_uniques(sample: Sample, classes: float, mean: float, shape: float) -> float:
    """Return the expected number of unique rows in the sample."""
    pi = sample.fraction
    none = math.exp(-_log_growth(mean * pi, shape))
    return classes * pi * none * (1 + (1 - pi) * mean / (1 + mean * pi / shape))
