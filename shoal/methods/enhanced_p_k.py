"""Clustering into as many p-sensitive classes as there can be (EnhancedPKClustering, Truta, Campan, Meyer 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.methods.base import Method
from shoal.methods.sensitive_classes import cluster
from shoal.release import Release
from shoal.requirements import Requirements
from shoal.run import Run
from shoal.table import CodedTable


@dataclass(frozen=True, kw_only=True)
class EnhancedPK(Method):
    """Classes grow one after the other, and each leaves sensitive values enough for all that are still possible.

    Rare values of the column that is hardest to make sensitive are taken first, so many as every class must have;
    then frequent values complete it, then values that other columns lack, then near rows up to k. With one
    sensitive column the number of classes is the largest that there is.
    """

    name: ClassVar[str] = "enhanced-p-k"
    summary: ClassVar[str] = "as many p-sensitive classes as sensitive values allow; for large p"
    paper: ClassVar[str] = "Truta, Campan and Meyer 2007 (EnhancedPKClustering)"

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Grow as many classes as the feasibility bound permits, fewer where several columns conflict.

        O(classes x distinct rows x columns) to look for near rows, and O(rows x distinct rows) at worst to
        choose among them.
        """
        return cluster(table, requirements, run, guarded=True).release(table)
