"""Extended p-sensitivity: do all values of a class belong to one protected category? (Campan and Truta 2006.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.errors import HierarchyError, PolicyError, Problem
from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import AskedIn, Model, Monotone, SensitiveModel
from shoal.judging.models.p_sensitive import P, PSensitive
from shoal.support.arrays import BoolVector, FloatVector, IntVector

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.groups import Groups
    from shoal.coding.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class ExtendedPSensitive(SensitiveModel):
    """Every class touches at least p different strong values of the sensitive column.

    A protected node of the hierarchy is strong if no node above it is protected. All values under a strong node
    count as that one; a value under no protected node counts as itself. Monotone: a union touches what both touch.
    """

    name: ClassVar[str] = "extended-p-sensitive"
    summary: ClassVar[str] = "every class shows at least p values that are not all in one protected category"
    key: ClassVar[Key] = P
    asked_in: ClassVar[AskedIn] = ""
    usual: ClassVar[Any] = 2
    public: ClassVar[Any] = "always"
    monotone: ClassVar[Monotone] = Monotone.ALWAYS
    needs_owners: ClassVar[bool] = False

    p: Annotated[int, Bounds(ge=2)]
    """Number of different strong values."""
    protected: tuple[str, ...] = ()
    """Names of the protected nodes; without any, single values are protected, which is plain p-sensitivity."""

    @classmethod
    def instead_of(
        cls, model: Model, notions: tuple[Model, ...], protected: Mapping[str, tuple[str, ...]]
    ) -> Model | None:
        """Replace p-sensitivity for a column with protected nodes."""
        if not isinstance(model, PSensitive) or model.column is None:
            return None
        nodes = protected.get(model.column_name)
        if not nodes:
            return None
        return cls(p=model.p, column=model.column, column_name=model.column_name, protected=nodes)

    @property
    def title(self) -> str:
        """Name the model."""
        return f"extended {self.p}-sensitivity of {self.column_name}"

    def strong(self, hierarchy: Hierarchy) -> IntVector:
        """Return, for each code of the column, the first code of its strong node."""
        try:
            return strong_values(hierarchy, self.protected)
        except PolicyError as error:
            path = f"columns.{self.column_name}.protected"
            raise PolicyError([Problem(path, problem.message) for problem in error.problems]) from None

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the number of different strong values of each group."""
        own = self.histograms(groups)
        strong = self.strong(groups.attributes[self.column].hierarchy)[own.value]
        # Codes ascend within a group and strong nodes are runs of codes, so equal ones are neighbours.
        new = np.ones(len(strong), np.int64)
        new[1:] = strong[1:] != strong[:-1]
        begins = own.start[:-1]
        new[begins[begins < own.start[1:]]] = 1
        sums = np.concatenate(([0], np.cumsum(new)))
        return np.asarray(sums[own.start[1:]] - sums[begins], np.float64)

    def hopeless(self, groups: Groups) -> BoolVector:
        """No subset has more strong values."""
        return ~self.holds_in(groups)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can touch more strong values than the table."""
        strong = self.strong(table.sensitive[self.column].hierarchy)
        there = np.flatnonzero(table.sensitive_counts[self.column])
        values = len(np.unique(strong[there]))
        if values >= self.p:
            return None
        shown = "1 strong value" if values == 1 else f"{values:,} strong values"
        return f"no release can satisfy {self.title}: the column has {shown}"


@lru_cache(maxsize=16)
def strong_values(hierarchy: Hierarchy, protected: tuple[str, ...]) -> IntVector:
    """Return, for each code, the first code of the highest protected node over it, or the code itself.

    Hierarchies are compared by identity. If several nodes have a name, it means the highest one. O(codes x nodes).
    """
    strong = np.arange(hierarchy.size, dtype=np.int32)
    top = np.full(hierarchy.size, -1, np.int32)
    problems = []
    for name in protected:
        try:
            low, high, level = hierarchy.find(name)
        except HierarchyError as error:
            problems.append(Problem("protected", str(error)))
            continue
        above = top[low : high + 1] < level
        strong[low : high + 1][above] = low
        top[low : high + 1][above] = level
    if problems:
        raise PolicyError(problems)
    strong.flags.writeable = False
    return strong
