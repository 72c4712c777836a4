"""Lexicographic partitioning (HP): cut on one column after the other, those with few values first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.methods.base import Method
from shoal.methods.diverse import merged_until_satisfied, spread_asked, spread_out
from shoal.methods.partition import blocks_first, lexicographic_order, lexicographic_partition
from shoal.methods.windows import check_shown, homogeneous
from shoal.release import Release
from shoal.requirements import Requirements
from shoal.run import Run
from shoal.table import CodedTable


@dataclass(frozen=True, kw_only=True)
class Lexicographic(Method):
    """The partition that `ring` starts from, each part generalized as a whole (Wong, Mamoulis, Cheung 2010)."""

    name: ClassVar[str] = "lexicographic"
    summary: ClassVar[str] = (
        "parts by sorted values, few-valued columns kept apart; very fast, shows value sets"
    )
    paper: ClassVar[str] = (
        "Wong, Mamoulis, Cheung: Non-homogeneous generalization in privacy preserving data publishing, SIGMOD 2010"
    )

    show: str = "sets"
    """``sets`` lists the values that occur, which loses least; ``ranges`` shows the smallest node or range."""

    def __post_init__(self) -> None:
        check_shown(self.show)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Partition and generalize. O(rows x columns), and O(rows) more for sensitive values as a rule."""
        run.progress("partition", 0.0)
        spread = spread_asked(requirements)
        if spread is not None:
            parts = blocks_first(table, lexicographic_order(table), requirements.k, requirements)
            parts = spread_out(table, parts, spread, requirements.k, requirements, cut=True)
        else:
            parts = lexicographic_partition(table, requirements.k, requirements)
            parts = merged_until_satisfied(table, parts, requirements)
        return homogeneous(table, parts, self.show)
