"""Probabilistic k-anonymity: can anyone be linked to a row with a probability above 1/k? (Wong, Mamoulis, Cheung
2010.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.judging.linking.posterior import largest_counted
from shoal.judging.models.k_type import KType
from shoal.judging.models.keys import Key
from shoal.judging.models.l_diversity import DistinctDiversity, L, ProbabilisticDiversity
from shoal.judging.models.model import AskedIn, GroupModel, Model
from shoal.release.results import plain
from shoal.support.arrays import LongVector
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.judging.linking.consistency import Consistency
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.verdict import Verdict

MOST_LINKS = 10_000_000
"""In larger graphs Shoal does not search k disjoint assignments."""
SMALL = 10
"""In components of at most this many rows, all assignments are counted."""
MOST_COMPONENTS = 20
"""At most this many components are counted."""


@dataclass(frozen=True, kw_only=True)
class ProbabilisticK(KType):
    """Rows can be assigned to people at random so that no pair is more likely than 1/k.

    Necessary: k effective matches per person and per row, pairs that some complete assignment contains. Enough:
    k complete assignments that share no pair, one of them picked at random. They exist if all people and rows
    have the same number of matches; otherwise a flow decides, in graphs of moderate size.
    """

    name: ClassVar[str] = "probabilistic-k"
    notion: ClassVar[str] = "probabilistic k"
    summary: ClassVar[str] = (
        "an adversary who knows everyone's quasi-identifiers, and the method, links nobody to a row with a probability "
        "above 1/k"
    )
    about: ClassVar[str] = "knows-algorithm"
    weakest: ClassVar[bool] = True

    def count_matches(self, graph: Consistency) -> LongVector:
        """Return the effective matches of each person, and of each published row."""
        people, rows = effective(graph)
        people = np.repeat(people, graph.people.weight)
        rows = np.repeat(rows, graph.size)[
            : int(graph.size.sum()) - (int(graph.size[-1]) if graph.hidden else 0)
        ]
        return np.concatenate([people[people > 0] if graph.hidden else people, rows])

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the person or row with the fewest effective matches, and whether k assignments can be disjoint."""
        published = evidence.published
        if evidence.table is None or not published.rows:
            return super().verify(evidence)
        graph = evidence.consistency
        counts = self.count_matches(graph)
        least = int(counts.min(initial=published.rows))
        failing = int((counts < self.k).sum())
        said = [f"{failing:,} people or rows have fewer effective matches"] if failing else []
        holds = failing == 0
        if holds:
            regular = bool((counts == least).all()) and not graph.hidden
            disjoint = True if regular else disjoint_assignments(graph, self.k)
            if regular:
                said.append(f"the assignment graph is regular, every person has {least:,} matches")
            elif disjoint is None:
                holds = False
                said.append(
                    f"at least {least:,} effective matches each, but too many pairs match to prove {self.k} disjoint "
                    "assignments"
                )
            else:
                holds = disjoint
                words = (
                    f"there are {self.k} disjoint assignments"
                    if disjoint
                    else f"no {self.k} assignments are disjoint"
                )
                said.append(words)
        share = largest_counted(graph, SMALL, MOST_COMPONENTS)
        if share is not None:
            said.append(f"of all assignments of a small component at most {number(share)} contain one pair")
        return self.verdict(published, least, holds, "; ".join(said))


def effective(graph: Consistency) -> tuple[LongVector, LongVector]:
    """Return the effective matches of each distinct person, and of a row of each class."""
    classes, people = graph.components
    class_of = np.repeat(np.arange(len(graph.size)), np.diff(graph.start))
    same = classes[class_of] == people[graph.links]
    rows = np.bincount(
        class_of[same], weights=graph.people.weight[graph.links[same]], minlength=len(graph.size)
    )
    return graph.matches, rows.astype(np.int64)


