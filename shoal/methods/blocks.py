"""Blocks: generalization limits split a table into them. Rows of different blocks can never share a class."""

from __future__ import annotations

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import InfeasibleError, LimitError
from shoal.judging.models.feasibility import refusal
from shoal.judging.models.requirements import Requirements
from shoal.support.arrays import BoolVector, IntVector, LongVector
from shoal.support.wording import more_suppression


def people_or_rows(table: CodedTable) -> str:
    """Name what classes are made of: people, if some of them have several rows."""
    return "rows" if table.counting.adds_up else "people"


def find_satisfying_blocks(table: CodedTable, requirements: Requirements) -> BoolVector:
    """Return which blocks satisfy the requirements as one class; the rows of the others are suppressed.

    Raises InfeasibleError or LimitError if more rows would have to be suppressed than the policy allows.
    """
    good = requirements.holds_in(table.blocks)
    if _too_many(table, good, requirements):
        # Without some of its rows, or split, or without classes, a block might still satisfy them.
        certain = requirements.suppressible(table.rows) == 0 and requirements.monotone(table)
        kind = InfeasibleError if certain and not requirements.without_classes else LimitError
        raise kind(refusal(table, requirements))
    return good


def whole_blocks_suffice(table: CodedTable, requirements: Requirements) -> bool:
    """Return whether blocks as one class each satisfy the requirements, except for rows that may be suppressed. Then
    every method that begins with whole blocks finds a release. O(rows)."""
    return not _too_many(table, requirements.holds_in(table.blocks), requirements)


def of_size(table: CodedTable, least: int, requirements: Requirements) -> BoolVector:
    """Return which blocks have at least `least` people; the rows of the others are suppressed.

    Raises InfeasibleError if more rows would have to be suppressed than the policy allows.
    """
    good = np.asarray(table.blocks.size >= least)
    if not _too_many(table, good, requirements):
        return good
    rows, dropped = table.rows, int(table.blocks.rows[~good].sum())
    if len(good) == 1:
        raise InfeasibleError(
            f"the policy asks for classes of {least:,} {people_or_rows(table)}, but the table has {rows:,} rows"
            f"{table.counting.suffix}"
        )
    people = "" if table.counting.adds_up else " people"
    raise InfeasibleError(
        f"generalization limits keep {dropped:,} of {rows:,} rows in blocks of fewer than {least:,}{people}, and "
        f"{requirements.suppressible(rows):,} rows may be suppressed: loosen the limits, or {more_suppression()}"
    )


def _too_many(table: CodedTable, good: BoolVector, requirements: Requirements) -> bool:
    dropped = int(table.blocks.rows[~good].sum())
    return dropped > requirements.suppressible(table.rows) or dropped == table.rows


def rows_by_block(table: CodedTable, good: BoolVector) -> tuple[IntVector, LongVector]:
    """Return the rows of some blocks, block after block in the order of the table, and where each block begins."""
    starts = np.concatenate([[0], np.cumsum(table.blocks.rows[good])]).astype(np.int64)
    if good.all() and len(good) == 1:
        return np.arange(table.rows, dtype=np.int32), starts
    order = np.argsort(table.block_of, kind="stable").astype(np.int32)
    return order[good[table.block_of[order]]], starts
