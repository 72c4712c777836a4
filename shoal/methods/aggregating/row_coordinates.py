"""Where rows lie: numbers and dates as points, categories by the nodes above them, each column with variance 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.hierarchy import Hierarchy
from shoal.support.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief


@dataclass(frozen=True, eq=False, repr=False)
class Coordinates(Brief):
    """The rows of a table as points. Squared Euclidean distances add up over columns."""

    points: FloatMatrix
    """``[dimensions, rows]``."""
    labels: IntMatrix
    """``[levels of all categories, rows]`` nodes, numbered from 0."""
    weights: FloatVector
    """How far two different nodes of a level are apart, squared."""
    starts: LongVector
    """Where the nodes of each level begin, if all are counted in one list."""
    in_order: int
    """How many quasi-identifiers are numbers or dates without empty cells: one point column each, the first ones."""

    def of(self, rows: IntVector) -> Coordinates:
        """Return some rows."""
        return Coordinates(
            np.ascontiguousarray(self.points[:, rows]),
            np.ascontiguousarray(self.labels[:, rows]),
            self.weights,
            self.starts,
            self.in_order,
        )

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.points.shape[1])

    def project_to_line(self) -> FloatVector:
        """Return the rows on the line along which they differ most: the first principal component."""
        centred = self.points - self.points.mean(axis=1, keepdims=True)
        directions = np.linalg.eigh(centred @ centred.T)[1]
        line: FloatVector = directions[:, -1] @ centred
        return line


def is_number(hierarchy: Hierarchy) -> bool:
    """Whether a column holds numbers or dates, for which a mean has a meaning."""
    return hierarchy.by_width and hierarchy.positions is not None


def find_numbers(hierarchy: Hierarchy) -> BoolVector:
    """Return which codes are on the number line: not null, NaN or infinite."""
    assert hierarchy.positions is not None
    there: BoolVector = (np.arange(hierarchy.size) < hierarchy.ordered) & np.isfinite(hierarchy.positions)
    return there


def coordinates(table: CodedTable) -> Coordinates:
    """Place the rows of a table. Every column counts by its weight, whatever its unit: its variance is 1, in a part
    that of the whole table. Categories differ by the share of levels on which they lie under different nodes; so do
    empty cells from others. O(rows x levels).
    """
    plain: list[FloatVector] = []
    mixed: list[FloatVector] = []
    labels: list[IntVector] = []
    weights: list[float] = []
    sizes: list[int] = []
    for j, attribute in enumerate(table.attributes):
        tree, counts, codes = attribute.hierarchy, table.value_counts[j], table.quasi.narrow[j]
        levels = [tree.low[level] for level in range(tree.height + 1)]
        if is_number(tree):
            there = find_numbers(tree)
            assert tree.positions is not None
            where = np.where(there, tree.positions, 0.0)
            total = max(int(counts[there].sum()), 1)
            where = np.where(there, where - where[there] @ counts[there] / total, 0.0)
            spread = float(np.sqrt(where[there] ** 2 @ counts[there] / total))
            own = where * (np.sqrt(attribute.weight) / spread if spread > 0 else 0.0)
            whole = bool(there[counts > 0].all())
            (plain if whole else mixed).append(own[codes])
            if whole:
                continue
            # Empty cells lie in the middle, and apart from all others.
            levels = [np.where(there, 0, 1 + np.arange(tree.size))]
        for nodes in levels:
            number = np.unique(nodes, return_inverse=True)[1].astype(np.int32)
            shares = np.bincount(number, counts) / max(int(counts.sum()), 1)
            sizes.append(len(shares))
            labels.append(number[codes])
            weights.append(1.0 - float(shares @ shares))
        own_levels = slice(len(weights) - len(levels), None)
        varied = sum(weights[own_levels])
        weights[own_levels] = [2.0 * attribute.weight / varied if varied > 0 else 0.0] * len(levels)
    points = [*plain, *mixed]
    return Coordinates(
        np.array(points, np.float64).reshape(len(points), table.rows),
        np.array(labels, np.int32).reshape(len(labels), table.rows),
        np.array(weights, np.float64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        len(plain),
    )
