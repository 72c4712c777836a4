"""(1,k), (k,1), (k,k) and global (1,k): how many published rows match a person? (Gionis, Mazza, Tassa 2008.)"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.judging.linking.rows_left import rows_left
from shoal.judging.models.k_anonymity import K, KAnonymity, smaller_k
from shoal.judging.models.keys import LARGEST, Bounds, Key
from shoal.judging.models.model import GroupModel, Model
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.support.arrays import LongVector

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.judging.linking.consistency import Consistency
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.verdict import Verdict

NOBODY = "alone it protects against nobody: ask for k-k or global-1-k"
EVERYBODY = LARGEST
"""Stands for a number of known people that nothing limits."""
UNDECIDED = "finding the known people who help most takes too long"


@dataclass(frozen=True, kw_only=True)
class KType(Model):
    """A rule about the graph between people and the published rows that match them.

    Classes of k rows satisfy all of these rules, so the graph is not needed for a k-anonymous release.
    """

    key: ClassVar[Key] = K
    usual: ClassVar[Any] = 5
    about: ClassVar[str] = "knows-some"
    threat: ClassVar[Threat] = RE_IDENTIFICATION
    notion: ClassVar[str]
    """Its name with k as a letter."""
    warning: ClassVar[str] = ""

    k: Annotated[int, Bounds(ge=2)]
    """How many rows must match each person, or people each row."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Halve k."""
        return smaller_k(value)

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{self.notion.replace('k', str(self.k))}-anonymity"

    @property
    def by_classes(self) -> GroupModel:
        """Classes of k rows are enough."""
        return KAnonymity(k=self.k)

    @property
    def others_known(self) -> int:
        """How many other people the adversary knows, if the policy says so."""
        return 0

    @abstractmethod
    def count_matches(self, graph: Consistency) -> LongVector:
        """Count the rows that match each person, or the people that match each row; skip people without a match."""

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the person, or row, with the fewest matches."""
        published = evidence.published
        smallest = int(published.sizes.min()) if published.rows else None
        if evidence.table is None:
            if smallest is not None and smallest < self.k:
                why = (
                    "it is about the people that rows match: give the original table too; from the rows only "
                    f"k-anonymity can be checked, and the smallest class has {smallest:,} rows"
                )
                return self.verdict_unknown(published, why)
            detail = "nothing is published" if smallest is None else "every class has as many rows"
            return self.verdict(published, smallest, True, detail)
        if smallest is None:
            return self.verdict(published, None, True, "nothing is published")
        counts = self.count_matches(evidence.consistency)
        failing = int((counts < self.k).sum())
        said = [f"{failing:,} fall short"] * (failing > 0) + [self.warning] * bool(self.warning)
        least = int(counts.min(initial=published.rows))
        return self.verdict(published, least, failing == 0, "; ".join(said))

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No person can match more rows than there are."""
        if self.k <= table.rows:
            return None
        return f"no release can satisfy {self.title}: the table has {table.rows:,} rows"


def _per_person(graph: Consistency, counts: LongVector) -> LongVector:
    """Repeat counts for equal people. People who match no published row, because rows were suppressed, are safe."""
    counts = np.repeat(counts, graph.people.weight)
    return counts[counts > 0] if graph.hidden else counts


@dataclass(frozen=True, kw_only=True)
class OneK(KType):
    """Every person matches at least k published rows. For study only: k rows of * and all others exact would pass."""

    name: ClassVar[str] = "1-k"
    notion: ClassVar[str] = "(1,k)"
    summary: ClassVar[str] = (
        "every person matches at least k published rows; alone it protects against nobody"
    )
    warning: ClassVar[str] = NOBODY

    def count_matches(self, graph: Consistency) -> LongVector:
        """Return the published rows that match each person."""
        return _per_person(graph, graph.candidates)


@dataclass(frozen=True, kw_only=True)
class KOne(KType):
    """Every published row matches at least k people. For study only: a person may still match a single row."""

    name: ClassVar[str] = "k-1"
    notion: ClassVar[str] = "(k,1)"
    summary: ClassVar[str] = "every published row matches at least k people; alone it protects against nobody"
    warning: ClassVar[str] = NOBODY

    def count_matches(self, graph: Consistency) -> LongVector:
        """Return the people that each published row matches."""
        return np.repeat(graph.fits, graph.size[: len(graph.fits)])


@dataclass(frozen=True, kw_only=True)
class KK(KType):
    """Every person matches at least k published rows, and every row at least k people; with `known`, k rows are left
    for every person even if the adversary also knows those `known` other people who help them most.

    By itself, (k,k) is enough for fewer than k known people: people who match no more rows than they are, are at least
    as many as the rows that one of them matches. Known to the adversary, they use up these rows.
    """

    name: ClassVar[str] = "k-k"
    notion: ClassVar[str] = "(k,k)"
    summary: ClassVar[str] = (
        "an adversary who knows a person and a few others in the table finds at least k rows that can be the person's"
    )
    weakest: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {
        "known": "how many other people of the table the adversary knows, whom they choose"
    }

    known: Annotated[int, Bounds(ge=0)] = 0
    """How many others the adversary knows; below k, it asks for nothing more than (k,k)."""

    @property
    def others_known(self) -> int:
        """The number of the policy."""
        return self.known

    @property
    def title(self) -> str:
        """Name the model."""
        if self.known < self.k:
            return super().title
        whom = "everyone else" if self.known == EVERYBODY else f"{self.known:,} others"
        return f"{super().title} with {whom} known"

    def count_matches(self, graph: Consistency) -> LongVector:
        """Return the rows that are left for each person, and the people that each row matches."""
        return self._counts(graph, rows_left(graph, self.known).least)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the person, or row, with the fewest. If a search was too long to tell, the verdict says so."""
        found = super().verify(evidence)
        if found.holds is not False or evidence.table is None:
            return found
        most = self._counts(evidence.consistency, rows_left(evidence.consistency, self.known).most)
        return found if most.min() < self.k else self.verdict_unknown(evidence.published, UNDECIDED)

    def _counts(self, graph: Consistency, rows: LongVector) -> LongVector:
        fits = np.repeat(graph.fits, graph.size[: len(graph.fits)])
        return np.concatenate([_per_person(graph, rows), fits])


def known_people(models: Iterable[object]) -> int:
    """Return how many other people the adversary of these models knows; 0 if none of them is about that."""
    return max((model.others_known for model in models if isinstance(model, KType)), default=0)


@dataclass(frozen=True, kw_only=True)
class GlobalOneK(KType):
    """Every person has at least k matches: rows that are theirs in some complete assignment of rows to people."""

    name: ClassVar[str] = "global-1-k"
    notion: ClassVar[str] = "global (1,k)"
    summary: ClassVar[str] = (
        "an adversary who knows exactly who is in the table still finds at least k possible rows for each person"
    )
    about: ClassVar[str] = "knows-members"
    weakest: ClassVar[bool] = True

    def count_matches(self, graph: Consistency) -> LongVector:
        """Return the matches of each person."""
        return _per_person(graph, graph.matches)
