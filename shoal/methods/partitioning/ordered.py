"""Partitions along an order of the rows: a Hilbert curve (HS, HR), or one column after the other (HP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.methods.base import Method
from shoal.methods.partitioning.diverse import merged_until_satisfied, spread_asked, spread_out
from shoal.methods.partitioning.partition import (
    blocks_first,
    hilbert_order,
    hilbert_partition,
    lexicographic_order,
    lexicographic_partition,
)
from shoal.methods.partitioning.windows import check_shown, homogeneous
from shoal.models.requirements import Requirements
from shoal.release import Release
from shoal.run import Run
from shoal.table import CodedTable


@dataclass(frozen=True, kw_only=True)
class Hilbert(Method):
    """The best groups of k to 2k-1 neighbours on a Hilbert curve (Ghinita et al. 2007)."""

    name: ClassVar[str] = "hilbert"
    makes_buckets: ClassVar[bool] = True
    summary: ClassVar[str] = "groups neighbours on a space-filling curve with least loss; small classes, fast"
    paper: ClassVar[str] = (
        "Ghinita, Karras, Kalnis, Mamoulis: Fast data anonymization with low information loss, VLDB 2007"
    )
    optimizes: ClassVar[tuple[str, ...]] = ("cells",)

    show: str = "sets"
    """``sets`` lists the values that occur (HS), which loses least; ``ranges`` shows the smallest node or range
    (HR). The method chooses the groups that lose least in this form."""

    def __post_init__(self) -> None:
        check_shown(self.show)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Order and group. O(rows x k x columns); with sensitive values, greedy groups, usually in O(rows)."""
        run.progress("partition", 0.0)
        spread = spread_asked(requirements)
        if spread is not None:
            partition = blocks_first(table, hilbert_order(table), requirements.k, requirements)
            partition = spread_out(table, partition, spread, requirements.k, requirements, cut=False)
        else:
            partition = hilbert_partition(table, requirements.k, requirements, sets=self.show == "sets")
            partition = merged_until_satisfied(table, partition, requirements)
        return homogeneous(table, partition, self.show)


@dataclass(frozen=True, kw_only=True)
class Lexicographic(Method):
    """The groups that `ring` starts from, each generalized as a whole (Wong, Mamoulis, Cheung 2010)."""

    name: ClassVar[str] = "lexicographic"
    makes_buckets: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "groups rows with equal sorted values, columns with few values first; very fast, shows value sets"
    )
    paper: ClassVar[str] = (
        "Wong, Mamoulis, Cheung: Non-homogeneous generalization in privacy preserving data publishing, SIGMOD 2010"
    )

    show: str = "sets"
    """``sets`` lists the values that occur, which loses least; ``ranges`` shows the smallest node or range."""

    def __post_init__(self) -> None:
        check_shown(self.show)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Partition and generalize. O(rows x columns), and usually O(rows) more for sensitive values."""
        run.progress("partition", 0.0)
        spread = spread_asked(requirements)
        if spread is not None:
            partition = blocks_first(table, lexicographic_order(table), requirements.k, requirements)
            partition = spread_out(table, partition, spread, requirements.k, requirements, cut=True)
        else:
            partition = lexicographic_partition(table, requirements.k, requirements)
            partition = merged_until_satisfied(table, partition, requirements)
        return homogeneous(table, partition, self.show)
