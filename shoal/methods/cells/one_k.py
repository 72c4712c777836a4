"""(1,k)-anonymity of any generalization: cells grow until every person is covered by k of them (algorithm 5)."""

from __future__ import annotations

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import DataError
from shoal.judging.measures import MEASURES
from shoal.judging.models.k_type import OneK
from shoal.judging.models.requirements import Requirements
from shoal.methods.cells.cells import Cells
from shoal.release import Release
from shoal.support.run import Run


def one_k_anonymized(
    table: CodedTable, release: Release, k: int, measure: str = MEASURES.default, run: Run | None = None
) -> Release:
    """Raise a generalization of a table, by any method, to (1,k)-anonymity (Gionis, Mazza, Tassa 2008, algorithm 5).

    Each person who is covered by fewer than k cells gets those that cover them with the least additional loss. After a
    (k,1)-anonymization the result is (k,k)-anonymous; after another one it is (1,k), which alone stops nobody. Rows
    must show ranges or nodes that cover their owners' values, and all must be published.
    """
    if release.sets is not None or release.layout.in_buckets or np.any(release.region_of < 0):
        raise DataError(
            "cells can grow only if every row is published with ranges or nodes: not with value sets, buckets or "
            "suppressed rows"
        )
    low, high = release.low[release.region_of], release.high[release.region_of]
    if np.any(table.quasi.wide < low) or np.any(table.quasi.wide > high):
        raise DataError(
            "the release is not a generalization of the table: some cells do not cover their own values"
        )
    cells = Cells.start(table, Requirements(models=(OneK(k=k),), measure=measure), k)
    if not cells.kept.all():
        raise DataError(f"generalization limits leave some rows with fewer than {k:,} others")
    order = np.argsort(cells.people.row_of, kind="stable")
    cells.low, cells.high = low[order], high[order]
    cells.changed[:] = cells.people.weight
    grown = cells.cover(run or Run.start())
    return cells.release({"grown": grown})
