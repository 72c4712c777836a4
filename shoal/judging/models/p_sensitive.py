"""p-sensitivity: does a class show too few values of a sensitive column? (Truta and Vinay 2006.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.l_diversity import one_less
from shoal.judging.models.model import GroupModel, Monotone, Spreading
from shoal.support.arrays import BoolVector, FloatVector

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.groups import Groups

P = Key("p", "p-sensitivity: every class shows at least p different sensitive values")


@dataclass(frozen=True, kw_only=True)
class PSensitive(GroupModel):
    """Every class has at least p different values of the sensitive column, or of each of them.

    Monotone: a union has the values of both its parts.
    """

    name: ClassVar[str] = "p-sensitive"
    summary: ClassVar[str] = "every class shows at least p different values of the sensitive column"
    key: ClassVar[Key] = P
    usual: ClassVar[Any] = 2
    public: ClassVar[Any] = "always"
    over_time: ClassVar[bool] = True
    monotone: ClassVar[Monotone] = Monotone.ALWAYS
    needs_owners: ClassVar[bool] = False

    column: int | None = None
    """Which of the sensitive columns, from 0; None for each of them."""
    column_name: str = ""
    """Its name."""
    p: Annotated[int, Bounds(ge=2)]
    """Number of different values."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Ask for one value less."""
        return one_less(value)

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{self.p}-sensitivity of {self.column_name or 'every sensitive column'}"

    @property
    def values_needed(self) -> int:
        """Return p."""
        return self.p

    @property
    def spread(self) -> Spreading | None:
        """Any p values of one column."""
        return None if self.column is None else Spreading(self.p, self.column, self.column_name)

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the number of distinct values of each group, in the column with the fewest."""
        columns = groups.sensitive if self.column is None else groups.sensitive[self.column : self.column + 1]
        fewest = np.full(len(groups), np.inf)
        for own in columns:
            fewest = np.minimum(fewest, np.diff(own.start))
        return fewest

    def hopeless(self, groups: Groups) -> BoolVector:
        """No subset has more values."""
        return ~self.holds_in(groups)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more values than the table."""
        for index, attribute in enumerate(table.sensitive):
            values = int((table.sensitive_counts[index] > 0).sum())
            if self.column in (None, index) and values < self.p:
                shown = "1 value" if values == 1 else f"{values:,} values"
                return f"no release can be {self.p}-sensitive: `{attribute.name}` has {shown}"
        return None