def disjoint_assignments(graph: Consistency, k: int) -> bool | None:
    """Return whether there are k complete assignments without a common pair; None if the graph is too large.

    They exist exactly if every person can get k of the matching rows, and every row is given k times (a k-regular graph
    is a union of k assignments): a flow over distinct people and classes. Being suppressed is not a pair, so a person
    may be suppressed in all k of them.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    weight, size = graph.people.weight, graph.size
    total = k * int(size.sum())
    if len(graph.links) > MOST_LINKS or total > np.iinfo(np.int32).max:
        return None
    classes, people = len(size), len(weight)
    class_of = np.repeat(np.arange(classes), np.diff(graph.start))
    source, sink = classes + people, classes + people + 1
    tails = np.concatenate([np.full(classes, source), class_of, classes + np.arange(people)])
    heads = np.concatenate([np.arange(classes), classes + graph.links, np.full(people, sink)])
    room = np.minimum(
        size[class_of] * weight[graph.links], k * np.minimum(size[class_of], weight[graph.links])
    )
    if graph.hidden:
        last = slice(int(graph.start[-2]), None)
        room[last] = k * weight[graph.links[last]]
    units = np.concatenate([k * size, room, k * weight]).astype(np.int32)
    network = coo_array((units, (tails, heads)), shape=(sink + 1, sink + 1)).tocsr()
    return int(maximum_flow(network, source, sink).flow_value) == total


@dataclass(frozen=True, kw_only=True)
class CandidateDiversity(Model):
    """l-diversity without classes: the candidates of every person show at least l sensitive values.

    Only rows that are the person's in some complete assignment count.
    """

    name: ClassVar[str] = "candidate-l"
    summary: ClassVar[str] = "the rows that could belong to a person show at least l sensitive values"
    key: ClassVar[Key] = L
    asked_in: ClassVar[AskedIn] = ""
    usual: ClassVar[Any] = 3

    column: int
    """Which of the sensitive columns, from 0."""
    column_name: str
    """Its name."""
    l: float  # noqa: E741
    """How many values."""
    shares: bool = False
    """The policy asks for probabilistic l: in classes, no value may have more than 1/l of the rows."""

    @classmethod
    def instead_of(
        cls, model: Model, notions: tuple[Model, ...], protected: Mapping[str, tuple[str, ...]]
    ) -> Model | None:
        """Replace l-diversity of classes if k is about candidates."""
        about_candidates = any(isinstance(notion, ProbabilisticK) for notion in notions)
        if not about_candidates or not isinstance(model, DistinctDiversity | ProbabilisticDiversity):
            return None
        shares = isinstance(model, ProbabilisticDiversity)
        return cls(l=model.l, column=model.column, column_name=model.column_name, shares=shares)

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{number(self.l)}-diversity of {self.column_name} among candidates"

    @property
    def threshold(self) -> Any:
        """Return l."""
        return plain(float(self.l))

    @property
    def belief_of_choice(self) -> float:
        """A value of one in l candidates."""
        return 1 / self.l

    @property
    def by_classes(self) -> GroupModel:
        """Classes that satisfy what the policy asks for are enough: l values, or no value with more than 1/l."""
        place: dict[str, Any] = {"column": self.column, "column_name": self.column_name}
        return (
            ProbabilisticDiversity(l=self.l, **place)
            if self.shares
            else DistinctDiversity(l=int(self.l), **place)
        )

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """What no class can reach, no row can reach."""
        return self.by_classes.infeasible(table, suppressible)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the person with the fewest values. O(matching pairs x values of a class)."""
        from scipy.sparse import csr_array

        published = evidence.published
        classes = self.by_classes.verify(evidence)
        if classes.holds or not published.rows:
            return self.verdict(published, classes.reached, True, classes.detail)
        if published.in_buckets:
            why = f"{classes.detail}; judged bucket by bucket, which is stricter".removeprefix("; ")
            return self.verdict(published, classes.reached, False, why)
        if evidence.table is None:
            return self.verdict_unknown(
                published, "it is about the people that rows match: give the original table too"
            )
        graph = evidence.consistency
        own_class, own_people = graph.components
        class_of = np.repeat(np.arange(len(graph.size)), np.diff(graph.start))
        same = (own_class[class_of] == own_people[graph.links]) & (class_of < published.classes)
        shape = (len(graph.people.weight), published.classes)
        pairs = csr_array((np.ones(int(same.sum())), (graph.links[same], class_of[same])), shape=shape)
        shown = published.groups.sensitive[self.column]
        values = csr_array((shown.count.astype(np.float64), shown.value, shown.start))
        found = np.diff((pairs @ values).tocsr().indptr)
        found = found[found > 0] if graph.hidden else found
        least = int(found.min(initial=int(self.l) + 1))
        failing = int((found < self.l - 1e-9).sum())
        detail = f"{failing:,} distinct people see fewer values" if failing else ""
        return self.verdict(published, least, failing == 0, detail)
