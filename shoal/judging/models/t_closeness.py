"""t-closeness: does a class reveal more about its members than the whole table does? (Li et al. 2007.)

The earth mover's distance between the sensitive values of a class and those of the whole table, with three ideas
of how far two values are apart. The whole table is the original if it is known, else the release; values that
do not occur in it are not counted in the domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import STEP, Monotone, SensitiveModel
from shoal.support.arrays import FloatVector, LongVector
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.coding.groups import Groups

T = Key("t", "t-closeness: the sensitive values of a class are distributed like those of the whole table")


@dataclass(frozen=True, kw_only=True)
class Closeness(SensitiveModel):
    """What the three distances share.

    Monotone: the shares of a union are a weighted mean of those of its parts, and the earth mover's distance
    to a fixed distribution is convex, so a union is no farther than the farther of its parts. The whole table
    as one class has distance 0, so every threshold is possible.
    """

    key: ClassVar[Key] = T
    usual: ClassVar[Any] = 0.2
    public: ClassVar[Any] = "complete"
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    higher_is_safer: ClassVar[bool] = False
    kind: ClassVar[str]

    t: Annotated[float, Bounds(ge=0, le=1)]
    """Largest allowed distance, from 0 (classes look like the table) to 1 (no restriction)."""

    @property
    def gain_allowed(self) -> float:
        """Any gain within the distance t."""
        return 1.0

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Allow half as much again."""
        return min(1.0, value * STEP) if 0 < value < 1 else None

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{number(self.t)}-closeness ({self.kind}) of {self.column_name}"

    def _keepable_by_levels(self, groups: Groups, levels: int) -> LongVector:
        """Satisfying subsets have a satisfying union; bound the rows of such a union."""
        from shoal.kernels.closeness import level_keepable

        if groups.shared is not None:
            return super().keepable(groups)  # The union of satisfying sets of people may not satisfy it.
        own = self.histograms(groups)
        low = groups.attributes[self.column].hierarchy.low[:levels]
        found: LongVector = level_keepable(
            own.start, own.value, own.count, groups.size, low, groups.totals[self.column], self.t
        )
        return found

    def _by_levels(self, groups: Groups, levels: int) -> FloatVector:
        from shoal.kernels.closeness import level_distances

        own = self.histograms(groups)
        low = groups.attributes[self.column].hierarchy.low[:levels]
        found: FloatVector = level_distances(
            own.start, own.value, own.count, groups.mass(self.column), low, groups.totals[self.column]
        )
        return found


@dataclass(frozen=True, kw_only=True)
class EqualCloseness(Closeness):
    """All values are 1 apart: the distance is half the sum of the differences of shares."""

    name: ClassVar[str] = "t-equal"
    summary: ClassVar[str] = "the sensitive values of a class are distributed as in the whole table, up to t"
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"equal": {}}
    kind: ClassVar[str] = "equal"

    @property
    def gain_allowed(self) -> float:
        """No value becomes more likely by more than t."""
        return self.t

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the distance of each group to the whole table."""
        return self._by_levels(groups, 1)

    def keepable(self, groups: Groups) -> LongVector:
        """Bound the rows that satisfying subsets can hold together."""
        return self._keepable_by_levels(groups, 1)


@dataclass(frozen=True, kw_only=True)
class OrderedCloseness(Closeness):
    """Values stand in order, neighbours that occur in the table equally far apart, first and last 1 apart.

    Numbers and dates have an order, and so have the values of a tree in the policy; other texts have none. A null comes
    last, after the largest value.
    """

    name: ClassVar[str] = "t-ordered"
    summary: ClassVar[str] = "as t-equal; values are as far apart as they are in their order"
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"ordered": {}}
    needs_order: ClassVar[bool] = True
    kind: ClassVar[str] = "ordered"

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the distance of each group to the whole table."""
        from shoal.kernels.closeness import ordered_distances

        own = self.histograms(groups)
        found: FloatVector = ordered_distances(
            own.start, own.value, own.count, groups.mass(self.column), groups.totals[self.column]
        )
        return found


@dataclass(frozen=True, kw_only=True)
class HierarchicalCloseness(Closeness):
    """Two values are as far apart as the level of their lowest common node, the root being 1."""

    name: ClassVar[str] = "t-hierarchical"
    summary: ClassVar[str] = "as t-equal; values that share a node of the hierarchy are closer"
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"hierarchical": {}}
    needs_hierarchy: ClassVar[bool] = True
    kind: ClassVar[str] = "hierarchical"

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the distance of each group to the whole table."""
        return self._by_levels(groups, self._count_splitting_levels(groups))

    def keepable(self, groups: Groups) -> LongVector:
        """Bound the rows that satisfying subsets can hold together."""
        return self._keepable_by_levels(groups, self._count_splitting_levels(groups))

    def _count_splitting_levels(self, groups: Groups) -> int:
        """Count the levels that split values; if even the last one does, the root lies above it."""
        levels = groups.attributes[self.column].hierarchy.levels
        return max(sum(len(level.starts) > 1 for level in levels), 1)
