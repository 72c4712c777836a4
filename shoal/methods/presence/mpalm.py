"""MPALM: split the population into boxes as long as nobody's presence becomes too certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.coding import Attribute, CodedTable
from shoal.coding.population import count_with_population
from shoal.errors import DataError, LimitError, Problem
from shoal.judging.models.delta_presence import (
    DeltaPresence,
    presence_models,
    require_presence,
    without_presence,
)
from shoal.judging.models.requirements import Requirements
from shoal.methods.loss_tables import losses_of
from shoal.methods.method import Abilities, Method, Parts, Shows
from shoal.methods.presence.drawn_cuts import CutChooser, draw_boxes, find_chances, find_children
from shoal.release import Release
from shoal.release.published import Published
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.run import Run


def _beyond_counts(requirements: Requirements) -> list[str]:
    """Name the requirements that are not only about how many people of a box are in the table."""
    presence = presence_models(requirements.models)
    rules = [model for model in requirements.models if model not in presence]
    found = [rule.title for rule in rules if not replace(requirements, models=(rule,)).only_k]
    found += ["earlier releases"] if requirements.with_earlier is not None else []
    return found + (["uniform labels"] if requirements.uniform else [])


@dataclass(frozen=True, kw_only=True)
class MPALM(Method):
    """Multidimensional delta-presence (Nergiz, Atzori, Clifton 2007; in the form of Nergiz et al. 2013).

    Starts with the whole population in one box. It splits a column with a tree into all children of the lowest node
    over the box, and a column with free ranges between two values. So boxes never overlap, and each can be published
    as it is. Of all splits whose boxes are all within the bounds (and satisfy the other requirements) it makes the
    one that lowers the loss most. Cells are those of the people of a box, whichever of them is in the table: the paper
    narrows them to the rows, and then an adversary who knows this is certain of the people at the ends.
    """

    name: ClassVar[str] = "mpalm"
    can: ClassVar[Abilities] = Abilities(presence_only=True, make_buckets=True, optimize=("cells",))
    shows: ClassVar[Shows] = Shows(classes=True)
    summary: ClassVar[str] = (
        "splits the population into small boxes as long as nobody's presence becomes too certain"
    )
    paper: ClassVar[str] = "Nergiz, Clifton: delta-Presence without Complete World Knowledge, TKDE 2010"
    parts: ClassVar[Parts | str] = "bounds on presence are about everybody who could be in the table"
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({}, {"drawn": True})

    drawn: bool = False
    """Choose splits without looking at who is in the table, and decline some at random: then nobody's probability is
    outside the bounds even for an adversary who knows the method. Only with bounds on presence and k."""

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """It needs bounds on presence."""
        found = without_presence(requirements.models, self.name)
        others = [] if not self.drawn else _beyond_counts(requirements)
        if others:
            message = f"drawn = true is proven only for bounds on presence and k, not for {', '.join(others)}"
            found.append(Problem("method.drawn", message, "leave the others out, or take drawn = false"))
        return found

    @property
    def hides_presence(self) -> bool:
        """Splits that look at the table show who is in it to anybody who runs the method again; drawn ones do not."""
        return self.drawn

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Split until no allowed split is left. O(tuples x columns) for each level of boxes."""
        model = require_presence(requirements.models, self.name)
        return _Cutting(table, requirements, model, drawn=self.drawn).release(run)

    def find_presence(
        self, table: CodedTable, requirements: Requirements, published: Published
    ) -> FloatVector | None:
        """If splits are drawn, it follows from what is published."""
        if not self.drawn:
            return None
        model = require_presence(requirements.models, self.name)
        work = _Cutting(table, requirements, model, drawn=True)
        found = None if published.suppressed else work.find_chances(published)
        if found is None:
            raise DataError(
                f"{self.name} with drawn = true and these requirements does not make such a release; give the policy, "
                "or the record, that it was made with"
            )
        return found


