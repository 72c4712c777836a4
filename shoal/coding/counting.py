"""`Counting`: whom guarantees count, and how many of them the groups of rows of a table have.

Mostly each row is counted. If people have several rows, people are counted, and where a policy names kinds of groups of
people, such as households, these are counted, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from shoal.coding.columns import Columns
from shoal.coding.groups import Groups, Histograms, Shared, group
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.wording import format_count

Rows = IntVector | LongVector
"""Numbers of rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Whole(Brief):
    """What a part of a table has to know about the whole table: losses and some models compare with it."""

    totals: tuple[LongVector, ...]
    """How many of those who are counted have each code, per sensitive column."""
    everyone: int
    """How many are counted."""


@dataclass(frozen=True, eq=False, repr=False)
class Counting(Brief, ABC):
    """Whom guarantees count, over the rows of one table."""

    secrets: Columns
    """The sensitive columns of the table."""
    count: int
    """How many are counted in the table."""
    whole: Whole | None = None
    """The same for the whole table, if this one is a part of it."""
    pseudonyms: bool = False
    """All rows of a person are published with one pseudonym."""
    name: str = "person"
    """What one of them is called."""
    place: IntVector | None = None
    """Row -> its place among the rows of its owner, as a number to sort by; None if the policy names no order."""

    adds_up: ClassVar[bool] = True
    """A union of disjoint groups has the sum of their sizes: nobody who is counted has rows in two of them."""
    indivisible: ClassVar[str] = ""
    """Why methods cannot work on parts of the table; empty if they can."""

    @property
    @abstractmethod
    def owner(self) -> IntVector:
        """Row -> to whom it belongs, numbered 0, 1, .."""

    @property
    def one_value(self) -> bool:
        """Everyone who is counted has one value of each sensitive column."""
        return self.adds_up

    @property
    def followed(self) -> bool:
        """The several rows of a person can be followed."""
        return self.pseudonyms and not self.adds_up

    @property
    def everyone(self) -> int:
        """How many are counted in the whole table."""
        return self.count if self.whole is None else self.whole.everyone

    @cached_property
    def totals(self) -> tuple[LongVector, ...]:
        """How many of those who are counted have each code, per sensitive column; in a part, of the whole table."""
        return self._count_values() if self.whole is None else self.whole.totals

    @abstractmethod
    def _count_values(self) -> tuple[LongVector, ...]: ...

    @abstractmethod
    def tally(self, group_of: IntVector, groups: int, codes: IntMatrix, rows: Rows | None = None) -> Groups:
        """Count groups of rows as privacy models see them, from a group number per row, or per one of some `rows`.
        `codes` are their sensitive values.
        """

    def tally_all(self) -> Groups:
        """Count the whole table as one group."""
        return self.tally(np.zeros(self.secrets.rows, np.int32), 1, self.secrets.wide)

    @property
    def suffix(self) -> str:
        """Say how many people rows belong to, after a number of rows; empty if each row is counted."""
        return ""

    def over(self, secrets: Columns) -> Self:
        """Return the counting with other sensitive columns."""
        return replace(self, secrets=secrets)

    def part(self, secrets: Columns, rows: Rows) -> Self:
        """Return the counting over some rows, which is compared with the whole table; `secrets` are theirs."""
        whole = self.whole or Whole(self.totals, self.everyone)
        return replace(self, secrets=secrets, count=secrets.rows, whole=whole, pseudonyms=False, place=None)


