"""Cells grow, or become classes, until no pair of a person and a row is too likely: global (1,k) does not see to that.

A pair's probability is the share of all complete assignments that contain it. Two proofs are accepted. In a component
whose assignments can be counted, the share is known. Everywhere else, rows that show the same cells are equally likely
for everybody, and so are people with equal values for every row: among n of them, no pair is above 1/n.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from shoal.errors import LimitError
from shoal.judging.linking.consistency import Consistency
from shoal.judging.linking.posterior import ROUNDING, count_shares
from shoal.methods.cells.cells import Cells
from shoal.methods.clustering.agglomeration import cluster
from shoal.methods.clustering.cluster_classes import boxes, number_clusters
from shoal.methods.clustering.clusters import Items
from shoal.methods.clustering.improvement import improve_clusters
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

DISTANCE = "nergiz-clifton"
"""By which rows are clustered into classes."""


@dataclass(frozen=True, eq=False, repr=False)
class _Plan(Brief):
    """New cells for some rows."""

    slots: LongVector
    low: IntMatrix
    high: IntMatrix
    loss: float
    """Of these rows together."""
    classes: int = 0


def repair(cells: Cells, confidence: float, run: Run) -> dict[str, Any]:
    """Change cells until it is proven that no pair is more likely than `confidence`. Returns what it took.

    In each round, components that fail are mended: rows grow one by one, or all become classes, whichever loses less. A
    component that cannot be counted gets classes at once. Other rows may then be drawn into a component, so the rounds
    go on; classes stay, so they end. O(rounds x (links + states of the components)).
    """
    least = max(cells.k, ceil(1 / confidence - ROUNDING))
    work = _Repair(cells, confidence, least, run)
    rounds, grown, classes, largest = 0, 0, 0, 0.0
    while True:
        run.progress("repair", rounds / (rounds + 4))
        plans, largest = work.plans()
        if not plans:
            return {"repaired_rows": grown, "classes": classes, "largest_share": largest, "repairs": rounds}
        for plan in plans:
            cells.low[plan.slots], cells.high[plan.slots] = plan.low, plan.high
            grown, classes = grown + len(plan.slots), classes + plan.classes
        rounds += 1


class _Repair:
    """One repair: the rows as items of clusterings, and how they are mended."""

    def __init__(self, cells: Cells, confidence: float, least: int, run: Run) -> None:
        self.cells, self.confidence, self.least = cells, confidence, least
        self.run = Run(run.random)
        self.owner = cells.owner
        people = cells.people
        self.items = Items(people.codes, self.owner, people.weight, cells.losses)
        self.trees = [attribute.hierarchy for attribute in cells.table.attributes]

    def plans(self) -> tuple[list[_Plan], float]:
        """Return what mends the components that fail, and the largest share that is known of the others."""
        cells = self.cells
        region_of, _ = cells.regions()
        graph = cells.graph()
        of_class, of_people = graph.components
        class_of = np.repeat(np.arange(len(graph.size), dtype=np.int64), np.diff(graph.start))
        links = np.flatnonzero(of_class[class_of] == of_people[graph.links])
        links = links[np.argsort(of_class[class_of[links]], kind="stable")]
        slots = np.argsort(of_class[region_of], kind="stable")
        numbers, starts = np.unique(of_class[class_of[links]], return_index=True)
        slot_starts = np.searchsorted(of_class[region_of[slots]], np.append(numbers, of_class.max() + 1))
        taken = np.zeros(len(region_of), np.bool_)
        found: list[_Plan] = []
        largest = 0.0
        for at, (begin, end) in enumerate(zip(starts, np.append(starts[1:], len(links)), strict=True)):
            own = links[begin:end]
            inside = slots[slot_starts[at] : slot_starts[at + 1]]
            share, doubtful = self._judge_component(graph, class_of[own], graph.links[own])
            if share is not None and not len(doubtful):
                largest = max(largest, share)
                continue
            plan = self._repair_component(region_of, inside, share, doubtful, taken)
            if plan is not None:
                taken[plan.slots] = True
                found.append(plan)
        return found, largest

    def _judge_component(
        self, graph: Consistency, classes: LongVector, people: IntVector
    ) -> tuple[float | None, LongVector]:
        """Return the largest share of a component, None if it cannot be counted; and its classes without a proof."""
        alike = np.maximum(graph.size[classes], graph.people.weight[people])
        unproven = alike < self.least
        if not unproven.any():
            return float(1.0 / alike.min()), classes[:0]
        shares = count_shares(graph, classes, people)
        if shares is None:
            return None, np.unique(classes[unproven])
        above = shares > self.confidence + ROUNDING
        return float(shares.max()), np.unique(classes[above])

    def _repair_component(
        self, region_of: IntVector, inside: LongVector, share: float | None, doubtful: LongVector, taken: Any
    ) -> _Plan | None:
        """Return the cheaper of two repair plans for a component; None if another plan of this round uses its rows."""
        if taken[inside].any():
            return None
        if share is None:
            inside = inside[np.isin(region_of[inside], doubtful)]
        classes = self._as_classes(region_of, inside, taken)
        if share is None or len(inside) < self.least or classes is None or len(classes.slots) > len(inside):
            return classes
        grown = self._widen_rows(inside, classes.loss)
        return classes if grown is None else grown

    def _as_classes(self, region_of: IntVector, inside: LongVector, taken: Any) -> _Plan | None:
        """Cluster rows into classes; if they are too few, with the rows that join them most cheaply."""
        slots = inside
        while len(slots) < self.least:
            slots = self._with_nearest(region_of, slots)
            if taken[slots].any():
                return None
        part = self.items.of(slots)
        together = cluster(part, self.least, DISTANCE, True, np.arange(len(slots), dtype=np.int32), self.run)
        together = improve_clusters(part, together, self.least, 0.0, self.run)
        number, count = number_clusters(together)
        box = boxes(part, number, count)
        low, high = self._lift(box[:, ::2], box[:, 1::2])
        return _Plan(slots, low[number], high[number], float(self._losses(low, high)[number].sum()), count)

    def _with_nearest(self, region_of: IntVector, slots: LongVector) -> LongVector:
        """Add the rows of the cells that the others can join with least loss."""
        cells = self.cells
        others = np.setdiff1d(np.arange(len(region_of)), np.flatnonzero(np.isin(region_of, region_of[slots])))
        low = np.minimum(cells.low[others], cells.low[slots].min(axis=0))
        high = np.maximum(cells.high[others], cells.high[slots].max(axis=0))
        lost = self._losses(low, high)
        if not len(others) or not np.isfinite(lost.min()):
            raise LimitError(
                f"no pair may be more likely than {self.confidence:g}, which takes {self.least:,} rows that can be "
                f"alike; generalization limits leave {len(slots):,}. Ask for a higher confidence, or loosen the limits"
            )
        return np.concatenate([slots, np.flatnonzero(region_of == region_of[others[lost.argmin()]])])

    def _widen_rows(self, slots: LongVector, most: float) -> _Plan | None:
        """Widen rows one at a time: always the cheapest row that adds an alternative to the most likely match. None if
        the loss reaches `most`, or if the assignments cannot be counted any more.
        """
        cells = self.cells
        low, high = cells.low[slots].copy(), cells.high[slots].copy()
        codes = cells.people.codes[self.owner[slots]]
        while True:
            lost = self._losses(low, high)
            if lost.sum() >= most:
                return None
            inside: Any = ((codes[:, None] >= low[None]) & (codes[:, None] <= high[None])).all(axis=2)
            shares = self._shares(codes, low, high, inside)
            if shares is None:
                return None
            person, row = np.unravel_index(int(shares.argmax()), shares.shape)
            if shares[person, row] <= self.confidence + ROUNDING:
                return _Plan(slots, low, high, float(lost.sum()))
            # Another row covers this person, or this row another person.
            rows, people = np.flatnonzero(~inside[person]), np.flatnonzero(~inside[:, row])
            at = np.concatenate([rows, np.full(len(people), row)])
            who = np.concatenate([np.full(len(rows), person), people])
            if not len(at):
                return None
            new = self._lift(np.minimum(low[at], codes[who]), np.maximum(high[at], codes[who]))
            best = int((self._losses(*new) - lost[at]).argmin())
            low[at[best]], high[at[best]] = new[0][best], new[1][best]

    def _shares(self, codes: IntMatrix, low: IntMatrix, high: IntMatrix, inside: Any) -> FloatVector | None:
        """Return the share of each pair of these people and rows alone, or None if there are too many assignments."""
        from shoal.judging.linking.posterior import shares_of
        from shoal.kernels.grouping import distinct

        kind, first_person = distinct(np.asfortranarray(codes))
        sort, first_row = distinct(np.asfortranarray(np.concatenate([low, high], axis=1)))
        found = shares_of(inside[np.ix_(first_person, first_row)], np.bincount(kind), np.bincount(sort))
        return None if found is None else found[np.ix_(kind, sort)]

    def _lift(self, low: Any, high: Any) -> tuple[IntMatrix, IntMatrix]:
        ends = [
            tree.lift(low[:, j].astype(np.int32), high[:, j].astype(np.int32))
            for j, tree in enumerate(self.trees)
        ]
        return np.stack([end[0] for end in ends], axis=1), np.stack([end[1] for end in ends], axis=1)

    def _losses(self, low: IntMatrix, high: IntMatrix) -> FloatVector:
        from shoal.kernels.losses import box_losses

        box = np.empty((len(low), 2 * low.shape[1]), np.int64)
        box[:, ::2], box[:, 1::2] = low, high
        lost: FloatVector = box_losses(box, self.cells.losses)
        return lost
