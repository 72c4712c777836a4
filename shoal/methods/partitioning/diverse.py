"""Groups in which no sensitive value is too frequent, made from rows in a good order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import LimitError
from shoal.judging.models.model import SensitiveModel, Spreading
from shoal.judging.models.requirements import Requirements
from shoal.methods.partitioning.partition import Partition, by_domain, sort_codes
from shoal.support.arrays import BoolVector, IntVector, LongVector

LEFT_OVER = 8
"""Runs of rows that are cut off to make a size even have at least this many times k rows."""


def spread_asked(requirements: Requirements) -> Spreading | None:
    """Return a spread that satisfies all models other than k, or None if no such spread is known."""
    # p-sensitivity limits no share of a value: groups are merged until they have p values.
    rules = requirements.beyond_k
    found = [rule.spread for rule in rules if isinstance(rule, SensitiveModel) and rule.spread is not None]
    if len(found) < len(rules) or len({spread.column for spread in found}) > 1:
        return None
    return max(found, key=lambda spread: spread.l, default=None)


def spread_out(
    table: CodedTable,
    partition: Partition,
    spread: Spreading,
    k: int,
    *,
    cut: bool,
) -> Partition:
    """Split groups so that each has k rows, and no value has more than 1/l of them. O(rows) for most orders.

    All blocks must be `even`. With `cut`, the groups are blocks in lexicographic order, which are split by columns as
    long as they stay diverse. Then pieces of l or a few more rows with different values are made in the order of the
    rows, and neighbouring pieces are joined until they have k rows.
    """
    partition = _pieces(table, partition, _values(table, partition, spread), spread.l, cut)
    together = -(-k // spread.l)
    if together == 1:
        return partition
    kept = []
    for begin, end in zip(partition.blocks, partition.blocks[1:], strict=False):
        inside = partition.starts[(partition.starts >= begin) & (partition.starts < end)]
        kept.append(inside[::together][: max(len(inside) // together, 1)])
    return replace(partition, starts=np.concatenate([*kept, partition.blocks[-1:]]))


def all_different(
    table: CodedTable,
    partition: Partition,
    spread: Spreading,
    k: int,
    *,
    cut: bool,
) -> Partition | None:
    """Split groups as `spread_out` does, but into groups of at least max(k, l) rows that all have different values.

    None if some value is too frequent for groups of k, though not for groups of l.
    """
    values = _values(table, partition, spread)
    least = max(k, spread.l)
    if (_most(partition.blocks, values) * least > np.diff(partition.blocks)).any():
        return None
    return _pieces(table, partition, values, least, cut)


def _pieces(table: CodedTable, partition: Partition, values: IntVector, least: int, cut: bool) -> Partition:
    from shoal.kernels.ring import diverse_groups, diverse_pieces

    starts = partition.starts
    if cut:
        codes = sort_codes(table, partition.order, by_domain(table))
        starts = diverse_groups(codes, values, partition.blocks, least, least)
    elif (_most(starts, values) * least > partition.sizes).any():
        # These groups were made for a smaller l: only their blocks are known to be diverse.
        starts = partition.blocks
    # Longer pieces would be rings of more than `least` rows, but their rows would lie farther apart.
    at, starts = diverse_pieces(values, starts, least, least)
    return replace(partition, order=partition.order[at], starts=starts)


def _values(table: CodedTable, partition: Partition, spread: Spreading) -> IntVector:
    """Return the sensitive values in the order of a partition."""
    values: IntVector = np.take(table.secrets.wide[:, spread.column], partition.order)
    return values


def even(table: CodedTable, partition: Partition, spread: Spreading) -> BoolVector:
    """Return the blocks in which no value has more than 1/l of the rows, so that values can be spread. O(rows)."""
    most = _most(partition.blocks, _values(table, partition, spread))
    return np.asarray(most * spread.l <= np.diff(partition.blocks))


def _most(starts: LongVector, values: IntVector) -> LongVector:
    """How often the most frequent value of each run of rows occurs."""
    runs = len(starts) - 1
    run = np.repeat(np.arange(runs), np.diff(starts))
    width = int(values.max(initial=0)) + 1
    cells, counts = np.unique(run * width + values, return_counts=True)
    most = np.zeros(runs, np.int64)
    np.maximum.at(most, cells // width, counts)
    return most


def _apart(bounds: LongVector) -> LongVector:
    """Keep every other one of each run of neighbouring bounds."""
    begins = np.flatnonzero(np.diff(bounds, prepend=-2) > 1)
    place = np.arange(len(bounds)) - np.repeat(begins, np.diff(np.append(begins, len(bounds))))
    return np.asarray(bounds[place % 2 == 0])


def halve_groups(table: CodedTable, whole: Partition, k: int, requirements: Requirements) -> Partition:
    """Halve blocks in the order of their rows, as long as both halves satisfy the group models. O(rows log rows).

    The choice of groups says nothing about who has which value. Groups that were halved show their values half by half,
    so only a group that stayed whole may tell: that one of its halves failed. Models look at how often values occur, so
    this is as true if two people of a half change places, or both halves do, which are equally large. By such changes
    everybody gets everywhere: each person of the group has a value with the same probability, its share of the group.

    Sizes must be even for that, so a block is cut into multiples of powers of two first, by its number of rows alone.
    """
    begins, depths = _evenly(whole.blocks, k)
    done: list[LongVector] = []
    ends = np.concatenate([begins[1:], whole.blocks[-1:]])
    good = _good(table, whole, begins, ends, requirements)
    if not good.all():
        raise LimitError(
            f"blind groups begin with {len(begins):,} runs of rows, and {int((~good).sum()):,} of them fail the "
            "models; set blind = false, or ask for less"
        )
    while len(begins):
        middles = (begins + ends) // 2
        split = depths > 0
        split[split] = _good(table, whole, begins[split], middles[split], requirements)
        split[split] = _good(table, whole, middles[split], ends[split], requirements)
        done.append(begins[~split])
        begins, ends, depths = (
            np.concatenate([begins[split], middles[split]]),
            np.concatenate([middles[split], ends[split]]),
            np.tile(depths[split] - 1, 2),
        )
    return replace(whole, starts=np.concatenate([np.sort(np.concatenate(done)), whole.blocks[-1:]]))


def _evenly(blocks: LongVector, k: int) -> tuple[LongVector, LongVector]:
    """Cut blocks into runs that can be halved down to k rows or a little more; return where they begin, and how often.

    What is left over of a block must be long enough to be cut itself, or nothing.
    """
    begins, depths = [], []
    for block, end in zip(blocks[:-1].tolist(), blocks[1:].tolist(), strict=True):
        begin = block
        while begin < end:
            rows = end - begin
            depth = max(rows // max(k, 2), 1).bit_length() - 1
            while depth and 0 < rows % (1 << depth) < LEFT_OVER * k:
                depth -= 1
            begins.append(begin)
            depths.append(depth)
            begin += rows >> depth << depth
    return np.array(begins, np.int64), np.array(depths, np.int64)


def _good(
    table: CodedTable, whole: Partition, begins: LongVector, ends: LongVector, requirements: Requirements
) -> BoolVector:
    """Return which runs of rows satisfy the group models."""
    sizes = ends - begins
    rows = whole.order[np.repeat(begins - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))]
    groups = table.group_rows(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), len(sizes), rows)
    return requirements.holds_in(groups)


def merge_until_satisfied(table: CodedTable, partition: Partition, requirements: Requirements) -> Partition:
    """Merge groups with their neighbours until all satisfy the group models. O(rows) per round, few rounds.

    Every block as one group satisfies them (see `blocks_first`), so this ends. If people have several rows, most groups
    of k rows fail at first, so at most two are merged in a round: otherwise long runs would become one group.
    """
    starts = partition.starts
    while not requirements.plain_k(table):
        count = len(starts) - 1
        group_of = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts))
        groups = table.group_rows(group_of, count, partition.order)
        failing = np.flatnonzero(~requirements.holds_in(groups))
        if not len(failing):
            return replace(partition, starts=starts)
        ends_block = np.isin(starts[failing + 1], partition.blocks)
        gone = np.where(ends_block, failing, failing + 1)
        if table.shared is not None:
            gone = _apart(np.unique(gone))
        keep = np.ones(len(starts), np.bool_)
        keep[gone] = False
        keep |= np.isin(starts, partition.blocks)
        starts = starts[keep]
    return partition
