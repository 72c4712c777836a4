"""Which columns belong together: groups of columns by correlation, for slicing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.coding import CodedTable
from shoal.support.arrays import FloatMatrix, FloatVector, IntVector

MOST_VALUES = 20
"""Columns with more values are binned into this many runs of codes, about equally frequent."""


CORRELATIONS = ("contingency", "pearson")
"""How correlation can be measured."""


def correlations(table: CodedTable, by: str = CORRELATIONS[0]) -> FloatMatrix:
    """Return how strongly each pair of columns is correlated, quasi-identifiers first: 0 if they are independent, 1 if
    one determines the other. A column with one value is independent of all others. O(rows x columns^2).

    `by` is ``contingency``, the mean-square contingency, or ``pearson``: the square of Pearson's coefficient for two
    columns of numbers or dates, and the contingency for other pairs. The square, because for two columns of two values
    each it is the contingency, so both can be compared.
    """
    codes = [table.quasi.wide[:, j] for j in range(len(table.attributes))]
    codes += [table.secrets.wide[:, j] for j in range(len(table.sensitive))]
    columns = [_bin_codes(own) for own in codes]
    lines: list[FloatVector | None] = [None] * len(codes)
    if by == "pearson":
        for j, attribute in enumerate((*table.attributes, *table.sensitive)):
            tree = attribute.hierarchy
            lines[j] = tree.positions[codes[j]] if tree.by_width and tree.positions is not None else None
    found = np.eye(len(columns))
    for a in range(len(columns)):
        for b in range(a):
            one, other = lines[a], lines[b]
            both = one is not None and other is not None
            found[a, b] = pearson(one, other) if both else contingency(columns[a], columns[b])  # type: ignore[arg-type]
            found[b, a] = found[a, b]
    return found


def pearson(one: FloatVector, other: FloatVector) -> float:
    """Return the square of Pearson's coefficient, over the rows that have both numbers; 0 if one never varies."""
    both = ~(np.isnan(one) | np.isnan(other))
    one, other = one[both], other[both]
    if len(one) < 2:
        return 0.0
    one, other = _scale(one), _scale(other)
    one, other = one - one.mean(), other - other.mean()
    square = float(one @ one) * float(other @ other)
    return min(float(one @ other) ** 2 / square, 1.0) if square > 0 else 0.0


def _scale(values: FloatVector) -> FloatVector:
    """Divide by a power of two, which changes no digit, so that squares are neither infinite nor 0."""
    scaled: FloatVector = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    return scaled


def contingency(one: IntVector, other: IntVector) -> float:
    """Return the mean-square contingency of two coded columns: chi squared / rows / (fewer values - 1)."""
    width = int(other.max(initial=0)) + 1
    joint = np.bincount(one.astype(np.int64) * width + other, minlength=(int(one.max(initial=0)) + 1) * width)
    shares = joint.reshape(-1, width) / len(one)
    rows, columns = shares.sum(axis=1, keepdims=True), shares.sum(axis=0, keepdims=True)
    shares, rows, columns = shares[rows[:, 0] > 0][:, columns[0] > 0], rows[rows > 0], columns[columns > 0]
    fewer = min(len(rows), len(columns))
    if fewer < 2:
        return 0.0
    expected = np.outer(rows, columns)
    return float(((shares - expected) ** 2 / expected).sum() / (fewer - 1))


def _bin_codes(codes: IntVector) -> IntVector:
    """Number the codes that occur. If there are many, neighbours share a number."""
    values, number, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(values) <= MOST_VALUES:
        return number.astype(np.int32)
    middle = np.cumsum(counts) - counts / 2
    run = np.minimum((middle * MOST_VALUES / len(codes)).astype(np.int64), MOST_VALUES - 1)
    return np.unique(run, return_inverse=True)[1][number].astype(np.int32)


def cluster_columns(likeness: FloatMatrix, groups: int) -> list[list[int]]:
    """Split columns into groups around medoids, by how strongly they are correlated (k-medoids, PAM).

    Ties go to the earlier column, so equal tables have equal groups. O(columns^3 x groups) a round.
    """
    distance = 1.0 - likeness
    columns = len(distance)
    groups = min(max(groups, 1), columns)
    medoids: list[int] = []
    while len(medoids) < groups:
        rest = [j for j in range(columns) if j not in medoids]
        medoids.append(min(rest, key=lambda j: (round(_cost(distance, [*medoids, j]), 12), j)))
    while True:
        swaps = [
            sorted([*(m for m in medoids if m != out), into])
            for out in medoids
            for into in range(columns)
            if into not in medoids
        ]
        best = min(swaps, key=lambda trial: (round(_cost(distance, trial), 12), trial), default=medoids)
        if _cost(distance, best) >= _cost(distance, medoids) - 1e-12:
            break
        medoids = best
    medoids.sort()
    nearest = [m if m in medoids else min(medoids, key=lambda c: (distance[m, c], c)) for m in range(columns)]
    return [[j for j in range(columns) if nearest[j] == m] for m in medoids]


def _cost(distance: FloatMatrix, medoids: Sequence[int]) -> float:
    return float(distance[:, list(medoids)].min(axis=1).sum())
