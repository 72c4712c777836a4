"""Survey weights: how many people of the population each row of a sample stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError
from shoal.support.arrays import FloatVector
from shoal.support.wording import format_count, type_name

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.sheet import Sheet


def read_weights(column: pl.Series) -> tuple[FloatVector, int]:
    """Return the weights in a column, NaN for cells that are none, and how many of these there are. A weight is a
    finite number above 0; it may be written as text.
    """
    import polars as pl

    shown = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
    simple = column.dtype.is_numeric() or shown.dtype == pl.String
    numbers = (
        shown.cast(pl.Float64, strict=False) if simple else pl.Series([None] * len(shown), dtype=pl.Float64)
    )
    found = np.array(numbers.fill_null(float("nan")).to_numpy(), np.float64)
    found[~(np.isfinite(found) & (found > 0))] = np.nan
    return found, int(np.isnan(found).sum())


def weights_shown(rows: pl.DataFrame | Sheet, names: Sequence[str]) -> FloatVector | None:
    """Return the survey weights that a release shows; None if it shows none, or if some cells are no weights."""
    if not names or names[0] not in rows.columns:
        return None
    found, wrong = read_weights(rows[names[0]])
    return None if wrong else found


def check_weights(column: pl.Series) -> None:
    """Refuse a column that does not hold a weight in each cell."""
    _, wrong = read_weights(column)
    if wrong:
        kind = "" if column.dtype.is_numeric() else f" It holds {type_name(column.dtype)} values."
        raise DataError(
            f"column '{column.name}' holds survey weights, but {format_count(wrong, 'cell')} of {len(column):,} "
            "are empty, "
            f"0, negative or no numbers.{kind} Correct them, leave these rows out, or give the column another role"
        )
