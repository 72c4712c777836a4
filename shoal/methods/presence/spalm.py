"""SPALM: the best full-domain mapping that keeps everybody's presence uncertain enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.population import count_with_population
from shoal.errors import LimitError, Problem
from shoal.judging.models.delta_presence import (
    DeltaPresence,
    presence_models,
    require_presence,
    without_presence,
)
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.mapping_lattice import Lattice, Rank, rank
from shoal.methods.loss_tables import cell_measure
from shoal.methods.method import Abilities, Method, Parts, Shows
from shoal.release import Release
from shoal.support.arrays import FloatVector, IntMatrix, LongVector
from shoal.support.run import Run


@dataclass(frozen=True, kw_only=True)
class SPALM(Method):
    """Single-dimensional delta-presence (Nergiz, Atzori, Clifton 2007): one level per column, by LM.

    If a mapping leaves some class outside the bounds, so does every specialization of it: if the class is split, one
    side has at least its share of rows, and one at most. So failures are searched as high up as possible.
    """

    name: ClassVar[str] = "spalm"
    can: ClassVar[Abilities] = Abilities(presence_only=True, make_buckets=True, optimize=("cells",))
    shows: ClassVar[Shows] = Shows(classes=True)
    summary: ClassVar[str] = (
        "one level per column, with the least loss for which nobody's presence is too certain"
    )
    paper: ClassVar[str] = "Nergiz, Atzori, Clifton: Hiding the Presence of Individuals, SIGMOD 2007"
    parts: ClassVar[Parts | str] = "bounds on presence are about everybody who could be in the table"

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """It needs bounds on presence."""
        return without_presence(requirements.models, self.name)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Return the mapping that loses least; ties are broken by `shoal.methods.full_domain.mapping_lattice.rank`.

        Takes the undecided mapping with the least loss, and bisects a chain from it to the top for the highest mapping
        that fails. Worst case O(mappings x distinct tuples), usually some dozens of groupings.
        """
        return _Search(table, requirements, require_presence(requirements.models, self.name)).best(run)


class _Search:
    """What is known about all mappings."""

    def __init__(self, table: CodedTable, requirements: Requirements, model: DeltaPresence) -> None:
        self.table, self.requirements, self.model = table, requirements, model
        self.lattice = Lattice(table)
        self.codes, self.people, self.rows = count_with_population(table)
        self.losses = [self._column_losses(j) for j in range(len(table.attributes))]
        self.steps = [np.maximum(np.diff(losses), 1e-12) for losses in self.losses]
        self.plain = len(presence_models(requirements.models)) == len(requirements.models)
        self.prune = requirements.monotone(table)
        self.known: dict[int, bool] = {}
        sizes = [attribute.hierarchy.size for attribute in table.attributes]
        # If there are too many combinations for one integer, classes are numbered instead.
        self.strides = np.cumprod([1, *sizes[:-1]]) if math.prod(sizes) < 1 << 62 else None
        self.digits: dict[tuple[int, int], LongVector] = {}

    def _column_losses(self, j: int) -> FloatVector:
        """Return what one column loses by the measure at each level, summed over the rows of the table."""
        attribute, counts = self.table.attributes[j], self.table.value_counts[j]
        rule, tree = cell_measure(self.requirements.measure), attribute.hierarchy
        shown = [rule.loss(attribute, counts, *ends) for ends in zip(tree.low, tree.high, strict=True)]
        return np.asarray(np.stack(shown) @ counts * (attribute.weight / max(self.table.rows, 1)), np.float64)

    def best(self, run: Run) -> Release:
        from shoal.kernels.lattice import raise_box

        lattice = self.lattice
        total = lattice.sums(self.losses)
        failed = np.zeros(lattice.size)
        order = np.argsort(total, kind="stable")
        top = self._holds(lattice.top)
        if not top and self.prune:
            raise LimitError(
                f"even one class of everybody does not satisfy {self.model.title} with the other requirements: the "
                f"table has {self.table.rows:,} of {int(self.people.sum()):,} people"
            )
        found: tuple[Rank, LongVector] | None = None
        limit = np.inf
        for place, index in enumerate(order.tolist()):
            if total[index] > limit + 1e-9:
                break
            if failed[index] > 0:
                continue
            run.progress("search", place / len(order))
            levels = lattice.levels(index)
            chain = lattice.chain(levels, self.steps) if self.prune else [levels]
            low, high = 0, len(chain) - 1
            while low < high:
                middle = (low + high) // 2
                if self._holds(chain[middle]):
                    high = middle
                else:
                    raise_box(failed, lattice.strides, lattice.bottom, chain[middle], 1.0)
                    low = middle + 1
            for candidate in (chain[low], levels):
                if self._holds(candidate):
                    value = float(total[lattice.index(candidate)])
                    own = rank(value, 0, candidate), candidate.copy()
                    if found is None or own[0] < found[0]:
                        found, limit = own, value
        if found is None:
            raise LimitError(f"no mapping satisfies {self.model.title} together with the other requirements")
        return self._release(found[1])

    def _keys(self, levels: LongVector) -> LongVector:
        """Return a key per tuple, the same for tuples of one class. O(columns x tuples), a sum of cached terms."""
        if self.strides is None:
            from shoal.kernels.grouping import distinct

            return distinct(self._nodes(self.codes, levels))[0].astype(np.int64)
        keys = np.zeros(len(self.codes), np.int64)
        for j, level in enumerate(levels.tolist()):
            if (j, level) not in self.digits:
                nodes = self.table.attributes[j].hierarchy.low[level][self.codes[:, j]]
                self.digits[j, level] = nodes * self.strides[j]
            keys += self.digits[j, level]
        return keys

    def _holds(self, levels: LongVector) -> bool:
        """Return whether everybody is within the bounds, and the classes satisfy the other requirements."""
        index = self.lattice.index(levels)
        if index not in self.known:
            from shoal.kernels.presence import class_totals

            people, rows = class_totals(self._keys(levels), self.people, self.rows)
            holds = bool(self.model.within(rows, people).all())
            self.known[index] = holds and (self.plain or self._others_hold(levels))
        return self.known[index]

    def _nodes(self, codes: IntMatrix, levels: LongVector) -> IntMatrix:
        """Return the node of each value at the level of its column, named by its first code."""
        nodes = np.empty(codes.shape, np.int32, order="F")
        for j, (attribute, level) in enumerate(zip(self.table.attributes, levels.tolist(), strict=True)):
            nodes[:, j] = attribute.hierarchy.low[level][codes[:, j]]
        return nodes

    def _others_hold(self, levels: LongVector) -> bool:
        from shoal.kernels.grouping import distinct

        class_of, first = distinct(self._nodes(self.table.quasi.wide, levels))
        groups = self.table.group_rows(class_of, len(first))
        return bool(self.requirements.holds_in(groups).all())

    def _release(self, levels: LongVector) -> Release:
        from shoal.kernels.grouping import distinct

        nodes = self._nodes(self.table.quasi.wide, levels)
        class_of, first = distinct(nodes)
        low = np.ascontiguousarray(nodes[first])
        high = np.empty_like(low)
        for j, (attribute, level) in enumerate(zip(self.table.attributes, levels.tolist(), strict=True)):
            high[:, j] = attribute.hierarchy.high[level][low[:, j]]
        facts = {"checked": len(self.known), "mappings": self.lattice.size}
        return Release(class_of, low, high, tuple(int(level) for level in levels), facts=facts)
