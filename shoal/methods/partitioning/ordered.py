"""Partitions along an order of the rows: a Hilbert curve (HS, HR), or one column after the other (HP)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from shoal.coding import CodedTable
from shoal.errors import Problem
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import CLASSES_OF_PARTS, Abilities, Method, Parts
from shoal.methods.partitioning.diverse import (
    even,
    halve_groups,
    merge_until_satisfied,
    spread_asked,
    spread_out,
)
from shoal.methods.partitioning.partition import (
    Partition,
    blocks_first,
    hilbert_order,
    hilbert_partition,
    lexicographic_order,
    lexicographic_partition,
)
from shoal.methods.partitioning.windows import check_shown, homogeneous
from shoal.release import Release
from shoal.support.arrays import BoolVector, IntVector
from shoal.support.run import Run
from shoal.support.wording import format_setting


@dataclass(frozen=True, kw_only=True)
class AlongAnOrder(Method):
    """Groups of neighbours in an order of the rows; each group becomes an equivalence class."""

    can: ClassVar[Abilities] = Abilities(count_people=True, keep_earlier=True, make_buckets=True)
    # The time grows with the rows alone, so no table is divided unless the policy says so.
    parts: ClassVar[Parts | str] = Parts(why=CLASSES_OF_PARTS)
    cuts: ClassVar[bool]
    """With sensitive values, the order is cut into pieces before values are spread over the groups of each."""

    show: str = "sets"
    """``sets`` lists the values that occur, which loses least; ``ranges`` shows the smallest node or range. Where the
    method optimizes a measure, it chooses the groups that lose least in this form."""

    blind: bool = False
    """Groups are halves of halves of the order, so that the choice of classes says nothing about who has which
    sensitive value, even to an adversary who knows the method. Loses more."""

    def __post_init__(self) -> None:
        check_shown(self.show)

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """Blind groups count rows."""
        if not self.blind or not requirements.people:
            return []
        message = "blind groups count rows, but a column of the policy says whose each row is"
        return [Problem("method.blind", message, "set " + format_setting("method.blind", False))]

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Order, group and generalize. O(rows x columns), x k where a measure is optimized; usually O(rows) more for
        sensitive values, for which groups are greedy.
        """
        run.progress("partition", 0.0)
        self.check_suited(requirements, [attribute.name for attribute in table.sensitive])
        spread, k = spread_asked(requirements), requirements.k
        if self.blind and not requirements.only_k:
            whole = blocks_first(table, self._order(table), k, requirements)
            return homogeneous(table, halve_groups(table, whole, k, requirements), self.show)
        if spread is None or not table.counting.one_value:
            # Values are spread over rows, which may belong to the same people.
            return homogeneous(table, self._merge_groups(table, requirements), self.show)
        whole = blocks_first(table, self._order(table), k, requirements)
        good = even(table, whole, spread)
        if good.all():
            partition = spread_out(table, whole, spread, k, cut=self.cuts)
        else:
            # Too frequent a value can still be in groups that satisfy the models: larger ones, or uneven ones.
            partition = self._merge_groups(table, requirements, ~good)
            if good.any():
                partition = spread_out(table, whole.chosen(good), spread, k, cut=self.cuts).join(partition)
        return homogeneous(table, partition, self.show)

    def _merge_groups(
        self, table: CodedTable, requirements: Requirements, blocks: BoolVector | None = None
    ) -> Partition:
        """Return groups of k rows, in some blocks or all, merged until they satisfy the other models."""
        partition = self._partition(table, requirements)
        return merge_until_satisfied(
            table, partition if blocks is None else partition.chosen(blocks), requirements
        )

    @abstractmethod
    def _order(self, table: CodedTable) -> IntVector:
        """Return the rows in the order of the method."""

    @abstractmethod
    def _partition(self, table: CodedTable, requirements: Requirements) -> Partition:
        """Return the groups where only their size counts."""


@dataclass(frozen=True, kw_only=True)
class Hilbert(AlongAnOrder):
    """The best groups of k to 2k-1 neighbours on a Hilbert curve (Ghinita et al. 2007)."""

    name: ClassVar[str] = "hilbert"
    can: ClassVar[Abilities] = replace(AlongAnOrder.can, optimize=("cells",))
    summary: ClassVar[str] = "groups neighbours on a space-filling curve with least loss; small classes, fast"
    paper: ClassVar[str] = (
        "Ghinita, Karras, Kalnis, Mamoulis: Fast data anonymization with low information loss, VLDB 2007"
    )
    cuts: ClassVar[bool] = False

    def _order(self, table: CodedTable) -> IntVector:
        return hilbert_order(table)

    def _partition(self, table: CodedTable, requirements: Requirements) -> Partition:
        return hilbert_partition(table, requirements.k, requirements, sets=self.show == "sets")


@dataclass(frozen=True, kw_only=True)
class Lexicographic(AlongAnOrder):
    """The groups that `ring` starts from, each generalized as a whole (Wong, Mamoulis, Cheung 2010)."""

    name: ClassVar[str] = "lexicographic"
    summary: ClassVar[str] = (
        "groups rows with equal sorted values, columns with few values first; very fast, shows value sets"
    )
    paper: ClassVar[str] = (
        "Wong, Mamoulis, Cheung: Non-homogeneous generalization in privacy preserving data publishing, SIGMOD 2010"
    )
    cuts: ClassVar[bool] = True

    def _order(self, table: CodedTable) -> IntVector:
        return lexicographic_order(table)

    def _partition(self, table: CodedTable, requirements: Requirements) -> Partition:
        return lexicographic_partition(table, requirements.k, requirements)
