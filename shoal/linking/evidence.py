"""`Evidence`: what a release is judged by. Models, measures and attacks read it; each part is computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.arrays import IntVector, LongVector
from shoal.brief import Brief
from shoal.errors import DataError
from shoal.linking.consistency import Consistency, consistency
from shoal.linking.owners import Owners, confirmed, matched
from shoal.linking.risk import Risk, assess, population_sizes
from shoal.release import Release
from shoal.release.published import Published
from shoal.release.reading import read_back
from shoal.release.render import render
from shoal.table import CodedTable
from shoal.table.groups import Groups, group


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(Brief):
    """The published rows and, as far as they are known, the original table and the owner of each row."""

    published: Published
    """What an outsider sees."""
    table: CodedTable | None = None
    """The original."""
    owner: IntVector | None = None
    """Published row -> row of the table. Only the process that made the release knows it."""
    k: int = 1
    """The class size that the policy asks for; 1 if it asks for none."""
    of_people: bool = False
    """The policy says whose each row is, so guarantees count people, not rows."""
    claimed: IntVector | None = None
    """Published row -> row of the table, as the private record of the run says. It counts only if it can be true."""

    @classmethod
    def of_release(cls, table: CodedTable, release: Release, k: int = 1) -> Evidence:
        """Render what a method proposes, and read the rows back as an outsider does."""
        rendered = render(table, release)
        people = table.person is not None
        return cls(read_back(table, release, rendered), table, rendered.owner, k, people)

    @property
    def classes_tell(self) -> bool:
        """Whether the size of an equivalence class says who can be found; not if columns were shuffled."""
        return self.published.bucket_of is None

    @property
    def original(self) -> CodedTable:
        """The original table, or an error that asks for it."""
        if self.table is None:
            raise DataError("this needs the original table: give it too")
        return self.table

    @cached_property
    def groups(self) -> Groups:
        """The equivalence classes as group models see them; with the original's totals if it is known."""
        if self.table is None:
            return self.published.groups
        person = self.owners.person
        if person is None:
            return replace(self.published.groups, totals=self.table.sensitive_counts)
        published, number = self.published, self.published.candidates
        return group(
            number,
            int(number.max(initial=-1)) + 1,
            published.sensitive_codes,
            published.sensitive,
            self.table.totals,
            person=person,
            people=self.table.people,
        )

    @cached_property
    def owners(self) -> Owners:
        """Whose each published row is. A release does not show it, so it comes from the process that made the release,
        else from matching the rows with the original.
        """
        if not self.of_people:
            return Owners()
        if self.table is None:
            return Owners(unknown="only the original says whose each row is: give it")
        if self.table.person is None:
            return Owners()
        if self.owner is not None:
            return Owners(self.table.person[self.owner])
        if self.claimed is not None:
            return confirmed(self.published, self.table, self.claimed)
        return matched(self.published, self.table)

    @cached_property
    def sizes(self) -> LongVector:
        """``[classes]`` people in each class, or an error if nobody can know. A row is a person of its own, unless the
        policy says whose it is.
        """
        from shoal.kernels.people import count_people, rows_by_group

        person, published = self.owners.person, self.published
        if self.owners.unknown:
            raise DataError(f"people cannot be counted: {self.owners.unknown}")
        if person is None:
            return published.sizes
        by_person = np.argsort(person, kind="stable")
        order, start, _ = rows_by_group(published.class_of[by_person], published.classes, person[by_person])
        sizes: LongVector = count_people(by_person[order], start, person)
        return sizes

    @cached_property
    def consistency(self) -> Consistency:
        """Which people match which rows: the most expensive part.

        Known owners give it one complete assignment to start from. They do not change its counts, which hold over all
        complete assignments, so an attack may use the same graph.
        """
        return consistency(self.published, self.original, self.owner)

    @cached_property
    def risk(self) -> Risk:
        """All risks of re-identification, with the population if it is known."""
        table, published = self.table, self.published
        people = None if table is None else table.population
        crowd = None
        if table is not None and people is not None and published.low is not None and published.sets is None:
            crowd = population_sizes(published, replace(table, codes=people))
        return assess(published, table, population=crowd, sizes=self.sizes)
