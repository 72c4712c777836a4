"""`Partition`: rows in a good order, split into groups; each group is generalized separately."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.models.requirements import Requirements
from shoal.methods.blocks import find_satisfying_blocks, of_size
from shoal.methods.loss_tables import cell_measure, losses_of
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

BITS = 63
"""A place on the Hilbert curve is a number of at most this many bits."""


@dataclass(frozen=True, eq=False, repr=False)
class Partition(Brief):
    """Rows group by group: group g is ``order[starts[g]:starts[g + 1]]``."""

    order: IntVector
    starts: LongVector
    blocks: LongVector
    """Where the blocks start into which generalization limits split the table; groups never cross them."""
    dropped: int = 0
    """Rows that are in no group, because their block cannot satisfy the requirements."""

    @property
    def sizes(self) -> LongVector:
        """Rows of each group."""
        return np.diff(self.starts)

    def chosen(self, blocks: BoolVector) -> Partition:
        """Return the part that lies in some of the blocks."""
        if blocks.all():
            return self
        sizes = np.diff(self.blocks)
        block_of_group = np.searchsorted(self.blocks, self.starts[:-1], side="right") - 1
        return replace(
            self,
            order=self.order[np.repeat(blocks, sizes)],
            starts=_ends(self.sizes[blocks[block_of_group]]),
            blocks=_ends(sizes[blocks]),
        )

    def join(self, other: Partition) -> Partition:
        """Return this part and another one of the same table."""
        return replace(
            self,
            order=np.concatenate([self.order, other.order]),
            starts=np.concatenate([self.starts, self.starts[-1] + other.starts[1:]]),
            blocks=np.concatenate([self.blocks, self.blocks[-1] + other.blocks[1:]]),
        )


def _ends(sizes: LongVector) -> LongVector:
    """Return where runs of these sizes start, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def blocks_first(table: CodedTable, order: IntVector, least: int, requirements: Requirements) -> Partition:
    """Put the rows of each block together, in the given order, and leave out blocks of fewer than `least` rows, and
    those that do not satisfy the requirements even as one class.
    """
    from shoal.kernels.ring import sort_by

    good = of_size(table, least, requirements)
    if not requirements.plain_k(table):
        good &= find_satisfying_blocks(table, requirements)
    if len(good) > 1:
        order = sort_by(table.block_of, len(good), order)
    if not good.all():
        order = order[good[table.block_of[order]]]
    blocks = _ends(table.blocks.rows[good])
    return Partition(order, blocks, blocks, table.rows - len(order))


def lexicographic_order(table: CodedTable) -> IntVector:
    """Sort rows by the column with the fewest values first, then by the next. O(rows x columns + codes)."""
    from shoal.kernels.ring import sort_by

    order = np.arange(table.rows, dtype=np.int32)
    for j in by_domain(table)[::-1]:
        order = sort_by(
            np.ascontiguousarray(table.quasi.wide[:, j]), table.attributes[j].hierarchy.size, order
        )
    return order


def by_domain(table: CodedTable) -> list[int]:
    """Return the columns, those with few values first: mixing values costs most there."""
    sizes = [attribute.hierarchy.size for attribute in table.attributes]
    return sorted(range(len(sizes)), key=lambda j: (sizes[j], j))


def hilbert_order(table: CodedTable) -> IntVector:
    """Sort rows along a Hilbert curve through the space of all columns, each stretched to the same length.

    Expected O(rows + distinct rows x (columns x bits + log)). If a key has no room for all columns, places are
    rounded, and rows that then coincide stay in lexicographic order.
    """
    from shoal.kernels.grouping import distinct
    from shoal.kernels.hilbert import hilbert_keys
    from shoal.kernels.ring import sort_by

    wide = [j for j in by_domain(table) if table.attributes[j].hierarchy.size > 1]
    lexicographic = lexicographic_order(table)
    if not wide:
        return lexicographic
    sizes = [table.attributes[j].hierarchy.size for j in wide]
    # With more columns than bits, those with the most values are left to the lexicographic order.
    wide, sizes = wide[:BITS], sizes[:BITS]
    bits = max(min(BITS // len(wide), int(max(sizes) - 1).bit_length()), 1)
    number, first = distinct(table.quasi.wide)
    places = np.empty((len(first), len(wide)), np.int64)
    for at, (j, size) in enumerate(zip(wide, sizes, strict=True)):
        places[:, at] = table.quasi.wide[first, j].astype(np.int64) * ((1 << bits) - 1) // (size - 1)
    keys = hilbert_keys(places, bits)
    # Distinct rows by key; equal keys in lexicographic order.
    before = np.empty(len(first), np.int64)
    before[number[lexicographic]] = np.arange(table.rows)
    rank = np.empty(len(first), np.int32)
    rank[np.lexsort((before, keys))] = np.arange(len(first), dtype=np.int32)
    order: IntVector = sort_by(rank[number], len(first), np.arange(table.rows, dtype=np.int32))
    return order


def sort_codes(table: CodedTable, order: IntVector, columns: list[int] | None = None) -> IntMatrix:
    """Return ``[columns, rows]`` codes in the given order of rows."""
    chosen = list(range(len(table.attributes))) if columns is None else columns
    codes = np.empty((len(chosen), len(order)), np.int32)
    for at, j in enumerate(chosen):
        np.take(table.quasi.wide[:, j], order, out=codes[at])
    return codes


def lexicographic_partition(table: CodedTable, k: int, requirements: Requirements) -> Partition:
    """Split by one column after the other (Wong, Mamoulis, Cheung 2010, figure 8). O(rows x columns)."""
    from shoal.kernels.ring import lexicographic_groups

    whole = blocks_first(table, lexicographic_order(table), k, requirements)
    starts = lexicographic_groups(sort_codes(table, whole.order, by_domain(table)), whole.blocks, k)
    return Partition(whole.order, starts, whole.blocks, whole.dropped)


def hilbert_partition(table: CodedTable, k: int, requirements: Requirements, *, sets: bool) -> Partition:
    """Split the Hilbert order where it loses least (Ghinita et al. 2007). O(rows x k x columns)."""
    from shoal.kernels.hilbert import best_groups

    whole = blocks_first(table, hilbert_order(table), k, requirements)
    measure = requirements.measure
    starts = best_groups(
        sort_codes(table, whole.order),
        whole.blocks,
        k,
        losses_of(table, measure),
        _sets(table, measure, sets),
    )
    return Partition(whole.order, starts, whole.blocks, whole.dropped)


def _sets(table: CodedTable, measure: str, listed: bool) -> Any:
    """Return how to measure groups that list their values: by values (LM, GCP), by entropy, or by their ranges."""
    from shoal.kernels.hilbert import BITS, RANGES, VALUES, Sets

    rule = cell_measure(measure)
    counts = np.concatenate(table.value_counts).astype(np.float64)
    logs = counts * np.log2(np.maximum(counts, 1.0))
    units = [attribute.weight for attribute in table.attributes]
    how = RANGES if not listed or not rule.sets_lose_less else BITS if rule.needs.original else VALUES
    if how == VALUES:
        units = [a.weight / max(a.hierarchy.size - 1, 1) for a in table.attributes]
    return Sets(how, np.array(units), counts, logs)
