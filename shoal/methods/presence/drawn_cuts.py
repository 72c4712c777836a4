"""Cuts of boxes that show no more about presence than their counts: cuts are chosen without the table, and declined at
random as often as needed.

What is known about a box is how many of its people are in the table; every set of so many is equally likely. From that
alone one cut is chosen. If all its sides satisfy the requirements it is made, but declined with a chance q all the
same; otherwise the box is published. If it is made, the counts of the sides are all that is learned, and again every
set of so many is equally likely on each side. If not, the people of a side are in the table with the chance

    (E[rows] - (1 - q) E[rows; cut allowed]) / (1 - (1 - q) P[cut allowed]) / people

of this side, and q is the smallest for which this is within the bounds. At q = 1 it is the share of rows in the box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.coding import Attribute, CodedTable
from shoal.coding.columns import Columns
from shoal.coding.population import population_of
from shoal.judging.models.delta_presence import DeltaPresence
from shoal.methods.loss_tables import losses_of
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

MARGIN = 2e-6
"""Bounds are kept with so much to spare, for rounding."""
LEAST_DECLINED = 1e-6
"""A cut is declined at least so often, so that rare outcomes are computed exactly enough."""
NEGLIGIBLE = 1e-18
"""Less likely numbers of rows are left out of sums."""


class Cut(NamedTuple):
    """A cut of a box, chosen without looking at who is in the table."""

    column: int
    starts: LongVector
    """The first codes of all sides but the first."""
    declined: float
    """How often it is declined although it is allowed."""
    chances: FloatVector
    """Side -> everyone's chance to be in the table if the box is published as it is."""


@dataclass(frozen=True, eq=False, repr=False)
class _Sides(Brief):
    column: int
    starts: LongVector
    people: LongVector
    gain: float
    """What people of all sides lose less, as a share of the people of the box."""


