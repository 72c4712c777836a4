"""What the searches over full-domain mappings share: the lattice, roll-ups of rows, and checking groups.

A mapping gives each quasi-identifier one level of its hierarchy. It is numbered by its levels read as digits, the
first column the most significant, so that a property of all mappings is one flat array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import BoolVector, FloatVector, IntVector, LongVector
from shoal.errors import PolicyError, Problem
from shoal.machine.parallel import PIECE
from shoal.measures.base import ClassMeasure
from shoal.methods.full_domain.objective import objective
from shoal.models.k_anonymity import KAnonymity
from shoal.models.overall import Seen
from shoal.models.requirements import Requirements
from shoal.release import Release
from shoal.table import CodedTable
from shoal.table.groups import Groups, group
from shoal.wording import role_of

MOST_MAPPINGS = 10_000_000
"""Searches keep 20 bytes per mapping, so this many need about 200 MB."""

WORD = 64
"""Bits of a key."""

HELD = 2_000_000
"""Roll-ups are cached up to this many rows in all, or 12 times the rows of the base."""

KeyMatrix = NDArray[np.uint64]
Rank = tuple[float, int, int, tuple[int, ...]]


def rank(value: float, dropped: int, levels: LongVector) -> Rank:
    """Order mappings: lower loss first, then fewer suppressed rows, a smaller sum of levels, smaller levels.

    Losses that agree to 12 decimals count as equal, so that rounding does not decide.
    """
    return round(value, 12), dropped, int(levels.sum()), tuple(levels.tolist())


def mappings_of(table: CodedTable) -> int:
    """Return how many mappings a table has."""
    if not table.attributes:
        hint = f"give at least one column {role_of('quasi')}"
        raise PolicyError([Problem("columns", "no column is a quasi-identifier", hint)])
    return math.prod(attribute.hierarchy.height + 1 for attribute in table.attributes)


class Lattice:
    """All mappings of a table."""

    def __init__(self, table: CodedTable) -> None:
        self.size = mappings_of(table)
        self.top: LongVector = np.array([a.hierarchy.height for a in table.attributes], np.int64)
        dims = [int(height) + 1 for height in self.top]
        self.dims = tuple(dims)
        if self.size > MOST_MAPPINGS:
            raise PolicyError(
                [
                    Problem(
                        "method.name",
                        f"{len(dims)} quasi-identifiers with these hierarchies have {self.size:,} mappings, "
                        f"but the limit is {MOST_MAPPINGS:,}",
                        "use hierarchies with fewer levels, generalization limits, or the method 'mondrian'",
                    )
                ]
            )
        self.strides: LongVector = np.array(
            [int(np.prod(dims[j + 1 :], dtype=np.int64)) for j in range(len(dims))], np.int64
        )
        self.bottom: LongVector = np.zeros(len(dims), np.int64)

    def levels(self, index: int) -> LongVector:
        """Return the levels of a mapping by its number."""
        found = np.empty(len(self.dims), np.int64)
        for j, stride in enumerate(self.strides.tolist()):
            found[j], index = divmod(index, stride)
        return found

    def index(self, levels: LongVector) -> int:
        """Return the number of a mapping by its levels."""
        return int(levels @ self.strides)

    def sums(self, columns: list[FloatVector]) -> FloatVector:
        """Return, for every mapping, the sum over columns of the number of its level."""
        total: FloatVector = np.zeros(1)
        for column in columns:
            total = (total[:, None] + column[None, :]).ravel()
        return total

    def climb(self, steps: list[FloatVector]) -> IntVector:
        """Return all mappings in an order from the bottom up, by the sum of the steps that lead to them."""
        heights = [np.concatenate(([0.0], np.cumsum(np.maximum(column, 1e-9)))) for column in steps]
        return np.argsort(self.sums(heights), kind="stable").astype(np.int32)

    def chain(self, levels: LongVector, steps: list[FloatVector]) -> Chain:
        """Return mappings from `levels` to the top, each raising the column whose next step costs least."""
        now, top, columns = levels.tolist(), self.top.tolist(), []
        prices = [
            float(column[level]) if level < highest else np.inf
            for column, level, highest in zip(steps, now, top, strict=True)
        ]
        for _ in range(sum(top) - sum(now)):
            j = prices.index(min(prices))
            now[j] += 1
            columns.append(j)
            prices[j] = float(steps[j][now[j]]) if now[j] < top[j] else np.inf
        return Chain(levels, columns, 1)

    def descent(self, levels: LongVector, steps: list[FloatVector]) -> Chain:
        """Return mappings from `levels` to the bottom, each lowering the column whose last step cost most."""
        now, columns = levels.tolist(), []
        prices = [
            float(column[level - 1]) if level else -np.inf for column, level in zip(steps, now, strict=True)
        ]
        for _ in range(sum(now)):
            j = prices.index(max(prices))
            now[j] -= 1
            columns.append(j)
            prices[j] = float(steps[j][now[j] - 1]) if now[j] else -np.inf
        return Chain(levels, columns, -1)


class Chain(Sequence[LongVector]):
    """Mappings one after the other, each a step of one column from the one before."""

    def __init__(self, first: LongVector, columns: list[int], step: int) -> None:
        self.first, self.columns, self.step = first, columns, step

    def __len__(self) -> int:
        return len(self.columns) + 1

    @overload
    def __getitem__(self, at: int) -> LongVector: ...

    @overload
    def __getitem__(self, at: slice) -> list[LongVector]: ...

    def __getitem__(self, at: int | slice) -> LongVector | list[LongVector]:
        """Return the levels of a mapping of the chain. O(steps to it): bisecting a chain asks for a few of them."""
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        levels = self.first.copy()
        for j in self.columns[:at]:
            levels[j] += self.step
        return levels


class RollUp(NamedTuple):
    """The groups of a mapping: distinct packed rows, and the number of rows with each."""

    levels: LongVector
    keys: KeyMatrix
    weights: LongVector


class RollUps:
    """Packed rows of a table, rolled up to any mapping from the smallest cached specialization.

    Sensitive columns, if they are needed, are additional columns with two levels: shown (0) and left out (1). So is the
    owner of a row, if some people have several, and their household.
    """

    def __init__(self, table: CodedTable, sensitive: bool) -> None:
        from shoal.kernels.grouping import distinct_rows

        self.quasi = len(table.attributes)
        self.secrets = len(table.sensitive) if sensitive else 0
        secret = [table.sensitive_column(j) for j in range(self.secrets)]
        hierarchies = [a.hierarchy for a in table.attributes]
        hierarchies += [a.hierarchy for a in table.sensitive[: self.secrets]]
        sizes, heights = [h.size for h in hierarchies], [len(h.levels) for h in hierarchies]
        named = [h.low.ravel() for h in hierarchies]
        people = [] if table.person is None else [(table.person, table.people)]
        for owner, count in (*people, *((unit.of, unit.count) for unit in table.units)) if sensitive else ():
            self.secrets += 1
            secret.append(owner)
            sizes, heights = [*sizes, count], [*heights, 1]
            named.append(np.arange(count, dtype=np.int32))
        self.fields, words = _fields(sizes, heights)
        self.table: IntVector = np.concatenate(named)
        most = max(2, *heights)
        self.single: NDArray[np.bool_] = np.ones((len(sizes), most), np.bool_)
        for j, hierarchy in enumerate(hierarchies[: self.quasi]):
            for level, nodes in enumerate(hierarchy.levels):
                self.single[j, level] = len(nodes.starts) == 1
        weights = table.weights
        columns = [*table.narrow, *secret]
        point_of = None
        if len(weights) > PIECE:
            # Equal rows are many, and packed rows with their buffers take several times the memory of the table.
            point_of, first = distinct_rows(columns, len(weights))
            weights = np.bincount(point_of, weights, len(first)).astype(np.int64)
            columns = [codes[first] for codes in columns]
        keys: KeyMatrix = np.zeros((words, len(weights)), np.uint64)
        for j, codes in enumerate(columns):
            word, shift = int(self.fields[j, 0]), np.uint64(self.fields[j, 1])
            keys[word] |= codes.astype(np.uint64) << shift
        bottom = np.zeros(len(sizes), np.int64)
        self._buffers(words, len(weights))
        every = RollUp(bottom, keys, weights)
        base, numbers = self._roll(every, bottom)
        self.number_of = numbers.copy() if point_of is None else numbers[point_of]
        """Row of the table -> row of the base."""
        self.base = base
        self._buffers(words, len(base.weights))
        self._room = max(HELD, 12 * len(base.weights))
        self._forget()
        self.quasi_base = self.roll(np.zeros(self.quasi, np.int64))

    def _buffers(self, words: int, rows: int) -> None:
        slots = max(1 << 16, 1 << (4 * rows).bit_length())
        self._scratch = (
            np.empty((words, rows), np.uint64),
            np.empty(slots, np.int32),
            np.empty((words, rows), np.uint64),
            np.empty(rows, np.int64),
            np.empty(rows, np.int32),
        )

    def _forget(self) -> None:
        self._known = np.zeros((4096, len(self.fields)), np.int64)
        self._sizes = np.zeros(4096, np.int64)
        self._rolled: list[RollUp] = []
        self._held = 0
        self._keep(self.base)

    def _keep(self, rolled: RollUp) -> None:
        at, groups = len(self._rolled), len(rolled.weights)
        if at == len(self._known) or (at and self._held + groups > self._room):
            self._forget()
            if hasattr(self, "quasi_base"):
                self._keep(self.quasi_base)
            at = len(self._rolled)
        self._known[at] = rolled.levels
        self._sizes[at] = groups
        self._rolled.append(rolled)
        self._held += groups

    def _roll(self, source: RollUp, levels: LongVector) -> tuple[RollUp, IntVector]:
        from shoal.kernels.lattice import roll_up

        _, _, merged, total, numbers = self._scratch
        found = roll_up(
            source.keys,
            source.weights,
            source.levels,
            levels,
            self.fields,
            self.single,
            self.table,
            *self._scratch,
        )
        rolled = RollUp(levels, merged[:, :found].copy(), total[:found].copy())
        return rolled, numbers[: len(source.weights)]

    def _reach(self, levels: LongVector) -> RollUp:
        from shoal.kernels.lattice import smallest_below

        source: RollUp = self._rolled[smallest_below(self._known, self._sizes, len(self._rolled), levels)]
        if (source.levels == levels).all():
            return source
        rolled, _ = self._roll(source, levels)
        self._keep(rolled)
        return rolled

    def _full(self, levels: LongVector, shown: bool) -> LongVector:
        secrets = np.full(self.secrets, 0 if shown else 1, np.int64)
        return np.concatenate((levels, secrets)) if self.secrets else levels.copy()

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

    def numbered(self, levels: LongVector) -> tuple[RollUp, RollUp, IntVector]:
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


class Check(NamedTuple):
    """What grouping by a mapping has shown."""

    value: float
    """The loss of the mapping; infinite if it does not satisfy the requirements, or cannot beat the mapping that it was
    compared with."""
    dropped: int
    """Rows that have to be suppressed, or a lower bound if that was enough to decide."""
    floor: float
    """Every specialization loses at least this much more than its own lower bound; infinite if none is valid."""
    above: float
    """Every generalization loses at least this."""
    below: float = 0.0
    """Every specialization loses at least this."""


class Judge:
    """Groups rows by mappings and checks the groups against the requirements."""

    def __init__(self, table: CodedTable, requirements: Requirements) -> None:
        self.attributes = table.sensitive
        self.totals = table.totals
        self.requirements = requirements
        self.most = requirements.suppressible(table.rows)
        self.rows = table.rows
        self.people = table.people if table.person is not None else 0
        """How many people there are, if some have several rows; else 0: every row is a person of its own."""
        self.units, self.unit_totals = [unit.count for unit in table.units], table.unit_totals
        # Rows are counted in any case, which is enough for k if each is a person of its own.
        self.others = tuple(
            m for m in requirements.group_models if self.people or not isinstance(m, KAnonymity)
        )
        self.rules = requirements.overall(table)
        """Rules over all groups together."""
        self.by_groups = bool(self.others) or bool(self.people and self.rules)
        """Groups have to be counted in more ways than by rows."""
        self.rollups = RollUps(table, sensitive=self.by_groups)
        self.objective = objective(table, requirements)
        self.checked = 0
        self.fewest = table.rows
        """The fewest rows that any checked mapping has to suppress."""
        # Without suppression, if a group fails a monotone model, some subgroup of it fails at every level below.
        # Otherwise only groups for which no subgroup can be valid are certain to be suppressed below.
        self.strict = self.most == 0 and requirements.monotone(table)
        self.loose = [m.title for m in self.others if not m.merges(table)]
        """The models whose satisfying groups may not satisfy them together."""

    def groups(self, numbers: IntVector, good: BoolVector, fine: RollUp) -> Groups:
        """Return the valid ones of the numbered groups, as models see them."""
        place = np.full(len(good), -1, np.int32)
        place[good] = np.arange(int(good.sum()), dtype=np.int32)
        first = self.rollups.quasi
        codes = np.empty((len(numbers), len(self.attributes)), np.int32, order="F")
        for j in range(len(self.attributes)):
            codes[:, j] = self.rollups.codes(fine.keys, first + j)
        rows, own = (place[numbers], int(good.sum()), codes, self.attributes), first + len(self.attributes)
        person = self.rollups.codes(fine.keys, own) if self.people else None
        found = group(*rows, self.totals, fine.weights, person, self.people)
        own += bool(self.people)
        units = (
            group(*rows, totals, fine.weights, self.rollups.codes(fine.keys, own + index), count)
            for index, (count, totals) in enumerate(zip(self.units, self.unit_totals, strict=True))
        )
        return replace(found, units=tuple(units))

    def _drop(self, rolled: RollUp, lost: LongVector, gain: FloatVector) -> tuple[int, float]:
        from shoal.kernels.lattice import shortfall

        fields = self.rollups.fields[: self.rollups.quasi]
        dropped, penalty = shortfall(rolled.keys, lost, rolled.levels, fields, gain, self.most)
        return int(dropped), float(penalty)

    def check(self, levels: LongVector, beat: float = np.inf) -> Check:
        """Group by a mapping. Its value is not computed (infinite) if a bound shows that it exceeds `beat`."""
        self.checked += 1
        cost, rolled = self.objective, self.rollups.roll(levels)
        above = 0.0
        if isinstance(cost.measure, ClassMeasure):
            above = cost.measure.bound(rolled.weights, cost.k)
        good = rolled.weights >= cost.k
        lost = np.where(good, 0, rolled.weights)
        dropped, floor, below = self._floor(rolled, lost)
        if dropped > self.most:
            return self._failed(dropped, above)
        # Finer groups add up to more, unless people with several rows count in several of them.
        if not self.people and any(rule.out_of_reach(rolled.weights, self.most) for rule in self.rules):
            return self._failed(dropped, above)
        if not self.by_groups:
            return self._together(rolled, good, rolled.weights[good], (dropped, floor, above, below))
        if max(self._least(levels) + above + floor, below) > beat + 1e-9:
            return Check(np.inf, dropped, floor, above, below)
        return self._judged(levels, floor, above, below, beat)

    def _floor(self, rolled: RollUp, lost: LongVector) -> tuple[int, float, float]:
        """Return how many rows are lost, how much more every specialization loses than its own lower bound, and how
        much at least.
        """
        cost = self.objective
        if not isinstance(cost.measure, ClassMeasure):
            return *self._drop(rolled, lost, cost.least_gain), 0.0
        floor = cost.measure.floor(rolled.weights - lost, self.rows, cost.k)
        dropped = int(lost.sum())
        return (dropped, floor, 0.0) if cost.measure.floor_adds else (dropped, 0.0, floor)

    def _judged(self, levels: LongVector, floor: float, above: float, below: float, beat: float) -> Check:
        """Apply the models, if sizes alone do not rule the mapping out."""
        cost = self.objective
        rolled, fine, numbers = self.rollups.roll_with_secrets(levels)
        good = rolled.weights >= cost.k
        groups = self.groups(numbers, good, fine)
        if not self.strict:
            lost: LongVector = rolled.weights.copy()
            keepable = [groups.rows, *(model.keepable(groups) for model in self.others)]
            lost[good] -= np.min(keepable, axis=0)
            dropped, floor, below = self._floor(rolled, lost)
            if dropped > self.most:
                return self._failed(dropped, above)
            if max(self._least(levels) + above + floor, below) > beat + 1e-9:
                return Check(np.inf, dropped, floor, above, below)
        fine_ = [np.ones(len(groups), np.bool_), *(model.satisfied(groups) for model in self.others)]
        satisfied = np.all(fine_, axis=0)
        good[good] = satisfied
        dropped = int(rolled.weights[~good].sum())
        self.fewest = min(self.fewest, dropped)
        if dropped > self.most:
            return Check(np.inf, dropped, np.inf if self.strict else floor, above, below)
        return self._together(rolled, good, groups.size[satisfied], (dropped, floor, above, below))

    def _together(
        self, rolled: RollUp, good: BoolVector, sizes: LongVector, found: tuple[int, float, float, float]
    ) -> Check:
        """Apply the rules over all groups: the smallest are suppressed until they hold, if so many rows may be."""
        dropped, floor, above, below = found
        if not self.rules:
            return self._value(rolled, good, dropped, floor, above, below)
        kept = self._kept(good, sizes, rolled.weights, self.most)
        if kept is None:
            self.fewest = min(self.fewest, dropped)
            return Check(np.inf, dropped, floor, above, below)
        return self._value(rolled, kept, int(rolled.weights[~kept].sum()), floor, above, below)

    def _kept(self, good: BoolVector, sizes: LongVector, rows: LongVector, most: int) -> BoolVector | None:
        """Return which of the valid groups are kept so that all rules hold; None if too many rows would be lost."""
        gone: LongVector = np.empty(0, np.int64)
        for rule in self.rules:
            own = rule.fewest_dropped(sizes, most)
            if own is None:
                return None
            gone = own if len(own) > len(gone) else gone
        left = np.delete(sizes, gone)
        if not all(rule.holds(Seen(left, None, rule.share)) for rule in self.rules):
            return None
        kept = good.copy()
        kept[np.flatnonzero(good)[gone]] = False
        return kept if int(rows[~kept].sum()) <= most else None

    def _failed(self, dropped: int, above: float) -> Check:
        self.fewest = min(self.fewest, dropped)
        return Check(np.inf, dropped, np.inf, above)

    def _least(self, levels: LongVector) -> float:
        now = levels[: self.rollups.quasi].tolist()
        return float(sum(column[level] for column, level in zip(self.objective.least, now, strict=True)))

    def _value(
        self, rolled: RollUp, good: BoolVector, dropped: int, floor: float, above: float, below: float
    ) -> Check:
        cost = self.objective
        self.fewest = min(self.fewest, dropped)
        if isinstance(cost.measure, ClassMeasure):
            value = cost.measure.of_sizes(rolled.weights[good], dropped, cost.k)
        else:
            penalty = floor
            if self.by_groups or self.rules or not cost.exact:
                penalty = self._drop(rolled, np.where(good, 0, rolled.weights), cost.gain)[1]
            value = cost.additive(rolled.levels[: self.rollups.quasi]) + penalty
        return Check(value, dropped, floor, above, below)

    def release(self, table: CodedTable, levels: LongVector, facts: dict[str, Any]) -> Release:
        """Make the release of a mapping: groups that satisfy all models become regions, the rest is suppressed."""
        rolled, fine, numbers = self.rollups.numbered(levels)
        good = rolled.weights >= self.objective.k
        sizes = rolled.weights[good]
        if self.by_groups:
            groups = self.groups(numbers, good, fine)
            satisfied = self.requirements.satisfied(groups)
            good[good], sizes = satisfied, groups.size[satisfied]
        if self.rules:
            kept = self._kept(good, sizes, rolled.weights, self.most)
            assert kept is not None, "the mapping was checked before"
            good = kept
        place = np.full(len(good), -1, np.int32)
        place[good] = np.arange(int(good.sum()), dtype=np.int32)
        low = np.empty((int(good.sum()), self.rollups.quasi), np.int32)
        high = np.empty_like(low)
        for j, attribute in enumerate(table.attributes):
            low[:, j] = self.rollups.codes(rolled.keys, j)[good]
            high[:, j] = attribute.hierarchy.high[levels[j], low[:, j]]
        region_of = place[numbers][self.rollups.number_of]
        return Release(region_of, low, high, tuple(levels.tolist()), facts=facts)
