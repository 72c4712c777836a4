"""How the values of a release were shuffled within buckets: by its record, or by what its rows show.

A file cannot say how it was made, and a policy at hand may be that of another release. With the original, the rows
themselves tell: columns that stayed together show combinations that the original has, as often as it has them. Where
several ways are possible, all are returned, and a release is judged by the worst.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import IntMatrix, IntVector
from shoal.errors import DataError
from shoal.linking.consistency import how_many_fit
from shoal.methods.base import Shuffled
from shoal.methods.permuting.permuting import shuffled_within
from shoal.recorded import recorded_method, recorded_section
from shoal.release.published import Published
from shoal.table import CodedTable

MOST_COLUMNS = 7
"""With more columns, only the usual ways to group them are tried: there are too many others."""
DRAWS = 20
"""How often values are shuffled again, to see what chance alone would show."""
FAR = 6.0
"""How many standard deviations count as more than chance."""

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Making:
    """One way in which a release may have been made."""

    in_buckets: bool
    """Values were shuffled within buckets; otherwise every row shows the values of one person."""
    together: Groups | None = None
    """As in `Published`; None if each quasi-identifier was shuffled by itself."""
    sensitive_in: tuple[int, ...] | None = None
    """As in `Published`; None if no sensitive column was shuffled with a quasi-identifier."""

    @classmethod
    def of(cls, shuffled: Shuffled) -> Making:
        """Return what a method does, in one spelling."""
        together, sensitive_in = shuffled
        alone = together is None or all(len(group) == 1 for group in together)
        if sensitive_in is not None and all(place < 0 for place in sensitive_in):
            sensitive_in = None
        return cls(True, None if alone and sensitive_in is None else together, sensitive_in)

    @classmethod
    def of_groups(cls, groups: Groups, quasi: int, sensitive: int) -> Making:
        """Return what it means that these columns, quasi-identifiers first, were shuffled as units."""
        if len(groups) == 1:
            return INTACT
        units = sorted(groups)
        kept = [tuple(j for j in group if j < quasi) for group in units]
        together = tuple(group for group in kept if group)
        place = [-1] * sensitive
        for unit, own in zip(units, kept, strict=True):
            for j in unit:
                if j >= quasi and own:
                    place[j - quasi] = together.index(own)
        return cls.of((together, tuple(place)))

    def in_words(self, published: Published) -> str:
        """Say it to the user."""
        if not self.in_buckets:
            return "every row shows the values of one person, and nothing was shuffled"
        quasi = len(published.attributes)
        if self.together is None:
            return "each column was shuffled by itself within buckets"
        if self.together == (tuple(range(quasi)),) and self.sensitive_in is None:
            return "sensitive values were shuffled within buckets, and quasi-identifiers stayed in their rows"
        if len(self.together) == 1 and self.sensitive_in is not None and -1 not in self.sensitive_in:
            return "rows stayed whole, and somebody's row is one of their bucket"
        names = [[published.attributes[j].name for j in group] for group in self.together]
        for j, place in enumerate(self.sensitive_in or ()):
            if place >= 0:
                names[place].append(published.sensitive[j].name)
        groups = "; ".join(" with ".join(group) for group in names)
        return f"groups of columns were shuffled within buckets: {groups}"


INTACT = Making(False)


def by_record(record: Mapping[str, Any], published: Published, table: CodedTable | None) -> Making:
    """Return how the record of a run says that a release was made."""
    method = recorded_method(record)
    if not method.shows_buckets:
        return INTACT
    groups = record.get("groups")
    if groups is None:
        return Making.of(method.shuffled_together(published if table is None else table))
    names = [attribute.name for attribute in (*published.attributes, *published.sensitive)]
    listed = {*names, *recorded_section(record, "columns")}
    unknown = [name for group in groups for name in group if name not in listed]
    if unknown:
        raise DataError(f"the record shuffles a column '{unknown[0]}' that its policy does not name")
    units = tuple(tuple(names.index(name) for name in group if name in names) for group in groups)
    units = tuple(unit for unit in units if unit)
    if len(units) == 1:  # A single group: rows are as they were, and still have bucket numbers.
        return Making(True, (tuple(range(len(published.attributes))),), (0,) * len(published.sensitive))
    return Making.of_groups(units, len(published.attributes), len(published.sensitive))


def possible(
    published: Published, table: CodedTable | None, claimed: Making | None, *, apart: bool
) -> list[Making]:
    """Return the ways in which a release with a column of buckets may have been made; `claimed` is what the method of
    the policy at hand would do, `apart` says that sensitive values are in a second table.

    They include one that tells an adversary at least as much as the true way does: columns that truly stayed together
    show combinations of the original, so some of the largest groups that do contain each of them. Where shuffling
    would not show in these rows, the ways with more shuffling are returned too. A few sorts of the rows; O(rows) pairs
    of rows and people where cells are ranges.
    """
    quasi, sensitive = len(published.attributes), 0 if apart else len(published.sensitive)
    alone = Making(True)
    unshuffled = Making(True, (tuple(range(quasi)),)) if quasi > 1 else alone
    known = published.low is not None and published.sets is None
    if table is None or not known:
        ways = [unshuffled] if apart else [INTACT, unshuffled, *_linked_ways(quasi, sensitive)]
        return _first(claimed, [*ways, alone] if table is not None else ways, claimed is not None and apart)
    combinations = _Combinations(published, table, quasi + sensitive)
    found = [Making.of_groups(groups, quasi, sensitive) for groups in combinations.largest(quasi)]
    if apart:
        found = [way if way.in_buckets else unshuffled for way in found]
    if INTACT not in found and not apart and combinations.more_than_chance():
        found.append(INTACT)
    if combinations.unseen():
        found += [alone] if claimed is None or not combinations.has(claimed) else [claimed, alone]
    return _first(claimed, list(dict.fromkeys(found)), claimed in found)


def as_recorded(way: Making, published: Published, table: CodedTable | None, *, apart: bool) -> list[Making]:
    """Return the way that a record tells, and ways with less shuffling if far more rows are rows of the original than
    the shuffle would leave. Raises DataError if the release cannot have been made so.
    """
    if table is None or published.low is None or published.sets is not None or not way.in_buckets:
        return [way]
    quasi, sensitive = len(published.attributes), 0 if apart else len(published.sensitive)
    combinations = _Combinations(published, table, quasi + sensitive)
    if not combinations.has(way):
        raise DataError(
            f"by the record, {way.in_words(published)}, but the original lacks combinations that the release shows: "
            "the record is about another release; give the record of this one"
        )
    units, known = combinations.units(way), tuple(range(quasi))
    ways = [way]
    if not any(set(known) <= set(unit) for unit in units) and combinations.left_alone(units, known):
        ways.append(Making(True, (known,)))
    if not apart and combinations.left_alone(units, tuple(range(quasi + sensitive))):
        ways.append(INTACT)
    return ways


def _linked_ways(quasi: int, sensitive: int) -> list[Making]:
    """Return the ways in which sensitive values stay with quasi-identifiers: with all of them, which tells most about
    the rows of a bucket, or with one of them.
    """
    if not quasi or not sensitive:
        return []
    alone = tuple((j,) for j in range(quasi))
    whole = Making(True, (tuple(range(quasi)),), (0,) * sensitive)
    return list(dict.fromkeys([whole, *(Making(True, alone, (j,) * sensitive) for j in range(quasi))]))


def _first(claimed: Making | None, ways: list[Making], there: bool) -> list[Making]:
    """Put the claimed way first, so that it names the release; the verdicts are those of the worst way anyhow."""
    return [claimed, *(way for way in ways if way != claimed)] if there and claimed is not None else ways


class _Combinations:
    """Which combinations of columns of a release are combinations of the original."""

    def __init__(self, published: Published, table: CodedTable, columns: int) -> None:
        low, high = published.covered
        assert published.bucket_of is not None
        self.quasi, self.columns, self.bucket_of = len(published.attributes), columns, published.bucket_of
        secret = published.sensitive_codes[:, : columns - self.quasi]
        self.low: IntMatrix = np.column_stack([low[published.class_of], secret]).astype(np.int32)
        self.high: IntMatrix = np.column_stack([high[published.class_of], secret]).astype(np.int32)
        self.exact = np.array_equal(low, high)
        self.codes: IntMatrix = np.column_stack([table.codes, table.sensitive_codes])[:, :columns]
        self.attributes = (*published.attributes, *published.sensitive)
        self.own = np.tile(np.arange(len(self.low)), (columns, 1)).T
        self.random = np.random.default_rng(0)
        self._true: dict[tuple[int, ...], bool] = {}

    def is_true(self, columns: Sequence[int]) -> bool:
        """Whether the release may show these columns as the original has them. What holds for columns holds for some
        of them.
        """
        wanted = tuple(sorted(columns))
        if len(wanted) < 2:
            return True
        for tested, answer in self._true.items():
            if (answer and set(wanted) <= set(tested)) or (not answer and set(wanted) >= set(tested)):
                return answer
        self._true[wanted] = self._shows(wanted, self.own)
        return self._true[wanted]

    def _shows(self, columns: Sequence[int], shown_from: Any) -> bool:
        """Whether the original has these combinations, as often, if the cells come from these rows."""
        return self._matched(list(columns), shown_from) == len(self.low)

    def _matched(self, columns: list[int], shown_from: Any) -> int:
        """Return how many rows can be told apart as rows of the original, in these columns."""
        low = np.stack([self.low[shown_from[:, j], j] for j in columns], axis=1)
        if not self.exact:
            high = np.stack([self.high[shown_from[:, j], j] for j in columns], axis=1)
            attributes = tuple(self.attributes[j] for j in columns)
            return how_many_fit(attributes, np.asfortranarray(self.codes[:, columns]), low, high)
        from shoal.kernels.grouping import distinct

        number, first = distinct(np.asfortranarray(np.concatenate([low, self.codes[:, columns]])))
        ours = np.bincount(number[: len(low)], minlength=len(first))
        theirs = np.bincount(number[len(low) :], minlength=len(first))
        return int(np.minimum(ours, theirs).sum())

    def has(self, way: Making) -> bool:
        """Whether the release may have been made in this way."""
        if not way.in_buckets:
            return self.is_true(range(self.columns))
        return all(self.is_true(group) for group in self.units(way))

    def units(self, way: Making) -> Groups:
        """Return the columns that a way of shuffling keeps together."""
        groups = [list(group) for group in way.together or ()]
        for j, place in enumerate(way.sensitive_in or ()):
            if place >= 0 and self.quasi + j < self.columns:
                groups[place].append(self.quasi + j)
        grouped = {j for group in groups for j in group}
        return (*map(tuple, groups), *((j,) for j in range(self.columns) if j not in grouped))

    def largest(self, quasi: int) -> list[Groups]:
        """Return the partitions of the columns into true groups in which no two groups can be joined."""
        everything, known = tuple(range(self.columns)), tuple(range(quasi))
        if self.is_true(everything):
            return [(everything,)]
        if not self.exact:
            # Ranges match many combinations by chance, so only the usual groups are tried.
            rest = tuple((j,) for j in range(quasi, self.columns))
            usual = [(known, *rest)] if self.is_true(known) else [tuple((j,) for j in everything)]
            return [*usual, *self._linked()]
        self.is_true(known)
        if self.columns > MOST_COLUMNS:
            return list(dict.fromkeys(self._joined(start) for start in range(self.columns)))
        found = {tuple(sorted(groups)) for groups in self._partitions((), 0) if self._closed(groups)}
        return sorted(found, key=lambda groups: (len(groups), groups))

    def _linked(self) -> list[Groups]:
        """Return the groups of a quasi-identifier and a sensitive column that stayed together, more than by chance."""
        pairs = [(j, s) for j in range(self.quasi) for s in range(self.quasi, self.columns)]
        return [
            (pair, *((j,) for j in range(self.columns) if j not in pair))
            for pair in pairs
            if self.is_true(pair) and not any(self._shows(pair, self._shuffled()) for _ in range(3))
        ]

    def _partitions(self, groups: Groups, column: int) -> Iterator[Groups]:
        if column == self.columns:
            yield groups
            return
        for place, group in enumerate(groups):
            if self.is_true((*group, column)):
                yield from self._partitions(
                    (*groups[:place], (*group, column), *groups[place + 1 :]), column + 1
                )
        yield from self._partitions((*groups, (column,)), column + 1)

    def _closed(self, groups: Groups) -> bool:
        return not any(
            self.is_true((*one, *other)) for at, one in enumerate(groups) for other in groups[at + 1 :]
        )

    def _joined(self, start: int) -> Groups:
        """Put each column into the first group where it is true, beginning with one of them."""
        groups: list[list[int]] = []
        for column in (*range(start, self.columns), *range(start)):
            place = next((group for group in groups if self.is_true((*group, column))), None)
            groups.append([column]) if place is None else place.append(column)
        return tuple(sorted(tuple(sorted(group)) for group in groups))

    def unseen(self) -> bool:
        """Whether columns that look true would look so after a shuffle, too."""
        groups = [columns for columns, answer in self._true.items() if answer]
        return any(self._shows(group, self._shuffled()) for group in groups for _ in range(3))

    def more_than_chance(self) -> bool:
        """Whether far more rows are rows of the original than values shuffled within buckets would give: then some of
        them were left as they were. Ranges may match so many rows by chance that nobody can tell; then it may be, too.
        """
        columns = tuple(range(self.columns))
        limit = self._limit(self.largest(self.quasi)[0], columns)
        hidden = not self.exact and limit >= len(self.low)
        return hidden or self._matched(list(columns), self.own) > limit

    def left_alone(self, units: Groups, columns: tuple[int, ...]) -> bool:
        """Whether far more rows show in these columns what the original has than these units, shuffled, would give."""
        return self._matched(list(columns), self.own) > self._limit(units, columns)

    def _limit(self, units: Groups, columns: tuple[int, ...]) -> float:
        """Return how many rows of the original may be seen by chance after these units were shuffled."""
        drawn = [self._matched(list(columns), self._shuffled(units)) for _ in range(DRAWS)]
        return float(np.mean(drawn)) + FAR * max(float(np.std(drawn)), 1.0)

    def _shuffled(self, groups: Groups | None = None) -> Any:
        """Return whose value each cell shows after groups of columns, or each column, are shuffled again."""
        shown_from = self.own.copy()
        for group in groups or tuple((j,) for j in range(self.columns)):
            source: IntVector = shuffled_within(self.bucket_of, self.random)
            shown_from[:, list(group)] = source[:, None]
        return shown_from
