"""How a table is cut into parts: boxes of mondrian's first cuts, small neighbours together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem
from shoal.judging.measures import MEASURES, CellMeasure
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import Method, Parts
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.support.arrays import LongVector
from shoal.support.machine.memory import memory_left
from shoal.support.machine.threads import processors
from shoal.support.run import Division, Run


def part_size(method: Method, table: CodedTable, division: Division) -> int:
    """Return how many rows a part of the table has at most; all rows if it is not divided."""
    how, asked = method.divides, division.part_rows
    if isinstance(how, str) or asked == 0 or table.counting.whole is not None:
        return table.rows
    if table.indivisible:
        if asked is None:
            return table.rows
        message = f"the table cannot be divided: {table.indivisible}"
        raise PolicyError([Problem("engine.part_rows", message, "leave it out")])
    if asked is not None:
        return min(asked, table.rows)
    if how.whole is None or table.rows <= how.whole:
        return table.rows
    return min(how.rows, _count_fitting_rows(how, division))


def _count_fitting_rows(how: Parts, division: Division) -> int:
    """Return how many rows fit into half of the memory that is left, with a part in each process."""
    left = memory_left()
    jobs = division.jobs or processors()
    return how.rows if left is None else max(left // 2 // jobs // how.memory, 1000)


def parts_of(table: CodedTable, requirements: Requirements, rows: int, run: Run) -> list[LongVector]:
    """Return the rows of each part, ascending, at most `rows` of them wherever cuts allow it. Each part consists of
    boxes that satisfy the requirements as one class each, so a method that begins with whole blocks finds a release of
    it. Rows in blocks that do not satisfy them are in no part.

    Raises InfeasibleError or LimitError if more rows would be in no part than the policy allows.
    """
    if not isinstance(MEASURES[requirements.measure](), CellMeasure):
        requirements = replace(requirements, measure=MEASURES.default)
    box_of = Mondrian().first_boxes(table, requirements, rows, run)
    sizes = np.bincount(box_of[box_of >= 0])
    part_of_box = _bundle_boxes(sizes, rows)
    kept = np.flatnonzero(box_of >= 0)
    # The narrowest type: numpy sorts short integers in linear time.
    part_of = part_of_box.astype(np.min_scalar_type(int(part_of_box.max())))[box_of[kept]]
    order = np.argsort(part_of, kind="stable")
    return np.split(kept[order], np.cumsum(np.bincount(part_of))[:-1])


def _bundle_boxes(sizes: LongVector, rows: int) -> LongVector:
    """Put neighbouring boxes together as long as they have at most so many rows. O(boxes)."""
    found = np.zeros(len(sizes), np.int64)
    part, inside = 0, 0
    for box, size in enumerate(sizes.tolist()):
        if inside and inside + size > rows:
            part, inside = part + 1, 0
        found[box] = part
        inside += size
    return found


def shares_of(table: CodedTable, requirements: Requirements, parts: list[LongVector]) -> list[Requirements]:
    """Return what each part has to satisfy: rows that may be suppressed are divided by size and rounded down, after
    those that are in no part."""
    kept = sum(len(rows) for rows in parts)
    left = max(requirements.suppressible(table.rows) - (table.rows - kept), 0)
    return [replace(requirements, suppression=left * len(rows) // kept / len(rows)) for rows in parts]
