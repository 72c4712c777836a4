"""beta-likeness: does a class make a sensitive value more likely than the whole table does? (Cao and Karras 2012.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import STEP, Monotone, SensitiveModel
from shoal.support.arrays import BoolVector, FloatVector
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.coding.groups import Groups


@dataclass(frozen=True, kw_only=True)
class BetaLikeness(SensitiveModel):
    """For every value with share q in a class and p in the table, q > p: (q - p) / p is at most beta.

    Enhanced: at most min(beta, -ln p), so that no frequent value can fill a class. Monotone: the share of a value in a
    union lies between its shares in the two classes, and both bounds depend on p alone. The whole table as one class
    gains nothing, so one class satisfies every beta.
    """

    name: ClassVar[str] = "beta-likeness"
    summary: ClassVar[str] = (
        "a class raises the probability of a sensitive value by at most the factor 1 + beta"
    )
    key: ClassVar[Key] = Key(
        "beta",
        "beta-likeness: how much more frequent a sensitive value may be in a class than in the table",
        "enhanced",
    )
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "enhanced": {"enhanced": True},
        "basic": {"enhanced": False},
    }
    usual: ClassVar[Any] = 2.0
    public: ClassVar[Any] = "complete"
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    higher_is_safer: ClassVar[bool] = False

    beta: Annotated[float, Bounds(gt=0)]
    """Largest allowed relative gain of a value."""
    enhanced: bool = True
    """Also bound the gain by -ln p."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Permit half as much again."""
        return value * STEP

    @property
    def gain_allowed(self) -> float:
        """Any gain that satisfies it."""
        return 1.0

    @property
    def title(self) -> str:
        """Name the model."""
        return (
            f"{'enhanced' if self.enhanced else 'basic'} {number(self.beta)}-likeness of {self.column_name}"
        )

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the largest gain of a value in each group; infinite where no beta is enough: above -ln p, or empty."""
        gains = self.lifts(groups) - 1
        if self.enhanced:
            gains = np.where(gains > np.maximum(self._most(groups), 0) + 1e-9, np.inf, gains)
        return np.maximum(self.combine_values(groups, np.maximum, gains, np.inf), 0)

    def hopeless(self, groups: Groups) -> BoolVector:
        """The largest allowed shares of the values of a group must sum to 1."""
        totals = groups.totals[self.column]
        gains = np.minimum(self.beta, self._most(groups)) if self.enhanced else self.beta
        shares = totals[self.histograms(groups).value] / max(groups.everybody(self.column), 1) * (1 + gains)
        return np.asarray(self.combine_values(groups, np.add, shares, 0) < 1 - 1e-9)

    def _most(self, groups: Groups) -> FloatVector:
        """Return -ln p of each value of each group."""
        totals = groups.totals[self.column]
        with np.errstate(divide="ignore"):
            shares = totals[self.histograms(groups).value] / max(groups.everybody(self.column), 1)
            return np.asarray(-np.log(shares))
