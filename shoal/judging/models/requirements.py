"""`Requirements`: what a release must satisfy and what it should optimize, resolved against a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.groups import Groups
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.model import GroupModel, Model
from shoal.support.arrays import BoolVector

if TYPE_CHECKING:
    from shoal.judging.models.known_columns import KeySets
    from shoal.judging.models.over_time import WithEarlier
    from shoal.judging.models.overall import Overall


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """The models that a release must satisfy, the share of rows it may drop, and the measure to optimize."""

    models: tuple[Model, ...]
    """What `[privacy]` asks for."""
    suppression: float = 0.0
    suppress: Literal["rows", "cells"] = "rows"
    """Whether rows that fit no class are left out, or shown with `*` in some cells, if that is possible."""
    measure: str = "lm"
    uniform: bool = False
    """Each column shows one set of labels, none of which covers another."""
    people: bool = False
    """The policy says whose each row is, so guarantees count people, not rows."""
    with_earlier: WithEarlier | None = None
    """What must hold together with earlier releases of the same people."""
    of_columns: tuple[Model, ...] = ()
    """What single columns ask for, such as generalization limits. The hierarchies of the table keep methods within
    them."""

    @property
    def all_models(self) -> tuple[Model, ...]:
        """All models that a release is checked against."""
        return (*self.models, *self.of_columns, *(() if self.with_earlier is None else (self.with_earlier,)))

    @cached_property
    def group_models(self) -> tuple[GroupModel, ...]:
        """The models as rules over single classes, without those that have no such rule."""
        rules = (model.by_classes for model in self.models)
        return tuple(rule for rule in rules if rule is not None)

    @property
    def without_classes(self) -> bool:
        """The policy asks for a notion that does not need equivalence classes, such as (k,k)."""
        return any(model.by_classes is not None and not model.about_classes for model in self.models)

    @property
    def k(self) -> int:
        """The size that every class must have; 1 if the policy asks for none."""
        return max(
            (int(model.threshold) for model in self.group_models if isinstance(model, KAnonymity)), default=1
        )

    @property
    def known_sets(self) -> KeySets | None:
        """The sets of quasi-identifiers of which the adversary knows one; None: they know all of them."""
        return next((model.known_sets for model in self.models if model.known_sets is not None), None)

    @property
    def only_k(self) -> bool:
        """The number of people of a class is the only requirement."""
        return all(isinstance(rule, KAnonymity) for rule in (m.by_classes for m in self.models))

    @property
    def beyond_k(self) -> tuple[GroupModel, ...]:
        """The rules over single classes that are not only about their size."""
        return tuple(rule for rule in self.group_models if not isinstance(rule, KAnonymity))

    def plain_k(self, table: CodedTable) -> bool:
        """Class size is the only requirement, so a method may use a faster way than `holds_in`. Not if some people
        have several rows: the size of a class is then not its number of rows.
        """
        return self.only_k and table.counting.adds_up

    def monotone(self, table: CodedTable) -> bool:
        """Merging satisfying groups always gives a satisfying group, so searches may prune."""
        return all(model.merges(table.counting) for model in self.group_models)

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups satisfy all group models."""
        good = np.ones(len(groups), np.bool_)
        for model in self.group_models:
            good &= model.holds_in(groups)
        return good

    def values_needed(self, column: int) -> int:
        """Return how many different values of a sensitive column every class needs; 1 if the policy does not say."""
        own = (model for model in self.models if getattr(model, "column", column) in (None, column))
        return max((model.values_needed for model in own), default=1)

    def over_time(self, *, members: bool, sensitive: int) -> Requirements:
        """Return the same requirements with earlier releases of the same people; the table has so many sensitive
        columns.
        """
        from shoal.judging.models.over_time import WithEarlier

        needed = tuple(self.values_needed(column) for column in range(sensitive))
        return replace(self, with_earlier=WithEarlier(members=members, k=self.k, needed=needed))

    def in_table(self, table: CodedTable) -> Requirements:
        """Return the requirements as searches in this table take them."""
        found = (model.in_table(table) for model in self.models)
        return replace(self, models=tuple(model for model in found if model is not None))

    def overall(self, table: CodedTable) -> tuple[Overall, ...]:
        """Return the rules over all classes together."""
        found = (model.overall(table) for model in self.models)
        return tuple(rule for rule in found if rule is not None)

    def suppressible(self, rows: int) -> int:
        """Return how many of this many rows may be suppressed."""
        return int(np.floor(self.suppression * rows + 1e-9))
