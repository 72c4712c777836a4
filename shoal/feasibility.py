"""Reasons why no release of a table can satisfy its requirements, found before any work starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.arrays import LongVector
from shoal.groups import group
from shoal.requirements import Requirements
from shoal.table import CodedTable

_BLOCKS_NAMED = 5


def explain(table: CodedTable, requirements: Requirements) -> list[str]:
    """Return every reason known, in words; an empty list where nothing speaks against the requirements.

    Every reason is a proof, but there need not be one: a search may still fail. O(rows).
    """
    suppressible = requirements.suppressible(table.rows)
    reasons = [model.infeasible(table, suppressible) for model in requirements.models]
    found = [reason for reason in reasons if reason is not None]
    return found or _blocks(table, requirements, suppressible)


def _blocks(table: CodedTable, requirements: Requirements, suppressible: int) -> list[str]:
    """Return the reason that lies in generalization limits: blocks that cannot satisfy the models alone.

    A block whose rows all share one class fails a monotone model only if every way to split it does, so some
    of its rows must go; all of them, where no part of it satisfies the model either.
    """
    block_of = table.block_of
    blocks = int(block_of.max(initial=0)) + 1
    if blocks == 1:
        return []
    groups = group(block_of, blocks, table.sensitive_codes, table.sensitive, table.sensitive_counts)
    lost = np.zeros(blocks, np.int64)
    titles = []
    for model in requirements.group_models:
        short = ~model.satisfied(groups) if model.monotone else np.zeros(blocks, np.bool_)
        hopeless = model.hopeless(groups)
        if short.any() or hopeless.any():
            titles.append(model.title)
        lost = np.maximum(lost, np.where(hopeless, groups.size, short))
    needed = int(lost.sum())
    if needed <= suppressible:
        return []
    worst = np.flatnonzero(lost)
    worst = worst[np.argsort(-lost[worst], kind="stable")]
    first_row = np.unique(block_of, return_index=True)[1]
    shown = [
        f"{_block_name(table, int(first_row[block]))} ({groups.size[block]:,} rows)"
        for block in worst[:_BLOCKS_NAMED]
    ]
    more = f" and {len(worst) - _BLOCKS_NAMED:,} more" if len(worst) > _BLOCKS_NAMED else ""
    return [
        f"generalization limits part the table into {blocks:,} blocks that can share no class, and "
        f"{len(worst):,} of them cannot satisfy {' and '.join(titles)} alone: {'; '.join(shown)}{more}. "
        f"At least {needed:,} rows would have to be suppressed, {suppressible:,} may be: loosen the limits, or "
        f"permit more suppression"
    ]


def _block_name(table: CodedTable, row: int) -> str:
    """Name the highest permitted nodes of a row, in the columns whose limit parts the table."""
    names = []
    for index, attribute in enumerate(table.attributes):
        hierarchy = attribute.hierarchy
        if len(hierarchy.levels[-1].starts) > 1:
            code = table.codes[row : row + 1, index]
            node = hierarchy.names(hierarchy.low[-1, code], hierarchy.high[-1, code], hierarchy.height)[0]
            names.append(f"{attribute.name} = {'null' if node is None else node}")
    return ", ".join(names)


@dataclass(frozen=True)
class SensitivityBound:
    """How many p-sensitive classes a table can have at most."""

    classes: int
    """Most classes; 0 where p-sensitive k-anonymity is out of reach."""
    hardest: int
    """The sensitive column that is hardest to make sensitive: the one with the smallest bound."""
    i_values: tuple[int, ...]
    """Per column, how many of the p values of a class come from its rarer values when the bound is reached:
    the i at which the minimum lies; 0 where p is 1."""


def most_sensitive_classes(counts: Sequence[LongVector], p: int, k: int = 1) -> SensitivityBound:
    """Bound the number of classes of a p-sensitive k-anonymous release without suppression.

    `counts` holds, per sensitive column, how often each value occurs. Each class needs p different values, at
    most p - i of them among the p - i most frequent ones, so at least i of its rows come from the rest: with
    v classes i v <= n - (rows of the p - i most frequent), for i = 1..p-1, in every column. And
    each class has k rows, or p where k is less. O(values log values).
    """
    rows = int(counts[0].sum())
    bounds, i_values = [], []
    for column in counts:
        cumulated = np.cumsum(np.sort(column[column > 0])[::-1])
        if len(cumulated) < p:
            bounds.append(Fraction(0))
            i_values.append(0)
            continue
        # Compared before rounding: at this i the p - i most frequent values all have enough rows.
        best = min(
            ((Fraction(rows - int(cumulated[p - i - 1]), i), i) for i in range(1, p)),
            default=(Fraction(rows), 0),
        )
        bounds.append(best[0])
        i_values.append(best[1])
    hardest = min(range(len(bounds)), key=lambda column: bounds[column])
    return SensitivityBound(min(int(bounds[hardest]), rows // max(k, p)), hardest, tuple(i_values))
