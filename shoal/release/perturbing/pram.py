"""PRAM, the post-randomization method, in its invariant form: values of some rows are drawn anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.release.perturbing.perturbation import Judged, Perturbation, check_exchange, count_changed
from shoal.support.wording import number

if TYPE_CHECKING:
    import polars as pl

RARE = 1e-9
"""How seldom more rows may be drawn than the verdict permits."""


@dataclass(frozen=True, kw_only=True)
class Pram(Perturbation):
    """Each row keeps its value with a probability; the values of all others are shuffled among them.

    So the column shows every value as often as the original, and the transition matrix follows from the release alone.
    """

    name: ClassVar[str] = "pram"
    summary: ClassVar[str] = "keeps each value with a probability, and shuffles the others (invariant PRAM)"
    meaning: ClassVar[str] = (
        "the column shows the true values equally often, and at most this share is not in its own row"
    )
    example: ClassVar[Any] = 0.8
    keeps_values: ClassVar[bool] = True

    @classmethod
    def flaw(cls, value: float) -> str:
        """A probability."""
        return (
            ""
            if 0 <= value < 1
            else "must be the probability to keep a value, from 0 to below 1, such as 0.8"
        )

    @property
    def title(self) -> str:
        """Name the probability."""
        return f"kept with probability {number(self.amount)} (PRAM)"

    @property
    def for_analysts(self) -> str:
        """What stays, and what to correct by."""
        return (
            f"each value was kept with probability {number(self.amount)}, the others were shuffled among each other "
            "(invariant PRAM): the distribution of the column is exact. Expected counts in a table with another column "
            "are the true ones times the transition matrix, so multiply by its inverse"
        )

    def why_unsuited(self, dtype: pl.DataType) -> str:
        """Any values that can be compared."""
        import polars as pl

        return "is for single values" if dtype.is_nested() or dtype in (pl.Object, pl.Binary) else ""

    def apply(self, values: pl.Series, random: np.random.Generator) -> pl.Series:
        """Choose rows, and shuffle their values."""
        source = np.arange(len(values))
        drawn = np.flatnonzero(random.random(len(values)) >= self.amount)
        source[drawn] = random.permutation(drawn)
        return values.gather(source)

    def judge(self, own: pl.Series, shown: pl.Series) -> Judged:
        """Count the changed rows. By Hoeffding's bound, more are drawn with a probability of at most 1e-9."""
        only, words = check_exchange(own, shown)
        rows, false = len(own), count_changed(own, shown)
        bound = self._bound(rows)
        share = false / max(rows, 1)
        told = f"{false:,} of {rows:,} cells are false"
        return Judged(bound, share, only and share <= bound, f"{words}; {told}" if words else told)

    def _bound(self, rows: int) -> float:
        return min(1.0, 1 - self.amount + float(np.sqrt(-np.log(RARE) / (2 * max(rows, 1)))))

    def judge_without_owners(self, before: pl.Series, shown: pl.Series) -> Judged | None:
        """Only values of the original occur, not more often."""
        only, words = check_exchange(before, shown)
        return Judged(self._bound(len(shown)), None, only, words or "whose they are is not known")

    def transitions(self, counts: Sequence[int]) -> list[list[float]]:
        """Return the exact transition matrix for values that occur so often.

        A row is drawn with probability d = 1 - keep. It then gets its own value back with probability q, the expected
        value of 1 / (1 + others drawn), which is (1 - keep^n) / (n d); else that of any other row, all equally likely.
        """
        rows, drawn = sum(counts), 1 - self.amount
        back = (1 - self.amount**rows) / (rows * drawn) if rows else 1.0
        others = max(rows - 1, 1)
        return [
            [
                drawn * (1 - back) * (count - (i == j)) / others + (self.amount + drawn * back) * (i == j)
                for j, count in enumerate(counts)
            ]
            for i in range(len(counts))
        ]