class CutChooser:
    """Chooses a cut by the people of a box and how many of them are in the table."""

    def __init__(
        self,
        table: CodedTable,
        codes: IntMatrix,
        people: LongVector,
        measure: str,
        model: DeltaPresence,
        k: int,
    ) -> None:
        self.attributes, self.codes, self.people = table.attributes, codes, people.astype(np.int64)
        self.model, self.k = model, k
        # Losses that count values must not count those of the table.
        everyone = population_of(table)
        self.losses = losses_of(_as_table(table, everyone), measure)
        most = int(self.people.sum()) + 1
        self.log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])

    def choose(self, box: LongVector, rows: int) -> Cut | None:
        """Return the cut that gains most on average, or None if none can be made."""
        total = int(self.people[box].sum())
        if not rows > 0 or total <= 1:
            return None
        best, best_value = None, 1e-12
        options = sorted(self._list_sides(box), key=lambda one: -one.gain)
        for sides in options:
            if sides.gain <= best_value:
                break  # A cut gains no more than it would if it were always made.
            made = self._judge(sides.people, rows)
            if made is not None and sides.gain * made[0] > best_value:
                best_value = sides.gain * made[0]
                best = Cut(sides.column, sides.starts, made[1], made[2])
        return best

    def split(self, box: LongVector, cut: Cut) -> list[LongVector]:
        """Return the sides of a cut, in order."""
        side = np.searchsorted(cut.starts, self.codes[box, cut.column], side="right")
        return [box[side == number] for number in range(len(cut.starts) + 1)]

    def allows(self, rows: NDArray[np.int64], people: int) -> NDArray[np.bool_]:
        """Return which numbers of rows a side of so many people may have."""
        slack = 1e-9 * people
        within = (rows >= self.model.low * people - slack) & (rows <= self.model.high * people + slack)
        good: NDArray[np.bool_] = within & ((rows == 0) | (rows >= self.k))
        return good

    def _judge(self, people: LongVector, rows: int) -> tuple[float, float, FloatVector] | None:
        """Return how often a cut is made, how often it is declined if it is allowed, and the chances of people on its
        sides if it is not made.
        """
        allowed, expected = self._outcomes(people, rows)
        if allowed <= 0:
            return None
        total = int(people.sum())
        mean = rows / total * people
        low = self.model.low + (MARGIN if self.model.low > 0 else 0.0)
        high = self.model.high - (MARGIN if self.model.high < 1 else 0.0)
        if not low <= rows / total <= high:
            return None
        failed, missed = 1 - allowed, mean - expected
        declined = 0.0
        for bound, sign in ((high, 1.0), (low, -1.0)):
            # Linear in q: positive where a side is outside the bound, and not positive at q = 1.
            at_none = sign * (missed - bound * people * failed)
            at_all = sign * (mean - bound * people)
            outside = at_none > 0
            if outside.any():
                declined = max(declined, float((at_none[outside] / (at_none - at_all)[outside]).max()))
        declined = min(1.0, declined + LEAST_DECLINED)
        if declined >= 1:
            return None
        stops = 1 - (1 - declined) * allowed
        chances = (mean - (1 - declined) * expected) / stops / people
        return (1 - declined) * allowed, declined, np.clip(chances, 0.0, 1.0)

    def _outcomes(self, people: LongVector, rows: int) -> tuple[float, FloatVector]:
        """Return the probability that all sides may have their rows, and the rows of each side then, times that."""
        share = rows / int(people.sum())
        parts = [self._count_rows(int(many), rows, share) for many in people]
        whole = self._likelihood(int(people.sum()), np.array([rows]), share)[0]
        before, after = [(0, np.ones(1))], [(0, np.ones(1))]
        for part in parts[:-1]:
            before.append(_convolve(before[-1], part))
        for part in parts[:0:-1]:
            after.append(_convolve(part, after[-1]))
        expected = np.zeros(len(parts))
        for at, (part, earlier, later) in enumerate(zip(parts, before, after[::-1], strict=True)):
            first, likely = part
            others = _convolve(earlier, later)
            number = first + np.arange(len(likely))
            rest = rows - number - others[0]
            there = (rest >= 0) & (rest < len(others[1]))
            ways = np.zeros(len(likely))
            ways[there] = likely[there] * others[1][rest[there]]
            expected[at] = float((ways * number).sum() / whole)
            allowed = float(ways.sum() / whole)
        return min(allowed, 1.0), expected

    def _count_rows(self, people: int, rows: int, share: float) -> tuple[int, FloatVector]:
        """Return how likely each allowed number of rows is: the first number, and likelihoods; others are zero."""
        spread = 10 * np.sqrt(people * share * (1 - share)) + 20
        first = max(0, int(people * share - spread))
        last = min(people, rows, int(people * share + spread) + 1)
        number = np.arange(first, last + 1)
        likely = self._likelihood(people, number, share)
        likely[(likely < NEGLIGIBLE) | ~self.allows(number, people)] = 0.0
        return first, likely

    def _likelihood(self, people: int, number: NDArray[np.int64], share: float) -> FloatVector:
        """Return binomial probabilities: conditional on their sum, all sets of rows are equally likely."""
        if share >= 1:
            return np.where(number == people, 1.0, 0.0)
        table = self.log_factorial
        ways = table[people] - table[number] - table[people - number]
        found: FloatVector = np.exp(ways + number * np.log(share) + (people - number) * np.log1p(-share))
        return found

    def _list_sides(self, box: LongVector) -> Iterator[_Sides]:
        """Yield all cuts of a box."""
        people = self.people[box]
        for j, attribute in enumerate(self.attributes):
            codes = self.codes[box, j]
            low, high = int(codes.min()), int(codes.max())
            if low < high:
                fitting = np.bincount(codes - low, people).astype(np.int64)
                yield from self._list_in_column(attribute, j, low, high, fitting)

    def _list_in_column(
        self, attribute: Attribute, j: int, low: int, high: int, fitting: LongVector
    ) -> Iterator[_Sides]:
        tree, total = attribute.hierarchy, int(fitting.sum())
        present = np.flatnonzero(fitting) + low
        whole = float(self._lost(j, np.array([low]), np.array([high]))[0])
        if tree.free and high < tree.ordered:
            left = np.cumsum(fitting)[present[:-1] - low]
            last, first = present[:-1], present[1:]
            saved = left * (whole - self._lost(j, np.full(len(last), low), last))
            saved = saved + (total - left) * (whole - self._lost(j, first, np.full(len(first), high)))
            for at in range(len(last)):
                sides = np.array([left[at], total - left[at]], np.int64)
                yield _Sides(j, first[at : at + 1].astype(np.int64), sides, float(saved[at]) / total)
            return
        starts, ends = find_children(attribute, low, high, present)
        part = np.searchsorted(starts, present, side="right") - 1
        sides = np.bincount(part, fitting[present - low], len(starts)).astype(np.int64)
        if len(starts) > 1:
            gain = float((sides * (whole - self._lost(j, starts, ends))).sum())
            yield _Sides(j, starts[1:].astype(np.int64), sides, gain / total)

    def _lost(self, j: int, low: NDArray[np.int64], high: NDArray[np.int64]) -> FloatVector:
        """Return what ranges of one column lose."""
        from shoal.kernels.losses import box_losses

        column = self.losses._replace(shape=self.losses.shape[j : j + 1])
        found: FloatVector = box_losses(np.stack([low, high], axis=1).astype(np.int64), column)
        return found


