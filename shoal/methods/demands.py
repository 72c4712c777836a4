"""What requirements ask of the sensitive values of a class, as labels to count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolVector, FloatVector, IntVector, LongVector
from shoal.feasibility import most_sensitive_classes
from shoal.models.alpha_k import AlphaK
from shoal.models.base import Model
from shoal.models.extended_p import ExtendedPSensitive
from shoal.models.l_diversity import DistinctDiversity
from shoal.models.p_sensitive import PSensitive
from shoal.requirements import Requirements
from shoal.table import CodedTable


@dataclass(frozen=True, eq=False)
class Demand:
    """So many different labels in every class, and perhaps no label with too large a share of it."""

    column: str
    """The sensitive column, for people."""
    label_of: IntVector
    """Row -> label; rows with one label count as one value."""
    p: int
    """How many different labels a class needs."""
    alpha: float = 2.0
    """Largest permitted share of a label; above 1: any."""
    capped: BoolVector | None = None
    """The labels to which alpha applies; None: all."""


@dataclass(frozen=True, eq=False)
class Demands:
    """All demands on a table together."""

    k: int
    """The size that a class needs."""
    each: tuple[Demand, ...]
    complete: bool
    """There is no other model: a class that meets the demands meets the requirements."""

    def bound(self, counts: Sequence[LongVector], size: int) -> int:
        """Return how many classes of this size there can be among rows with such counts of labels, per demand."""
        return min(
            most_sensitive_classes([own], demand.p, size).classes
            for own, demand in zip(counts, self.each, strict=True)
        )

    def size(self, counts: Sequence[LongVector], shares: Sequence[FloatVector]) -> int:
        """Return the least number of rows, from k on, with which a class can respect all shares.

        With a share of 0.4, no two of 4 rows may be alike: such a class takes five rows, or four labels.
        """
        size = self.k
        rows = int(counts[0].sum())
        while size < rows:
            most = [np.floor(np.minimum(share, 1.0) * size + 1e-9) for share in shares]
            if all(own.min(initial=1) >= 1 and own.sum() >= size for own in most):
                break
            size += 1
        return size


def demands_of(table: CodedTable, requirements: Requirements) -> Demands:
    """Translate requirements: k, p-sensitivity plain and extended, distinct l-diversity, (alpha,k).

    Where nothing is asked of sensitive values, one demand that every class meets stands in.
    """
    k, complete = max(requirements.k, 1), True
    each: list[Demand] = []
    for model in requirements.models:
        if isinstance(model, AlphaK):
            k = max(k, model.k)
        found = _demands(table, model)
        each += found
        complete &= bool(found) or model.name == "k-anonymity"
    if not each:
        each.append(Demand("", np.zeros(table.rows, np.int32), 1))
    return Demands(k, tuple(each), complete)


def _demands(table: CodedTable, model: Model) -> list[Demand]:
    def own(column: int) -> tuple[str, IntVector]:
        return table.sensitive[column].name, table.sensitive_codes[:, column]

    if isinstance(model, PSensitive):
        columns = range(len(table.sensitive)) if model.column is None else [model.column]
        return [Demand(*own(column), model.p) for column in columns]
    if isinstance(model, ExtendedPSensitive):
        name, codes = own(model.column)
        return [Demand(name, model.strong(table.sensitive[model.column].hierarchy)[codes], model.p)]
    if isinstance(model, DistinctDiversity):
        return [Demand(*own(model.column), model.l)]
    if isinstance(model, AlphaK):
        capped = model.protected(table.sensitive[model.column].hierarchy)
        return [Demand(*own(model.column), model.values_needed, model.alpha, capped)]
    return []
