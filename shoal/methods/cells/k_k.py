"""(k,k)-anonymity: every published row matches k people, and every person k published rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.errors import check_known
from shoal.methods.cells.cells import OwnCells
from shoal.methods.cells.k_one import PAPER, Expansion, Nearest, widened
from shoal.models import Model, k_type
from shoal.models.requirements import Requirements
from shoal.release import Release
from shoal.run import Run
from shoal.table import CodedTable

STARTS = (Expansion.name, Nearest.name)


@dataclass(frozen=True, kw_only=True)
class KK(OwnCells):
    """A (k,1)-anonymization whose cells grow until k of them cover every person (algorithms 3 to 5).

    An improvement of our own looks for cheaper cells, before and after.
    """

    name: ClassVar[str] = "k-k"
    gives: ClassVar[tuple[type[Model], ...]] = (k_type.OneK, k_type.KOne, k_type.KK)
    helpless: ClassVar[tuple[str, ...]] = ("knows-members", "knows-algorithm")
    summary: ClassVar[str] = (
        "(k,k): each person matches k rows, without classes; loses less than any k-anonymity"
    )
    paper: ClassVar[str] = PAPER
    optimizes: ClassVar[tuple[str, ...]] = ("cells",)

    start: str = Expansion.name
    """The (k,1)-anonymization to begin with: ``expansion``, or ``nearest``, which loses more."""
    improve: bool = True
    """Replace cells by cheaper ones that still cover k people, as long as k cells still cover every person."""

    def __post_init__(self) -> None:
        check_known("method.start", self.start, STARTS)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Worst case O(k x rows squared), usually far less."""
        cells = self.start_cells(table, requirements)
        widened(cells, self.start, run, self.improve)
        grown = cells.cover(run)
        if self.improve:
            cells.refine(run)
        return cells.release({"grown": grown})
