"""p-sensitivity: does a class show too few values of a sensitive column? (Truta and Vinay 2006.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import BoolVector, FloatVector
from shoal.errors import PolicyError, Problem
from shoal.models.base import GroupModel
from shoal.release.groups import Groups
from shoal.table import CodedTable


@dataclass(frozen=True, kw_only=True)
class PSensitive(GroupModel):
    """Every class has at least p different values of the sensitive column, or of each of them.

    Monotone: a union has the values of both its parts.
    """

    name: ClassVar[str] = "p-sensitive"
    summary: ClassVar[str] = "every class shows at least p values of each sensitive column"
    monotone: ClassVar[bool] = True

    column: int | None = None
    """Which of the sensitive columns, from 0; None: each of them."""
    column_name: str = ""
    """Its name, for people."""
    p: int
    """Number of different values."""

    def __post_init__(self) -> None:
        if not (self.p >= 2 and float(self.p).is_integer()):
            raise PolicyError([Problem("privacy.p", f"must be a whole number of at least 2, not {self.p}")])

    @property
    def required(self) -> float:
        """Return p."""
        return self.p

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{self.p}-sensitivity of {self.column_name or 'every sensitive column'}"

    def reached(self, groups: Groups) -> FloatVector:
        """Return the number of different values of each group, in the column where they are fewest."""
        columns = groups.sensitive if self.column is None else groups.sensitive[self.column : self.column + 1]
        fewest = np.full(len(groups), np.inf)
        for own in columns:
            fewest = np.minimum(fewest, np.diff(own.start))
        return fewest

    def hopeless(self, groups: Groups) -> BoolVector:
        """Fewer values are no more in any part."""
        return ~self.satisfied(groups)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more values than the table."""
        for index, attribute in enumerate(table.sensitive):
            values = int((table.sensitive_counts[index] > 0).sum())
            if self.column in (None, index) and values < self.p:
                shown = "1 value" if values == 1 else f"{values:,} values"
                return f"no release can be {self.p}-sensitive: `{attribute.name}` has {shown}"
        return None
