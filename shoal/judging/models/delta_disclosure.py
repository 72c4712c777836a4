"""delta-disclosure: does a class make a sensitive value much likelier, or unlikelier? (Brickell and Shmatikov 2008.)"""

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
class DeltaDisclosure(SensitiveModel):
    """For every value with share q in a class and p in the table, abs(log2(q / p)) is less than delta.

    Strict: for every value of the table, as in the paper, so that a class without one of them fails. Present: only for
    the values of the class, as ARX reads it. The whole table as one class has q = p, so it satisfies every delta.
    """

    name: ClassVar[str] = "delta-disclosure"
    summary: ClassVar[str] = (
        "a class changes the probability of a sensitive value by less than the factor 2^delta"
    )
    key: ClassVar[Key] = Key(
        "delta",
        "delta-disclosure: how far the share of a sensitive value in a class may be from its share in the table",
        "strict",
    )
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "strict": {"strict": True},
        "present": {"strict": False},
    }
    usual: ClassVar[Any] = 2.0
    public: ClassVar[Any] = "complete"
    higher_is_safer: ClassVar[bool] = False

    delta: Annotated[float, Bounds(gt=0)]
    """The binary logarithm that the quotient of the shares must stay below, upwards and downwards."""
    strict: bool = True
    """Every value of the table must occur in every class."""

    @property
    def monotone(self) -> Monotone:  # type: ignore[override]
        """Strict: the share of a value in a union lies between its shares in the two classes. Present: merging a class
        with a rare value and one without it may make the value too rare.
        """
        return Monotone.OVER_ROWS if self.strict else Monotone.NEVER

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
        return f"{number(self.delta)}-disclosure{'' if self.strict else ' (present values)'} of {self.column_name}"

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the largest logarithm in each group; infinite for an empty group, or where a value is missing."""
        with np.errstate(divide="ignore"):
            found = self.combine_values(groups, np.maximum, np.abs(np.log2(self.lifts(groups))), np.inf)
        return np.where(self._incomplete(groups), np.inf, found) if self.strict else found

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups stay below delta. A quotient of counts is rounded once: no tolerance."""
        return np.asarray(self.score_groups(groups) < self.delta)

    def hopeless(self, groups: Groups) -> BoolVector:
        """The shares that values may take must be able to sum to 1; strict, a class has a row of every value, and a row
        of the rarest one must not be too large a share.
        """
        totals = groups.totals[self.column]
        shares = totals[self.histograms(groups).value] / max(groups.everybody(self.column), 1)
        few = self.combine_values(groups, np.add, shares, 0) * 2**self.delta < 1 - 1e-9
        if not self.strict:
            return np.asarray(few)
        everybody = groups.everybody(self.column)
        rarest = totals[totals > 0].min(initial=everybody) / max(everybody, 1)
        small = groups.size * rarest * 2**self.delta < 1 - 1e-9
        return np.asarray(few | small | self._incomplete(groups))

    def _incomplete(self, groups: Groups) -> BoolVector:
        """Return which groups lack a value of the table."""
        return np.asarray(
            np.diff(self.histograms(groups).start) < int((groups.totals[self.column] > 0).sum())
        )
