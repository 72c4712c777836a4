"""(k,k)-anonymity: every published row matches k people, and every person k published rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem, check_known
from shoal.judging.models import k_type
from shoal.judging.models.requirements import Requirements
from shoal.methods.cells.cells import Cells, OwnCells
from shoal.methods.cells.k_one import PAPER, Expansion, Nearest, widen_cells
from shoal.methods.method import Shows
from shoal.release import Release
from shoal.support.run import Run

STARTS = (Expansion.name, Nearest.name)


def makers() -> list[str]:
    """Return the names of the methods that make classes, whose releases a method of cells can begin with."""
    from shoal.methods import METHODS

    return [name for name, kind in METHODS.items() if kind.shows.classes and not kind.can.presence_only]


def begun(
    cells: Cells, table: CodedTable, name: str, start: str, requirements: Requirements, run: Run
) -> None:
    """Begin with the classes that another method makes. `name` is the method that begins so."""
    from shoal.methods import METHODS

    made = METHODS[start]().anonymize(table, requirements, run)
    rows = np.flatnonzero(cells.kept)
    rows = rows[np.argsort(cells.people.row_of, kind="stable")]
    regions = made.region_of[rows]
    if np.any(regions < 0):
        message = f"{start} suppresses rows of this table, so {name} cannot start from it"
        raise PolicyError([Problem("method.start", message, f"take {STARTS[0]}, or allow no suppression")])
    cells.low, cells.high = made.low[regions], made.high[regions]
    cells.changed[:] = cells.people.weight


@dataclass(frozen=True, kw_only=True)
class KK(OwnCells):
    """A (k,1)-anonymization whose cells grow until k of them cover every person (algorithms 3 to 5).

    An improvement of our own looks for cheaper cells, before and after. If the policy says how many others the
    adversary knows, a repair of our own follows: k rows are left for everyone.
    """

    name: ClassVar[str] = "k-k"
    shows: ClassVar[Shows] = Shows(notions=(k_type.OneK, k_type.KOne, k_type.KK))
    summary: ClassVar[str] = (
        "(k,k): each person matches k rows, without classes; loses less than any k-anonymity"
    )
    paper: ClassVar[str] = PAPER

    start: str = Expansion.name
    """What to begin with: ``expansion``, or ``nearest``, which loses more; or any method that makes classes, whose
    cells then take the same steps."""
    improve: bool = True
    """Replace cells by cheaper ones that still cover k people, as long as k cells still cover every person."""

    def __post_init__(self) -> None:
        check_known("method.start", self.start, [*STARTS, *makers()])

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Worst case O(k x rows squared), usually far less."""
        cells = self.start_cells(table, requirements)
        if self.start in STARTS:
            widen_cells(cells, self.start, run, self.improve)
        else:
            begun(cells, table, self.name, self.start, requirements, run)
        grown = cells.cover(run)
        if self.improve:
            cells.refine(run)
        facts = {"grown": grown}
        known = k_type.known_people(requirements.models)
        if known >= cells.k:
            from shoal.methods.cells.few_known_repair import repair

            facts["repaired"] = repair(cells, known, run)
            facts["grown"] += facts["repaired"]
        return cells.release(facts)
