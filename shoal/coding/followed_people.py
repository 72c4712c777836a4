"""Rows that can be followed: people as lists of rows, and tables with one row per person.

If all rows of a person carry one pseudonym, whoever recognises one row has all of them. Then people must look alike,
not rows: two people do if their rows, as lists without an order, show the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.coding.groups import Groups, Shared, group
from shoal.coding.table import Attribute, CodedTable
from shoal.support.arrays import IntMatrix, IntVector, LongVector


def rows_of_people(person: IntVector) -> tuple[LongVector, LongVector]:
    """Return the rows of one person after the other, in their order, and where each person begins. People are 0, 1, ..
    O(rows log rows)."""
    order: LongVector = np.argsort(person, kind="stable")
    people = int(person.max(initial=-1)) + 1
    start: LongVector = np.searchsorted(person[order], np.arange(people + 1))
    return order, start


def crowds(class_of: IntVector, person: IntVector) -> IntVector:
    """Return the crowd of each person: people whose rows are in the same classes, equally often. Crowds are 0, 1, ..

    O(rows log rows), plus the numbers of rows that people have.
    """
    from shoal.kernels.grouping import distinct

    people = int(person.max(initial=-1)) + 1
    order = np.lexsort((class_of, person))
    lists = class_of[order]
    start = np.searchsorted(person[order], np.arange(people + 1))
    often = np.diff(start)
    crowd = np.full(people, -1, np.int32)
    found = 0
    for count in np.unique(often):
        own = np.flatnonzero(often == count)
        cells = lists[start[own][:, None] + np.arange(count)]
        number, first = distinct(np.asfortranarray(cells))
        crowd[own] = number + np.int32(found)
        found += len(first)
    return crowd


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WideTable(CodedTable):
    """One row per person, for people with equally many rows: the quasi-identifiers of their first row, of their second,
    and so on. A quasi-identifier that changes within nobody appears once, and its loss counts for all rows.

    A person's value of a sensitive column is the set of values in their rows, so groups count people for each value.
    `sensitive_codes` holds only the rarest of them: enough to see that a group has different values.
    """

    whole: CodedTable
    """The table that the rows come from."""
    members: IntMatrix
    """``[people, rows of each]`` rows of the whole table, in the order of their columns here."""
    places: IntMatrix
    """``[rows of each, quasi-identifiers]`` which column here holds a quasi-identifier of a row."""

    @classmethod
    def of(cls, whole: CodedTable, members: IntMatrix) -> WideTable:
        """Line up the rows of people, who have equally many. O(cells)."""
        attributes: list[Attribute] = []
        columns: list[IntVector] = []
        count = members.shape[1]
        places = np.empty((count, len(whole.attributes)), np.int32)
        for j, attribute in enumerate(whole.attributes):
            codes = whole.quasi.narrow[j][members].astype(np.int32)
            if bool((codes == codes[:, :1]).all()):
                places[:, j] = len(columns)
                attributes.append(replace(attribute, weight=attribute.weight * count, bounds=None))
                columns.append(codes[:, 0])
                continue
            for place in range(count):
                places[place, j] = len(columns)
                attributes.append(
                    replace(attribute, name=f"{attribute.name} of row {place + 1}", bounds=None)
                )
                columns.append(codes[:, place])
        rarest = np.empty((len(members), len(whole.sensitive)), np.int32, order="F")
        for j, totals in enumerate(whole.totals):
            codes = whole.secrets.narrow[j][members].astype(np.int32)
            rarest[:, j] = codes[np.arange(len(codes)), np.argmin(totals[codes], axis=1)]
        return cls.of_matrices(
            attributes,
            np.asfortranarray(np.stack(columns, axis=1)),
            whole.sensitive,
            rarest,
            pl.DataFrame(),
            (),
            whole=whole,
            members=members,
            places=places,
        )

    @property
    def indivisible(self) -> str:
        """Values of a person are in the rows of the table that they come from."""
        return "people whose rows can be followed are compared as a whole"

    @property
    def one_value(self) -> bool:
        """A person shows several values, if several rows."""
        return bool(self.members.shape[1] == 1)

    @cached_property
    def totals(self) -> tuple[LongVector, ...]:
        """How many people of the whole table have each code, per sensitive column."""
        return self.whole.totals

    def grouped(self, group_of: IntVector, groups: int, rows: IntVector | LongVector | None = None) -> Groups:
        """Return groups of people as privacy models see them: a value counts for everybody who shows it in some row."""
        members = self.members if rows is None else self.members[rows]
        count = members.shape[1]
        found = group(
            np.repeat(group_of, count),
            groups,
            np.asfortranarray(self.whole.secrets.wide[members.ravel()]),
            self.sensitive,
            self.totals,
            person=np.repeat(np.arange(len(members), dtype=np.int32), count),
            people=self.whole.people,
        )
        # A row of this table is a person.
        return replace(found, shared=Shared(found.size, self.whole.people))

    @cached_property
    def repeated(self) -> CodedTable:
        """The same with a row for each row of a person, all of which show what the person shows. It is for methods that
        never tear apart rows with equal values, and count people by themselves.
        """
        count = self.members.shape[1]
        return RepeatedTable.of_matrices(
            self.attributes,
            np.asfortranarray(np.repeat(self.quasi.wide, count, axis=0)),
            self.sensitive,
            np.asfortranarray(self.whole.secrets.wide[self.members.ravel()]),
            pl.DataFrame(),
            (),
            person=np.repeat(np.arange(len(self.members), dtype=np.int32), count),
            whole=self.whole,
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RepeatedTable(CodedTable):
    """Some people of a table, each with equal rows; shares are compared with the whole table."""

    whole: CodedTable

    @cached_property
    def people(self) -> int:
        """Number of different people of the whole table."""
        return self.whole.people

    @cached_property
    def totals(self) -> tuple[LongVector, ...]:
        """How many people of the whole table have each code, per sensitive column."""
        return self.whole.totals