@dataclass(frozen=True, eq=False, repr=False)
class ByRows(Counting):
    """Each row is counted: it is a person of its own."""

    @classmethod
    def of(cls, secrets: Columns) -> ByRows:
        """Count the rows of a table."""
        return cls(secrets, secrets.rows)

    def over(self, secrets: Columns) -> ByRows:
        """Return the counting with the sensitive columns of other rows."""
        return replace(self, secrets=secrets, count=secrets.rows)

    @property
    def owner(self) -> IntVector:
        """Each row belongs to itself."""
        return np.arange(self.secrets.rows, dtype=np.int32)

    def _count_values(self) -> tuple[LongVector, ...]:
        return self.secrets.counts

    def tally(self, group_of: IntVector, groups: int, codes: IntMatrix, rows: Rows | None = None) -> Groups:
        """Count rows. O(rows + groups)."""
        return group(group_of, groups, codes, self.secrets.attributes, self.totals)

    def tally_all(self) -> Groups:
        """Count the whole table as one group. A large table need not be widened for it."""
        columns = [Histograms.of(counts) for counts in self.secrets.counts]
        return Groups(np.array([self.count]), tuple(columns), tuple(self.totals), self.secrets.attributes)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ByOwners(Counting):
    """People, or groups of people such as households, are counted, each of whom may have several rows."""

    number_of: IntVector
    """Row -> owner."""

    adds_up: ClassVar[bool] = False

    @classmethod
    def of(cls, secrets: Columns, number_of: Any, **more: Any) -> Self:
        """Count owners that are numbered 0, 1, .."""
        return cls(secrets, int(number_of.max(initial=-1)) + 1, number_of=number_of, **more)

    @property
    def owner(self) -> IntVector:
        """Row -> owner."""
        return self.number_of

    @property
    def suffix(self) -> str:
        """Say how many people rows belong to."""
        return f" of {format_count(self.count, 'person', 'people')}"

    def _count_values(self) -> tuple[LongVector, ...]:
        return tuple(count_values(self.number_of, self.secrets))

    def tally(self, group_of: IntVector, groups: int, codes: IntMatrix, rows: Rows | None = None) -> Groups:
        """Count owners. O(rows + groups), or O(rows log rows) if rows have to be sorted by owner."""
        owner = self.number_of if rows is None else self.number_of[rows]
        own = self.secrets.attributes
        return group(group_of, groups, codes, own, self.totals, person=owner, people=self.everyone)

    def part(self, secrets: Columns, rows: Rows) -> Self:
        """Return the counting over some rows; their owners are numbered again, in the same order."""
        number, at = np.unique(self.number_of[rows], return_inverse=True)
        found = super().part(secrets, rows)
        return replace(found, count=len(number), number_of=at.astype(np.int32))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ByLists(Counting):
    """People are counted, who have equally many rows of a table: a row here is the list of the rows of a person there.
    A value counts for everyone who has it in some row.
    """

    counting: Counting
    """How the other table counts people."""
    members: IntMatrix
    """``[people, rows of each]`` rows of the other table."""

    indivisible: ClassVar[str] = "people whose rows can be followed are compared as a whole"

    @property
    def owner(self) -> IntVector:
        """Each list belongs to itself."""
        return np.arange(len(self.members), dtype=np.int32)

    @property
    def one_value(self) -> bool:
        """People show several values, if several rows."""
        return bool(self.members.shape[1] == 1)

    def _count_values(self) -> tuple[LongVector, ...]:
        return self.counting.totals

    def tally(self, group_of: IntVector, groups: int, codes: IntMatrix, rows: Rows | None = None) -> Groups:
        """Count people, with all values of their rows in the other table in the place of `codes`."""
        members = self.members if rows is None else self.members[rows]
        each, secrets = members.shape[1], self.counting.secrets
        found = group(
            np.repeat(group_of, each),
            groups,
            np.asfortranarray(secrets.wide[members.ravel()]),
            secrets.attributes,
            self.totals,
            person=np.repeat(np.arange(len(members), dtype=np.int32), each),
            people=self.counting.everyone,
        )
        return replace(found, shared=Shared(found.size, self.counting.everyone))


def count_values(owner: IntVector, secrets: Columns) -> Sequence[LongVector]:
    """Return how many owners have each code in at least one row, per sensitive column."""
    found = []
    for codes, attribute in zip(secrets.narrow, secrets.attributes, strict=True):
        size = attribute.hierarchy.size
        pairs = np.unique(owner.astype(np.int64) * size + codes)
        found.append(np.bincount(pairs % size, minlength=size))
    return found
