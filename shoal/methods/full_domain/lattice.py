"""What the searches over full-domain mappings share: the lattice, roll-ups of rows, and checking groups.

A mapping gives each quasi-identifier one level of its hierarchy. It is numbered by its levels read as digits, the
first column the most significant, so that a property of all mappings is one flat array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from shoal.brief import Brief
from shoal.errors import PolicyError, Problem
from shoal.machine.parallel import PIECE
from shoal.measures.base import ClassMeasure
from shoal.methods.full_domain.objective import objective
from shoal.models.k_anonymity import KAnonymity
from shoal.models.overall import Seen
from shoal.models.requirements import Requirements
from shoal.release import Release
from shoal.table import CodedTable
from shoal.table.groups import Groups, Histograms, group
from shoal.wording import role_of

MOST_MAPPINGS = 10_000_000
"""Searches keep 20 bytes per mapping, so this many need about 200 MB."""

WORD = 64
"""Bits of a key."""

HELD = 2_000_000
"""Roll-ups are cached up to this many rows in all, or 12 times the rows of the base."""

WASTEFUL, WORTH = 3, 256
"""If a roll-up starts from so many times the groups that are left, or that would be worth it, a mapping in between is
kept, too: that with even levels, from which many neighbours start."""

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
        self._strides: list[int] = self.strides.tolist()

    def levels(self, index: int) -> LongVector:
        """Return the levels of a mapping by its number."""
        found = []
        for stride in self._strides:
            level, index = divmod(index, stride)
            found.append(level)
        return np.array(found, np.int64)

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
        return Chain(levels, columns)


class Chain(Sequence[LongVector]):
    """Mappings one after the other, each with one column raised by a level."""

    def __init__(self, first: LongVector, columns: list[int]) -> None:
        self.first, self.columns = first, columns

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
            levels[j] += 1
        return levels


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

    def __init__(self, table: CodedTable, sensitive: bool, counted: bool = False) -> None:
        # Imported once and not in each call: a search makes thousands.
        from shoal.kernels import lattice as kernels
        from shoal.kernels.grouping import distinct_rows, histograms

        self._kernels = kernels
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
        values = [table.sensitive_column(j) for j in range(len(table.sensitive) if counted else 0)]
        columns = [*table.narrow, *secret, *values]
        point_of = None
        if len(weights) > PIECE:
            # Equal rows are many, and packed rows with their buffers take several times the memory of the table.
            point_of, first = distinct_rows(columns, len(weights))
            weights = np.bincount(point_of, weights, len(first)).astype(np.int64)
            columns = [codes[first] for codes in columns]
        keys: KeyMatrix = np.zeros((words, len(weights)), np.uint64)
        for j, codes in enumerate(columns[: len(sizes)]):
            word, shift = int(self.fields[j, 0]), np.uint64(self.fields[j, 1])
            keys[word] |= codes.astype(np.uint64) << shift
        bottom = np.zeros(len(sizes), np.int64)
        self._buffers(words, len(weights))
        self.counted = False
        every = RollUp(bottom, keys, weights)
        base, numbers = self._roll(every, bottom)
        self.number_of = numbers.copy() if point_of is None else numbers[point_of]
        """Row of the table -> row of the base."""
        self.base = base
        self.counted = counted
        if counted:
            base.known = tuple(
                Histograms(*histograms(numbers, len(base.weights), codes.astype(np.int32), weights))
                for codes in columns[len(sizes) :]
            )
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
    floors: FloatMatrix | None = None
    """``[column, level]`` the same as `floor` in more detail: the sum over the levels of a specialization."""

    def floor_at(self, levels: LongVector) -> float:
        """Return how much more than its own lower bound a specialization loses at least."""
        if self.floors is None:
            return self.floor
        return float(self.floors[np.arange(len(levels)), levels].sum())


class Floor(NamedTuple):
    """What lost rows cost every specialization of a mapping at least; see `Check`."""

    dropped: int
    own: float
    """How much more than its own lower bound the mapping itself loses."""
    least: float
    below: float = 0.0
    floors: FloatMatrix | None = None


class Judge:
    """Groups rows by mappings and checks the groups against the requirements."""

    def __init__(self, table: CodedTable, requirements: Requirements, fine: bool = False) -> None:
        from shoal.kernels import grouping
        from shoal.kernels import lattice as kernels

        self._kernels, self._grouping = kernels, grouping
        self.attributes = table.sensitive
        self.totals = tuple(table.totals)
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
        self.fine = self.by_groups and (fine or bool(self.people or self.units))
        """Rows with different sensitive values or owners are looked at one by one, not only counted."""
        self.sizes = [attribute.hierarchy.size for attribute in table.sensitive]
        self.rollups = RollUps(table, sensitive=self.fine, counted=self.by_groups and not self.fine)
        self.fields = self.rollups.fields[: self.rollups.quasi]
        self.objective = objective(table, requirements)
        measure = self.objective.measure
        self.classes = measure if isinstance(measure, ClassMeasure) else None
        self._floors = (self.rollups.quasi, 1 + max(a.hierarchy.height for a in table.attributes))
        self.checked = 0
        self.fewest = table.rows
        """The fewest rows that any checked mapping has to suppress."""
        # Without suppression, if a group fails a monotone model, some subgroup of it fails at every level below.
        # Otherwise only groups for which no subgroup can be valid are certain to be suppressed below.
        self.strict = self.most == 0 and requirements.monotone(table)
        self._counts: LongVector = np.zeros(max(a.hierarchy.size for a in table.attributes), np.int64)
        self.loose = [m.title for m in self.others if not m.merges(table)]
        """The models whose satisfying groups may not satisfy them together."""

    def groups(self, rolled: RollUp, good: BoolVector) -> Groups:
        """Return the valid ones of the groups of a mapping, as models see them."""
        keep = self._grouping.kept_histograms
        kept = [Histograms(*keep(*one, good)) for one in rolled.histograms(self.sizes)]
        return Groups(rolled.weights[good], tuple(kept), self.totals, self.attributes)

    def fine_groups(self, numbers: IntVector, good: BoolVector, fine: RollUp) -> Groups:
        """Return the valid ones of the numbered groups, as models see them, from rows one by one."""
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

    def _penalty(self, rolled: RollUp, lost: LongVector) -> float:
        """Return how much more the lost rows of each group lose than the mapping shows."""
        return float(
            self._kernels.shortfall(
                rolled.keys, lost, rolled.levels, self.fields, self.objective.gain, self.most
            )[1]
        )

    def check(self, levels: LongVector, beat: float = np.inf) -> Check:
        """Group by a mapping. Its value is not computed (infinite) if a bound shows that it exceeds `beat`."""
        self.checked += 1
        rolled = self.rollups.roll(levels)
        above = self.classes.bound(rolled.weights, self.objective.k) if self.classes is not None else 0.0
        good, lost, dropped = self._kernels.small_groups(rolled.weights, self.objective.k)
        if dropped > self.most:
            return self._failed(dropped, above)
        # Finer groups add up to more, unless people with several rows count in several of them.
        if not self.people and any(rule.out_of_reach(rolled.weights, self.most) for rule in self.rules):
            return self._failed(dropped, above)
        floor = self._floor(rolled, lost, dropped)
        if not self.by_groups:
            return self._together(rolled, good, None, lost, floor, above)
        if self._exceeds(levels, floor, above, beat):
            return self._undecided(floor, above)
        return self._judged(rolled, good, floor, above, beat)

    def _floor(self, rolled: RollUp, lost: LongVector, dropped: int) -> Floor:
        """Return what follows for every specialization if so many rows of each group are lost in all of them."""
        cost = self.objective
        if self.classes is not None:
            least = self.classes.floor(rolled.weights - lost, self.rows, cost.k)
            adds = self.classes.floor_adds
            return Floor(dropped, least, least) if adds else Floor(dropped, 0.0, 0.0, least)
        if dropped == 0:
            return Floor(0, 0.0, 0.0)
        floors = np.zeros(self._floors)
        _, own, least = self._kernels.least_shortfall(
            rolled.keys, lost, rolled.levels, self.fields, cost.gains, self._counts, floors
        )
        return Floor(dropped, own, least, 0.0, floors)

    def _exceeds(self, levels: LongVector, floor: Floor, above: float, beat: float) -> bool:
        """Return whether a mapping loses more than `beat` in any case."""
        return max(self.objective.least_at(levels) + above + floor.own, floor.below) > beat + 1e-9

    def _undecided(self, floor: Floor, above: float) -> Check:
        return Check(np.inf, floor.dropped, floor.least, above, floor.below, floor.floors)

    def _judged(self, rolled: RollUp, good: BoolVector, floor: Floor, above: float, beat: float) -> Check:
        """Apply the models, if sizes alone do not rule the mapping out."""
        levels = rolled.levels[: self.rollups.quasi]
        if self.fine:
            rolled, fine, numbers = self.rollups.roll_with_secrets(levels)
            good = rolled.weights >= self.objective.k
            groups = self.fine_groups(numbers, good, fine)
        else:
            groups = self.groups(rolled, good)
        if not self.strict:
            keepable = groups.rows
            for model in self.others:
                keepable = np.minimum(keepable, model.keepable(groups))
            lost, dropped = self._kernels.lost_rows(rolled.weights, good, keepable)
            if dropped > self.most:
                return self._failed(dropped, above)
            floor = self._floor(rolled, lost, dropped)
            if self._exceeds(levels, floor, above, beat):
                return self._undecided(floor, above)
        satisfied: BoolVector = np.ones(len(groups), np.bool_)
        for model in self.others:
            satisfied &= model.satisfied(groups)
        lost, dropped = self._kernels.lost_rows(rolled.weights, good, groups.rows * satisfied)
        self.fewest = min(self.fewest, dropped)
        if dropped > self.most:
            return self._failed(dropped, above) if self.strict else self._undecided(floor, above)
        good[good] = satisfied
        return self._together(
            rolled, good, groups.size[satisfied], lost, floor._replace(dropped=dropped), above
        )

    def _together(
        self,
        rolled: RollUp,
        good: BoolVector,
        sizes: LongVector | None,
        lost: LongVector,
        floor: Floor,
        above: float,
    ) -> Check:
        """Apply the rules over all groups: the smallest are suppressed until they hold, if so many rows may be."""
        if not self.rules:
            return self._value(rolled, good, lost, floor.dropped, floor, above)
        kept = self._kept(good, rolled.weights[good] if sizes is None else sizes, rolled.weights, self.most)
        if kept is None:
            self.fewest = min(self.fewest, floor.dropped)
            return self._undecided(floor, above)
        lost = np.where(kept, 0, rolled.weights)
        return self._value(rolled, kept, lost, int(lost.sum()), floor, above)

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

    def _value(
        self,
        rolled: RollUp,
        good: BoolVector,
        lost: LongVector,
        dropped: int,
        floor: Floor,
        above: float,
    ) -> Check:
        cost = self.objective
        self.fewest = min(self.fewest, dropped)
        if self.classes is not None:
            value = self.classes.of_sizes(rolled.weights[good], dropped, cost.k)
        else:
            penalty = floor.own
            if self.by_groups or self.rules or not cost.exact:
                penalty = self._penalty(rolled, lost)
            value = cost.additive(rolled.levels) + penalty
        return Check(value, dropped, floor.least, above, floor.below, floor.floors)

    def release(self, table: CodedTable, levels: LongVector, facts: dict[str, Any]) -> Release:
        """Make the release of a mapping: groups that satisfy all models become regions, the rest is suppressed."""
        rolled, fine, numbers = self.rollups.numbered(levels)
        good = rolled.weights >= self.objective.k
        sizes = rolled.weights[good]
        if self.by_groups:
            groups = self.fine_groups(numbers, good, fine) if self.fine else self.groups(rolled, good)
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
