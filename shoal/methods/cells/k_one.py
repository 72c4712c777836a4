"""(k,1)-anonymity: every published row matches k people. By nearest neighbours, or by expansion, which loses less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.coding import CodedTable
from shoal.judging.models import k_type
from shoal.judging.models.requirements import Requirements
from shoal.methods.cells.cells import Cells, OwnCells
from shoal.methods.method import Shows
from shoal.release import Release
from shoal.support.run import Run

PAPER = "Gionis, Mazza, Tassa: k-Anonymization Revisited, ICDE 2008"


def widen_cells(cells: Cells, start: str, run: Run, improve: bool = False) -> None:
    """Let every cell cover k people, by ``nearest`` or ``expansion``; improve them if asked to."""
    from shoal.kernels.expansion import expand, join_nearest

    cells.widen(join_nearest if start == Nearest.name else expand, start, run, improve)


@dataclass(frozen=True, kw_only=True)
class WidenedCells(OwnCells):
    """A method that widens every cell by itself until it covers k people."""

    shows: ClassVar[Shows] = Shows(notions=(k_type.KOne,))
    paper: ClassVar[str] = PAPER

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Worst case O(distinct rows squared), k times that for `expansion`; usually far less: a tree of boxes rules
        most rows out, and a closure is computed once for all rows that reach it.
        """
        cells = self.start_cells(table, requirements)
        widen_cells(cells, self.name, run)
        return cells.release({})


@dataclass(frozen=True, kw_only=True)
class Nearest(WidenedCells):
    """Each row is published as the closure of itself and the k-1 rows nearest to it (algorithm 3)."""

    name: ClassVar[str] = "nearest"
    summary: ClassVar[str] = (
        "(k,1): each row with its k-1 nearest rows; for study, it protects against nobody"
    )


@dataclass(frozen=True, kw_only=True)
class Expansion(WidenedCells):
    """Each row grows into a closure of k rows, always adding the row that costs least (algorithm 4)."""

    name: ClassVar[str] = "expansion"
    summary: ClassVar[str] = (
        "(k,1): each row grows to k rows step by step; for study, it protects against nobody"
    )
