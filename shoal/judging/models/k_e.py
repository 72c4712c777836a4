"""(k,e)-anonymity: how closely does a class give away a number? (Zhang, Koudas, Srivastava and Yu 2007.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import Monotone, SensitiveModel
from shoal.support.arrays import BoolVector, FloatVector
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.groups import Groups
    from shoal.coding.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class KE(SensitiveModel):
    """Every class has at least k different numbers, and the largest is at least e above the smallest.

    Nulls are no numbers, so they count for neither. Monotone: a union has the numbers of both classes.
    """

    name: ClassVar[str] = "k-e"
    summary: ClassVar[str] = (
        "a class shows at least k different sensitive numbers, and they spread over at least e"
    )
    key: ClassVar[Key] = Key(
        "ke", "(k,e)-anonymity: how many different numbers each class has, and how far they must spread"
    )
    usual: ClassVar[Any] = (3, 1000.0)
    public: ClassVar[Any] = "always"
    monotone: ClassVar[Monotone] = Monotone.ALWAYS
    needs_owners: ClassVar[bool] = False
    needs_order: ClassVar[bool] = True

    k: Annotated[int, Bounds(ge=2)]
    """Smallest allowed number of different values in a class."""
    e: Annotated[float, Bounds(gt=0)]
    """Smallest allowed distance between the smallest and the largest of them."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Halve the distance."""
        k, e = value
        return (k, e / 2)

    @property
    def threshold(self) -> float:
        """The distance: `score_groups` is 0 for a class with too few different numbers."""
        return self.e

    @property
    def title(self) -> str:
        """Name the model."""
        return f"({self.k}, {number(self.e)})-anonymity of {self.column_name}"

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return how far the numbers of each group spread; 0 with fewer than k different ones."""
        own = self.histograms(groups)
        place = places(groups.attributes[self.column].hierarchy)[own.value]
        real = ~np.isnan(place)
        count = self.combine_values(groups, np.add, real.astype(np.float64), 0)
        top = self.combine_values(groups, np.maximum, np.where(real, place, -np.inf), -np.inf)
        bottom = self.combine_values(groups, np.minimum, np.where(real, place, np.inf), np.inf)
        with np.errstate(invalid="ignore"):
            return np.where(count >= self.k, top - bottom, 0.0)

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups spread far enough. Distances are rounded, so the tolerance is relative."""
        return np.asarray(self.score_groups(groups) >= self.e * (1 - 1e-9))

    def hopeless(self, groups: Groups) -> BoolVector:
        """No subset has more numbers."""
        return ~self.holds_in(groups)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class has more numbers than the table, whichever rows are suppressed."""
        place = places(table.sensitive[self.column].hierarchy)
        own = place[table.sensitive_counts[self.column] > 0]
        own = own[~np.isnan(own)]
        if len(own) < self.k:
            return (
                f"no release can satisfy {self.title}: it needs {self.k:,} different numbers, but "
                f"`{self.column_name}` has {len(own):,}"
            )
        far = float(own.max() - own.min())
        if far >= self.e * (1 - 1e-9):
            return None
        return (
            f"no release can satisfy {self.title}: the numbers of `{self.column_name}` spread over {number(far)} in "
            f"the whole table, but {number(self.e)} is required"
        )


def places(hierarchy: Hierarchy) -> FloatVector:
    """Return where each code lies: numbers by their value, dates in days, moments in seconds, and values of a tree in
    its order, one step apart. NaN where a code has no place, as null has none."""
    if hierarchy.positions is not None and not hierarchy.category:
        return hierarchy.positions
    found = np.arange(hierarchy.size, dtype=np.float64)
    found[hierarchy.leaves.is_null().to_numpy()] = np.nan
    return found
