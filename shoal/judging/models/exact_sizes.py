"""How unlikely are the sizes of classes by chance? Exactly where all outcomes can be listed, else by drawn tables."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from shoal.support.arrays import FloatVector, LongVector

MOST_OUTCOMES = 20_000
"""Up to this many ways to spread the rows over the groups are all listed."""
LOOKS = (1_000, 10_000)
"""How many tables are drawn; the second number only if the first does not decide."""
CONFIDENCE = 0.999
"""Of the interval at each look, so that of both together is at least 0.998."""
CELLS_AT_ONCE = 1 << 22
"""How many sizes are in memory at a time."""


class PValue(NamedTuple):
    """The probability of sizes at least as far from the expected ones; an interval if tables were drawn."""

    value: float
    low: float
    high: float
    draws: int
    """How many tables were drawn; 0 if all outcomes were listed."""


def pearson(sizes: LongVector, truth: LongVector) -> float:
    """Return Pearson's statistic; infinite if a group has rows and expects none."""
    off = (sizes - truth).astype(np.float64) ** 2
    parts = np.divide(off, truth, out=np.where(off > 0, np.inf, 0.0), where=truth > 0)
    return float(parts.sum())


def exact_test(sizes: LongVector, truth: LongVector, alpha: float) -> PValue:
    """Compare Pearson's statistic of the sizes with that of tables whose rows fall into the groups at random, as likely
    as `truth` says, and not with the chi-squared distribution, which needs large groups.

    Draws until the interval is clear of `alpha`, or LOOKS ends. The draws are no secret, and the same every time: an
    audit repeats what the method saw. O(draws x groups).
    """
    statistic, rows = pearson(sizes, truth), int(truth.sum())
    if not np.isfinite(statistic) or rows != int(sizes.sum()):
        return PValue(0.0, 0.0, 0.0, 0)
    truth = truth[truth > 0]
    if len(truth) <= 1 or statistic == 0:
        return PValue(1.0, 1.0, 1.0, 0)
    least = statistic * (1 - 1e-9)
    if comb(rows + len(truth) - 1, len(truth) - 1) <= MOST_OUTCOMES:
        value = _sum_outcomes(truth, least)
        return PValue(value, value, value, 0)
    random = np.random.default_rng(0)
    hits = draws = 0
    found = PValue(0.0, 0.0, 1.0, 0)
    step = max(1, CELLS_AT_ONCE // len(truth))
    for look in LOOKS:
        while draws < look:
            some = min(step, look - draws)
            drawn = random.multinomial(rows, truth / rows, size=some)
            hits += int((((drawn - truth) ** 2 / truth).sum(axis=1) >= least).sum())
            draws += some
        found = PValue((hits + 1) / (draws + 1), *interval(hits, draws), draws)
        if not found.low < alpha <= found.high:
            break
    return found


def interval(hits: int, draws: int) -> tuple[float, float]:
    """Return the interval of a share by Clopper and Pearson: never shorter than its confidence asks."""
    from scipy.special import betaincinv

    rest = (1 - CONFIDENCE) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, draws - hits + 1, rest))
    high = 1.0 if hits == draws else float(betaincinv(hits + 1, draws - hits, 1 - rest))
    return low, high


def _sum_outcomes(truth: LongVector, least: float) -> float:
    """Add up the probabilities of all outcomes whose statistic is at least this."""
    from scipy.special import gammaln

    rows, groups = int(truth.sum()), len(truth)
    # Stars and bars: where the bars stand says how many rows each group has.
    bars = np.array(list(combinations(range(rows + groups - 1), groups - 1)), np.int64).reshape(
        -1, groups - 1
    )
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), rows + groups - 1)])
    sizes = np.diff(edges, axis=1) - 1
    far = ((sizes - truth) ** 2 / truth).sum(axis=1) >= least
    logs: FloatVector = gammaln(rows + 1) + (sizes * np.log(truth / rows) - gammaln(sizes + 1)).sum(axis=1)
    return float(min(np.exp(logs[far]).sum(), 1.0))
