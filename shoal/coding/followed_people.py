"""Rows that can be followed: people as lists of rows, and tables with one row per person.

If all rows of a person carry one pseudonym, whoever recognises one row has all of them. Then people must look alike,
not rows: two people do if their rows, as lists without an order, show the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.coding.columns import Columns, Kept
from shoal.coding.counting import ByLists, ByOwners, Whole
from shoal.coding.table import Attribute, CodedTable
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief


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


@dataclass(frozen=True, eq=False, repr=False)
class WideTable(Brief):
    """One row per person, for people with equally many rows: the quasi-identifiers of their first row, of their second,
    and so on. A quasi-identifier that changes within nobody appears once, and its loss counts for all rows.
    """

    whole: CodedTable
    """The table that the rows come from."""
    table: CodedTable
    """The table with one row per person. It holds only the rarest sensitive value of each: enough to see that a group
    has different values. Its counting knows all of them."""
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
        for j, totals in enumerate(whole.counting.totals):
            codes = whole.secrets.narrow[j][members].astype(np.int32)
            rarest[:, j] = codes[np.arange(len(codes)), np.argmin(totals[codes], axis=1)]
        secrets = Columns.of(whole.sensitive, rarest)
        quasi = Columns.of(attributes, np.asfortranarray(np.stack(columns, axis=1)))
        counting = ByLists(secrets, len(members), counting=whole.counting, members=members)
        return cls(whole, CodedTable(quasi, secrets, Kept(), (), (counting,)), members, places)

    @cached_property
    def table_of_rows(self) -> CodedTable:
        """The same with a row for each row of a person, all of which show what the person shows. It is for methods that
        never tear apart rows with equal values, and count people by themselves.
        """
        count, table, whole = self.members.shape[1], self.table, self.whole
        secrets = Columns.of(whole.sensitive, np.asfortranarray(whole.secrets.wide[self.members.ravel()]))
        person = np.repeat(np.arange(len(self.members), dtype=np.int32), count)
        of_all = Whole(whole.counting.totals, whole.counting.everyone)
        return replace(
            table,
            quasi=Columns.of(table.attributes, np.asfortranarray(np.repeat(table.quasi.wide, count, axis=0))),
            secrets=secrets,
            countings=(ByOwners.of(secrets, person, whole=of_all),),
        )