def find_children(
    attribute: Attribute, low: int, high: int, present: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last codes of the parts into which the lowest node over a box is cut: its children with
    people, or, where free ranges end, all ordered values together and each other value.
    """
    tree = attribute.hierarchy
    if tree.free:
        ordered = present[present < tree.ordered]
        others = present[present >= tree.ordered]
        return np.concatenate([ordered[:1], others]), np.concatenate([ordered[-1:], others])
    level = int(tree.level_of(np.array([low], np.int32), np.array([high], np.int32))[0])
    starts = np.unique(tree.low[level - 1, present])
    return starts, tree.high[level - 1, starts]


def _convolve(one: tuple[int, FloatVector], other: tuple[int, FloatVector]) -> tuple[int, FloatVector]:
    return one[0] + other[0], np.convolve(one[1], other[1])


def _as_table(table: CodedTable, everyone: IntMatrix) -> CodedTable:
    """Return the population as a table without anything but quasi-identifiers."""
    from shoal.coding.columns import Kept
    from shoal.coding.counting import ByRows

    secrets = Columns.of((), np.empty((len(everyone), 0), np.int32))
    quasi = Columns.of(table.attributes, everyone)
    return CodedTable(quasi, secrets, Kept(), table.columns, (ByRows.of(secrets),), table.context)


def draw_boxes(
    chooser: CutChooser, open_: list[LongVector], rows: LongVector, run: Run
) -> tuple[list[LongVector], int]:
    """Cut boxes until every cut is declined, not allowed or useless. Return the boxes and the number of cuts."""
    done: list[LongVector] = []
    cuts = finished = 0
    while open_:
        box = open_.pop()
        cut = chooser.choose(box, int(rows[box].sum()))
        sides = [] if cut is None else chooser.split(box, cut)
        good = all(
            chooser.allows(rows[side].sum(keepdims=True), int(chooser.people[side].sum()))[0]
            for side in sides
        )
        if cut is None or run.random.random() < cut.declined or not good:
            done.append(box)
            finished += len(box)
            run.progress("cut", finished / len(chooser.codes))
        else:
            cuts += 1
            open_ += sides
    return done, cuts


def find_chances(
    chooser: CutChooser, blocks: list[LongVector], class_of: IntVector, sizes: LongVector
) -> FloatVector | None:
    """Return the chance of each tuple's people to be in the table, for an adversary who knows how boxes are cut; None
    if the release was not made like this.

    `class_of` is the published class that covers a tuple, -1 for none; `sizes` are the rows of classes.
    """
    chances = np.zeros(len(class_of))
    tuples = np.bincount(class_of[class_of >= 0], minlength=len(sizes))
    open_ = list(blocks)
    while open_:
        box = open_.pop()
        classes = np.unique(class_of[box])
        classes = classes[classes >= 0]
        if tuples[classes].sum() != np.count_nonzero(class_of[box] >= 0):
            return None
        rows = int(sizes[classes].sum())
        if not rows:
            continue
        cut = chooser.choose(box, rows)
        whole = len(classes) == 1 and int(tuples[classes[0]]) == len(box)
        if cut is None and not whole:
            return None
        if cut is None:
            chances[box] = rows / int(chooser.people[box].sum())
            continue
        sides = chooser.split(box, cut)
        if not whole:
            open_ += sides
            continue
        for side, chance in zip(sides, cut.chances, strict=True):
            chances[side] = chance
    return chances
