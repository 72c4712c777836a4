"""Incognito: all minimal full-domain mappings, and the best of them (LeFevre, DeWitt and Ramakrishnan 2005)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import LimitError
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.mapping_judge import Check, Judge, SearchesMappings
from shoal.methods.full_domain.mapping_lattice import Lattice, rank
from shoal.methods.full_domain.search_summary import describe_pruning, infeasible
from shoal.release import Release
from shoal.support.arrays import FloatVector, LongVector
from shoal.support.run import Run


@dataclass(frozen=True, kw_only=True)
class Incognito(SearchesMappings):
    """Finds all mappings that satisfy the requirements although no specialization of them does; releases the best."""

    name: ClassVar[str] = "incognito"
    summary: ClassVar[str] = "all minimal choices of one level per column, and the best of them"
    paper: ClassVar[str] = "LeFevre, DeWitt and Ramakrishnan 2005"

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Release the best minimal mapping; ``facts["minimal"]`` lists them all.

        The result is the set of the paper. It is found by bisecting chains of the lattice instead of joining subsets
        of columns: a mapping with most columns at their top is such a subset. Worst case O(mappings x distinct
        rows).
        """
        Lattice(table)  # refuses too many mappings before rows are packed
        return self.search(table, Judge(table, requirements), run)

    def search(self, table: CodedTable, judge: Judge, run: Run) -> Release:
        """Return the best minimal mapping, by a judge who may have the rows elsewhere."""
        lattice = Lattice(table)
        found = border(lattice, judge, run)
        if not found:
            raise LimitError(infeasible(lattice.size, judge))
        minimal = _minimal([levels for levels, _ in found])
        best = min(
            (rank(check.value, check.dropped, levels), index)
            for index, (levels, check) in enumerate(found)
            if tuple(levels.tolist()) in minimal
        )[1]
        facts = {
            "checked": judge.checked,
            "mappings": lattice.size,
            **describe_pruning(judge),
            "minimal": [list(levels) for levels in sorted(minimal)],
        }
        return judge.release(table, found[best][0], facts)


def border(lattice: Lattice, judge: Judge, run: Run) -> list[tuple[LongVector, Check]]:
    """Return mappings that satisfy the requirements, including all minimal ones.

    A mapping above one that satisfies them is not minimal, whatever the models. A mapping below one whose
    specializations all fail is decided too. The rest is visited from the bottom up.
    """
    from shoal.kernels.lattice import next_open, raise_box

    order = lattice.climb(judge.objective.steps)
    nothing: FloatVector = np.zeros(lattice.size)
    settled: FloatVector = np.zeros(lattice.size)
    found: list[tuple[LongVector, Check]] = []
    seen = time.perf_counter()

    known: dict[int, bool] = {}

    def fails_below(levels: LongVector) -> bool:
        index = lattice.index(levels)
        if index in known:
            return known[index]
        check = judge.check(levels)
        if check.value < np.inf:
            found.append((levels, check))
            raise_box(settled, lattice.strides, levels, lattice.top, np.inf)
        elif check.floor == np.inf:
            raise_box(settled, lattice.strides, lattice.bottom, levels, np.inf)
        settled[index] = np.inf
        known[index] = check.floor == np.inf
        return known[index]

    at = 0
    while (at := int(next_open(order, at, nothing, settled, 0.0))) < len(order):
        index = int(order[at])
        chain = lattice.chain(lattice.levels(index), judge.objective.steps)
        low, high = 0, len(chain) - 1
        while low < high:
            middle = (low + high) // 2
            if fails_below(chain[middle]):
                low = middle + 1
            else:
                high = middle
        if settled[index] < np.inf:
            fails_below(chain[0])
        if time.perf_counter() - seen > 0.2:
            seen = time.perf_counter()
            run.progress("search", at / lattice.size)
    return found


def _minimal(satisfying: list[LongVector]) -> set[tuple[int, ...]]:
    """Return the mappings that have no other below them. O(satisfying x minimal)."""
    kept: LongVector = np.empty((0, len(satisfying[0])), np.int64)
    for levels in sorted(satisfying, key=lambda row: int(row.sum())):
        if not (kept <= levels).all(axis=1).any():
            kept = np.vstack((kept, levels))
    return {tuple(row) for row in kept.tolist()}
