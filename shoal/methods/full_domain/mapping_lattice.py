"""All full-domain mappings of a table, and the order among them.

A mapping gives each quasi-identifier one level of its hierarchy. It is numbered by its levels read as digits, the
first column the most significant, so that a property of all mappings is one flat array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import overload

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem
from shoal.support.arrays import FloatVector, IntVector, LongVector
from shoal.support.wording import role_of

MOST_MAPPINGS = 10_000_000
"""Searches keep 20 bytes per mapping, so this many need about 200 MB."""

Rank = tuple[float, int, int, tuple[int, ...]]


def rank(value: float, dropped: int, levels: LongVector) -> Rank:
    """Order mappings: lower loss first, then fewer suppressed rows, a smaller sum of levels, smaller levels.

    Losses that agree to 12 decimals count as equal, so that rounding does not decide.
    """
    return round(value, 12), dropped, int(levels.sum()), tuple(levels.tolist())


def mappings_of(table: CodedTable) -> int:
    """Return how many mappings a table has."""
    if not table.attributes:
        hint = f"give at least one column {role_of('quasi')}"
        raise PolicyError([Problem("columns", "no column is a quasi-identifier", hint)])
    return math.prod(attribute.hierarchy.height + 1 for attribute in table.attributes)


class Lattice:
    """All mappings of a table."""

    def __init__(self, table: CodedTable) -> None:
        self.size = mappings_of(table)
        self.top: LongVector = np.array([a.hierarchy.height for a in table.attributes], np.int64)
        dims = [int(height) + 1 for height in self.top]
        self.dims = tuple(dims)
        if self.size > MOST_MAPPINGS:
            raise PolicyError(
                [
                    Problem(
                        "method.name",
                        f"{len(dims)} quasi-identifiers with these hierarchies have {self.size:,} mappings, "
                        f"but the limit is {MOST_MAPPINGS:,}",
                        "use hierarchies with fewer levels, generalization limits, or the method 'mondrian'",
                    )
                ]
            )
        self.strides: LongVector = np.array(
            [int(np.prod(dims[j + 1 :], dtype=np.int64)) for j in range(len(dims))], np.int64
        )
        self.bottom: LongVector = np.zeros(len(dims), np.int64)
        self._strides: list[int] = self.strides.tolist()

    def levels(self, index: int) -> LongVector:
        """Return the levels of a mapping by its number."""
        found = []
        for stride in self._strides:
            level, index = divmod(index, stride)
            found.append(level)
        return np.array(found, np.int64)

    def index(self, levels: LongVector) -> int:
        """Return the number of a mapping by its levels."""
        return int(levels @ self.strides)

    def sums(self, columns: list[FloatVector]) -> FloatVector:
        """Return, for every mapping, the sum over columns of the number of its level."""
        total: FloatVector = np.zeros(1)
        for column in columns:
            total = (total[:, None] + column[None, :]).ravel()
        return total

    def climb(self, steps: list[FloatVector]) -> IntVector:
        """Return all mappings in an order from the bottom up, by the sum of the steps that lead to them."""
        heights = [np.concatenate(([0.0], np.cumsum(np.maximum(column, 1e-9)))) for column in steps]
        return np.argsort(self.sums(heights), kind="stable").astype(np.int32)

    def chain(self, levels: LongVector, steps: list[FloatVector]) -> Chain:
        """Return mappings from `levels` to the top, each raising the column whose next step costs least."""
        now, top, columns = levels.tolist(), self.top.tolist(), []
        prices = [
            float(column[level]) if level < highest else np.inf
            for column, level, highest in zip(steps, now, top, strict=True)
        ]
        for _ in range(sum(top) - sum(now)):
            j = prices.index(min(prices))
            now[j] += 1
            columns.append(j)
            prices[j] = float(steps[j][now[j]]) if now[j] < top[j] else np.inf
        return Chain(levels, columns)


class Chain(Sequence[LongVector]):
    """Mappings one after the other, each with one column raised by a level."""

    def __init__(self, first: LongVector, columns: list[int]) -> None:
        self.first, self.columns = first, columns

    def __len__(self) -> int:
        return len(self.columns) + 1

    @overload
    def __getitem__(self, at: int) -> LongVector: ...

    @overload
    def __getitem__(self, at: slice) -> list[LongVector]: ...

    def __getitem__(self, at: int | slice) -> LongVector | list[LongVector]:
        """Return the levels of a mapping of the chain. O(steps to it): bisecting a chain asks for a few of them."""
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        levels = self.first.copy()
        for j in self.columns[:at]:
            levels[j] += 1
        return levels
