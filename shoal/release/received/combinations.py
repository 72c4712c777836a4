"""Which columns of a release with buckets show combinations of the original, and whether chance would show them too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.linking.consistency import how_many_fit
from shoal.methods.permuting.shuffled_buckets import shuffle_within
from shoal.release.published import Published
from shoal.support.arrays import IntMatrix, IntVector

MOST_COLUMNS = 7
"""With more columns, only the usual ways to group them are tried: there are too many others."""
DRAWS = 20
"""How often values are shuffled again, to see what chance alone would show."""
FAR = 6.0
"""How many standard deviations count as more than chance."""
MOST_TRIED = 24
"""So many ways to group quasi-identifiers are tried; if there may be more, nobody knows how likely people are to be in
the table."""

Groups = tuple[tuple[int, ...], ...]


def _restrict(groups: Groups, columns: frozenset[int]) -> Groups:
    """Restrict groups of columns to some columns."""
    left = (tuple(j for j in group if j in columns) for group in groups)
    return tuple(group for group in left if group)


class Combinations:
    """Which combinations of columns of a release are combinations of the original."""

    def __init__(self, published: Published, table: CodedTable, columns: int) -> None:
        low, high = published.cell_ranges
        self.quasi, self.columns, self.bucket_of = (
            len(published.attributes),
            columns,
            published.layout.bucket_of,
        )
        secret = published.sensitive_codes[:, : columns - self.quasi]
        self.low: IntMatrix = np.column_stack([low[published.class_of], secret]).astype(np.int32)
        self.high: IntMatrix = np.column_stack([high[published.class_of], secret]).astype(np.int32)
        self.exact = np.array_equal(low, high)
        self.codes: IntMatrix = np.column_stack([table.quasi.wide, table.secrets.wide])[:, :columns]
        self.attributes = (*published.attributes, *published.sensitive)
        self.own = np.tile(np.arange(len(self.low)), (columns, 1)).T
        self.random = np.random.default_rng(0)
        self._true: dict[tuple[int, ...], bool] = {}
        self._hides: dict[Groups, bool] = {}

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
        return self._count_matched(list(columns), shown_from) == len(self.low)

    def _count_matched(self, columns: list[int], shown_from: Any) -> int:
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

    def with_secrets_joined(self, units: Groups) -> Groups:
        """Join the sensitive columns that were shuffled without a quasi-identifier, if the original has their
        combinations: methods shuffle them as a unit, and more rows then look like rows of the original by chance.
        """
        free = tuple(sorted(j for unit in units for j in unit if min(unit) >= self.quasi))
        if not self.is_true(free):
            return units
        return (*(unit for unit in units if min(unit) < self.quasi), *([free] if free else []))

    def largest(self, quasi: int) -> list[Groups]:
        """Return the partitions of the columns into true groups in which no two groups can be joined."""
        everything, known = tuple(range(self.columns)), tuple(range(quasi))
        if self.is_true(everything):
            return [(everything,)]
        if not self.exact:
            # Ranges match many combinations by chance, so only the usual groups are tried.
            rest = tuple((j,) for j in range(quasi, self.columns))
            usual = [(known, *rest)] if self.is_true(known) else [tuple((j,) for j in everything)]
            return [*usual, *self._find_linked()]
        self.is_true(known)
        if self.columns > MOST_COLUMNS:
            return list(dict.fromkeys(self._join_columns(start) for start in range(self.columns)))
        return self._find_closed_partitions(self.columns)

    def _find_closed_partitions(self, columns: int) -> list[Groups]:
        found = {
            tuple(sorted(groups)) for groups in self._partitions((), 0, columns) if self._is_closed(groups)
        }
        return sorted(found, key=lambda groups: (len(groups), groups))

    def _find_linked(self) -> list[Groups]:
        """Return the groups of a quasi-identifier and a sensitive column that stayed together, more than by chance."""
        pairs = [(j, s) for j in range(self.quasi) for s in range(self.quasi, self.columns)]
        return [
            (pair, *((j,) for j in range(self.columns) if j not in pair))
            for pair in pairs
            if self.is_true(pair) and not any(self._shows(pair, self._shuffle()) for _ in range(3))
        ]

    def _partitions(self, groups: Groups, column: int, columns: int) -> Iterator[Groups]:
        if column == columns:
            yield groups
            return
        for place, group in enumerate(groups):
            if self.is_true((*group, column)):
                joined = (*groups[:place], (*group, column), *groups[place + 1 :])
                yield from self._partitions(joined, column + 1, columns)
        yield from self._partitions((*groups, (column,)), column + 1, columns)

    def _is_closed(self, groups: Groups) -> bool:
        return not any(
            self.is_true((*one, *other)) for at, one in enumerate(groups) for other in groups[at + 1 :]
        )

    def _join_columns(self, start: int) -> Groups:
        """Put each column into the first group where it is true, beginning with one of them."""
        groups: list[list[int]] = []
        for column in (*range(start, self.columns), *range(start)):
            place = next((group for group in groups if self.is_true((*group, column))), None)
            groups.append([column]) if place is None else place.append(column)
        return tuple(sorted(tuple(sorted(group)) for group in groups))

    def of_people(self) -> tuple[Groups, ...] | None:
        """Return the ways to group the quasi-identifiers that these rows may come from, one of those that say the same
        about the people of each bucket; None if there may be too many.

        They are the largest true groups and, from these on, each split that a shuffle would not show.
        """
        known = tuple(range(self.quasi))
        if self.is_true(known):
            tried: list[Groups] = [(known,)]
        elif self.quasi <= MOST_COLUMNS:
            tried = self._find_closed_partitions(self.quasi)
        else:
            return None
        varying = self._find_varying()
        found: dict[Any, Groups] = {}
        for groups in tried:
            told = frozenset(_restrict(groups, columns) for columns in varying)
            found.setdefault(told, groups)
            for at, group in enumerate(groups):
                for parts in self._hidden_splits(group, varying):
                    finer = tuple(sorted((*groups[:at], *parts, *groups[at + 1 :])))
                    if finer not in tried:
                        tried.append(finer)
                    if len(tried) > MOST_TRIED:
                        return None
        return tuple(found.values())

    def _find_varying(self) -> set[frozenset[int]]:
        """Return which quasi-identifiers show several values, for each kind of bucket: others cannot be shuffled."""
        from shoal.kernels.closures import bounds
        from shoal.kernels.grouping import distinct

        bucket, first = distinct(np.asfortranarray(self.bucket_of[:, None]))
        several = np.zeros((len(first), self.quasi), np.bool_)
        for j in range(self.quasi):
            for cells in (self.low, self.high):
                least, most = bounds(np.ascontiguousarray(cells[:, j]), bucket, len(first))
                several[:, j] |= least < most
        return {frozenset(np.flatnonzero(row).tolist()) for row in np.unique(several, axis=0)}

    def _hidden_splits(self, group: tuple[int, ...], varying: set[frozenset[int]]) -> Iterator[Groups]:
        """Yield the splits of a group in two that shuffling one against the other would not show. Two columns that
        would show it stay together.
        """
        blocks: list[tuple[int, ...]] = []
        for j in group:
            if not any(j in columns for columns in varying):
                continue
            near = [block for block in blocks if any(not self._hidden(((i,), (j,))) for i in block)]
            blocks = [block for block in blocks if block not in near]
            blocks.append(tuple(sorted({j, *(i for block in near for i in block)})))
        for chosen in range(1, 1 << max(len(blocks) - 1, 0)):
            one = {i for at, block in enumerate(blocks) if chosen >> at & 1 for i in block}
            parts = (tuple(sorted(one)), tuple(j for j in group if j not in one))
            if self._hidden(parts):
                yield parts

    def _hidden(self, parts: Groups) -> bool:
        """Whether these groups, shuffled against each other, may show nothing but rows of the original."""
        if parts not in self._hides:
            columns = [j for part in parts for j in part]
            rows = len(self.low)
            seen = rows - self._count_matched(columns, self._shuffle(parts))
            # So many rows are far more than chance, whatever other draws show.
            self._hides[parts] = seen <= 4 * FAR**2 and self._limit(parts, tuple(columns)) >= rows
        return self._hides[parts]

    def unseen(self) -> bool:
        """Whether columns that look true would look so after a shuffle, too."""
        groups = [columns for columns, answer in self._true.items() if answer]
        return any(self._shows(group, self._shuffle()) for group in groups for _ in range(3))

    def more_than_chance(self) -> bool:
        """Whether far more rows are rows of the original than values shuffled within buckets would give: then some of
        them were left as they were. Ranges may match so many rows by chance that nobody can tell; then it may be, too.
        """
        columns = tuple(range(self.columns))
        limit = self._limit(self.largest(self.quasi)[0], columns)
        hidden = not self.exact and limit >= len(self.low)
        return hidden or self._count_matched(list(columns), self.own) > limit

    def looks_unshuffled(self, units: Groups, columns: tuple[int, ...]) -> bool:
        """Whether far more rows agree with the original in these columns than shuffling these units would leave."""
        return self._count_matched(list(columns), self.own) > self._limit(units, columns)

    def _limit(self, units: Groups, columns: tuple[int, ...]) -> float:
        """Return how many rows of the original may be seen by chance after these units were shuffled."""
        drawn = [self._count_matched(list(columns), self._shuffle(units)) for _ in range(DRAWS)]
        return float(np.mean(drawn)) + FAR * max(float(np.std(drawn)), 1.0)

    def _shuffle(self, groups: Groups | None = None) -> Any:
        """Shuffle groups of columns (or each column) again, and return the row that each cell then comes from."""
        shown_from = self.own.copy()
        for group in groups or tuple((j,) for j in range(self.columns)):
            source: IntVector = shuffle_within(self.bucket_of, self.random)
            shown_from[:, list(group)] = source[:, None]
        return shown_from
