"""`Cells`: one range per row and column, each row generalized separately, and ways to let the ranges grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import Problem, ShoalBug
from shoal.judging.linking.consistency import Consistency, People
from shoal.judging.models.hybrid_k import FalseCellLimit
from shoal.judging.models.k_anonymity import K
from shoal.judging.models.k_type import KType
from shoal.judging.models.requirements import Requirements
from shoal.methods.blocks import of_size
from shoal.methods.loss_tables import losses_of
from shoal.methods.method import Abilities, Method, Parts
from shoal.release import Release
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run
from shoal.support.wording import either, format_setting

if TYPE_CHECKING:
    from shoal.kernels.losses import Losses

PIECE = 20_000
"""Rows between two checks of progress and interrupts; expansion forgets in between what it has computed."""
TURNS = 4
"""People join in this many turns; components are computed again after each, so that no cell grows in vain."""
LOOK = 1000
"""How many people of a cell to try at most as partners of its owner."""


class OwnCells(Method):
    """A method that generalizes each row separately, and so satisfies the notions of k that it `shows`."""

    can: ClassVar[Abilities] = Abilities(optimize=("cells",))
    parts: ClassVar[Parts | str] = Parts(
        why="rows of other parts only add matches: (k,1), (1,k) and (k,k) count them, and a match of a complete "
        "assignment of a part is one of the table, completed by the true owners in the other parts",
        whole=500_000,
        rows=200_000,
        memory=4000,
        sums=("suppressed", "grown"),
    )

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """Return the requirements that are about classes, or about another notion."""
        from shoal.methods import METHODS

        classes = METHODS.default
        problems = []
        for model in requirements.models:
            if isinstance(model, KType):
                if isinstance(model, self.shows.notions):
                    continue
                given = " and ".join(kind.name for kind in self.shows.notions)
                message = f"{self.name} gives {given}, but the policy asks for {model.name}"
                others = [name for name, kind in METHODS.items() if isinstance(model, kind.shows.notions)]
                hint = f"take {', '.join(others)} or {classes}"
            elif isinstance(model, FalseCellLimit):
                continue  # there are no false cells
            elif model.key is K:
                message = f"{self.name} generalizes each row separately, so its releases are not k-anonymous"
                notion = format_setting("privacy.notion", self.shows.notions[-1].name)
                hint = "ask for " + notion + f", or take {classes}"
            else:
                message = f"{model.name} is about equivalence classes, and {self.name} makes none"
                hint = f"take {classes}"
            problems.append(Problem("method.name", message, hint))
        return problems

    @property
    def cannot_stop(self) -> Mapping[str, Problem]:
        """The adversaries whom only other notions of k stop."""
        from shoal.judging.models import MODELS

        hint = f"take auto, or see which methods do: {either(command='`shoal compare`', python='`shoal.compare`')}"
        return {
            kind.about: Problem("method.name", f"{self.name} does not stop the adversary {kind.about}", hint)
            for kind in MODELS.values()
            if issubclass(kind, KType) and kind.weakest and kind not in self.shows.notions
        }

    def start_cells(self, table: CodedTable, requirements: Requirements) -> Cells:
        """Begin with every row's own values. Rows in blocks of fewer than k are suppressed."""
        self.check_suited(requirements, [attribute.name for attribute in table.sensitive])
        notions = [model.k for model in requirements.models if isinstance(model, KType)]
        return Cells.start(table, requirements, max(notions, default=1))


