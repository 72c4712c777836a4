"""What groups show: one cell for all rows of a group, or cells that slide around it, as value sets or ranges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import check_known
from shoal.methods.loss_tables import cell_measure
from shoal.methods.partitioning.partition import Partition
from shoal.release import Release, ValueSets
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

SETS = "sets"
"""Cells list the values that occur."""
SHOWN = (SETS, "ranges")


def check_shown(show: str) -> None:
    """Refuse an unknown representation."""
    check_known("method.show", show, SHOWN)


@dataclass(frozen=True, eq=False, repr=False)
class Windows(Brief):
    """The cells of all positions of a partition, equal ones once."""

    region: IntVector
    """Position -> region."""
    low: IntMatrix
    high: IntMatrix
    sets: ValueSets | None
    varied: BoolVector
    """Groups whose positions do not all show the same."""


def windows(table: CodedTable, partition: Partition, widths: LongVector, show: str) -> Windows:
    """Return what each position shows: the values of `widths` rows from there on, around its group.

    O(rows x columns + values in sets). Sets are numbered exactly, so equal cells are one region.
    """
    from shoal.kernels.grouping import distinct
    from shoal.kernels.ring import number_lists, window_sets

    rows, columns = len(partition.order), len(table.attributes)
    fresh = np.zeros(rows, np.bool_)
    fresh[partition.starts[:-1]] = True
    shown = []
    for j, attribute in enumerate(table.attributes):
        codes = np.take(table.quasi.wide[:, j], partition.order)
        set_of, begins, values = window_sets(codes, partition.starts, widths, attribute.hierarchy.size)
        number, first = number_lists(begins, values)
        fresh[1:] |= set_of[1:] != set_of[:-1]
        shown.append((number, set_of, first, begins, values))
    # A run of positions shows the same, so a new region can only begin where a run begins.
    runs = np.flatnonzero(fresh)
    cells = np.stack([number[set_of[runs]] for number, set_of, *_ in shown], axis=1)
    lists = [(begins[first], begins[first + 1], values) for _, _, first, begins, values in shown]
    if show == "ranges":
        cells, ends = _lift_sets(table, cells, lists)
    run_region, first_run = distinct(cells)
    region = np.repeat(run_region, np.diff(runs, append=rows))
    regions = cells[first_run]
    low = np.empty((len(regions), columns), np.int32)
    high = np.empty_like(low)
    for j, (begin, end, values) in enumerate(lists):
        if show == "ranges":
            low[:, j], high[:, j] = ends[j][0][regions[:, j]], ends[j][1][regions[:, j]]
        else:
            low[:, j], high[:, j] = values[begin[regions[:, j]]], values[end[regions[:, j]] - 1]
    group_of_run = np.searchsorted(partition.starts, runs, side="right") - 1
    varied = np.bincount(group_of_run, minlength=len(widths)) > 1
    sets = None if show == "ranges" else _value_sets(regions, lists)
    return Windows(region, low, high, sets, varied)


def homogeneous(table: CodedTable, partition: Partition, show: str) -> Release:
    """Let all rows of a group show the same."""
    shown = windows(table, partition, partition.sizes, show)
    region_of = np.full(table.rows, -1, np.int32)
    region_of[partition.order] = shown.region
    facts = {"row_groups": len(partition.sizes), "suppressed": partition.dropped}
    return Release(region_of, shown.low, shown.high, sets=shown.sets, facts=facts)


def list_values(table: CodedTable, release: Release) -> Release:
    """Let the classes of a release list the values that occur, instead of nodes and ranges. O(rows x columns)."""
    from shoal.kernels.ring import sort_by

    inside = np.flatnonzero(release.region_of >= 0).astype(np.int32)
    order = sort_by(release.region_of, len(release.low), inside)
    sizes = np.bincount(release.region_of[inside], minlength=len(release.low))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return replace(homogeneous(table, Partition(order, starts, starts), "sets"), facts=release.facts)


_Lists = list[tuple[LongVector, LongVector, IntVector]]


def _lift_sets(
    table: CodedTable, cells: IntMatrix, lists: _Lists
) -> tuple[IntMatrix, list[tuple[IntVector, IntVector]]]:
    """Replace sets by the smallest publishable ranges over them, each range once."""
    from shoal.kernels.grouping import distinct

    out = np.empty_like(cells)
    ends = []
    for j, (begin, end, values) in enumerate(lists):
        low, high = table.attributes[j].hierarchy.lift(values[begin], values[end - 1])
        number, first = distinct(np.stack([low, high], axis=1))
        out[:, j] = number[cells[:, j]]
        ends.append((low[first], high[first]))
    return out, ends


def _value_sets(regions: IntMatrix, lists: _Lists) -> ValueSets:
    """Write the sets of all regions one after the other, column by column within a region."""
    bases = np.cumsum([0, *(len(values) for _, _, values in lists)])[:-1]
    source = np.stack([lists[j][0][regions[:, j]] + bases[j] for j in range(len(lists))], axis=1).ravel()
    lengths = np.stack(
        [(lists[j][1] - lists[j][0])[regions[:, j]] for j in range(len(lists))], axis=1
    ).ravel()
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    everything = np.concatenate([values for _, _, values in lists])
    return ValueSets(start, everything[np.repeat(source - start[:-1], lengths) + np.arange(start[-1])])


def group_losses(
    table: CodedTable, partition: Partition, widths: LongVector, measure: str, show: str = SETS
) -> FloatVector:
    """Return what each group loses by a measure of cells, weighted, summed over cells, in the form that is shown."""
    from shoal.kernels.ring import window_sets

    rule, lost = cell_measure(measure), np.zeros(len(partition.order))
    for j, attribute in enumerate(table.attributes):
        codes = np.take(table.quasi.wide[:, j], partition.order)
        set_of, begins, values = window_sets(codes, partition.starts, widths, attribute.hierarchy.size)
        counts = table.value_counts[j]
        if show == SETS:
            shown = rule.set_loss(attribute, counts, begins, values)
        else:
            ends = attribute.hierarchy.lift(values[begins[:-1]], values[begins[1:] - 1])
            shown = rule.loss(attribute, counts, *ends)
        lost += (shown * attribute.weight)[set_of]
    return np.add.reduceat(lost, partition.starts[:-1])
