"""Which people may be behind which pseudonyms, for an adversary who knows all rows of a person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.followed_people import crowds, rows_of_people
from shoal.errors import DataError
from shoal.judging.linking.consistency import BoxTree, Consistency, People
from shoal.release.published import Published
from shoal.support.arrays import BoolVector, FloatVector, IntVector, LongVector
from shoal.support.brief import Brief

AT_ONCE = 1 << 14
"""So many distinct rows are paired with crowds at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Followed(Brief):
    """People with their candidates: crowds of people who show the same rows."""

    list_of: IntVector
    """Person of the original -> distinct list of rows."""
    rows: LongVector
    """Person -> one of their rows, to name them by. Private."""
    graph: Consistency
    """Between distinct lists of rows, in place of distinct rows, and crowds, in place of classes."""

    @property
    def candidates(self) -> LongVector:
        """Per person, how many pseudonyms may be theirs."""
        return self.graph.candidates[self.list_of]

    @property
    def matches(self) -> LongVector:
        """Per person, how many pseudonyms are theirs in some complete assignment of pseudonyms to people."""
        return self.graph.matches[self.list_of]

    def count_beliefs(self, showing: tuple[IntVector, IntVector], labels: int) -> _Beliefs:
        """Count, for each distinct list of rows, the candidates who show each label. `showing` has a pair (crowd,
        label) for each person of a crowd who shows the label.
        """
        from scipy.sparse import csr_array

        graph = self.graph
        classes, lists = len(graph.size), len(graph.people.weight)
        shown = classes - graph.hidden
        links = graph.links[: graph.start[shown]]
        crowd = np.repeat(np.arange(shown), np.diff(graph.start[: shown + 1]))
        fits = csr_array((np.ones(len(links), np.int64), (links, crowd)), shape=(lists, shown))
        has = csr_array((np.ones(len(showing[0]), np.int64), showing), shape=(shown, labels))
        return _Beliefs((fits @ has).tocsr(), np.maximum(graph.candidates, 1))


@dataclass(frozen=True, eq=False, repr=False)
class _Beliefs(Brief):
    """How many candidates of each distinct list show each label, sparse, and how many candidates there are."""

    counts: object
    candidates: LongVector

    def top(self) -> FloatVector:
        """Return, per distinct list, the share of the label that most candidates show."""
        most = np.asarray(self.counts.max(axis=1).todense()).ravel()  # type: ignore[attr-defined]
        return np.asarray(most / self.candidates)

    def of(self, lists: IntVector, labels: IntVector) -> FloatVector:
        """Return the share of one label each among the candidates of distinct lists."""
        found = np.asarray(self.counts[lists, labels]).ravel()  # type: ignore[index]
        return np.asarray(found / self.candidates[lists])


def people_followed(
    published: Published, original: CodedTable, rows: Consistency, person: IntVector, crowd_of: IntVector
) -> Followed:
    """Find who may be behind which pseudonym. Rows may have been left out, so a person may have more rows than a
    pseudonym, but not by more than are missing altogether. `rows` says which rows match which, `person` numbers the
    pseudonyms of published rows, and `crowd_of` those who show the same rows.

    Raises DataError if the release cannot be one of these people.
    """
    from shoal.kernels.followed import fitting_crowds

    everyone = original.counting.owner
    list_of = crowds(rows.people.row_of, everyone)
    own_start, own_rows = _lists(rows.people.row_of, everyone, list_of)
    crowd_start, crowd_class = _lists(published.class_of, person, crowd_of)
    classes = published.classes
    links = rows.links[: rows.start[classes]]
    class_of = np.repeat(np.arange(classes, dtype=np.int32), np.diff(rows.start[: classes + 1]))
    match_start, match_class = _group_values(links, class_of, len(rows.people.weight))
    of_crowd = np.repeat(np.arange(len(crowd_start) - 1, dtype=np.int32), np.diff(crowd_start))
    holds_start, holds_crowd = _group_values(crowd_class, of_crowd, classes)
    who, what = fitting_crowds(
        own_start, own_rows, match_start, match_class, holds_start, holds_crowd, crowd_start, crowd_class,
        published.suppressed,
    )  # fmt: skip
    size = np.bincount(crowd_of).astype(np.int64)
    weight = np.bincount(list_of).astype(np.int64)
    start, fitting = _group_values(what.astype(np.int32), who.astype(np.int32), len(size))
    missing = original.counting.count - int(size.sum())
    if missing:
        anybody = np.arange(len(weight), dtype=np.int32)
        size = np.append(size, missing)
        start, fitting = np.append(start, start[-1] + len(anybody)), np.concatenate([fitting, anybody])
    none = np.empty(0, np.int32)
    tree = BoxTree(none, none, none, np.empty((0, 0), np.int32))
    people = People(list_of, np.empty((len(weight), 0), np.int32), weight, tree)
    first = np.unique(everyone, return_index=True)[1]
    found = Followed(list_of, first, Consistency(people, size, start, fitting, hidden=missing > 0))
    alone = int((found.candidates == 0).sum())
    if alone > missing:
        raise DataError(
            f"the release is not a generalization of the original: {alone:,} people match no pseudonym, but only "
            f"{missing:,} were left out; check that both files, the columns and the hierarchies belong together"
        )
    return found


def people_by_one_row(
    published: Published, rows: Consistency, person: IntVector, crowd_of: IntVector
) -> LongVector:
    """Return, per distinct row of the original, how many people show a row that covers it. Whoever shows the same rows
    counts together, so this takes O(links) and the pairs of a distinct row and a crowd.
    """
    from scipy.sparse import csr_array

    classes, size = published.classes, np.bincount(crowd_of).astype(np.int64)
    start, own = _lists(published.class_of, person, crowd_of)
    of_crowd = np.repeat(np.arange(len(size)), np.diff(start))
    holds = csr_array((np.ones(len(own), np.int32), (own, of_crowd)), shape=(classes, len(size)))
    links = rows.links[: rows.start[classes]]
    class_of = np.repeat(np.arange(classes, dtype=np.int32), np.diff(rows.start[: classes + 1]))
    begin, covering = _group_values(links, class_of, len(rows.people.weight))
    found = np.zeros(len(rows.people.weight), np.int64)
    for first in range(0, len(found), AT_ONCE):
        last = min(first + AT_ONCE, len(found))
        part = covering[begin[first] : begin[last]]
        pointers = begin[first : last + 1] - begin[first]
        fits = csr_array((np.ones(len(part), np.int32), part, pointers), shape=(last - first, classes))
        pairs = (fits @ holds).tocsr()
        pairs.data = np.ones_like(pairs.data)
        found[first:last] = pairs @ size
    return found


def _lists(value_of: IntVector, person: IntVector, list_of: IntVector) -> tuple[LongVector, IntVector]:
    """Return the values of the rows of one person for each list: where lists begin, and all values."""
    order, start = rows_of_people(person)
    first: BoolVector = np.zeros(len(list_of), np.bool_)
    first[np.unique(list_of, return_index=True)[1]] = True
    people = np.flatnonzero(first)
    people = people[np.argsort(list_of[people], kind="stable")]
    lengths = np.diff(start)[people]
    begins: LongVector = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    at = np.repeat(start[people] - begins[:-1], lengths) + np.arange(begins[-1])
    return begins, value_of[order[at]].astype(np.int32)


def _group_values(keys: IntVector, values: IntVector, size: int) -> tuple[LongVector, IntVector]:
    """Return the values of each key, ascending: where the values of each begin, and all values."""
    order = np.lexsort((values, keys))
    start: LongVector = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=size))]).astype(np.int64)
    return start, values[order]
