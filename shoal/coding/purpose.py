"""What a release is for: the analyses that a policy names, in the codes of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.support.arrays import BoolVector, FloatVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.coding.table import Attribute


@dataclass(frozen=True, eq=False, repr=False)
class Condition(Brief):
    """Which codes of a column a query takes."""

    column: str
    inside: BoolVector
    """``[codes]`` whether the query takes each."""


@dataclass(frozen=True, eq=False, repr=False)
class Query(Brief):
    """A query of a workload: a count of rows, or the sum or mean of a column over them."""

    name: str
    weight: float
    conditions: tuple[Condition, ...]
    asks: Literal["count", "sum", "mean"] = "count"
    of: str | None = None
    """The column that is summed or averaged."""


@dataclass(frozen=True)
class Formula:
    """A regression: the column that is explained, and those that explain it."""

    outcome: str
    on: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Purpose(Brief):
    """The analyses that a policy names."""

    predict: str | None = None
    """The column that a learner predicts."""
    regression: Formula | None = None
    workload: tuple[Query, ...] = ()

    @property
    def given(self) -> set[str]:
        """The keys of `[utility]` that name an analysis here."""
        return {name for name in vars(self) if getattr(self, name)}


def with_borders(attributes: Sequence[Attribute], queries: Sequence[Query]) -> tuple[Attribute, ...]:
    """Return the columns with what a workload asks about them (`Attribute.asked`). The column that it asks most about
    reaches 1.

    A border lies between two neighbouring codes of which a query takes one. A column that is summed is asked about
    everywhere, which counts as one border.
    """
    found: list[FloatVector] = []
    for attribute in attributes:
        size = attribute.hierarchy.size
        borders = np.zeros(max(size - 1, 0))
        for query in queries:
            for condition in query.conditions:
                if condition.column == attribute.name:
                    borders += query.weight * (condition.inside[1:] != condition.inside[:-1])
            if query.of == attribute.name and size > 1:
                borders += query.weight / (size - 1)
        found.append(np.concatenate(([0.0], np.cumsum(borders))))
    most = max((float(asked[-1]) for asked in found), default=0.0) or 1.0
    return tuple(replace(own, asked=asked / most) for own, asked in zip(attributes, found, strict=True))
