"""What columns lose by showing a node or a range, as whole numbers in arrays for kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import FloatVector, IntVector, LongVector
from shoal.measures import MEASURES
from shoal.measures.base import CellMeasure
from shoal.measures.cells import Il
from shoal.table import CodedTable

UNITS = 1 << 20
"""What the whole domain of the heaviest column loses."""

RangeLosses = tuple[NDArray[np.int64], IntVector, LongVector]
"""Shape, nodes and losses, as kernels/p_k.py describes them."""


def range_losses(table: CodedTable, measure: str) -> RangeLosses:
    """Tabulate the loss of each node and the position of each free code, by the measure of a policy.

    A measure that is no loss of cells, such as the number of classes, leaves that to IL. Whole numbers make sums
    exact, so that ties are ties. O(levels x codes).
    """
    kind = MEASURES[measure]
    cells = kind() if issubclass(kind, CellMeasure) else Il()
    heaviest = max((attribute.weight for attribute in table.attributes), default=1.0) or 1.0
    shape = np.zeros((len(table.attributes), 6), np.int64)
    nodes: list[IntVector] = []
    losses: list[LongVector] = []
    for j, attribute in enumerate(table.attributes):
        tree, counts = attribute.hierarchy, table.value_counts[j]
        unit = UNITS * attribute.weight / heaviest
        shape[j, 0], shape[j, 1], shape[j, 4] = tree.size, tree.ordered if tree.free else -1, len(tree.levels)
        if tree.free:
            first, last = np.zeros(tree.size, np.int32), np.arange(tree.size, dtype=np.int32)
            place = cells.loss(attribute, counts, first, last)
            place = np.append(place, place[-1])
            nodes.append(np.zeros(0, np.int32))
            losses.append(_whole(np.maximum.accumulate(place) * unit))
        else:
            shown = cells.loss(attribute, counts, tree.low.ravel(), tree.high.ravel()).reshape(tree.low.shape)
            nodes.append(tree.low.ravel())
            losses.append(_whole(np.maximum.accumulate(shown, axis=0) * unit).ravel())
    for field, sizes in ((2, map(len, nodes)), (3, map(len, losses)), (5, shape[:, 0].tolist())):
        shape[:, field] = np.cumsum([0, *sizes])[:-1]
    return shape, np.concatenate(nodes), np.concatenate(losses)


def _whole(values: FloatVector) -> LongVector:
    return np.rint(values).astype(np.int64)
