"""Whose the rows of a release are: what matching them with the original shows for certain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import DataError
from shoal.judging.linking.consistency import consistency
from shoal.release.published import Published
from shoal.release.value_sets import column_sets
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

_UNSURE = (
    "rows of the release may belong to different people, and only the record of the run says to whom: give it"
)


@dataclass(frozen=True, eq=False, repr=False)
class Owners(Brief):
    """Whose each published row is."""

    person: IntVector | None = None
    """Published row -> person. None: every row is a person of its own, or `unknown` says why nobody can tell."""
    unknown: str = ""
    """Why people cannot be counted; empty if they can."""
    rows: LongVector | None = None
    """Published row -> row of the original, up to rows that are alike in what is published; None if it is not known, or
    nothing depends on it."""
    lost: str = ""
    """Why groups of people cannot be counted; empty if they can."""

    @classmethod
    def of(cls, table: CodedTable, rows: IntVector | LongVector) -> Owners:
        """Return the owners of published rows that come from these rows of the original."""
        return cls(
            None if table.counting.adds_up else table.counting.owner[rows], rows=np.asarray(rows, np.int64)
        )

    @classmethod
    def not_known(cls, table: CodedTable | None, why: str) -> Owners:
        """Return unknown owners with the reason. If every row is a person of its own, people can still be counted."""
        return cls(unknown="" if table is not None and table.counting.adds_up else why, lost=why)


def match_owners(published: Published, table: CodedTable) -> Owners:
    """Find the owner of each row if only one answer is possible; rows that are identical in the release may be
    exchanged.

    It is if every row of the original fits one class at most, every class has as many rows as fit it, and their
    sensitive values are those of the original. Classes that overlap do not show whose their rows are: then the answer
    is that nobody can know. O(rows x columns), plus the search for fitting classes.
    """
    if published.in_buckets:
        return Owners.not_known(table, "values were shuffled within buckets")
    try:
        graph = consistency(published, table)
    except DataError as error:
        return Owners.not_known(table, str(error))
    classes = published.classes
    # A last class, if there is one, stands for rows that are not published.
    links = graph.links[: graph.start[classes]]
    if np.bincount(links, minlength=1).max(initial=0) > 1:
        return Owners.not_known(table, _UNSURE)
    class_of_tuple = np.full(len(graph.people.weight), -1, np.int32)
    class_of_tuple[links] = np.repeat(np.arange(classes, dtype=np.int32), np.diff(graph.start[: classes + 1]))
    class_of = class_of_tuple[graph.people.row_of]
    fitting = np.flatnonzero(class_of >= 0)
    if not np.array_equal(np.bincount(class_of[fitting], minlength=classes), published.sizes):
        return Owners.not_known(table, _UNSURE)
    ours = _alike(class_of[fitting], table.secrets.wide[fitting])
    theirs = _alike(published.class_of, published.sensitive_codes)
    same = published.class_of[theirs] == class_of[fitting][ours]
    same &= (published.sensitive_codes[theirs] == table.secrets.wide[fitting][ours]).all(axis=1)
    if not same.all():
        return Owners.not_known(table, "sensitive values of the release are not those of the original")
    rows = np.empty(published.rows, np.int64)
    rows[theirs] = fitting[ours]
    return Owners.of(table, rows)


def confirm_record(published: Published, table: CodedTable, claimed: IntVector) -> Owners:
    """Take the owner of each row from the record of the run, if every row covers the original row that the record
    names, has its sensitive values, and no row is named twice. O(rows x columns).
    """
    wrong = Owners.not_known(
        table, "the record does not say whose these rows are: give the one of the run that made the release"
    )
    if published.in_buckets or len(claimed) != published.rows:
        return wrong
    if len(np.unique(claimed)) < len(claimed) or not ((claimed >= 0) & (claimed < table.rows)).all():
        return wrong
    low, high = (ends[published.class_of] for ends in published.cell_ranges)
    codes = table.quasi.wide[claimed]
    fitting = bool((low <= codes).all() and (codes <= high).all())
    for j in range(codes.shape[1] if published.sets is not None and fitting else 0):
        assert published.sets is not None
        begins, values = column_sets(published.sets, codes.shape[1], j)
        width = table.attributes[j].hierarchy.size
        shown = np.repeat(np.arange(published.classes, dtype=np.int64), np.diff(begins)) * width + values
        fitting &= bool(np.isin(published.class_of.astype(np.int64) * width + codes[:, j], shown).all())
    if not fitting or not np.array_equal(table.secrets.wide[claimed], published.sensitive_codes):
        return wrong
    return Owners.of(table, claimed)


def find_contradiction(follow: IntVector, of_rows: IntVector, known: IntVector | None) -> Owners | None:
    """Return why pseudonyms do not identify the owners of rows, or None if nothing contradicts them. O(rows log rows).

    `of_rows` is whose each row of the original is, and `known` whose each published row is, if that is known: then each
    pseudonym must stand for one person, and each person for one pseudonym. Otherwise there must be enough people with
    enough rows.
    """
    if known is not None:
        pairs = len(np.unique(follow.astype(np.int64) * (int(known.max(initial=0)) + 1) + known))
        if pairs > len(np.unique(follow)):
            return Owners(unknown="rows with one pseudonym belong to several people")
        if pairs > len(np.unique(known)):
            return Owners(unknown="rows of one person have several pseudonyms")
        return None
    shown, there = (np.sort(np.bincount(own))[::-1] for own in (follow, of_rows))
    if len(shown) > len(there) or (shown > there[: len(shown)]).any():
        return Owners(unknown="the original has no people with so many rows for all pseudonyms")
    return None


def _alike(class_of: IntVector, codes: IntMatrix) -> LongVector:
    """Sort rows by class and sensitive values."""
    order: LongVector = np.lexsort((*codes.T, class_of))
    return order
