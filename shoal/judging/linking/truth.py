"""Is a release true? Every published row must be given an original row of its own that it covers.

A row covers an original row if its quasi-identifiers cover the other's values and its kept columns are equal. How many
rows cannot be given one is the number of rows minus a maximum matching. Rows that are alike are counted, not matched:
the matching is a flow between distinct pairs of class and kept values and distinct original rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from shoal.coding import CodedTable
from shoal.coding.columns import count_codes
from shoal.coding.hierarchy.distinct_values import is_ordered, parse, text_of
from shoal.coding.hierarchy.label_parser import locate
from shoal.io import factorize
from shoal.io.coded import Codes
from shoal.io.sheet import Sheet
from shoal.io.text_columns import is_set, sets_as_text
from shoal.judging.linking.consistency import People
from shoal.judging.linking.row_search import Boxes, Search, join_rows
from shoal.judging.linking.shuffled_truth import count_false_shuffled
from shoal.release.published import Published
from shoal.release.published_types import find_texts
from shoal.support.arrays import IntVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE, in_threads, processors
from shoal.support.wording import format_count

NO_ELEMENTS = "{}"
"""An empty list in formats without lists."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """How many published rows cover no original row of their own."""

    rows: int
    """Published rows."""
    least: int
    """At least so many are not true."""
    most: int
    """At most so many are not true; equal to `least` where the number is exact."""
    unread: int = 0
    """Rows with a cell that is not in its hierarchy, although others of its column are: they cover nobody."""
    foreign: tuple[str, ...] = ()
    """Columns in which nothing is in the hierarchy: whatever they show may be true, but need not be."""
    invented: int = 0
    """Rows whose kept columns show a combination of values more often than the original has it."""
    too_often: tuple[str, ...] = ()
    """Kept columns that show some value more often than the original."""
    shuffled: bool = False
    """Columns were shuffled within buckets. Each group of columns is then matched by itself, with original rows whose
    other columns lie within what the bucket shows: rows that fail are not true, but others need not be."""
    missing: tuple[str, ...] = ()
    """Columns of the original that the release lacks: not compared."""
    unlike: tuple[str, ...] = ()
    """Columns of lists or structures that the release holds in another type: not compared."""

    @property
    def in_part(self) -> bool:
        """Not everything could be compared, so the release is refuted at best."""
        return self.shuffled or bool(self.unlike)

    @property
    def words(self) -> str:
        """What was found, with nothing about individuals."""
        found = []
        if self.least:
            many = "" if self.least == self.most else "at least "
            found.append(f"{many}{self.least:,} of {self.rows:,} rows cover no original row of their own")
        if self.unread:
            found.append(f"{format_count(self.unread, 'row')} with cells that are not in their hierarchies")
        if self.too_often:
            found.append(f"values more often than in the original: {', '.join(self.too_often)}")
        if self.shuffled:
            found.append("by groups of columns")
        return "; ".join(found)


@dataclass(frozen=True, eq=False, repr=False)
class _Kept(Brief):
    """A kept column as codes, in both tables; -1 for a value that the original lacks."""

    name: str
    before: Codes
    after: IntVector
    size: int


def truth_of(
    published: Published,
    original: CodedTable,
    rows: pl.DataFrame | Sheet,
    owner: IntVector | None = None,
    people: Callable[[], People] | None = None,
    perturbed: Collection[str] = (),
) -> Truth:
    """Count the published rows that cover no original row of their own. `rows` are the published rows in the types of
    the original, `owner` the original row of each, if it is known, and `people` gives the people of the original.
    Columns that are `perturbed` by the policy are not compared here: what they show has verdicts of its own.

    O(rows log rows), and a tree over the distinct original rows; plus a flow along the pairs that match, for original
    rows that several classes cover. Bounds, if these pairs are too many.
    """
    if published.in_buckets:
        # Sensitive values in buckets are never perturbed.
        perturbed = [name for name in perturbed if name not in {a.name for a in original.sensitive}]
    facts, secret, shown = _compare_kept(published, original, rows, perturbed)
    before, after = _combine_columns([*secret, *shown], original.rows, published.rows)
    if not published.in_buckets:
        facts = replace(facts, invented=_surplus(before, after))
    boxes = published.cells
    if boxes is None:
        return replace(facts, least=published.rows, most=published.rows, unread=published.rows)
    unread = int(published.sizes[boxes.unread].sum())
    if published.in_buckets:
        columns = [(column.before, column.after) for column in secret]
        columns.append(_combine_columns(shown, original.rows, published.rows))
        least = most = max(count_false_shuffled(published, original, columns), unread)
    elif owner is not None and published.readable and _own(published, original, owner, before, after):
        return facts
    else:
        found_by = People.in_table(original) if people is None else people()
        least, most = _by_classes(published, original, found_by, before, after)
    if boxes.foreign:
        most = published.rows
    return replace(facts, least=least, most=most, unread=unread, foreign=boxes.foreign)


def _compare_kept(
    published: Published, original: CodedTable, rows: pl.DataFrame | Sheet, perturbed: Collection[str]
) -> tuple[Truth, list[_Kept], list[_Kept]]:
    """Compare single kept columns; also return the sensitive and the plain ones as codes."""
    secret = _number_secrets(published, original, perturbed)
    apart = {*(a.name for a in original.sensitive), *perturbed}
    plain = [name for name in original.kept.columns if name not in apart]
    found = {name: _number_values(original.kept[name], rows[name]) for name in plain if name in rows.columns}
    shown = [column for column in found.values() if column is not None]
    facts = Truth(
        rows=published.rows,
        least=0,
        most=0,
        too_often=tuple(column.name for column in [*secret, *shown] if _surplus(column.before, column.after)),
        shuffled=published.in_buckets,
        missing=tuple(name for name in plain if name not in found),
        unlike=tuple(name for name in found if found[name] is None),
    )
    return facts, secret, shown


def _number_secrets(published: Published, original: CodedTable, perturbed: Collection[str]) -> list[_Kept]:
    """Return the sensitive columns as codes, without those that are perturbed."""
    return [
        _Kept(a.name, original.secrets.narrow[j], published.sensitive_codes[:, j], a.hierarchy.size)
        for j, a in enumerate(original.sensitive)
        if a.name not in perturbed
    ]


def _number_values(before: pl.Series, after: pl.Series) -> _Kept | None:
    """Number the values of a plain column, those of the release by the values of the original; None if the column holds
    lists or structures in one of them, and something else in the other.
    """
    if isinstance(before.dtype, pl.List) and not before.dtype.inner.is_nested() and after.dtype == pl.String:
        # Formats without lists hold them as text.
        texts = after.drop_nulls().unique()
        if not all(is_set(text) or text == NO_ELEMENTS for text in texts):
            return None
        before = sets_as_text(before)
    if any(column.dtype.is_nested() or column.dtype == pl.Object for column in (before, after)):
        if before.dtype != after.dtype:
            return None
        before, after = (
            pl.Series(before.name, [repr(value) for value in column.to_list()], dtype=pl.String)
            for column in (before, after)
        )
    number, values = factorize(before)
    places, shown = factorize(after)
    code = locate(values, shown) if len(shown) else np.empty(0, np.int32)
    if (code < 0).any() and shown.dtype != values.dtype and is_ordered(values.dtype):
        # Another tool may write 1.50, or a time in another format.
        read = parse(text_of(shown), values.dtype)
        code = np.where((code < 0) & read.is_not_null().to_numpy(), locate(values, read), code).astype(
            np.int32
        )
    if (code < 0).any():
        code = np.where(code < 0, find_texts(values, shown), code).astype(np.int32)
    return _Kept(before.name, number, code[places], len(values))


def _combine_columns(columns: Sequence[_Kept], rows: int, published: int) -> tuple[IntVector, IntVector]:
    """Return one number for all kept values of a row, in both tables; one more for values that the original lacks."""
    from shoal.kernels.grouping import distinct

    if not columns:
        return np.zeros(rows, np.int32), np.zeros(published, np.int32)
    after = [np.where(column.after < 0, column.size, column.after) for column in columns]
    # Each number costs time and memory later, also if no row has it, so there must not be many more than rows.
    if math.prod(column.size + 1 for column in columns) <= 4 * (rows + published):
        own, theirs = columns[0].before.astype(np.int32), after[0]
        for column, shown in zip(columns[1:], after[1:], strict=True):
            own, theirs = own * (column.size + 1) + column.before, theirs * (column.size + 1) + shown
        return own.astype(np.int32), theirs.astype(np.int32)
    both = np.empty((rows + published, len(columns)), np.int32, order="F")
    for j, column in enumerate(columns):
        both[:rows, j], both[rows:, j] = column.before, after[j]
    number = distinct(both)[0]
    return number[:rows], number[rows:]


def _surplus(before: Codes, after: IntVector) -> int:
    """Count the entries of one list that another one does not have, or does not have as often."""
    size = int(max(before.max(initial=0), after.max(initial=-1))) + 1
    if size <= 4 * (len(before) + len(after)):
        lost = int((after < 0).sum())
        more = count_codes(after[after >= 0] if lost else after, size) - count_codes(before, size)
        return int(np.maximum(more, 0).sum()) + lost
    have, often = np.unique(before, return_counts=True)
    shown, times = np.unique(after, return_counts=True)
    if len(have):
        at = np.minimum(np.searchsorted(have, shown), len(have) - 1)
        times = np.maximum(times - np.where(have[at] == shown, often[at], 0), 0)
    return int(times.sum())


def _own(
    published: Published, original: CodedTable, owner: IntVector, before: IntVector, after: IntVector
) -> bool:
    """Whether every row covers the row that it was made from: then nothing has to be matched."""
    if published.sets is not None or not np.array_equal(before[owner], after):
        return False
    low, high = published.cell_ranges
    for j in range(len(original.attributes)):
        own = original.quasi.narrow[j][owner]
        if np.any(own < low[published.class_of, j]) or np.any(own > high[published.class_of, j]):
            return False
    return True


def _by_classes(
    published: Published, original: CodedTable, people: People, before: IntVector, after: IntVector
) -> tuple[int, int]:
    """Return at least and at most how many rows are not true, if rows show their own values."""
    boxes = published.cells
    assert boxes is not None
    low, high = boxes.low.copy(), boxes.high.copy()
    # A class that cannot be read covers nobody.
    low[boxes.unread], high[boxes.unread] = 1, 0
    found = Search(people, (low, high), published)
    if not found.complete:
        return _by_search(published, original, before, after, (low, high))
    values = int(max(before.max(initial=0), after.max(initial=0))) + 1
    untrue = _count_unmatched(
        (published.class_of, after), (people.row_of, before), found, len(people.weight), values
    )
    return untrue, untrue


def _count_unmatched(
    own: tuple[IntVector, IntVector],
    their: tuple[IntVector, IntVector],
    found: Search,
    people: int,
    values: int,
) -> int:
    """Return how many published rows find no original row. Rows must agree in their kept values, so each value is
    matched by itself, in threads. `own` and `their` are the class, or the distinct row, and the value of each row.
    """
    from shoal.kernels.grouping import by_value
    from shoal.kernels.matching import unmatched

    shown, known = in_threads(
        lambda rows: by_value(rows[1], rows[0], values), [own, their], many=len(own[0]) > PIECE
    )
    # Several shares for each thread, because values differ in how many rows have them.
    ends = np.searchsorted(shown[0], np.linspace(0, len(own[0]), 8 * processors() + 1)).clip(0, values)
    ends[0], ends[-1] = 0, values
    shares = [(int(first), int(last)) for first, last in pairwise(ends) if first < last]

    def lost(share: tuple[int, int]) -> int:
        return int(unmatched(*shown, *known, found.start, found.links, len(found.start) - 1, people, *share))

    return sum(in_threads(lost, shares, many=len(own[0]) > PIECE))


def _by_search(
    published: Published,
    original: CodedTable,
    before: IntVector,
    after: IntVector,
    boxes: Boxes,
) -> tuple[int, int]:
    """Match pairs of class and kept values with distinct original rows, looked up in a tree that has kept values too.

    Fewer pairs match than by classes alone, but it takes longer to find them.
    """
    from shoal.kernels.grouping import distinct

    people = join_rows(original, [before])
    source_of, first = distinct(np.asfortranarray(np.stack([published.class_of, after], axis=1)))
    class_of, value = published.class_of[first], after[first][:, None]
    size = np.bincount(source_of, minlength=len(first)).astype(np.int64)
    low, high = (np.hstack([end[class_of], value]) for end in boxes)
    found = Search(people, (low, high), published, class_of)
    untrue = published.rows - found.count_matched(size)
    return untrue if found.complete else _surplus(before, after), untrue
