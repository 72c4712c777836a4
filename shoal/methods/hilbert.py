"""Hilbert partitioning (HS, HR): order rows along a space-filling curve, and cut it where it loses least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.methods.base import Method
from shoal.methods.diverse import merged_until_satisfied, spread_asked, spread_out
from shoal.methods.partition import blocks_first, hilbert_order, hilbert_partition
from shoal.methods.windows import check_shown, homogeneous
from shoal.release import Release
from shoal.requirements import Requirements
from shoal.run import Run
from shoal.table import CodedTable


@dataclass(frozen=True, kw_only=True)
class Hilbert(Method):
    """The best groups of k to 2k-1 neighbours on a Hilbert curve (Ghinita et al. 2007)."""

    name: ClassVar[str] = "hilbert"
    summary: ClassVar[str] = "neighbours on a space-filling curve, grouped at least loss; small classes, fast"
    paper: ClassVar[str] = (
        "Ghinita, Karras, Kalnis, Mamoulis: Fast data anonymization with low information loss, VLDB 2007"
    )

    show: str = "sets"
    """``sets`` lists the values that occur (HS), which loses least; ``ranges`` shows the smallest node or range
    (HR). Groups are chosen for what is shown."""

    def __post_init__(self) -> None:
        check_shown(self.show)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Order and group. O(rows x k x columns); with sensitive values, greedy groups in O(rows) as a rule."""
        run.progress("partition", 0.0)
        spread = spread_asked(requirements)
        if spread is not None:
            parts = blocks_first(table, hilbert_order(table), requirements.k, requirements)
            parts = spread_out(table, parts, spread, requirements.k, requirements, cut=False)
        else:
            parts = hilbert_partition(table, requirements.k, requirements, sets=self.show == "sets")
            parts = merged_until_satisfied(table, parts, requirements)
        return homogeneous(table, parts, self.show)
