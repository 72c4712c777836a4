"""Improvement of p-sensitive classes: rows move between classes while k, p and the number of classes hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.kernels.losses import Losses
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

EVENNESS = (1.0, 0.045)
"""What large classes cost in the first rounds and in the last ones, as a multiple of the mean loss: a row that joins a
class of mean size pays twice this. The first rounds spread the rows, so that the last ones have a choice."""
ENOUGH = 1e-3
"""A round that saves a smaller share of the loss is the last one."""
MOST_ROUNDS = 20
MOST_WORK = 4_000_000_000
"""About how many rows may be compared with classes or other rows; some tens of seconds."""
AT_ONCE = 20_000_000
"""Comparisons between two checks of progress and interrupts."""


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Brief):
    """The labels of the rows of one block, numbered consecutively over all demands."""

    of: IntMatrix
    """``[rows, demands]``"""
    rows: LongVector
    """Label -> rows."""
    demand: LongVector
    """Label -> demand."""
    share: FloatVector
    """Label -> largest allowed share of a class; above 1: any."""
    size: int
    """The least size of a class."""
    most_classes: int


def exchange_rows(
    codes: IntMatrix, labels: Labels, p: LongVector, class_of: IntVector, losses: Losses, run: Run
) -> IntVector:
    """Return better classes of the rows of one block: as many, each of the least size and with p distinct labels per
    demand.

    Rows move one by one; classes give away all rows beyond a code, or cover more codes and take the rows that lose less
    so; two rows change places. Equal classes give equal answers. O(rows x (rows + classes) x columns) per round, and
    no more than `MOST_WORK` in all.
    """
    from shoal.kernels.exchange import (
        Exchange,
        gather_classes,
        move_rows,
        narrow_classes,
        swap_rows,
        widen_classes,
    )

    rows, classes, width, k = len(codes), int(class_of.max()) + 1, codes.shape[1], labels.size
    state = Exchange(
        class_of=class_of.astype(np.int32),
        members=np.zeros(rows, np.int32),
        first=np.zeros(classes, np.int32),
        size=np.zeros(classes, np.int64),
        loss=np.zeros(classes),
        ends=np.zeros((classes, 4 * width), np.int32),
        counts=np.zeros((classes, len(labels.demand)), np.int32),
        different=np.zeros((classes, len(p)), np.int32),
    )
    gather_classes(codes, labels.of, labels.demand, state, losses)
    unit = float(state.loss @ state.size) / rows * classes / rows
    if classes == 1 or unit == 0:
        return class_of
    work = _Work(run)
    place = (codes, labels.of, state, p)
    stage, stages = 0, EVENNESS if bool((state.size > k).any()) else EVENNESS[-1:]
    for _ in range(MOST_ROUNDS):
        even, saved = stages[stage] * unit, 0.0
        if (state.size > k).any():
            order = np.argsort(-state.loss[state.class_of], kind="stable")
            saved += work.done(move_rows, (*place, k, even, losses), order, classes)
            if losses.rising:
                steps = 2 * int(np.log2(np.maximum(losses.shape[:, 1], 2)).sum())
                order = np.argsort(state.loss, kind="stable")
                saved += work.done(widen_classes, (*place, k, even, losses), order, rows * steps // 4)
            order = np.argsort(-state.loss * state.size, kind="stable")
            saved += work.done(narrow_classes, (*place, k, even, losses), order, 8 * rows)
        order = np.argsort(-state.loss[state.class_of], kind="stable")
        saved += work.done(swap_rows, (*place, losses), order, rows)
        if saved < ENOUGH * float(state.loss @ state.size):
            stage += 1
        if stage == len(stages) or work.left <= 0:
            break
    return state.class_of


class _Work:
    """How much may still be done."""

    def __init__(self, run: Run) -> None:
        self.left, self.run = MOST_WORK, run

    def done(
        self, kernel: Callable[..., float], given: tuple[Any, ...], order: LongVector, each: int
    ) -> float:
        """Run a kernel over all of an order, each of which costs as stated, as far as the work lasts."""
        saved, at, step = 0.0, 0, max(1, AT_ONCE // max(each, 1))
        while at < len(order) and self.left > 0:
            self.run.progress("exchange", 1 - self.left / MOST_WORK)
            end = min(at + step, len(order))
            saved += kernel(*given, order, at, end)
            self.left -= (end - at) * max(each, 1)
            at = end
        return saved
