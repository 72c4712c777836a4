"""What a perturbation is: it changes the values of a column by a rule that the public may know, within a bound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from shoal.support.wording import format_value

if TYPE_CHECKING:
    import polars as pl


class Judged(NamedTuple):
    """Whether a published column is what its rule can make of the original one."""

    bound: float
    """The most that the rule permits, in the unit of its title."""
    reached: float | None
    """The most that was found; None where it is not known whose each row is."""
    holds: bool
    detail: str


@dataclass(frozen=True, kw_only=True)
class Perturbation(ABC):
    """A rule that changes values. Empty cells stay empty. Concrete ones are registered in perturbing/__init__.py."""

    name: ClassVar[str]
    """The key in `perturb`."""
    summary: ClassVar[str]
    """One line: what it does to a column."""
    meaning: ClassVar[str]
    """What its verdict means, in plain words."""
    example: ClassVar[Any]
    """A usual setting."""
    keeps_values: ClassVar[bool] = False
    """It only exchanges values between rows: the column shows the same values equally often."""

    amount: float
    """Its setting in the policy."""

    @classmethod
    def given(cls, value: Any) -> Self:
        """Return the perturbation with a setting of a policy; raise ValueError in words if it is wrong."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise ValueError(f"must be a number, not {format_value(value)}")
        flaw = cls.flaw(value)
        if flaw:
            raise ValueError(f"{flaw}, not {value}")
        return cls(amount=value)

    @classmethod
    @abstractmethod
    def flaw(cls, value: float) -> str:
        """Return what a setting must be, if it is not; else an empty text."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What it does with this setting, in words that follow the name of a column: ``rounded to 1,000``."""

    @property
    @abstractmethod
    def for_analysts(self) -> str:
        """What an analyst has to know in order to correct for it. It follows from the policy alone."""

    @abstractmethod
    def why_unsuited(self, dtype: pl.DataType) -> str:
        """Return which values the perturbation needs, if a column of this type has others; else an empty text."""

    @abstractmethod
    def apply(self, values: pl.Series, random: np.random.Generator) -> pl.Series:
        """Return what is published instead of the values of the published rows, none of them empty."""

    @abstractmethod
    def judge(self, own: pl.Series, shown: pl.Series) -> Judged:
        """Compare what each row shows with its owner's value; none is empty. O(rows log rows)."""

    @abstractmethod
    def judge_without_owners(self, before: pl.Series, shown: pl.Series) -> Judged | None:
        """Compare the values of the original and the release when the owners of rows are not known; None if this says
        nothing. O(rows log rows).
        """

    def transitions(self, counts: Sequence[int]) -> list[list[float]] | None:
        """Return how likely each value becomes each other one, from how often the release shows each; None if that is
        not how it works.
        """
        return None


def surplus(before: pl.Series, shown: pl.Series) -> int:
    """Count the values of a release that the original does not have, or does not have as often. O(rows)."""
    import polars as pl

    def count_values(column: pl.Series) -> pl.DataFrame:
        return column.alias("value").to_frame().group_by("value").len()

    both = count_values(shown).join(
        count_values(before), on="value", how="left", suffix="_before", nulls_equal=True
    )
    more = both["len"].cast(pl.Int64) - both["len_before"].fill_null(0).cast(pl.Int64)
    return int(more.clip(lower_bound=0).sum())


def count_changed(own: pl.Series, shown: pl.Series) -> int:
    """Count the cells that do not hold their owner's value."""
    return int(own.ne_missing(shown).sum())


def check_exchange(before: pl.Series, shown: pl.Series) -> tuple[bool, str]:
    """Return whether the release has only values of the original, none more often than there, and what is wrong."""
    more = surplus(before, shown)
    return more == 0, f"{more:,} values occur more often than in the original" if more else ""
