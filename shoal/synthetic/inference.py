"""Inference: anyone who knows all other columns of a person guesses a column from the nearest synthetic row."""

from __future__ import annotations

import numpy as np

from shoal.support.arrays import BoolVector, FloatVector, IntVector, LongVector
from shoal.synthetic.distances import Nearest
from shoal.synthetic.rates import INFERENCE, Attempt, Rate
from shoal.synthetic.tables import Column, Rows, Tables

TOLERANCE = 0.05
"""A guessed number is right if it differs from the true one by at most this share of it, as in Giomi et al."""
HUGE = 1e300
"""Larger numbers, and infinite ones, are right only if they are equal."""
ROUNDING = 1e-9
"""A guess at the very end of the tolerance is right, however the difference was rounded."""
SHOWN = 20


def infer(
    tables: Tables,
    secrets: list[int],
    targets: tuple[LongVector, LongVector | None],
    nearest: tuple[Nearest, Nearest | None],
) -> list[Attempt]:
    """Guess each of the columns `secrets` for the targets; the sets of `nearest` after the first leave these out."""
    return [
        _infer(
            tables, column, targets, (nearest[0].row[at], None if nearest[1] is None else nearest[1].row[at])
        )
        for at, column in enumerate(secrets, start=1)
    ]


def _infer(
    tables: Tables,
    column: int,
    targets: tuple[LongVector, LongVector | None],
    found: tuple[LongVector, LongVector | None],
) -> Attempt:
    own = tables.columns[column]
    if len(tables.columns) < 2:
        return Attempt(
            question=INFERENCE,
            name=own.name,
            refused="nothing else is known of a person: there is one column",
        )
    synthetic = tables.synthetic.codes[column]

    def outcome(rows: Rows, chosen: LongVector, nearest: LongVector) -> BoolVector:
        return guess_is_right(own, rows.codes[column][chosen], synthetic[nearest])

    right = outcome(tables.original, targets[0], found[0])
    control = None
    if tables.holdout is not None and targets[1] is not None and found[1] is not None:
        control = Rate.of_hits(outcome(tables.holdout, targets[1], found[1]))
    truth = tables.original.codes[column][targets[0]]
    return Attempt(
        question=INFERENCE,
        name=own.name,
        train=Rate.of_hits(right),
        control=control,
        baseline=float(blind_success(own, truth, synthetic).mean()),
        exposed=tuple(
            (int(row), "the nearest synthetic row shows the value")
            for row in targets[0][np.flatnonzero(right)[:SHOWN]]
        ),
    )


def is_measured(column: Column) -> bool:
    """Return whether guesses may differ a little: for numbers, not for dates, whose zero means nothing."""
    return column.is_number and bool(column.values.dtype.is_numeric())


def guess_is_right(column: Column, truth: IntVector, guess: IntVector) -> BoolVector:
    """Return whether guessed codes are right: equal, or numbers within the tolerance of the true number."""
    right: BoolVector = truth == guess
    if is_measured(column) and len(column.values):
        line = column.numbers.to_numpy()
        known = np.abs(line) < HUGE
        both = (truth >= 0) & (guess >= 0) & known[truth] & known[guess]
        value = np.where(known, line, 0.0)
        near = np.abs(value[guess] - value[truth]) <= TOLERANCE * (1 + ROUNDING) * np.abs(value[truth])
        right = right | (both & near)
    return right


def blind_success(column: Column, truth: IntVector, synthetic: IntVector) -> FloatVector:
    """Return, per true code, how likely the value of a random synthetic row is a right guess. O(rows + values)."""
    counts = np.bincount(synthetic + 1, minlength=len(column.values) + 1)
    if not is_measured(column) or not len(column.values):
        return np.asarray(counts[truth + 1] / len(synthetic))
    line, upto = column.numbers.to_numpy(), np.append(0, np.cumsum(counts[1:]))
    finite = np.abs(line) < HUGE
    value = np.where(finite, line, 0.0)[truth]
    room = TOLERANCE * (1 + ROUNDING) * np.abs(value)
    first = np.searchsorted(line, value - room, side="left")
    last = np.searchsorted(line, value + room, side="right")
    first, last = np.where(finite[truth], first, truth), np.where(finite[truth], last, truth + 1)
    # Rounding of the ends must not lose the value itself.
    first, last = np.minimum(first, truth), np.maximum(last, truth + 1)
    return np.asarray(
        np.where(truth < 0, counts[0], upto[last] - upto[np.maximum(first, 0)]) / len(synthetic)
    )
