"""`Evidence`: what a release is judged by. Models, measures and attacks read it; each part is computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from shoal.arrays import IntVector
from shoal.brief import Brief
from shoal.errors import DataError
from shoal.linking.consistency import Consistency, consistency
from shoal.linking.risk import Risk, assess, population_sizes
from shoal.release import Release
from shoal.release.published import Published
from shoal.release.reading import read_back
from shoal.release.render import render
from shoal.table import CodedTable
from shoal.table.groups import Groups


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

    @classmethod
    def of_release(cls, table: CodedTable, release: Release, k: int = 1) -> Evidence:
        """Render what a method proposes, and read the rows back as an outsider does."""
        rendered = render(table, release)
        return cls(read_back(table, release, rendered), table, rendered.owner, k)

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
        return replace(self.published.groups, totals=self.table.sensitive_counts)

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
        return assess(published, table, population=crowd)
