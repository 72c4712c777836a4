"""How many different sensitive values every class could show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.arrays import LongVector
from shoal.suggest.guess import Guess

MANY = 10
"""From so many values on, three in every class are asked for; else two."""


def propose_p(table: pl.DataFrame, sensitive: Sequence[Guess], k: int) -> tuple[dict[str, int], int, int]:
    """Return p per sensitive column, the most classes that k and all p leave room for, and the largest p possible.

    Three different values are proposed where a column has many and they are frequent enough: where the feasibility
    bound leaves room for at least half of the classes that k alone permits. Two otherwise; none for a single value.
    O(rows) per sensitive column.
    """
    from shoal.models.demands import most_sensitive_classes

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
    """How often each value occurs, null as one of them."""
    return values.value_counts().to_series(1).to_numpy().astype(np.int64)