@dataclass(eq=False, repr=False)
class Cells(Brief):
    """The cells of all rows, those of equal rows next to each other. The first ``changed[u]`` of row u may differ."""

    table: CodedTable
    kept: BoolVector
    """The rows of the table that are published."""
    k: int
    people: People
    losses: Losses
    slots: LongVector
    """Distinct row u owns the cells ``slots[u]:slots[u + 1]``."""
    changed: IntVector
    low: IntMatrix
    high: IntMatrix

    @classmethod
    def start(cls, table: CodedTable, requirements: Requirements, k: int) -> Cells:
        """Begin with every row's own values. Rows in blocks of fewer than k are suppressed."""
        kept = of_size(table, k, requirements)[table.block_of]
        people = People.of(table.attributes, table.quasi.wide if kept.all() else table.quasi.wide[kept])
        slots = np.concatenate(([0], np.cumsum(people.weight)))
        low = np.repeat(people.codes, people.weight, axis=0)
        changed = np.zeros(len(people.weight), np.int32)
        return cls(
            table, kept, k, people, losses_of(table, requirements.measure), slots, changed, low, low.copy()
        )

    @property
    def owner(self) -> IntVector:
        """Cell -> distinct row."""
        return np.repeat(np.arange(len(self.people.weight), dtype=np.int32), self.people.weight)

    def widen(self, kernel: Any, stage: str, run: Run, improve: bool = False) -> None:
        """Replace every row's cell by one that covers k people, by a kernel of `shoal.kernels.expansion`.

        With `improve`, look for cheaper cells from there on.
        """
        people = self.people
        low, high = people.codes.copy(), people.codes.copy()
        for begin in self._pieces(stage, run):
            end = min(begin + PIECE, len(low))
            kernel(people.codes, people.weight, *people.tree, self.losses, self.k, begin, end, low, high)
        if improve:
            # No person needs any of these cells yet.
            enough = np.full(len(low), 2 * len(self.low) + self.k, np.int64)
            self._refine(np.arange(len(low) + 1), low, high, enough, run)
        self.low, self.high = np.repeat(low, people.weight, axis=0), np.repeat(high, people.weight, axis=0)
        self.changed[:] = 0

    def cover(self, run: Run) -> int:
        """Let every person be covered by k cells (Gionis, Mazza, Tassa 2008, algorithm 5). Returns how many grew."""
        from shoal.kernels.covering import cover_each, hulls

        people, tree = self.people, self.people.tree
        covered = self.graph().candidates
        hull, costliest = hulls(self.slots, self.low, self.high, *tree[:3], self.losses)
        grown = 0
        for begin in self._pieces("cover", run):
            end = min(begin + PIECE, len(covered))
            grown += cover_each(
                people.codes, self.slots, self.changed, self.low, self.high, covered, *tree, hull, costliest,
                self.losses, self.k, begin, end,
            )  # fmt: skip
        return grown

    def refine(self, run: Run) -> None:
        """Make cells cheaper while each covers k people and each person stays covered by k cells.

        Each cell is visited once: a second round would save less than one percent of what is left.
        """
        self.changed[:] = self.people.weight
        covered = self.graph().candidates
        self._refine(self.slots, self.low, self.high, covered, run, hand=True)

    def _refine(
        self,
        slots: LongVector,
        low: IntMatrix,
        high: IntMatrix,
        covered: LongVector,
        run: Run,
        hand: bool = False,
    ) -> None:
        from shoal.kernels.refining import refine

        people = self.people
        for begin in self._pieces("refine", run, PIECE // 10):
            end = min(begin + PIECE // 10, len(slots) - 1)
            refine(
                people.codes, people.weight, slots, low, high, covered, *people.tree, self.losses, self.k, hand,
                begin, end,
            )  # fmt: skip

    def join(self, run: Run) -> tuple[int, int]:
        """Let every person have k matches (in the spirit of algorithm 6). Returns how many cells grew, and the rounds.

        Each round finds all components in one pass. Then some of the people who lack matches, at first one in
        `TURNS`, close cycles with others.
        """
        from shoal.kernels.covering import join_components

        people, owner = self.people, self.owner
        grown, rounds, idle = 0, 0, 0
        while True:
            run.progress("join", rounds / (rounds + TURNS))
            region_of, first = self.regions()
            graph = self._graph(region_of, first)
            lacking = graph.matches < self.k
            if not lacking.any():
                return grown, rounds
            who = np.flatnonzero(lacking)
            who = who[who % TURNS == rounds % TURNS]
            over_start, over = self._over(graph, region_of, lacking)
            more = join_components(
                people.codes, self.slots, owner, self.changed, self.low, self.high, over, over_start, region_of,
                graph.links, graph.start, graph.components[1], *people.tree, self.losses, self.k,
                max(LOOK, self.k), who,
            )  # fmt: skip
            grown, rounds, idle = grown + more, rounds + 1, 0 if more else idle + 1
            if idle > TURNS:
                raise ShoalBug("people lack matches, and no cell can grow")

    def graph(self) -> Consistency:
        """Return which people the cells match, and who owns them."""
        return self._graph(*self.regions())

    def _graph(self, region_of: IntVector, first: LongVector) -> Consistency:
        start, links = self.people.inside(self.low[first], self.high[first])
        return Consistency(self.people, np.bincount(region_of), start, links, (self.owner, region_of))

    def release(self, facts: dict[str, Any]) -> Release:
        """Propose the cells as a release; equal rows get their cells in the order of the table."""
        region_of, first = self.regions()
        rows = np.flatnonzero(self.kept)
        regions = np.full(self.table.rows, -1, np.int32)
        regions[rows[np.argsort(self.people.row_of, kind="stable")]] = region_of
        dropped = self.table.rows - len(rows)
        return Release(regions, self.low[first], self.high[first], facts={**facts, "suppressed": dropped})

    def regions(self) -> tuple[IntVector, LongVector]:
        """Number equal cells: cell -> region, and the first cell of each."""
        from shoal.kernels.grouping import distinct

        return distinct(np.concatenate([self.low, self.high], axis=1))

    def _over(
        self, graph: Consistency, region_of: IntVector, wanted: BoolVector
    ) -> tuple[LongVector, IntVector]:
        """Invert the graph: the cells over each of the wanted people."""
        keep = wanted[graph.links]
        links = graph.links[keep]
        region = np.repeat(np.arange(len(graph.size)), np.diff(graph.start))[keep]
        by_region = np.argsort(region_of, kind="stable").astype(np.int32)
        counts = graph.size[region]
        who = np.repeat(links, counts)
        at = np.repeat(np.cumsum(graph.size)[region] - np.cumsum(counts), counts) + np.arange(len(who))
        start = np.concatenate(([0], np.cumsum(np.bincount(who, minlength=len(self.people.weight)))))
        return start.astype(np.int64), by_region[at[np.argsort(who, kind="stable")]]

    def _pieces(self, stage: str, run: Run, piece: int = PIECE) -> Any:
        rows = len(self.people.weight)
        for begin in range(0, rows, piece):
            run.progress(stage, begin / rows)
            yield begin
