"""Bounds on presence as a rule about mappings, for methods that relocate rows between groups."""

from __future__ import annotations

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.population import count_with_population
from shoal.judging.models.delta_presence import DeltaPresence, presence_models, require_presence
from shoal.judging.models.requirements import Requirements
from shoal.support.arrays import IntMatrix, LongVector


class PresenceRule:
    """Whether the classes of a mapping keep everybody's probability of being in the table within bounds.

    The probability is that of an adversary who believes all cells: rows over people. If a class is split, one side
    has at least its share of rows, and one at most. So if a mapping fails, all its specializations fail, as for group
    models.
    """

    def __init__(self, table: CodedTable, model: DeltaPresence) -> None:
        self.model = model
        self.trees = [attribute.hierarchy for attribute in table.attributes]
        self.codes, self.people, _ = count_with_population(table)

    @classmethod
    def of(cls, table: CodedTable, requirements: Requirements, method: str) -> PresenceRule | None:
        """Return the rule, or None if the policy has no presence bounds."""
        if not presence_models(requirements.models):
            return None
        return cls(table, require_presence(requirements.models, method))

    def holds(self, levels: LongVector, nodes: IntMatrix, rows: LongVector) -> bool:
        """Judge groups with these numbers of rows, given by the first codes of their nodes. O(distinct people)."""
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
