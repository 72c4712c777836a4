"""What the size of a population says about the people behind a class of the table: estimates, and what they assume.

Both assume that the people of the table are a simple random sample of the population, whatever their values, and that
the classes do not depend on who was drawn. Classes that a method fits to the table do depend on it, so what is computed
here is an estimate and never a proof.
"""

from __future__ import annotations

import numpy as np

from shoal.support.arrays import FloatVector, LongVector


def compute_expected_risk(sizes: LongVector, share: float) -> FloatVector:
    """Return the expected ``1 / F`` of classes with these many people in the table, where F people of the population
    match and a share of all people is in the table (Benedetti and Franconi 1998).

    Given the size f, F has a negative binomial distribution: F is the number of draws until f people are in the table.
    With ``1 / F = integral of x^(F - 1)`` its mean is ``share^f / f * 2F1(f, f; f + 1; 1 - share)``, which Euler's
    transformation turns into ``share / f * 2F1(1, 1; f + 1; 1 - share)``. It falls with f, and is ``1 / f`` if
    everybody is in the table.
    """
    from scipy.special import hyp2f1

    each, place = np.unique(sizes, return_inverse=True)
    found = share / each * hyp2f1(1.0, 1.0, each + 1.0, 1.0 - share)
    return np.asarray(found, np.float64)[place]


def size_for_risk(risk: float, share: float, enough: int) -> int:
    """Return the smallest class size whose expected risk is at most `risk`; `enough` is one that surely is."""
    sizes = np.arange(1, enough + 1, dtype=np.int64)
    good = np.flatnonzero(compute_expected_risk(sizes, share) <= risk)
    return int(sizes[good[0]]) if len(good) else enough


def size_for_people(k: int, people: int, population: int, error: float) -> int:
    """Return the smallest class size that classes of fewer than k people in the population reach with a probability of
    at most `error`, if they appear in the table at all.

    Of a class of F people, a hypergeometric number f is in the table: `people` are drawn from the `population`. Given
    that some are, ``f >= size`` is the more likely the larger F is (the likelihood ratio is monotone), so F = k - 1 is
    the worst case. Nobody can have more than F people in the table, so k is always enough. The limit for a small
    share of large populations is the zero-truncated Poisson distribution.
    """
    low, high = 1, k
    while low < high:
        middle = (low + high) // 2
        if chance_unnoticed(middle, k, people, population) <= error:
            high = middle
        else:
            low = middle + 1
    return low


def people_for_size(size: int, people: int, population: int, error: float, most: int) -> int:
    """Return the largest k, at most `most`, for which a class of this size is enough."""
    low, high = size, max(min(population, most), size)
    while low < high:
        middle = (low + high + 1) // 2
        if chance_unnoticed(size, middle, people, population) <= error:
            low = middle
        else:
            high = middle - 1
    return low


def chance_unnoticed(size: int, k: int, people: int, population: int) -> float:
    """Return the probability that a class of k - 1 people in the population has at least `size` in the table, given
    that it has one.
    """
    from scipy.stats import hypergeom

    if size >= k:
        return 0.0
    few = min(k - 1, population)
    there = float(hypergeom.sf(0, population, few, people))
    return float(hypergeom.sf(size - 1, population, few, people)) / there if there > 0 else 0.0
