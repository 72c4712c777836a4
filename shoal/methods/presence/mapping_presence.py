"""Bounds on presence as a rule that mappings satisfy or not, for methods that relocate rows between their groups."""

from __future__ import annotations

import numpy as np

from shoal.arrays import IntMatrix, LongVector
from shoal.models.delta_presence import DeltaPresence, asked_presence
from shoal.models.requirements import Requirements
from shoal.table import CodedTable
from shoal.table.population import counted_together


class PresenceRule:
    """Whether the classes of a mapping leave everybody's chance to be in the table within its bounds.

    Chances are those that whoever takes all cells for true works out: rows over people. A part of a class has at least
    its share of rows, and one at most, so that failing is handed down to specializations like failing any group model.
    """

    def __init__(self, table: CodedTable, model: DeltaPresence) -> None:
        self.model = model
        self.trees = [attribute.hierarchy for attribute in table.attributes]
        self.codes, self.people, _ = counted_together(table)

    @classmethod
    def of(cls, table: CodedTable, requirements: Requirements, method: str) -> PresenceRule | None:
        """Return the rule where bounds are asked for."""
        if not any(isinstance(model, DeltaPresence) for model in requirements.models):
            return None
        return cls(table, asked_presence(requirements.models, method))

    def holds(self, levels: LongVector, nodes: IntMatrix, rows: LongVector) -> bool:
        """Judge groups, given by the first codes of their nodes, that publish so many rows. O(distinct people)."""
        from shoal.kernels.grouping import distinct

        mapped = [
            tree.low[level][self.codes[:, j]]
            for j, (tree, level) in enumerate(zip(self.trees, levels.tolist(), strict=True))
        ]
        both = np.asfortranarray(np.concatenate([nodes, np.stack(mapped, axis=1)]).astype(np.int32))
        number, first = distinct(both)
        shown = np.bincount(number[: len(nodes)], rows, len(first))
        people = np.bincount(number[len(nodes) :], self.people, len(first))
        return bool(self.model.within(shown, people).all())
