"""Statements about people that a release suggests: "in this class, and with a value that its label names"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.coding.hierarchy.labels import Ends
from shoal.judging.linking.consistency import People, within_sets
from shoal.release.published import Published
from shoal.release.value_sets import column_sets
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief


@dataclass(frozen=True, eq=False, repr=False)
class Statements(Brief):
    """Values that cells name, one entry per class and value: the ends of a range, or the elements of a set."""

    column: int
    class_of: LongVector
    code: LongVector

    def count(self, links: Links) -> tuple[LongVector, LongVector]:
        """Return of how many rows each statement is true, and the sum of the numbers of these rows. O(links)."""
        size = int(max(links.codes[:, self.column].max(initial=0), self.code.max(initial=0))) + 1
        own = self.class_of * size + self.code
        found = links.class_of * size + links.codes[links.row, self.column]
        keys, place = np.unique(own, return_inverse=True)
        at = np.minimum(np.searchsorted(keys, found), max(len(keys) - 1, 0))
        there = keys[at] == found if len(keys) else np.zeros(len(found), np.bool_)
        rows = links.row[there]
        times = np.bincount(at[there], links.weight[rows], len(keys))
        numbers = np.bincount(at[there], links.weight[rows] * links.first[rows].astype(float), len(keys))
        return times.astype(np.int64)[place], numbers.astype(np.int64)[place]


@dataclass(frozen=True, eq=False, repr=False)
class Links(Brief):
    """Which distinct rows of a table each published class covers."""

    class_of: LongVector
    row: IntVector
    """Per link, the distinct row."""
    codes: IntMatrix
    """The distinct rows."""
    weight: LongVector
    """How many rows of the table equal each of them."""
    first: LongVector
    """One of these."""

    @classmethod
    def of(cls, published: Published, people: People) -> Links:
        """Find the rows whose values the cells of each class cover. O(log rows) per class, plus the links."""
        columns = len(published.attributes)
        start, links = people.inside(*published.cell_ranges)
        if published.sets is not None:
            start, links = within_sets(people, published.sets, start, links, columns)
        first = np.zeros(len(people.weight), np.int64)
        first[people.row_of] = np.arange(len(people.row_of))
        class_of = np.repeat(np.arange(published.classes, dtype=np.int64), np.diff(start))
        return cls(class_of, links, people.codes, people.weight, first)


def named_values(published: Published) -> list[Statements]:
    """Return, per quasi-identifier, the values that its generalized cells name; columns without any are left out.

    A range names its ends if its label is made of values; labels that follow from a hierarchy of the policy, such as
    `20-29`, name none. A set names all its elements. An end that no row of the original has is read as the next value
    that a row has.
    """
    low, high = published.cell_ranges
    found = []
    for j, attribute in enumerate(published.attributes):
        tree = attribute.hierarchy
        if published.sets is not None:
            start, codes = column_sets(published.sets, low.shape[1], j)
            many = np.diff(start)
            class_of = np.repeat(np.arange(published.classes), many)
            several = np.repeat(many > 1, many)
        elif isinstance(tree.naming, Ends):
            several = low[:, j] < high[:, j]
            # The label * names nothing.
            several &= (low[:, j] > 0) | (high[:, j] < tree.size - 1)
            class_of, codes = (
                np.tile(np.arange(published.classes), 2),
                np.concatenate([low[:, j], high[:, j]]),
            )
            several = np.tile(several, 2)
        else:
            continue
        several &= ~tree.hidden[codes]
        if several.any():
            own = Statements(j, class_of[several].astype(np.int64), codes[several].astype(np.int64))
            found.append(own)
    return found
