"""How many rows of a sample are unique in the population that it comes from: estimators, and the range of them.

f is the number of rows of a class in the sample, F the number of people of that class in the population; n rows, N
people, pi = n / N. All estimators see the sizes of classes and N, and nothing else. Each returns a share of the people
of the population; under random sampling it is as well the expected share of rows of the sample.
"""

from __future__ import annotations

from shoal.judging.linking.uniqueness.estimates import (
    ESTIMATORS,
    Estimate,
    Estimates,
    estimate_uniques,
    requires,
)
from shoal.judging.linking.uniqueness.sample_sizes import Refusal, Sample

__all__ = ["ESTIMATORS", "Estimate", "Estimates", "Refusal", "Sample", "estimate_uniques", "requires"]
