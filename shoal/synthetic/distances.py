"""The nearest rows of a table, by Gower's distance: the sum of differences of numbers over their range, and one for
each category that differs, and for null against a value.

Distances are whole numbers of 1/16,777,216 of a range (coarser with more than 64 columns), so that equal distances are
equal, and no rounding decides between rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.support.arrays import BoolVector, IntMatrix, LongMatrix
from shoal.support.brief import Brief
from shoal.support.machine.threads import in_threads, processors
from shoal.support.run import Run

TARGETS = 128
"""Targets that a thread compares with all rows at a time; between them, work can be stopped."""


@dataclass(frozen=True, eq=False, repr=False)
class Nearest(Brief):
    """The nearest row of each target, in all columns and in all but one of some columns."""

    distance: IntMatrix
    """``[sets, targets]`` the first set is all columns."""
    row: LongMatrix
    """The first row at this distance."""


def find_nearest(
    rows: IntMatrix,
    targets: IntMatrix,
    numbers: BoolVector,
    unit: int,
    run: Run,
    stage: tuple[str, float, float],
    left_out: Sequence[int] = (),
) -> Nearest:
    """Find the nearest of the `rows` for all `targets`, both ``[columns, ..]``. `stage`: a name for the progress, and
    the shares of the whole work at its begin and end. O(targets x rows x columns), in threads.
    """
    from shoal.kernels.synthetic import BLOCK, nearest_rows

    many = targets.shape[1]
    omitted, nothing = np.array(left_out, np.int64), np.zeros(BLOCK, np.int32)

    def compare(start: int) -> tuple[IntMatrix, LongMatrix]:
        aim = np.ascontiguousarray(targets[:, start : start + TARGETS])
        shape = len(left_out) + 1, aim.shape[1]
        best, which = np.full(shape, np.iinfo(np.int32).max, np.int32), np.full(shape, -1, np.int64)
        nearest_rows(rows, numbers, unit, aim, omitted, nothing, best, which)
        return best, which

    name, begin, end = stage
    starts = list(range(0, many, TARGETS))
    step = processors()
    found = [compare(many)]  # of no target
    for at in range(0, len(starts), step):
        run.progress(name, begin + (end - begin) * at / len(starts))
        found += in_threads(compare, starts[at : at + step])
    return Nearest(*(np.concatenate(parts, axis=1) for parts in zip(*found, strict=True)))
