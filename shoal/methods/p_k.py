"""p-sensitive k-anonymity by the better of two clusterings (Truta and Campan 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.methods.base import Method
from shoal.methods.sensitive_classes import cluster, limited_by_values
from shoal.release import Release
from shoal.requirements import Requirements
from shoal.run import Run
from shoal.table import CodedTable


@dataclass(frozen=True, kw_only=True)
class PK(Method):
    """`greedy-p-k` where rows limit the number of classes, `enhanced-p-k` where sensitive values do.

    Where rows are the limit both may reach the bound on the number of classes, and where values are, enhanced-p-k may
    miss it; then both are tried. The one with more classes wins, then the one that loses less.
    """

    name: ClassVar[str] = "p-k"
    summary: ClassVar[str] = "the better of greedy-p-k and enhanced-p-k, by what limits the number of classes"
    paper: ClassVar[str] = "Truta and Campan 2009"

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Choose by the feasibility bound; at worst the cost of both methods."""
        guarded = limited_by_values(table, requirements, run)
        best = cluster(table, requirements, run, guarded=guarded)
        if best.classes < best.bound or not guarded:
            other = cluster(table, requirements, run, guarded=not guarded)
            if (-other.classes, other.loss) < (-best.classes, best.loss):
                best, guarded = other, not guarded
        return best.release(table, chosen="enhanced-p-k" if guarded else "greedy-p-k")
