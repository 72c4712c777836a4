"""MPALM: cut the population into boxes for as long as nobody's presence becomes too certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.errors import InfeasibleError
from shoal.groups import group
from shoal.methods.base import Method
from shoal.models.delta_presence import DeltaPresence, asked_presence
from shoal.population import counted_together
from shoal.release import Release
from shoal.requirements import Requirements
from shoal.run import Run
from shoal.table import Attribute, CodedTable


@dataclass(frozen=True, kw_only=True)
class MPALM(Method):
    """Multidimensional delta-presence (Nergiz, Atzori, Clifton 2007; in the form of Nergiz et al. 2013).

    Starts with the whole population in one box. A column with a tree is cut into all children of the lowest node over
    the box, one with free ranges between two values; so boxes never overlap, and each can be published as it is. Of
    all cuts whose parts are all within the bounds (and satisfy what else is asked for) the one is made that lowers the
    loss most.
    """

    name: ClassVar[str] = "mpalm"
    summary: ClassVar[str] = (
        "cuts the population into small boxes while nobody's presence becomes too certain"
    )
    paper: ClassVar[str] = "Nergiz, Clifton: delta-Presence without Complete World Knowledge, TKDE 2010"

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Cut until no allowed cut is left. O(tuples x columns) for each level of boxes."""
        return _Cutting(table, requirements, asked_presence(requirements.models, self.name)).release(run)


