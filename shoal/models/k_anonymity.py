"""k-anonymity: can a person be singled out by quasi-identifiers? (Samarati 2001, Sweeney 2002.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import BoolVector, FloatVector
from shoal.errors import PolicyError, Problem
from shoal.linking.evidence import Evidence
from shoal.models.base import GroupModel
from shoal.release.groups import Groups
from shoal.release.verdict import Verdict
from shoal.table import CodedTable


@dataclass(frozen=True, kw_only=True)
class KAnonymity(GroupModel):
    """Every class has at least k rows. Monotone: a union is no smaller than its parts."""

    name: ClassVar[str] = "k-anonymity"
    summary: ClassVar[str] = "whoever knows a person's quasi-identifiers finds at least k rows that fit"
    monotone: ClassVar[bool] = True

    k: int
    """Smallest permitted class."""

    def __post_init__(self) -> None:
        if not self.k >= 2:
            raise PolicyError(
                [Problem("privacy.k", f"must be at least 2, not {self.k}", "k = 5 is a usual choice")]
            )

    @property
    def required(self) -> float:
        """Return k."""
        return self.k

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{self.k}-anonymity"

    def reached(self, groups: Groups) -> FloatVector:
        """Return the size of each group."""
        return groups.size.astype(np.float64)

    def satisfied(self, groups: Groups) -> BoolVector:
        """Return which groups have k rows."""
        return np.asarray(groups.size >= self.k)

    def hopeless(self, groups: Groups) -> BoolVector:
        """A part of a small group is smaller still."""
        return ~self.satisfied(groups)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the smallest class; sizes are enough, so sensitive values are not counted."""
        return self.judge(Groups(evidence.published.sizes, (), (), ()))

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more rows than the table."""
        if self.k <= table.rows:
            return None
        if table.rows < 2:
            return (
                f"no release can be {self.k:,}-anonymous: the table has a single row, which nothing can hide"
            )
        hint = f"ask for k = {table.rows:,} at most, and for much less to keep detail"
        return f"no release can be {self.k:,}-anonymous: the table has {table.rows:,} rows ({hint})"
