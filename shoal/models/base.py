"""What a privacy model is: a rule over published rows, and where possible over candidate groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import BoolVector, FloatVector
from shoal.groups import Groups
from shoal.published import Published
from shoal.table import CodedTable


@dataclass(frozen=True)
class Verdict:
    """Whether a release satisfies a model, and by how much."""

    model: str
    """Name and parameter as a person reads it, such as ``5-anonymity`` or ``distinct 3-diversity of disease``."""
    required: Any
    reached: Any
    holds: bool
    detail: str = ""
    """What decided it, in words, with nothing about individuals: ``smallest class has 3 rows``."""


class Model(ABC):
    """A privacy model. Concrete models are frozen, keyword-only dataclasses registered in models/__init__.py."""

    name: ClassVar[str]
    """The key in the registry."""
    summary: ClassVar[str]
    """One line: the adversary it stops."""
    needs_original: ClassVar[bool] = False

    @abstractmethod
    def verify(self, published: Published, original: CodedTable | None = None) -> Verdict:
        """Judge what is published."""

    def infeasible(self, table: CodedTable) -> str | None:
        """Say why no release of this table can satisfy the model, or None. Called before any work starts."""
        return None


class GroupModel(Model):
    """A model that holds when every class satisfies a rule of its own."""

    monotone: ClassVar[bool]
    """Merging two groups that satisfy the rule always gives a group that satisfies it."""
    higher_is_safer: ClassVar[bool] = True

    @property
    @abstractmethod
    def required(self) -> float:
        """The threshold that `reached` is held against."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Name and parameters as a person reads them."""

    @abstractmethod
    def reached(self, groups: Groups) -> FloatVector:
        """Return how far each group gets, in the unit of `required`."""

    def satisfied(self, groups: Groups) -> BoolVector:
        """Return which groups satisfy the rule. Only rounding errors of sums are forgiven (1e-9)."""
        reached = self.reached(groups)
        if self.higher_is_safer:
            return np.asarray(reached >= self.required - 1e-9)
        return np.asarray(reached <= self.required + 1e-9)

    def verify(self, published: Published, original: CodedTable | None = None) -> Verdict:
        """Judge the worst class of what is published."""
        groups = published.groups(original)
        if len(groups) == 0:
            return Verdict(self.title, self.required, None, True, "nothing is published")
        reached = self.reached(groups)
        worst = float(reached.min() if self.higher_is_safer else reached.max())
        failing = int((~self.satisfied(groups)).sum())
        detail = f"{failing:,} of {len(groups):,} classes fall short" if failing else ""
        return Verdict(self.title, self.required, worst, failing == 0, detail)
