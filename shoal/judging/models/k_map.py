"""k-map: do at least k people of the population match every class? (Sweeney 2001.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from shoal.judging.models.class_size import ClassSize
from shoal.judging.models.k_anonymity import smaller_k
from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import Model
from shoal.judging.models.people_behind_classes import InPopulation, people_of, seen_by
from shoal.judging.models.population_estimates import people_for_size, size_for_people
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.verdict import Verdict

K_MAP = Key("k_map", "k-map: at least k people of the population match every class", shorthand="people")
MOST_ASKED = 1 << 20
"""Beyond so many people, how far an estimate reaches is not worked out."""


@dataclass(frozen=True, kw_only=True)
class KMap(Model):
    """At least k people of the population match every class of the release.

    They are counted if the policy names a table of the population. If it has only its size, they are estimated: a
    class must have so many people that a class of fewer than k people in the population would reach this number with a
    probability of at most `error`. The people of the table are taken for a random sample.
    """

    name: ClassVar[str] = "k-map"
    threat: ClassVar[Threat] = RE_IDENTIFICATION
    summary: ClassVar[str] = (
        "an adversary who does not know who is in the table cannot narrow a row down to fewer than k people of the "
        "population"
    )
    key: ClassVar[Key] = K_MAP
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"people": {}}
    options: ClassVar[Mapping[str, str]] = {
        "error": "with the size of a population: the probability with which a class of too few people may go unnoticed"
    }
    usual: ClassVar[Any] = 5
    about_classes: ClassVar[bool] = True
    by_cells: ClassVar[bool] = True

    k: Annotated[int, Bounds(ge=2)]
    """How many people of the population must match every class."""
    error: Annotated[float, Bounds(gt=0, lt=1)] = 0.01
    """The probability with which an estimate may miss a class of too few people."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Halve k."""
        return smaller_k(value)

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{self.k}-map"

    def needs_population(self) -> bool:
        """It is about nothing else."""
        return True

    def in_table(self, table: CodedTable) -> Model | None:
        """Return that enough people match, or the class size that is estimated to be enough."""
        if table.context.population is not None:
            return InPopulation.of(table, self.k, self.title)
        size = self.k
        if table.context.population_size:
            size = size_for_people(self.k, table.counting.everyone, table.context.population_size, self.error)
        return ClassSize(k=size, because=self.title) if size > 1 else None

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more people than the population; by an estimate, none more than the table."""
        own = self.in_table(table)
        return None if own is None else own.infeasible(table, suppressible)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the class with the fewest people of the population."""
        published = evidence.published
        seen = seen_by(evidence, "journalist")
        if isinstance(seen, str):
            return self.verdict_unknown(published, seen)
        if not len(seen.sizes):
            return self.verdict(published, None, True, "nothing is published")
        smallest = int(seen.sizes.min())
        if seen.share is None:
            crowd = seen.sizes if seen.crowd is None else seen.crowd
            few = int((crowd < self.k).sum())
            if few and seen.note:
                return self.verdict_unknown(published, seen.note)
            words = f"{few:,} of {len(crowd):,} classes fall short" if few else seen.note
            return self.verdict(published, int(crowd.min()), few == 0, words)
        people, population = people_of(evidence), evidence.population_size
        assert population is not None
        people = min(people, population)
        size = size_for_people(self.k, people, population, self.error)
        reached = people_for_size(smallest, people, population, self.error, MOST_ASKED)
        detail = (
            f"estimate: {number(people / population)} of the population is in the table, so classes of {size:,} or "
            f"more have {self.k:,} people with an error of {number(self.error)}; the smallest has {smallest:,}"
        )
        found = self.verdict(published, reached, smallest >= size, detail)
        shown = not published.suppressed and (evidence.owners.person is None or evidence.persons.followed)
        return replace(found, public=shown)
