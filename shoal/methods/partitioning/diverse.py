"""Parts in which sensitive values are spread out: cut along a good order of rows, value by value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor

import numpy as np

from shoal.arrays import IntVector, LongVector
from shoal.errors import InfeasibleError
from shoal.methods.partitioning.partition import Partition, by_domain, sorted_codes
from shoal.models.alpha_k import AlphaK
from shoal.models.base import GroupModel, SensitiveModel
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import Diversity, RecursiveDiversity
from shoal.models.p_sensitive import PSensitive
from shoal.models.requirements import Requirements
from shoal.table import CodedTable
from shoal.table.groups import group


@dataclass(frozen=True)
class Spreading:
    """In every part, no value of a sensitive column may have more than 1/l of the rows."""

    l: int  # noqa: E741
    column: int
    column_name: str


def spread_asked(requirements: Requirements) -> Spreading | None:
    """Return the spread that is enough for all models beside k, or None where no such spread is known."""
    found: list[Spreading] = []
    for model in requirements.group_models:
        if isinstance(model, KAnonymity):
            continue
        needed = _needed(model)
        if needed is None or not isinstance(model, SensitiveModel):
            return None
        found.append(Spreading(needed, model.column, model.column_name))
    if not found or len({spread.column for spread in found}) > 1:
        return None
    return max(found, key=lambda spread: spread.l)


def _needed(model: GroupModel) -> int | None:
    """How many equally frequent values satisfy a model."""
    if isinstance(model, RecursiveDiversity):
        # r1 < c (r_l + ..): with m equal counts, 1 < c (m - l + 1).
        return model.l + floor(1 / model.c + 1e-9)
    if isinstance(model, Diversity):
        return ceil(model.required - 1e-9)
    if isinstance(model, PSensitive):
        return model.p
    if isinstance(model, AlphaK):
        return ceil(1 / model.alpha - 1e-9)
    return None


def spread_out(
    table: CodedTable, parts: Partition, spread: Spreading, k: int, requirements: Requirements, *, cut: bool
) -> Partition:
    """Cut parts so that each has k rows, and no value more than 1/l of them. O(rows) for most orders.

    With `cut`, parts are blocks in lexicographic order, which are cut by columns as long as parts stay diverse.
    Pieces of l or a few more rows with different values are then taken in the order of the rows, and as many
    neighbouring pieces as k takes make a part.
    """
    parts, values = _diverse_blocks(table, parts, spread, requirements)
    parts = _pieces(table, parts, values, spread.l, cut)
    together = -(-k // spread.l)
    if together == 1:
        return parts
    kept = []
    for begin, end in zip(parts.blocks, parts.blocks[1:], strict=False):
        inside = parts.starts[(parts.starts >= begin) & (parts.starts < end)]
        kept.append(inside[::together][: max(len(inside) // together, 1)])
    return replace(parts, starts=np.concatenate([*kept, parts.blocks[-1:]]))


def all_different(
    table: CodedTable, parts: Partition, spread: Spreading, k: int, requirements: Requirements, *, cut: bool
) -> Partition | None:
    """Cut parts as `spread_out` does, but into ones of max(k, l) rows or more that all have different values.

    None where some value is too frequent for parts of k, though not for parts of l.
    """
    parts, values = _diverse_blocks(table, parts, spread, requirements)
    least = max(k, spread.l)
    if (_most(parts.blocks, values) * least > np.diff(parts.blocks)).any():
        return None
    return _pieces(table, parts, values, least, cut)


def _pieces(table: CodedTable, parts: Partition, values: IntVector, least: int, cut: bool) -> Partition:
    from shoal.kernels.ring import diverse_parts, diverse_pieces

    starts = parts.starts
    if cut:
        codes = sorted_codes(table, parts.order, by_domain(table))
        starts = diverse_parts(codes, values, parts.blocks, least, least)
    elif (_most(starts, values) * least > parts.sizes).any():
        # Parts that were made for less: only their blocks are known to be diverse.
        starts = parts.blocks
    # Longer pieces would be rings of more than `least` rows, but their rows would lie farther apart.
    at, starts = diverse_pieces(values, starts, least, least)
    return replace(parts, order=parts.order[at], starts=starts)


def _diverse_blocks(
    table: CodedTable, parts: Partition, spread: Spreading, requirements: Requirements
) -> tuple[Partition, IntVector]:
    """Leave out blocks that cannot be diverse, as far as suppression permits; return the sensitive values too."""
    values = np.take(table.sensitive_codes[:, spread.column], parts.order)
    most, sizes = _most(parts.blocks, values), np.diff(parts.blocks)
    good = most * spread.l <= sizes
    if good.all():
        return parts, values
    dropped = parts.dropped + int(sizes[~good].sum())
    if dropped > requirements.suppressible(table.rows) or not good.any():
        worst = int(np.argmax(most / sizes))
        raise InfeasibleError(
            f"no value of `{spread.column_name}` may have more than 1/{spread.l} of the rows, but one has "
            f"{most[worst] / sizes[worst]:.1%}"
            + (
                f" in a block of {sizes[worst]:,} rows that generalization limits make"
                if len(sizes) > 1
                else ""
            )
            + f"; {dropped:,} rows would have to be suppressed, {requirements.suppressible(table.rows):,} may be: "
            "ask for less, loosen limits, or permit more suppression"
        )
    keep = np.repeat(good, sizes)
    blocks = np.concatenate([[0], np.cumsum(sizes[good])]).astype(np.int64)
    block_of_part = np.searchsorted(parts.blocks, parts.starts[:-1], side="right") - 1
    kept_sizes = parts.sizes[good[block_of_part]]
    starts = np.concatenate([[0], np.cumsum(kept_sizes)]).astype(np.int64)
    return Partition(parts.order[keep], starts, blocks, dropped), values[keep]


def _most(starts: LongVector, values: IntVector) -> LongVector:
    """How often the most frequent value of each run of rows occurs."""
    runs = len(starts) - 1
    run = np.repeat(np.arange(runs), np.diff(starts))
    width = int(values.max(initial=0)) + 1
    cells, counts = np.unique(run * width + values, return_counts=True)
    most = np.zeros(runs, np.int64)
    np.maximum.at(most, cells // width, counts)
    return most


def merged_until_satisfied(table: CodedTable, parts: Partition, requirements: Requirements) -> Partition:
    """Merge parts with their neighbours until all satisfy the group models. O(rows) per round, few rounds."""
    starts = parts.starts
    while not requirements.plain_k:
        count = len(starts) - 1
        group_of = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts))
        groups = group(
            group_of, count, table.sensitive_codes[parts.order], table.sensitive, table.sensitive_counts
        )
        failing = np.flatnonzero(~requirements.satisfied(groups))
        if not len(failing):
            return replace(parts, starts=starts)
        ends_block = np.isin(starts[failing + 1], parts.blocks)
        gone = np.where(ends_block, failing, failing + 1)
        keep = np.ones(len(starts), np.bool_)
        keep[gone] = False
        keep |= np.isin(starts, parts.blocks)
        if keep.all():
            titles = " and ".join(model.title for model in requirements.group_models)
            raise InfeasibleError(f"even all rows that may share a class together do not reach {titles}")
        starts = starts[keep]
    return parts
