"""How many distinct sensitive values a policy can require in every class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.policy.suggestions.guess import Guess
from shoal.support.arrays import LongVector

MANY = 10
"""For a column with at least this many values, propose p = 3; else p = 2."""


def propose_p(table: pl.DataFrame, sensitive: Sequence[Guess], k: int) -> tuple[dict[str, int], int, int]:
    """Return p per sensitive column, the largest number of classes that k and all p allow, and the largest possible p.

    Propose p = 3 for a column with many values that are frequent enough: the feasibility bound must allow at least
    half of the classes that k alone allows. Otherwise propose p = 2, and nothing for a column with a single value.
    O(rows) per sensitive column.
    """
    from shoal.judging.models.demands import most_sensitive_classes

    chosen: dict[str, int] = {}
    by_rows = classes = table.height // k
    diverse = [guess for guess in sensitive if guess.distinct >= 2]
    for guess in diverse:
        counts = _counts(table[guess.name])
        p = (
            3
            if guess.distinct >= MANY and 2 * most_sensitive_classes([counts], 3, k).classes >= by_rows
            else 2
        )
        chosen[guess.name] = p
        classes = min(classes, most_sensitive_classes([counts], p, k).classes)
    return chosen, classes, min((guess.distinct for guess in diverse), default=0)


def _counts(values: pl.Series) -> LongVector:
    """Return how often each value occurs; null is a value."""
    return values.value_counts().to_series(1).to_numpy().astype(np.int64)
