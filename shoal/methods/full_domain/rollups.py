"""The groups of full-domain mappings: packed rows, rolled up from one mapping to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.coding.groups import Histograms
from shoal.support.arrays import IntVector, LongMatrix, LongVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE

WORD = 64
"""Bits of a key."""

HELD = 2_000_000
"""Roll-ups are cached up to this many rows in all, or 12 times the rows of the base."""

WASTEFUL, WORTH = 3, 256
"""If a roll-up starts from so many times the groups that are left, or that would be worth it, a mapping in between is
kept, too: that with even levels, from which many neighbours start."""

KeyMatrix = NDArray[np.uint64]


@dataclass(eq=False, repr=False, slots=True)
class RollUp(Brief):
    """The groups of a mapping: distinct packed rows, the number of rows with each, and their sensitive values."""

    levels: LongVector
    keys: KeyMatrix
    weights: LongVector
    source: RollUp | None = None
    """What it was rolled up from, with the group of each of its groups, until somebody asks for the histograms."""
    numbers: IntVector | None = None
    known: tuple[Histograms, ...] | None = None

    def histograms(self, sizes: list[int]) -> tuple[Histograms, ...]:
        """Return the values of each sensitive column in each group; `sizes` are those of the columns' domains."""
        from shoal.kernels.grouping import merge_histograms

        if self.known is None:
            assert self.source is not None
            self.known = tuple(
                Histograms(*merge_histograms(*one, self.numbers, len(self.weights), size))
                for one, size in zip(self.source.histograms(sizes), sizes, strict=True)
            )
            self.source = self.numbers = None
        return self.known


