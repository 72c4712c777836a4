"""The loss of a full-domain mapping by a measure, and bounds on it that need no grouping."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shoal.arrays import FloatVector, LongVector
from shoal.brief import Brief
from shoal.errors import PolicyError, Problem
from shoal.measures.base import CellMeasure, ClassMeasure, Measure
from shoal.models.requirements import Requirements
from shoal.table import CodedTable


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
    least_gain: FloatVector
    """A lower bound on `gain`, also for all nodes below the node."""
    unit: float = 1.0
    """What a loss of 1 is in the measure as it is reported."""
    exact: bool = field(init=False)
    """Both gains are equal."""

    def __post_init__(self) -> None:
        self.exact = np.array_equal(self.gain, self.least_gain)

    def additive(self, levels: LongVector) -> float:
        """Return the total loss of all rows if none is suppressed."""
        return float(sum(column[level] for column, level in zip(self.shown, levels.tolist(), strict=True)))


def objective(table: CodedTable, requirements: Requirements) -> Objective:
    """Prepare the measure of the requirements for a search. O(sum of the sizes of the hierarchies' levels).

    A mapping that suppresses rows D loses the sum over all rows of the loss of their cells, plus, for each row of D,
    the difference to the whole domain. If a cell may lose more than the whole domain, or less than a smaller one
    (entropy), the bounds cap it and take the worst of all nodes below.
    """
    from shoal.measures import MEASURES

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
    gains, least_gains = [], []
    weights = sum(attribute.weight for attribute in table.attributes)
    for counts, attribute in zip(table.value_counts, table.attributes, strict=True):
        hierarchy = attribute.hierarchy
        if isinstance(measure, CellMeasure):
            scale = attribute.weight / (weights * table.rows) if weights else 0.0
            seen = counts if measure.needs_original else np.ones_like(counts)
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
        least_gains.append(((worst - beneath) * scale).ravel())
        climb = least[-1] if cells else (hierarchy.high - hierarchy.low) @ counts / max(hierarchy.size - 1, 1)
        steps.append(np.asarray(np.diff(climb), np.float64))
    unit = weights * table.rows if isinstance(measure, CellMeasure) and measure.total else 1.0
    return Objective(
        measure, requirements.k, shown, least, steps, np.concatenate(gains), np.concatenate(least_gains), unit
    )
