"""Global (1,k)-anonymity: k rows remain for each person, even if the adversary knows exactly who is in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem, check_known
from shoal.judging.models import k_type
from shoal.judging.models.requirements import Requirements
from shoal.methods.cells.cells import OwnCells
from shoal.methods.cells.k_k import KK, STARTS, begun, makers
from shoal.methods.cells.k_one import PAPER, widen_cells
from shoal.methods.method import Parts, Shows
from shoal.release import Release
from shoal.support.run import Run
from shoal.support.wording import format_setting


@dataclass(frozen=True, kw_only=True)
class GlobalOneK(OwnCells):
    """A (k,k)-anonymization whose cells grow until every person has k matches (algorithm 6, with more ways to grow).

    A match is a row that belongs to the person in some complete assignment. One pass over strongly connected
    components gives all matches of all people, so this takes seconds where one matching per pair would take hours.
    """

    name: ClassVar[str] = "global-1-k"
    shows: ClassVar[Shows] = Shows(notions=(*KK.shows.notions, k_type.GlobalOneK))
    summary: ClassVar[str] = (
        "global (1,k): k possible rows for everybody, not equally likely ones; loses less than classes"
    )
    paper: ClassVar[str] = PAPER

    start: str = KK.name
    """What to begin with: ``k-k`` (by expansion), ``expansion`` or ``nearest`` (raised to (k,k) first), or any
    method that makes k-anonymous releases, which are kept as they are."""
    improve: bool = True
    """Replace cells by cheaper ones before they grow, as long as they stay (k,k). Cells of other methods are kept."""

    repair: bool = False
    """Change cells until it is proven that no pair of a person and a row is more likely than `confidence`, if all
    complete assignments are equally likely."""
    confidence: float = 0.0
    """How likely a pair may be after the repair; 0: 1/k."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            message = f"must be a probability, or 0 for 1/k, not {self.confidence:g}"
            raise PolicyError([Problem("method.confidence", message)])
        if self.confidence and not self.repair:
            message = "only the repair looks at how likely pairs are"
            raise PolicyError(
                [Problem("method.confidence", message, "add " + format_setting("method.repair", True))]
            )

        check_known("method.start", self.start, [KK.name, *STARTS, *makers()])

    @property
    def divides(self) -> Parts | str:
        """Rows of other parts add assignments, which may make a pair more likely."""
        if self.repair:
            return "how likely a pair is depends on the rows of all parts"
        return self.parts

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Each round is O(links) for the components, and O(links of the people who lack matches)."""
        cells = self.start_cells(table, requirements)
        own = self.start == KK.name or self.start in STARTS
        if own:
            widen_cells(cells, STARTS[0] if self.start == KK.name else self.start, run, self.improve)
        else:
            begun(cells, table, self.name, self.start, requirements, run)
        covered = cells.cover(run)
        if own and self.improve:
            cells.refine(run)
        joined, rounds = cells.join(run)
        facts: dict[str, Any] = {"grown": covered + joined, "rounds": rounds}
        if self.repair:
            from shoal.methods.cells.cell_repair import repair

            facts |= repair(cells, self.confidence or 1.0 / cells.k, run)
        return cells.release(facts)