class RollUps:
    """Packed rows of a table, rolled up to any mapping from the smallest cached specialization.

    Sensitive columns, if they are needed row by row, are additional columns with two levels: shown (0) and left out
    (1). So is the owner of a row, if some people have several, and their household. If only the values of whole
    groups matter (`counted`), groups have histograms of them instead, which are rolled up when somebody asks for them.
    """

    quasi: int
    """Number of quasi-identifiers."""
    fields: LongMatrix
    """Where a packed row has each column, see `shoal.kernels.lattice.roll_up`."""

    def __init__(self, table: CodedTable, sensitive: bool, counted: bool = False) -> None:
        from shoal.kernels.grouping import distinct_rows, histograms

        secret = self._lay_out(table, sensitive)
        weights, own = table.weights, len(self.fields)
        values = [table.secrets.narrow[j] for j in range(len(table.sensitive) if counted else 0)]
        columns = [*table.quasi.narrow, *secret, *values]
        point_of = None
        if len(weights) > PIECE:
            # Equal rows are many, and packed rows with their buffers take several times the memory of the table.
            point_of, first = distinct_rows(columns, len(weights))
            weights = np.bincount(point_of, weights, len(first)).astype(np.int64)
            columns = [codes[first] for codes in columns]
        keys = self.pack(columns[:own], len(weights))
        bottom = np.zeros(own, np.int64)
        self._buffers(len(weights))
        every = RollUp(bottom, keys, weights)
        base, numbers = self._roll(every, bottom)
        self.number_of = numbers.copy() if point_of is None else numbers[point_of]
        """Row of the table -> row of the base."""
        self.base, self.counted = base, counted
        if counted:
            base.known = tuple(
                Histograms(*histograms(numbers, len(base.weights), codes.astype(np.int32), weights))
                for codes in columns[own:]
            )
        self._buffers(len(base.weights))
        self._room = max(HELD, 12 * len(base.weights))
        self._bases = [base]
        self._forget()
        self.quasi_base = self.roll(np.zeros(self.quasi, np.int64))
        self._bases.append(self.quasi_base)

    def _lay_out(self, table: CodedTable, sensitive: bool) -> list[Any]:
        """Lay out the fields of packed rows; return the columns that come after the quasi-identifiers."""
        # Imported once and not in each call: a search makes thousands.
        from shoal.kernels import lattice as kernels

        self._kernels, self.counted = kernels, False
        self.quasi = len(table.attributes)
        self.secrets = len(table.sensitive) if sensitive else 0
        secret = [table.secrets.narrow[j] for j in range(self.secrets)]
        hierarchies = [a.hierarchy for a in table.attributes]
        hierarchies += [a.hierarchy for a in table.sensitive[: self.secrets]]
        sizes, heights = [h.size for h in hierarchies], [len(h.levels) for h in hierarchies]
        named = [h.low.ravel() for h in hierarchies]
        for counting in table.countings if sensitive else ():
            if not counting.adds_up:
                self.secrets += 1
                secret.append(counting.owner)
                sizes, heights = [*sizes, counting.everyone], [*heights, 1]
                named.append(np.arange(counting.everyone, dtype=np.int32))
        self.fields, self.words = _fields(sizes, heights)
        self.table: IntVector = np.concatenate(named)
        most = max(2, *heights)
        self.single: NDArray[np.bool_] = np.ones((len(sizes), most), np.bool_)
        for j, hierarchy in enumerate(hierarchies[: self.quasi]):
            for level, nodes in enumerate(hierarchy.levels):
                self.single[j, level] = len(nodes.starts) == 1
        return secret

    def pack(self, columns: Sequence[Any], rows: int) -> KeyMatrix:
        """Pack the codes of all columns, row by row."""
        keys: KeyMatrix = np.zeros((self.words, rows), np.uint64)
        for j, codes in enumerate(columns):
            word, shift = int(self.fields[j, 0]), np.uint64(self.fields[j, 1])
            keys[word] |= codes.astype(np.uint64) << shift
        return keys

    def _buffers(self, rows: int) -> None:
        slots = max(1 << 16, 1 << (4 * rows).bit_length())
        self._scratch = (
            np.empty((self.words, rows), np.uint64),
            np.empty(slots, np.int32),
            np.empty((self.words, rows), np.uint64),
            np.empty(rows, np.int64),
            np.empty(rows, np.int32),
        )

    def _forget(self) -> None:
        self._known = np.zeros((4096, len(self.fields)), np.int64)
        self._sizes = np.zeros(4096, np.int64)
        self._rolled: list[RollUp] = []
        self._held = 0
        for base in self._bases:
            self._add(base)

    def _keep(self, rolled: RollUp) -> None:
        at = len(self._rolled)
        if at == len(self._known) or (at and self._held + len(rolled.weights) > self._room):
            self._forget()
        self._add(rolled)

    def _add(self, rolled: RollUp) -> None:
        at, groups = len(self._rolled), len(rolled.weights)
        self._known[at] = rolled.levels
        self._sizes[at] = groups
        self._rolled.append(rolled)
        self._held += groups

    def _roll(self, source: RollUp, levels: LongVector) -> tuple[RollUp, IntVector]:
        _, _, merged, total, numbers = self._scratch
        found = self._kernels.roll_up(
            source.keys,
            source.weights,
            source.levels,
            levels,
            self.fields,
            self.single,
            self.table,
            *self._scratch,
        )
        numbers = numbers[: len(source.weights)]
        rolled = RollUp(levels, merged[:, :found].copy(), total[:found].copy())
        if self.counted:
            rolled.source, rolled.numbers = source, numbers.copy()
        return rolled, numbers

    def _reach(self, levels: LongVector) -> RollUp:
        at = self._kernels.smallest_below(self._known, self._sizes, len(self._rolled), levels)
        source: RollUp = self._rolled[at]
        if np.array_equal(source.levels, levels):
            return source
        rolled, _ = self._roll(source, levels)
        self._keep(rolled)
        if len(source.weights) > WASTEFUL * max(len(rolled.weights), WORTH):
            between = np.maximum(levels & ~1, source.levels)
            if (between != source.levels).any() and (between != levels).any():
                self._keep(self._roll(source, between)[0])
        return rolled

    def _full(self, levels: LongVector, shown: bool) -> LongVector:
        if not self.secrets:
            return levels.copy()
        return np.concatenate((levels, np.full(self.secrets, 0 if shown else 1, np.int64)))

    def roll(self, levels: LongVector) -> RollUp:
        """Return the groups of a mapping. Expected O(groups of the smallest cached specialization)."""
        return self._reach(self._full(levels, shown=False))

    def roll_with_secrets(self, levels: LongVector) -> tuple[RollUp, RollUp, IntVector]:
        """Return the groups of a mapping, the groups split by sensitive values, and the group of each of these
        subgroups.
        """
        fine = self._reach(self._full(levels, shown=True))
        groups, numbers = self._roll(fine, self._full(levels, shown=False))
        return groups, fine, numbers

    def number_groups(self, levels: LongVector) -> tuple[RollUp, RollUp, IntVector]:
        """Like `roll_with_secrets`, but from the base, so that rows of the table can be located."""
        groups, numbers = self._roll(self.base, self._full(levels, shown=False))
        return groups, self.base, numbers

    def codes(self, keys: KeyMatrix, column: int) -> IntVector:
        """Unpack one column."""
        word, shift, mask = (int(number) for number in self.fields[column, :3])
        codes: IntVector = ((keys[word] >> np.uint64(shift)) & np.uint64(mask)).astype(np.int32)
        return codes


def _fields(sizes: list[int], levels: list[int]) -> tuple[NDArray[np.int64], int]:
    """Lay out bit fields: word, shift, mask of each column, and start and row length of its table of nodes."""
    fields = np.zeros((len(sizes), 5), np.int64)
    word = used = start = 0
    for j, (size, height) in enumerate(zip(sizes, levels, strict=True)):
        bits = (size - 1).bit_length()
        if used + bits > WORD:
            word, used = word + 1, 0
        fields[j] = word, used if bits else 0, (1 << bits) - 1, start, size
        used += bits
        start += size * height
    return fields, word + 1