class _Cutting:
    """The distinct tuples of the population while they are split into boxes."""

    def __init__(
        self, table: CodedTable, requirements: Requirements, model: DeltaPresence, *, drawn: bool = False
    ) -> None:
        self.table, self.requirements, self.model = table, requirements, model
        codes, self.people, self.rows = count_with_population(table)
        self.codes = np.asfortranarray(codes)
        self.plain = len(presence_models(requirements.models)) == len(requirements.models)
        self.losses = losses_of(table, requirements.measure)
        self.chooser = None
        if drawn:
            people, k = self.people.astype(np.int64), requirements.k
            self.chooser = CutChooser(table, self.codes, people, requirements.measure, model, k)

    def release(self, run: Run) -> Release:
        blocks = self._blocks()
        if self.chooser is not None:
            return self._publish_boxes(*draw_boxes(self.chooser, blocks, self.rows.astype(np.int64), run))
        boxes, cuts = self._cut_at_once(blocks) if self.plain else self._cut(blocks, run)
        return self._publish_boxes(boxes, cuts)

    def find_chances(self, published: Published) -> FloatVector | None:
        """Return the chance of each tuple for an adversary who knows how splits are drawn; None if it was not so."""
        from shoal.kernels.presence import regions_of_people

        assert self.chooser is not None
        low, high = map(np.ascontiguousarray, published.cell_ranges)
        start, region = regions_of_people(low, high, np.ascontiguousarray(self.codes))
        many = np.diff(start)
        if many.max(initial=0) > 1:
            return None
        class_of = np.full(len(self.codes), -1, np.int32)
        class_of[many == 1] = region
        return find_chances(self.chooser, self._blocks(), class_of, published.sizes)

    def _cut_at_once(self, blocks: list[LongVector]) -> tuple[list[LongVector], int]:
        """Split if presence is the only requirement: the same as `_cut`, compiled."""
        from shoal.kernels.presence import cut_boxes

        order = np.concatenate(blocks)
        begin, end, cuts = cut_boxes(
            self.codes,
            self.people,
            self.rows,
            order,
            np.cumsum([len(block) for block in blocks]),
            self.losses,
            self.model.low,
            self.model.high,
        )
        return [order[a:b] for a, b in zip(begin.tolist(), end.tolist(), strict=True)], int(cuts)

    def _cut(self, open_: list[LongVector], run: Run) -> tuple[list[LongVector], int]:
        """Split under all requirements."""
        done: list[LongVector] = []
        cuts = finished = 0
        while open_:
            box = open_.pop()
            parts = self._best_cut(box)
            if parts is None:
                done.append(box)
                finished += len(box)
                run.progress("cut", finished / len(self.codes))
            else:
                cuts += 1
                open_ += parts
        return done, cuts

    def _blocks(self) -> list[LongVector]:
        """Return the blocks that generalization limits make of the population; each must be within the bounds."""
        tops = np.stack(
            [a.hierarchy.blocks[self.codes[:, j]] for j, a in enumerate(self.table.attributes)], axis=1
        )
        _, block_of = np.unique(tops, axis=0, return_inverse=True)
        order = np.argsort(block_of.ravel(), kind="stable")
        blocks = np.split(order, np.flatnonzero(np.diff(block_of.ravel()[order])) + 1)
        failing = next((block for block in blocks if not self._are_allowed([block])), None)
        if failing is not None:
            rows, people = int(self.rows[failing].sum()), int(self.people[failing].sum())
            whole = "the table has" if len(blocks) == 1 else "generalization limits leave a block of"
            asked = ", ".join(model.title for model in (self.model, *self.requirements.group_models))
            raise LimitError(
                f"{whole} {rows:,} of {people:,} people, which as one class does not satisfy {asked}"
            )
        return blocks

    def _are_allowed(self, parts: list[LongVector]) -> bool:
        """Return whether boxes satisfy all requirements; a box without rows is not published."""
        for part in parts:
            if not self.model.allows(int(self.rows[part].sum()), int(self.people[part].sum())):
                return False
        return self.plain or self._others_allow(parts)

    def _others_allow(self, parts: list[LongVector]) -> bool:
        table = self.table
        box_of = np.full(len(self.codes), -1, np.int32)
        used = 0
        for part in parts:
            if self.rows[part].any():
                box_of[part] = used
                used += 1
        groups = table.group_rows(box_of[self._tuple_of_row], used)
        return bool(self.requirements.holds_in(groups).all())

    @cached_property
    def _tuple_of_row(self) -> IntVector:
        """Row of the table -> its tuple."""
        from shoal.kernels.grouping import distinct

        # Tuples come first and are distinct, so they keep their numbers.
        number, _ = distinct(np.asfortranarray(np.concatenate([self.codes, self.table.quasi.wide])))
        return number[len(self.codes) :]

    def _best_cut(self, box: LongVector) -> list[LongVector] | None:
        """Return the boxes of the allowed split with the highest gain."""
        candidates: list[tuple[float, int, LongVector]] = []
        rows, people = self.rows[box], self.people[box]
        if not rows.any():
            return None  # It is not published, so a split would gain nothing.
        for j, attribute in enumerate(self.table.attributes):
            codes = self.codes[box, j]
            if codes.min() < codes.max():
                candidates += self._cuts(attribute, j, codes, rows, people)
        good = [entry for entry in candidates if entry[0] >= 0]
        for _, j, first in sorted(good, key=lambda entry: (-entry[0], entry[1])):
            side = np.searchsorted(first, self.codes[box, j], side="right")
            parts = [box[side == value] for value in np.unique(side)]
            if self._are_allowed(parts):
                return parts
        return None

    def _cuts(
        self, attribute: Attribute, j: int, codes: IntVector, rows: IntVector, people: IntVector
    ) -> list[tuple[float, int, LongVector]]:
        """Return the splits of one column that presence allows: gain, column, and where the boxes begin."""
        tree = attribute.hierarchy
        low, high = int(codes.min()), int(codes.max())
        inside, fitting = np.bincount(codes - low, rows), np.bincount(codes - low, people)
        present = np.flatnonzero(fitting) + low
        mixed = tree.free and high >= tree.ordered
        whole = float(self._lost(j, np.array([low]), np.array([high]))[0])
        if tree.free and not mixed:
            total_in, total = np.cumsum(inside), np.cumsum(fitting)
            last = present[:-1] - low
            left_in, left = total_in[last], total[last]
            right_in, right = total_in[-1] - left_in, total[-1] - left
            good = self._within(left_in, left) & self._within(right_in, right)
            gain = left_in * (whole - self._lost(j, np.full(len(last), low), present[:-1]))
            gain += right_in * (whole - self._lost(j, present[1:], np.full(len(last), high)))
            chosen = np.flatnonzero(good)
            order = chosen[np.argsort(-gain[chosen], kind="stable")]
            return [(float(gain[i]), j, present[i + 1 : i + 2]) for i in order]
        starts, ends = find_children(attribute, low, high, present)
        part = np.searchsorted(starts, present, side="right") - 1
        part_in = np.bincount(part, inside[present - low], len(starts))
        part_people = np.bincount(part, fitting[present - low], len(starts))
        if len(starts) < 2 or not self._within(part_in, part_people).all():
            return []
        saved = float((part_in * (whole - self._lost(j, starts, ends))).sum())
        return [(saved, j, starts[1:])]

    def _lost(self, j: int, low: NDArray[Any], high: NDArray[Any]) -> FloatVector:
        """Return what ranges of one column lose."""
        from shoal.kernels.losses import box_losses

        column = self.losses._replace(shape=self.losses.shape[j : j + 1])
        found: FloatVector = box_losses(np.stack([low, high], axis=1).astype(np.int64), column)
        return found

    def _within(self, rows: NDArray[Any], people: NDArray[Any]) -> BoolVector:
        slack = 1e-9 * people
        return np.asarray(
            (rows >= self.model.low * people - slack) & (rows <= self.model.high * people + slack)
        )

    def _publish_boxes(self, boxes: list[LongVector], cuts: int) -> Release:
        """Publish each box that has rows as the closure of its people. A closure of its rows, as in the paper, would
        show who is at its ends."""
        kept = [box for box in boxes if self.rows[box].any()]
        sizes = np.array([len(box) for box in kept])
        end, order = np.cumsum(sizes), np.concatenate(kept)
        low, high = self._closures(order, end - sizes)
        box_of = np.full(len(self.codes), -1, np.int32)
        box_of[order] = np.repeat(np.arange(len(kept), dtype=np.int32), sizes)
        facts = {"cuts": cuts, "boxes": len(boxes), "empty_boxes": len(boxes) - len(kept)}
        return Release(box_of[self._tuple_of_row], low, high, facts=facts)

    def _closures(self, order: LongVector, begin: LongVector) -> tuple[IntMatrix, IntMatrix]:
        """Return the smallest publishable cells over boxes of tuples; box i starts at ``begin[i]``."""
        low, high = (
            np.stack(
                [smallest.reduceat(self.codes[order, j], begin) for j in range(self.codes.shape[1])], axis=1
            )
            for smallest in (np.minimum, np.maximum)
        )
        for j, attribute in enumerate(self.table.attributes):
            low[:, j], high[:, j] = attribute.hierarchy.lift(low[:, j], high[:, j])
        return low, high
