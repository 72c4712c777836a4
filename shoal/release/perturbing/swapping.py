"""Rank swapping: values are exchanged between rows whose values have close ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.release.perturbing.perturbation import Judged, Perturbation, check_exchange, count_changed
from shoal.support.wording import number

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class Swapping(Perturbation):
    """Exchanges values so that none moves by more than a share of the ranks. The distribution stays exactly."""

    name: ClassVar[str] = "swap"
    summary: ClassVar[str] = "exchanges values between rows whose values have close ranks"
    meaning: ClassVar[str] = (
        "the column shows the true values equally often, each at most so many ranks from its own row"
    )
    example: ClassVar[Any] = 0.05
    keeps_values: ClassVar[bool] = True

    @classmethod
    def flaw(cls, value: float) -> str:
        """A share of all rows."""
        return "" if 0 < value <= 1 else "must be a share of the ranks above 0 and up to 1, such as 0.05"

    @property
    def title(self) -> str:
        """Name the share."""
        return f"swapped within {number(100 * self.amount)} % of the ranks"

    @property
    def for_analysts(self) -> str:
        """What stays and what does not."""
        return (
            f"values were exchanged between rows whose ranks differ by at most {number(100 * self.amount)} %: the "
            "distribution of the column is exact, relations to other columns are weaker than in the original"
        )

    def why_unsuited(self, dtype: pl.DataType) -> str:
        """Only for numbers and dates, which have a meaningful order."""
        return "" if dtype.is_numeric() or dtype.is_temporal() else "is for numbers and dates"

    def _most(self, rows: int) -> int:
        return max(1, int(np.floor(self.amount * rows + 1e-9)))

    def apply(self, values: pl.Series, random: np.random.Generator) -> pl.Series:
        """Sort, add a random number of up to w + 1 to each rank, and sort again: no value passes one that is w + 1
        ranks away, so none moves by more than w. O(rows log rows).
        """
        if len(values) < 2:
            return values
        ranks = values.rank("dense").to_numpy()
        order = np.lexsort((random.random(len(ranks)), ranks))
        keys = np.arange(len(order)) + random.random(len(order)) * (self._most(len(order)) + 1)
        source = np.empty(len(order), np.int64)
        source[order] = order[np.argsort(keys, kind="stable")]
        return values.gather(source)

    def judge(self, own: pl.Series, shown: pl.Series) -> Judged:
        """Measure by how many ranks values moved; equal values share their ranks."""
        import polars as pl

        only, words = check_exchange(own, shown)
        rows = len(own)
        bound = self._most(rows)
        false = f"{count_changed(own, shown):,} of {rows:,} cells are false"
        if not only or not rows:
            return Judged(bound / max(rows, 1), None, only, f"{words}; {false}" if words else false)
        both = pl.concat([own, shown]).rank("dense").to_numpy()
        before, after = both[:rows], both[rows:]
        ordered = np.sort(before)
        high, low = np.maximum(before, after), np.minimum(before, after)
        gap = np.searchsorted(ordered, high, "left") - (np.searchsorted(ordered, low, "right") - 1)
        most = int(np.where(high > low, gap, 0).max())
        return Judged(bound / rows, most / rows, most <= bound, false)

    def judge_without_owners(self, before: pl.Series, shown: pl.Series) -> Judged | None:
        """Only values of the original occur, not more often."""
        only, words = check_exchange(before, shown)
        rows = max(len(shown), 1)
        return Judged(self._most(rows) / rows, None, only, words or "whose they are is not known")
