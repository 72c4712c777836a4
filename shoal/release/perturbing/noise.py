"""Noise: a random number is added to every number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.release.perturbing.perturbation import Judged, Perturbation, count_changed
from shoal.support.arrays import FloatVector
from shoal.support.wording import number

if TYPE_CHECKING:
    import polars as pl

MOST = 4.0
"""No noise is larger than so many of its standard deviations: beyond it, it is drawn again."""
LARGEST = 1e150
"""Squares of larger numbers are not finite."""
DIGITS = 9
"""Numbers with more digits after the point are not rounded after noise."""


@dataclass(frozen=True, kw_only=True)
class Noise(Perturbation):
    """Normal noise with a share of the column's standard deviation, cut off at four times that."""

    name: ClassVar[str] = "noise"
    summary: ClassVar[str] = "adds random noise with a share of the column's standard deviation"
    meaning: ClassVar[str] = (
        "no value differs from the true one by more than four standard deviations of the noise"
    )
    example: ClassVar[Any] = 0.1

    @classmethod
    def flaw(cls, value: float) -> str:
        """A share is positive."""
        return "" if value > 0 else "must be a share of the standard deviation above 0, such as 0.1"

    @property
    def title(self) -> str:
        """Name the share."""
        return f"with noise of {number(self.amount)} standard deviations"

    @property
    def for_analysts(self) -> str:
        """Means are unbiased, variances are not."""
        factor = 1 + self.amount**2
        return (
            f"normal noise was added, with {number(self.amount)} times the standard deviation of the column and cut "
            f"off at {MOST:g} times that: means are right on average, and the variance is {factor:.6g} times that of "
            "the original, so divide it by that; correlations and slopes on this column are too small by "
            f"{factor**0.5:.6g} and {factor:.6g}"
        )

    def why_unsuited(self, dtype: pl.DataType) -> str:
        """Numbers only."""
        return "" if dtype.is_integer() or dtype.is_float() else "is for numbers"

    def apply(self, values: pl.Series, random: np.random.Generator) -> pl.Series:
        """Add noise. Whole numbers stay whole, and others keep their number of digits."""
        import polars as pl

        own = values.cast(pl.Float64).to_numpy()
        finite = np.isfinite(own)
        if np.abs(own[finite]).max(initial=0.0) > LARGEST:
            raise DataError(
                f"column '{values.name}' holds numbers beyond {LARGEST:g}, which are too large to add noise to"
            )
        draws = random.standard_normal(len(own))
        while (far := np.abs(draws) > MOST).any():
            draws[far] = random.standard_normal(int(far.sum()))
        moved = own + _spread(own[finite]) * self.amount * draws
        if values.dtype.is_integer():
            low, high = _ends(values.dtype)
            return pl.Series(values.name, np.clip(np.rint(moved), low, high)).cast(values.dtype)
        digits = _digits(own[finite])
        moved = moved if digits is None else np.round(moved, digits)
        return pl.Series(values.name, np.where(finite, moved, own)).cast(values.dtype)

    def judge(self, own: pl.Series, shown: pl.Series) -> Judged:
        """Measure the largest difference in standard deviations of the noise; rounding adds half a unit."""
        import polars as pl

        before, after = own.cast(pl.Float64).to_numpy(), shown.cast(pl.Float64).to_numpy()
        finite = np.isfinite(before)
        spread = _spread(before[finite]) * self.amount
        digits = 0 if own.dtype.is_integer() else _digits(before[finite])
        unit = 0.0 if digits is None else 0.5 * 10.0**-digits
        steps = np.abs(after[finite] - before[finite])
        slack = unit + 1e-6 * (spread + np.abs(before[finite]).max(initial=0.0) * 1e-6)
        most = float(np.maximum(steps - slack, 0).max(initial=0.0))
        reached = most / spread if spread > 0 else (np.inf if most > 0 else 0.0)
        same = bool(np.array_equal(before[~finite], after[~finite], equal_nan=True))
        detail = f"{count_changed(own, shown):,} of {len(own):,} cells are false"
        return Judged(MOST, reached, same and reached <= MOST, detail)

    def judge_without_owners(self, before: pl.Series, shown: pl.Series) -> Judged | None:
        """Return None: without owners, noise cannot be checked."""
        return None


def _spread(values: FloatVector) -> float:
    return float(values.std()) if len(values) else 0.0


def _digits(values: FloatVector) -> int | None:
    """Return how many digits after the point all numbers have at most; None if more than nine."""
    for digits in range(DIGITS + 1):
        if np.array_equal(np.round(values, digits), values):
            return digits
    return None


def _ends(dtype: pl.DataType) -> tuple[float, float]:
    """Return the smallest and largest whole number of a type that a float holds exactly."""
    widest = float(2**53)
    try:
        ends = np.iinfo(str(dtype).lower())
    except (TypeError, ValueError):  # numpy has no integers of 128 bits
        return -widest, widest
    return max(float(ends.min), -widest), min(float(ends.max), widest)
