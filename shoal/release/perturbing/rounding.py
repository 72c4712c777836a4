"""Rounding: every number becomes the nearest multiple of a base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.release.perturbing.perturbation import Judged, Perturbation, count_changed, surplus
from shoal.support.wording import format_count, number

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class Rounding(Perturbation):
    """The nearest multiple of a base; the higher one of two. A fixed rule: who knows a value knows what it shows."""

    name: ClassVar[str] = "round"
    summary: ClassVar[str] = "numbers become the nearest multiple of a base"
    meaning: ClassVar[str] = "no value differs from the true one by more than half of the base"
    example: ClassVar[Any] = 1000

    @classmethod
    def flaw(cls, value: float) -> str:
        """A base is positive."""
        return "" if 0 < value < 2**62 else "must be a base above 0, such as 1000"

    @property
    def title(self) -> str:
        """Name the base."""
        return f"rounded to {number(self.amount)}"

    @property
    def for_analysts(self) -> str:
        """Sheppard's correction."""
        return (
            f"numbers are rounded to multiples of {number(self.amount)}; this adds about base squared / 12 to the "
            "variance"
        )

    def why_unsuited(self, dtype: pl.DataType) -> str:
        """Numbers; a base with a fraction only for numbers with one."""
        if not (dtype.is_integer() or dtype.is_float()):
            return "is for numbers"
        if dtype.is_integer() and float(self.amount) != int(self.amount):
            return "with a fraction is for numbers with a fraction"
        return ""

    def apply(self, values: pl.Series, random: np.random.Generator) -> pl.Series:
        """Round."""
        import polars as pl

        if values.dtype.is_integer() and float(self.amount).is_integer():
            return self._whole(values)
        own = values.cast(pl.Float64).to_numpy()
        digits = max(0, -int(np.floor(np.log10(self.amount))) + 2)
        with np.errstate(invalid="ignore"):
            rounded = np.round(np.floor(own / self.amount + 0.5) * self.amount, min(digits, 15))
        found = pl.Series(values.name, np.where(np.isfinite(own), rounded, own))
        return found.cast(values.dtype) if values.dtype.is_float() else found

    def _whole(self, values: pl.Series) -> pl.Series:
        """Round whole numbers exactly."""
        import polars as pl

        base = int(self.amount)
        ends = [values.min(), values.max()] if len(values) else []
        try:
            pl.Series([_nearest(end, base) for end in ends], dtype=values.dtype)
            own = values.cast(pl.Int64).to_numpy()
        except (OverflowError, TypeError, pl.exceptions.PolarsError):
            raise DataError(
                f"column '{values.name}' is of the type {values.dtype}, which cannot hold its values {self.title}: "
                "make it Int64 first, or take a smaller base"
            ) from None
        times, rest = np.divmod(own, base)
        return pl.Series(values.name, (times + (rest >= base - rest)) * base).cast(values.dtype)

    def judge(self, own: pl.Series, shown: pl.Series) -> Judged:
        """Compare with the rounded values, and measure the largest difference."""
        import polars as pl

        expected = self.apply(own, np.random.default_rng(0))
        wrong = count_changed(expected, shown)
        steps = (own.cast(pl.Float64) - shown.cast(pl.Float64)).abs().filter(own.cast(pl.Float64).is_finite())
        most = steps.max()
        false = f"{count_changed(own, shown):,} of {len(own):,} cells are false"
        return Judged(
            self.amount / 2,
            float(most) if isinstance(most, float) else 0.0,
            wrong == 0,
            false if not wrong else f"{format_count(wrong, 'cell')} do not show the rounded value; {false}",
        )

    def judge_without_owners(self, before: pl.Series, shown: pl.Series) -> Judged | None:
        """Every published value is the rounded value of some row, not more often than these."""
        more = surplus(self.apply(before, np.random.default_rng(0)), shown)
        words = (
            f"{more:,} values are not rounded values of the original"
            if more
            else "whose they are is not known"
        )
        return Judged(self.amount / 2, None, more == 0, words)


def _nearest(value: Any, base: int) -> int:
    times, rest = divmod(int(value), base)
    return (times + (rest >= base - rest)) * base
