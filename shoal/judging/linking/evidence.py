"""`Evidence`: what a release is judged by. Models, measures and attacks read it; each part is computed once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.coding import CodedTable
from shoal.coding.columns import Columns
from shoal.coding.counting import ByOwners, count_values
from shoal.coding.followed_people import crowds
from shoal.coding.groups import Groups, group
from shoal.errors import DataError, check_known
from shoal.io.coded import Codes
from shoal.judging.linking.behind_pseudonyms import Followed, people_followed
from shoal.judging.linking.consistency import Consistency, consistency
from shoal.judging.linking.fewest import fewest_people
from shoal.judging.linking.origins import RECEIVED, Origin, Proposed, Traced
from shoal.judging.linking.owners import Owners, find_contradiction, match_owners
from shoal.judging.linking.persons import FollowedPersons, HiddenPersons, Persons, RowIsPerson
from shoal.judging.linking.reidentification import Risk, assess, population_sizes
from shoal.judging.linking.sampled import Sampled
from shoal.release import Release
from shoal.release.published import Boxes, Published
from shoal.release.read_published import read_back
from shoal.release.render import render
from shoal.support.arrays import FloatVector, IntVector, LongVector
from shoal.support.brief import Brief


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(Brief):
    """The published rows and, as far as they are known, the original table and the owner of each row."""

    published: Published
    """What an outsider sees."""
    table: CodedTable | None = None
    """The original."""
    origin: Origin = RECEIVED
    """How the release came here, and with it what is known about the original row behind each published row."""
    k: int = 1
    """The class size that the policy asks for; 1 if it asks for none."""
    persons: Persons = field(default_factory=RowIsPerson)
    """How the rows belong to people, whom guarantees count."""
    told_size: int | None = None
    """How many people could be in the table, as the policy says."""
    survey: FloatVector | None = None
    """Published row -> how many people of the population it stands for, if the release shows survey weights."""

    @property
    def population_size(self) -> int | None:
        """How many people could be in the table: those of the population that was given, else as many as the policy
        says; None if unknown.
        """
        known = None if self.table is None else self.table.context.population_size
        return self.told_size if known is None else known

    @classmethod
    def of_release(cls, table: CodedTable, release: Release, k: int = 1) -> Evidence:
        """Render what a method proposes, and read the rows back as an outsider does."""
        rendered = render(table, release)
        people = _persons_of(table)
        weights = None if table.survey_weights is None else table.survey_weights[rendered.owner]
        origin = Proposed(release, rendered.owner)
        return cls(read_back(table, release, rendered), table, origin, k, people, survey=weights)

    @classmethod
    def of_original(cls, table: CodedTable, told_size: int | None = None) -> Evidence:
        """Take the original for a release in which the quasi-identifiers are published as they are."""
        number, first = table.number_rows(as_read=True)
        shown = np.ascontiguousarray(table.quasi.wide[first])
        raw = Published(table.attributes, table.sensitive, number, table.secrets.wide, Boxes(shown, shown))
        own = np.arange(table.rows, dtype=np.int32)
        return cls(
            raw,
            table,
            Traced(own),
            persons=_persons_of(table),
            told_size=told_size,
            survey=table.survey_weights,
        )

    def by_group(self, name: str) -> Evidence:
        """Return the same with groups of a kind, such as households, in the place of people."""
        table = self.original
        units = {unit.name: unit for unit in table.countings[1:]}
        check_known("group", name, units)
        # The size of the population counts people, not groups of them.
        counting = replace(units[name], pseudonyms=table.counting.pseudonyms)
        whose = replace(table.with_context(population_size=None), countings=(counting,))
        found = Evidence(self.published, whose, self.origin, self.k, HiddenPersons())
        vars(found)["consistency"] = self.consistency  # It is about rows, so it is the same.
        return found

    @property
    def owner(self) -> IntVector | None:
        """Published row -> row of the original, if that is known for certain."""
        return self.origin.owner

    def read_as(self, published: Published) -> Evidence:
        """Return the same release, read in another way."""
        return Evidence(
            published,
            self.table,
            self.origin,
            self.k,
            self.persons,
            self.told_size,
            self.survey,
        )

    def number_texts(self, column: str) -> tuple[Codes, pl.Series] | None:
        """Return which text each row shows in any published column, by number, and the distinct texts; None if it is
        not published. An error if the rows are not known.
        """
        raise DataError("this is about the text of cells, and only a case has the published rows")

    def count_texts(self, column: str) -> tuple[pl.Series, LongVector] | None:
        """Return the distinct texts of any published column, and how many rows show each; None if it is not published.
        An error if the rows are not known.
        """
        found = self.number_texts(column)
        if found is None:
            return None
        number, texts = found
        return texts, np.bincount(number, minlength=len(texts)).astype(np.int64)

    @property
    def classes_tell(self) -> bool:
        """Whether the size of an equivalence class says who can be found; not if columns were shuffled."""
        return not self.published.in_buckets

    @property
    def original(self) -> CodedTable:
        """The original table, or an error that asks for it."""
        if self.table is None:
            raise DataError("this needs the original table: give it too")
        return self.table

    @cached_property
    def shared_results(self) -> dict[Hashable, Any]:
        """Cache of results that several measures need, such as trained models."""
        return {}

    def find_kept_column(self, name: str) -> pl.Series | None:
        """Return the published values of a column that is published unchanged; None if they are not known."""
        if self.owner is None or self.table is None:
            return None
        return self.table.kept[name].gather(self.owner)

    @cached_property
    def groups(self) -> Groups:
        """The equivalence classes as group models see them; with the original's totals if it is known."""
        person, published, table, rows = self.owners.person, self.published, self.table, self.owners.rows
        number = published.candidates if self.crowd_of is None or person is None else self.crowd_of[person]

        def count_groups(owner: IntVector, owners: int, totals: Sequence[LongVector]) -> Groups:
            codes, whole = published.sensitive_codes, int(number.max(initial=-1)) + 1
            return group(number, whole, codes, published.sensitive, totals, person=owner, people=owners)

        if person is None:
            found = published.groups
            found = found if table is None else replace(found, totals=table.sensitive_counts)
        elif table is None:
            found = count_groups(
                person,
                int(person.max(initial=-1)) + 1,
                count_values(person, Columns.of(published.sensitive, published.sensitive_codes)),
            )
        else:
            found = count_groups(person, table.counting.count, table.counting.totals)
        if table is None or rows is None:
            return found
        others = table.countings[1:]
        units = tuple(count_groups(unit.owner[rows], unit.count, unit.totals) for unit in others)
        return replace(found, units=units)

    @cached_property
    def crowd_of(self) -> IntVector | None:
        """Person -> people who show the same rows, if rows can be followed; None if not, or if nobody can know. These
        are the classes then: an adversary who recognises one row of a person has all of them.
        """
        if not self.persons.followed or self.owners.person is None:
            return None
        return crowds(self.published.class_of, self.owners.person)

    @cached_property
    def owners(self) -> Owners:
        """Whose each published row is. A release does not show it, so it comes from the process that made the release,
        else from matching the rows with the original.
        """
        if not self.persons.several:
            return Owners()
        if isinstance(self.persons, FollowedPersons):
            return self._owners_by_pseudonym(self.persons.pseudonym)
        if self.table is None:
            return Owners.not_known(None, "only the original says whose each row is: give it")
        if self.table.shared is None:
            return Owners()
        return self.origin.find_owners(self.published, self.table) or match_owners(self.published, self.table)

    def _owners_by_pseudonym(self, follow: IntVector) -> Owners:
        """Return the owner of each row by its pseudonym, unless the original contradicts the pseudonyms."""
        if self.published.in_buckets:
            return Owners(unknown="values were shuffled within buckets")
        if (follow < 0).any():
            return Owners(unknown=f"{int((follow < 0).sum()):,} rows have no pseudonym")
        table = self.table
        if table is None:
            return Owners(follow)
        of_rows = table.counting.owner
        named = replace(table, countings=(ByOwners.of(table.secrets, of_rows),))
        found = self.origin.find_owners(self.published, named)
        if found is not None and found.person is None:
            return found
        known = None if found is None else found.person
        return find_contradiction(follow, of_rows, known) or Owners(follow)

    @cached_property
    def fewest_people(self) -> int | None:
        """A number of people that every class has at least, if nobody can know whose its rows are; None if nothing can
        be said, or rows can be followed.
        """
        if self.table is None or self.persons.followed or self.published.in_buckets:
            return None
        try:
            return fewest_people(self.published, self.table, self.consistency)
        except DataError:
            return None

    @cached_property
    def sizes(self) -> LongVector:
        """``[classes]`` people in each class, or an error if nobody can know. A row is a person of its own, unless the
        policy says whose it is. If rows can be followed, the classes are those of people who show the same rows.
        """
        if self.crowd_of is not None:
            return np.bincount(self.crowd_of).astype(np.int64)
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
    def people_by_pseudonym(self) -> Followed | None:
        """Which people each pseudonym may belong to, if rows of people with several rows can be followed."""
        if not self.persons.followed or self.original.counting.adds_up:
            return None
        person, crowd_of = self.owners.person, self.crowd_of
        if person is None or crowd_of is None:
            raise DataError(f"people cannot be counted: {self.owners.unknown}")
        return people_followed(self.published, self.original, self.consistency, person, crowd_of)

    @cached_property
    def as_samples(self) -> tuple[Sampled, Sampled]:
        """What the rows before and after say about risk if they are a sample of a population."""
        return Sampled(self, after=False), Sampled(self, after=True)

    @cached_property
    def population_sizes(self) -> LongVector | None:
        """``[classes]`` people of the population who match each class; None if they are not known, or if nobody can
        tell what the cells cover.
        """
        table, published = self.table, self.published
        people = None if table is None else table.context.population
        if table is None or people is None or not published.in_ranges:
            return None
        return population_sizes(published, people)

    @cached_property
    def risk(self) -> Risk:
        """All risks of re-identification, with the population if it is known."""
        return assess(self.published, self.table, population=self.population_sizes, sizes=self.sizes)


def _persons_of(table: CodedTable) -> Persons:
    return RowIsPerson() if table.shared is None else HiddenPersons()
