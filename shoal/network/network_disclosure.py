"""Attribute disclosure in networks: what the candidates of a person reveal about sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.release.published import Published
from shoal.support.arrays import BoolVector, FloatVector, IntVector, LongVector


@dataclass(frozen=True)
class NetworkDisclosure:
    """What an adversary believes who holds all candidates of a person equally likely."""

    knowledge: str
    """As in `NetworkExposure`."""
    column: str
    """The sensitive column."""
    targets: int
    """Nodes that were attacked and have candidates."""
    needed: int
    """How many different values the policy requires; 1 if it requires none."""
    before_certain: int
    """Nodes of the whole original network whose lookalikes, themselves included, all have one value."""
    fewest_values: int
    """The fewest different values among the candidates of any target."""
    largest: float
    """The largest share of one value among the candidates of any target."""
    certain: int
    """Targets whose candidates all have one value."""
    named: float
    """How often, on average over targets, a candidate has the target's own value: the share of right guesses of an
    adversary who names a candidate at random."""
    blind: float
    """The same without any knowledge: all published people are candidates."""
    at_risk: int
    """Targets whose candidates have fewer values than required; without a requirement, the certain ones."""

    def summary(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Attributes:
    """What is known about people besides edges, before and after."""

    table: CodedTable
    """The attributes of all nodes."""
    published: Published
    """One class per super-node, in the order of the masked network."""
    needed: Mapping[int, int] = field(default_factory=dict)
    """Sensitive column -> how many values the policy requires."""


class Beliefs:
    """Collects what the candidates of each target show. Without sensitive columns it collects nothing."""

    def __init__(self, attributes: Attributes | None, knowledge: Sequence[str]) -> None:
        self._needed = {} if attributes is None else attributes.needed
        self._columns: list[tuple[str, IntVector, Any]] = []
        if attributes is not None and attributes.published.rows:
            table, published = attributes.table, attributes.published
            from scipy.sparse import csr_matrix

            for j, attribute in enumerate(table.sensitive):
                place = (published.sensitive_codes[:, j], published.class_of)
                shape = (attribute.hierarchy.size, published.classes)
                # Cells of one place add up, so this counts.
                counts = csr_matrix((np.ones(published.rows), place), shape=shape)
                self._columns.append((attribute.name, table.secrets.wide[:, j], counts))
        self._found: dict[tuple[str, int], list[tuple[float, float, float]]] = {
            (name, j): [] for name in knowledge for j in range(len(self._columns))
        }

    def add(self, knowledge: str, target: int, good: BoolVector) -> None:
        """Take note of the candidates of a target: the nodes of these super-nodes. O(members)."""
        for j, (_, own, counts) in enumerate(self._columns):
            shown: FloatVector = counts @ good
            people = float(shown.sum())
            if people:
                values = float(np.count_nonzero(shown))
                found = (values, float(shown.max()) / people, float(shown[own[target]]) / people)
                self._found[knowledge, j].append(found)

    def disclosures(self, alike: Mapping[str, LongVector]) -> tuple[NetworkDisclosure, ...]:
        """Return what was found. `alike` numbers the nodes of the original that each knowledge cannot distinguish."""
        return tuple(
            self._disclosure(name, j, np.array(found), alike[name])
            for (name, j), found in self._found.items()
            if found
        )

    def _disclosure(self, knowledge: str, j: int, found: FloatVector, alike: LongVector) -> NetworkDisclosure:
        column, own, counts = self._columns[j]
        values, largest, named = found.T
        needed = self._needed.get(j, 1)
        shares = np.asarray(counts.sum(axis=1)).ravel() / counts.sum()
        return NetworkDisclosure(
            knowledge,
            column,
            len(found),
            needed,
            _certain(alike, own),
            int(values.min()),
            float(largest.max()),
            int((values == 1).sum()),
            float(named.mean()),
            float(shares[own].mean()),
            int((values < max(needed, 2)).sum()),
        )


def _certain(alike: LongVector, own: IntVector) -> int:
    """Return how many nodes have only lookalikes with their own value."""
    groups = int(alike.max(initial=0)) + 1
    low, high = np.full(groups, np.iinfo(np.int64).max), np.full(groups, -1, np.int64)
    np.minimum.at(low, alike, own)
    np.maximum.at(high, alike, own)
    return int((low == high)[alike].sum())
