"""The loss of a full-domain mapping by a measure, and bounds on it that need no grouping."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.hierarchy import Hierarchy
from shoal.errors import PolicyError, Problem
from shoal.judging.measures.measure import CellMeasure, ClassMeasure, Measure
from shoal.judging.models.requirements import Requirements
from shoal.support.arrays import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.kernels.lattice import Gains


@dataclass(eq=False, repr=False)
class Objective(Brief):
    """The loss of mappings by one measure, and bounds on it that need no grouping."""

    measure: Measure
    k: int
    shown: list[FloatVector]
    """``[column][level]`` the total loss of all rows if none is suppressed; the sum over columns is exact for measures
    of cells, and 0 for measures of classes."""
    least: list[FloatVector]
    """A lower bound on `shown` that holds whichever rows are suppressed."""
    steps: list[FloatVector]
    """``[column][level]`` the approximate cost of one more level, which determines the order in which chains climb."""
    gain: FloatVector
    """Per node, as in the table of nodes: how much more a row loses if it is suppressed."""
    capped: list[FloatMatrix]
    """``[column][level, code]`` the same, as if no node lost more than the whole domain."""
    hierarchies: list[Hierarchy]
    exact: bool
    """A node never loses more than the whole domain, or less than a node below it."""
    unit: float = 1.0
    """What a loss of 1 is in the measure as it is reported."""

    @cached_property
    def gains(self) -> Gains:
        """Lower bounds on `gain`, for all nodes below a node at each level. O(nodes x levels)."""
        from shoal.kernels.lattice import Gains

        levels = max(hierarchy.height for hierarchy in self.hierarchies) + 1
        first: LongMatrix = np.zeros((len(self.hierarchies), levels + 1), np.int64)
        place: LongMatrix = np.zeros((len(self.hierarchies), levels), np.int64)
        nodes: list[IntVector] = []
        least: list[FloatVector] = []
        named = held = 0
        for j, (gain, hierarchy) in enumerate(zip(self.capped, self.hierarchies, strict=True)):
            for level, each in enumerate(hierarchy.levels):
                first[j, level], place[j, level] = named, held
                below = np.minimum.reduceat(gain[: level + 1], each.starts, axis=1)
                nodes.append(each.starts)
                least.append(below.ravel())
                named, held = named + len(each.starts), held + below.size
            first[j, hierarchy.height + 1] = named
        return Gains(np.concatenate(nodes), first, np.concatenate(least), place)

    @cached_property
    def _lists(self) -> tuple[list[list[float]], list[list[float]]]:
        """Both as lists, of which single numbers are read faster."""
        return [column.tolist() for column in self.shown], [column.tolist() for column in self.least]

    def additive(self, levels: LongVector) -> float:
        """Return the total loss of all rows if none is suppressed."""
        return _sum(self._lists[0], levels)

    def least_at(self, levels: LongVector) -> float:
        """Return a lower bound on it that holds whichever rows are suppressed."""
        return _sum(self._lists[1], levels)


def _sum(columns: list[list[float]], levels: LongVector) -> float:
    """Add up what each column loses at its level. Levels of sensitive columns may follow, and do not count."""
    chosen: list[int] = levels.tolist()
    return sum([column[level] for column, level in zip(columns, chosen, strict=False)])


def objective(table: CodedTable, requirements: Requirements) -> Objective:
    """Prepare the measure of the requirements for a search. O(sum of the sizes of the hierarchies' levels).

    A mapping that suppresses rows D loses the sum over all rows of the loss of their cells, plus, for each row of D,
    the difference to the whole domain. If a cell may lose more than the whole domain, or less than a smaller one
    (entropy), the bounds cap it and take the worst of all nodes below at each level.
    """
    from shoal.judging.measures import MEASURES

    measure = MEASURES[requirements.measure]()
    cells = isinstance(measure, CellMeasure)
    if not cells and not isinstance(measure, ClassMeasure):
        usable = [n for n in MEASURES if issubclass(MEASURES[n], CellMeasure | ClassMeasure)]
        raise PolicyError(
            [
                Problem(
                    "utility.measure",
                    f"'{requirements.measure}' cannot steer a search over mappings; Shoal can only report it",
                    f"use one of {', '.join(usable)}",
                )
            ]
        )
    shown: list[FloatVector] = []
    least: list[FloatVector] = []
    steps: list[FloatVector] = []
    gains: list[FloatVector] = []
    capped_gains: list[FloatMatrix] = []
    exact = True
    weights = sum(attribute.weight for attribute in table.attributes)
    for counts, attribute in zip(table.value_counts, table.attributes, strict=True):
        hierarchy = attribute.hierarchy
        if isinstance(measure, CellMeasure):
            scale = attribute.weight / (weights * table.rows) if weights else 0.0
            seen = counts if measure.needs.original else np.ones_like(counts)
            loss = np.stack(
                [
                    measure.loss(attribute, seen, *ends)
                    for ends in zip(hierarchy.low, hierarchy.high, strict=True)
                ]
            )
            ends = np.zeros(1, np.int32), np.full(1, hierarchy.size - 1, np.int32)
            worst = float(measure.loss(attribute, seen, *ends)[0])
        else:
            scale, worst, loss = 0.0, 0.0, np.zeros(hierarchy.low.shape)
        capped = np.minimum(loss, worst)
        beneath = np.maximum.accumulate(capped, axis=0)
        for level, nodes in enumerate(hierarchy.levels):
            widths = np.diff(nodes.starts, append=hierarchy.size)
            beneath[level] = np.repeat(np.maximum.reduceat(beneath[level], nodes.starts), widths)
        shown.append(np.asarray(loss @ counts * scale, np.float64))
        least.append(np.asarray(capped @ counts * scale, np.float64))
        gains.append(((worst - loss) * scale).ravel())
        capped_gains.append((worst - capped) * scale)
        exact = exact and np.array_equal(loss, beneath)
        climb = least[-1] if cells else (hierarchy.high - hierarchy.low) @ counts / max(hierarchy.size - 1, 1)
        steps.append(np.asarray(np.diff(climb), np.float64))
    unit = weights * table.rows if isinstance(measure, CellMeasure) and measure.total else 1.0
    hierarchies = [attribute.hierarchy for attribute in table.attributes]
    return Objective(
        measure,
        requirements.k,
        shown,
        least,
        steps,
        np.concatenate(gains),
        capped_gains,
        hierarchies,
        exact,
        unit,
    )