class _Cutting:
    """Distinct tuples of the population on their way into boxes."""

    def __init__(self, table: CodedTable, requirements: Requirements, model: DeltaPresence) -> None:
        self.table, self.requirements, self.model = table, requirements, model
        codes, self.people, self.rows = counted_together(table)
        self.codes = np.asfortranarray(codes)
        self.plain = all(isinstance(rule, DeltaPresence) for rule in requirements.models)
        self.tops = [attribute.hierarchy.levels[-1].starts for attribute in table.attributes]

    def release(self, run: Run) -> Release:
        blocks = self._blocks()
        open_, done = blocks, []
        cuts = 0
        finished = 0
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
        return self._published(done, cuts)

    def _blocks(self) -> list[LongVector]:
        """The blocks that generalization limits make of the population, each within the bounds by itself."""
        tops = np.stack(
            [a.hierarchy.blocks[self.codes[:, j]] for j, a in enumerate(self.table.attributes)], axis=1
        )
        _, block_of = np.unique(tops, axis=0, return_inverse=True)
        order = np.argsort(block_of.ravel(), kind="stable")
        blocks = np.split(order, np.flatnonzero(np.diff(block_of.ravel()[order])) + 1)
        if not self._allowed(blocks):
            raise InfeasibleError(
                f"the table has {self.table.rows:,} of {int(self.people.sum()):,} people, which as one class does not "
                f"reach what is asked for ({self.model.title}): ask for less, or loosen generalization limits"
            )
        return blocks

    def _allowed(self, parts: list[LongVector]) -> bool:
        """Whether boxes satisfy everything that is asked for; a box without rows is not published."""
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
        groups = group(
            box_of[self._tuple_of_row], used, table.sensitive_codes, table.sensitive, table.sensitive_counts
        )
        return bool(self.requirements.satisfied(groups).all())

    @property
    def _tuple_of_row(self) -> IntVector:
        """Row of the table -> its tuple."""
        if not hasattr(self, "_of_row"):
            both = np.concatenate([self.codes, self.table.codes])
            _, number = np.unique(both, axis=0, return_inverse=True)
            number = number.ravel()
            place = np.empty(len(self.codes), np.int32)
            place[number[: len(self.codes)]] = np.arange(len(self.codes))
            self._of_row: IntVector = place[number[len(self.codes) :]]
        return self._of_row

    def _best_cut(self, box: LongVector) -> list[LongVector] | None:
        """Return the parts of the allowed cut with the highest gain."""
        candidates: list[tuple[float, int, LongVector]] = []
        rows, people = self.rows[box], self.people[box]
        if not rows.any():
            return None  # Nothing of it is published, so it cannot be published more precisely.
        for j, attribute in enumerate(self.table.attributes):
            codes = self.codes[box, j]
            low, high = int(codes.min()), int(codes.max())
            if low == high:
                continue
            candidates += self._cuts(attribute, j, codes - low, low, high, rows, people)
        for _, j, first in sorted(candidates, key=lambda entry: (-entry[0], entry[1])):
            side = np.searchsorted(first, self.codes[box, j], side="right")
            parts = [box[side == value] for value in np.unique(side)]
            if self.plain or self._allowed(parts):
                return parts
        return None

    def _cuts(
        self,
        attribute: Attribute,
        j: int,
        place: IntVector,
        low: int,
        high: int,
        rows: IntVector,
        people: IntVector,
    ) -> list[tuple[float, int, LongVector]]:
        """Return the cuts of one column that presence allows: gain, column, and where parts begin."""
        tree = attribute.hierarchy
        size = high - low + 1
        inside = np.bincount(place, rows, size)
        fitting = np.bincount(place, people, size)
        present = np.flatnonzero(fitting) + low
        mixed = tree.free and high >= tree.ordered
        if tree.free and not mixed:
            total_in, total = np.cumsum(inside), np.cumsum(fitting)
            last = present[:-1] - low
            left_in, left = total_in[last], total[last]
            right_in, right = total_in[-1] - left_in, total[-1] - left
            good = self._within(left_in, left) & self._within(right_in, right)
            unit = attribute.weight / max(tree.size - 1, 1)
            gain = left_in * (high - present[:-1]) + right_in * (present[1:] - low)
            chosen = np.flatnonzero(good)
            # One cut per column is enough where nothing else is asked for.
            order = chosen[np.argsort(-gain[chosen], kind="stable")]
            return [
                (float(gain[i] * unit), j, present[i + 1 : i + 2])
                for i in (order[:1] if self.plain else order)
            ]
        if mixed:
            ordered = present[present < tree.ordered][:1]
            starts = np.concatenate([ordered, present[present >= tree.ordered]])
            ends = np.concatenate([present[present < tree.ordered][-1:], present[present >= tree.ordered]])
            whole = tree.size - 1
        else:
            level = int(tree.level_of(np.array([low], np.int32), np.array([high], np.int32))[0])
            nodes = tree.low[level - 1, present]
            starts = np.unique(nodes)
            ends = tree.high[level - 1, starts]
            whole = int(tree.high[level, low] - tree.low[level, low])
        part = np.searchsorted(starts, present, side="right") - 1
        part_in = np.bincount(part, inside[present - low], len(starts))
        part_people = np.bincount(part, fitting[present - low], len(starts))
        if len(starts) < 2 or not self._within(part_in, part_people).all():
            return []
        unit = attribute.weight / max(tree.size - 1, 1)
        gain = float((part_in * (whole - (ends - starts))).sum() * unit)
        return [(gain, j, starts[1:])]

    def _within(self, rows: NDArray[Any], people: NDArray[Any]) -> BoolVector:
        slack = 1e-9 * people
        return np.asarray(
            (rows >= self.model.low * people - slack) & (rows <= self.model.high * people + slack)
        )

    def _published(self, boxes: list[LongVector], cuts: int) -> Release:
        """Publish each box as the closure of its rows where presence allows, else as that of its people."""
        kept = [box for box in boxes if self.rows[box].any()]
        low, high = self._closures(kept, self.people)
        tight_low, tight_high = self._closures(kept, self.rows)
        for r, box in enumerate(kept):
            people, rows = int(self.people[box].sum()), int(self.rows[box].sum())
            for j in np.argsort((tight_high[r] - tight_low[r]) - (high[r] - low[r]), kind="stable"):
                trial_low, trial_high = low[r].copy(), high[r].copy()
                trial_low[j], trial_high[j] = tight_low[r, j], tight_high[r, j]
                inside = ((self.codes[box] >= trial_low) & (self.codes[box] <= trial_high)).all(axis=1)
                left = int(self.people[box][inside].sum())
                if left == people or (self.model.low <= 0 and self.model.allows(rows, left)):
                    low[r], high[r] = trial_low, trial_high
        box_of = np.full(len(self.codes), -1, np.int32)
        for r, box in enumerate(kept):
            box_of[box] = r
        facts = {"cuts": cuts, "boxes": len(boxes), "empty_boxes": len(boxes) - len(kept)}
        return Release(box_of[self._tuple_of_row], low, high, facts=facts)

    def _closures(self, boxes: list[LongVector], counts: IntVector) -> tuple[IntMatrix, IntMatrix]:
        """Return the smallest publishable cells over the tuples of each box that are counted at all."""
        low = np.empty((len(boxes), len(self.table.attributes)), np.int32)
        high = np.empty_like(low)
        for r, box in enumerate(boxes):
            codes = self.codes[box[counts[box] > 0]]
            low[r], high[r] = codes.min(axis=0), codes.max(axis=0)
        for j, attribute in enumerate(self.table.attributes):
            low[:, j], high[:, j] = attribute.hierarchy.lift(low[:, j], high[:, j])
        return low, high
