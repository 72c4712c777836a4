"""Zayatz (1991): how likely a unique row of the sample is unique in the population, by Bayes' rule.

A class of F people shows exactly one row in a random sample with the hypergeometric probability
h(F) = F C(N - F, n - 1) / C(N, n). How common each F is among the classes of the population is not known; the sizes in
the sample stand for it.
"""

from __future__ import annotations

import numpy as np

from shoal.judging.linking.uniqueness.sample_sizes import Sample
from shoal.support.arrays import FloatVector, LongVector


def zayatz(sample: Sample) -> float:
    """Return the share of the population that is unique. O(sizes that occur)."""
    size, count = sample.tally
    shown = count * one_row(sample, size)
    return float(shown[0] / shown.sum()) * sample.uniques / sample.rows


def one_row(sample: Sample, size: LongVector) -> FloatVector:
    """Return h(F), the probability that a class of F people shows one row, over h(1)."""
    from scipy.special import gammaln

    n, N = sample.rows, sample.people
    possible = N - size >= n - 1
    left = np.where(possible, N - size, N)
    # F C(N - F, n - 1) / C(N - 1, n - 1): factors (N - F - i) / (N - 1 - i) for n - 1 of them.
    log = gammaln(left + 1) - gammaln(left - n + 2) - gammaln(N) + gammaln(N - n + 1)
    found: FloatVector = np.where(possible, size * np.exp(log), 0.0)
    return found
