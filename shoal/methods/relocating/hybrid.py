"""Hybrid k-anonymity: full-domain generalization of a table in which a few rows were relocated."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import LimitError, Problem
from shoal.judging.measures.measure import ClassMeasure
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.mapping_judge import Judge
from shoal.methods.full_domain.mapping_lattice import Lattice, Rank, rank
from shoal.methods.full_domain.rollups import RollUp
from shoal.methods.full_domain.search_summary import infeasible
from shoal.methods.method import Abilities
from shoal.methods.presence.mapping_presence import PresenceRule
from shoal.methods.relocating.group_repair import Mender
from shoal.methods.relocating.relocation import Allowance, Relocating, account, check_options, group_rules
from shoal.release import Release
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.run import Run

CHUNK = 4096
"""How many mappings are searched at a time for one that is undecided."""


@dataclass(frozen=True, kw_only=True)
class Hybrid(Relocating):
    """S-Hybrid: one level per column for all rows, after relocating a few rows out of groups that are too small.

    Groups of at most k/2 rows move into others, larger ones are filled up to k, as long as the budget lasts.
    """

    name: ClassVar[str] = "hybrid"
    summary: ClassVar[str] = (
        "full-domain after relocating a few rows: a finer release for a bounded share of false cells"
    )
    paper: ClassVar[str] = (
        "Nergiz, Gök and Özkanlı: Preservation of Utility through Hybrid k-Anonymization, TrustBus 2013"
    )
    can: ClassVar[Abilities] = Abilities(optimize=("cells", "classes"))

    measure: str = ""
    """The measure that compares mappings; empty: the measure of the policy."""

    prune: bool = True
    """As in the paper, a mapping that relocation cannot fix rules out all finer ones. Otherwise finer ones are tried as
    well: the release is never worse, often much better in the randomized variants, but the search takes longer."""

    def __post_init__(self) -> None:
        check_options(self.variant, self.budget, self.alpha, self.measure, self.can.optimize)

    @property
    def cannot_stop(self) -> Mapping[str, Problem]:
        """Relocated rows match people who do not own them, and drawn targets show in the sizes of classes."""
        found = dict(super().cannot_stop)
        found["knows-algorithm"] = Problem(
            "method.name",
            f"{self.name} cannot stop knows-algorithm in any variant: published minus true class sizes show where rows "
            "went",
            "ask for k and relocation without naming knows-algorithm, or take another method",
        )
        return found

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Return the mapping with the least loss for which relocation makes it, and all its generalizations, satisfy
        the requirements.

        The walk of the paper from the top of the lattice down returns the same: it deletes a mapping that fails with
        all its specializations. Here mappings are visited by a lower bound on their loss. Worst case O(mappings x
        (distinct rows + short groups x groups x columns)).
        """
        rules = group_rules(requirements, self.measure)
        presence = PresenceRule.of(table, requirements, self.name)
        return self.make_tested(
            table,
            requirements,
            lambda allowance: Search(table, rules, run, allowance, self.prune, presence).best(),
        )


class Relocated(NamedTuple):
    """The groups of a mapping after relocation."""

    holds: bool
    moves: IntMatrix
    """``[moves, 3]`` source, target and number of rows, in order. Sources are `cells` if given, else groups."""
    after: LongVector
    """``[groups]`` sizes after relocation."""
    good: BoolVector
    """``[groups]`` which satisfy the requirements afterwards; the others are suppressed, or empty."""
    chi: float
    cells: IntMatrix | None = None
    """``[cells, 1 + sensitive columns]`` group and sensitive codes of the cells that the moves refer to."""


class TriedMapping(NamedTuple):
    """The result of trying a mapping."""

    holds: bool
    safe: bool
    """It satisfies all requirements without relocation, and so do all its generalizations."""
    hopeless: bool
    """No specialization can satisfy the requirements either, whatever is relocated."""
    rank: Rank | None


class Search:
    """The state of one search."""

    def __init__(
        self,
        table: CodedTable,
        requirements: Requirements,
        run: Run,
        allowance: Allowance,
        prune: bool = True,
        presence: PresenceRule | None = None,
    ) -> None:
        self.table, self.run, self.allowance, self.presence = table, run, allowance, presence
        self.lattice = Lattice(table)
        self.judge = Judge(table, requirements, fine=True)
        self.prune = prune and self.judge.strict
        self.least = self._least()
        self.gone: BoolVector = np.zeros(self.lattice.size, np.bool_)
        """Mappings that were deleted."""
        self.sure: BoolVector = np.zeros(self.lattice.size, np.bool_)
        """Mappings that satisfy the requirements, as far as known."""
        self.rank: Rank | None = None
        self.levels: LongVector = self.lattice.top
        self.tried: dict[int, TriedMapping] = {}
        self.relocations = 0
        self.seed = int(run.random.integers(1 << 62))
        self._seen = time.perf_counter()

    def _least(self) -> FloatVector:
        """Return a lower bound on the loss of every mapping: a changed cell gains at most the spread within a level."""
        cost, fields = self.judge.objective, self.judge.rollups.fields
        spread: FloatVector = np.zeros(1)
        for j, height in enumerate(self.lattice.dims):
            start, size = int(fields[j, 3]), int(fields[j, 4])
            by_level = cost.gain[start : start + height * size].reshape(height, size)
            own = by_level.max(axis=1) - by_level.min(axis=1)
            spread = np.maximum(spread[:, None], own[None, :]).ravel()
        least: FloatVector = self.lattice.sums(cost.least) - self.allowance.cells * spread
        return least

    def best(self) -> Release:
        """Try mappings by increasing lower bound until no other can be better."""
        order = np.argsort(self.least, kind="stable")
        at = 0
        while at < len(order):
            run = order[at : at + CHUNK]
            ahead = np.flatnonzero(~self.gone[run])
            if not len(ahead):
                at += CHUNK
                continue
            at += int(ahead[0])
            index = int(order[at])
            if self.rank is not None and self.least[index] > self.rank[0] + 1e-9:
                break
            self._settle(index, self.lattice.levels(index))
            at += 1
            self._progress(at)
        if self.rank is None:
            raise LimitError(infeasible(self.lattice.size, self.judge))
        return self._release()

    def _settle(self, index: int, levels: LongVector) -> None:
        """Delete a mapping, as high up as possible, or compute its loss."""
        chain = self.lattice.chain(levels, self.judge.objective.steps)
        low, high = 0, len(chain) - 1
        while low < high:
            middle = low + (high - low) * 3 // 5
            if self._deletes(chain[middle]):
                low = middle + 1
            else:
                high = middle
        if self.gone[index] or self._deletes(levels):
            return
        attempt = self._attempt(levels)
        if not attempt.holds or (self.prune and not self._generalizations_hold(levels)):
            return
        if self.rank is None or (attempt.rank is not None and attempt.rank < self.rank):
            self.rank, self.levels = attempt.rank, levels

    def _deletes(self, levels: LongVector) -> bool:
        """Try a mapping. If it rules out its specializations, delete them and return True.

        With `prune`, under monotone models and without suppression, every mapping that fails does. Otherwise a
        specialization may still satisfy the requirements, so only mappings that no relocation can fix are deleted.
        """
        attempt = self._attempt(levels)
        if attempt.hopeless or (self.prune and not attempt.holds):
            self.gone.reshape(self.lattice.dims)[tuple(slice(int(level) + 1) for level in levels)] = True
            return True
        return False

    def _generalizations_hold(self, levels: LongVector) -> bool:
        """Try all generalizations that are not known to satisfy the requirements, the nearest first."""
        box = tuple(slice(int(level), None) for level in levels)
        unknown = np.argwhere(~self.sure.reshape(self.lattice.dims)[box]) + levels
        for above in unknown[np.argsort(unknown.sum(axis=1), kind="stable")]:
            at = self.lattice.index(above)
            if not self.sure[at] and self._deletes(above):
                return False
            self.sure[at] = True
        return True

    def _attempt(self, levels: LongVector) -> TriedMapping:
        index = self.lattice.index(levels)
        if index not in self.tried:
            attempt = self._try(levels, index)
            if attempt.safe and self.prune:
                self.sure.reshape(self.lattice.dims)[tuple(slice(int(level), None) for level in levels)] = (
                    True
                )
            self.tried[index] = attempt
        return self.tried[index]

    def _try(self, levels: LongVector, index: int) -> TriedMapping:
        """Relocate in the groups of a mapping, and compute its loss afterwards."""
        judge, cost = self.judge, self.judge.objective
        rolled = judge.rollups.roll(levels)
        sizes, k = rolled.weights, cost.k
        stuck = int(sizes[2 * sizes <= k].sum()) - judge.most
        if stuck > self.allowance.cells:
            judge.fewest = min(judge.fewest, stuck)
            return TriedMapping(False, False, True, None)
        done = self.relocate(rolled, index)
        dropped = int(done.after[~done.good].sum())
        judge.fewest = min(judge.fewest, dropped)
        if not done.holds or not self._present(rolled, done):
            return TriedMapping(False, False, False, None)
        if isinstance(cost.measure, ClassMeasure):
            value = cost.measure.of_sizes(done.after[done.good], dropped, k)
        else:
            value = cost.additive(levels) + self._difference(rolled, done)
        safe = dropped == 0 and not len(done.moves)
        return TriedMapping(True, safe, False, rank(value, dropped, levels))

    def _present(self, rolled: RollUp, done: Relocated) -> bool:
        """Return whether bounds on presence, if any, hold after relocation and suppression."""
        if self.presence is None:
            return True
        quasi = self.judge.rollups.quasi
        nodes = np.stack([self.judge.rollups.codes(rolled.keys, j) for j in range(quasi)], axis=1)
        return self.presence.holds(rolled.levels[:quasi], nodes, np.where(done.good, done.after, 0))

    def _difference(self, rolled: RollUp, done: Relocated) -> float:
        """Return how much more relocated and suppressed rows lose than in their own groups."""
        from shoal.kernels.lattice import shortfall

        rollups, cost = self.judge.rollups, self.judge.objective
        left = np.where(done.good, done.after, 0)
        return float(
            shortfall(
                rolled.keys,
                rolled.weights - left,
                rolled.levels,
                rollups.fields[: rollups.quasi],
                cost.gain,
                self.table.rows,
            )[1]
        )

    def relocate(self, rolled: RollUp, index: int) -> Relocated:
        """Run createHybrid on the groups of a mapping. Repeated calls give the same moves."""
        from shoal.kernels.hybrid import relocate_groups

        groups, rollups = len(rolled.weights), self.judge.rollups
        columns = [j for j in range(rollups.quasi) if not rollups.single[j, rolled.levels[j]]]
        fields = rollups.fields[columns]
        masks = fields[:, 2].astype(np.uint64) << fields[:, 1].astype(np.uint64)
        draws, random = np.empty(0), None
        if self.allowance.randomized:
            random = np.random.Generator(np.random.PCG64DXSM([self.seed, index]))
            draws = random.random(2 * groups)
        k, most = self.judge.objective.k, self.judge.most
        # Suppressed groups reduce the degrees of freedom of the test; groups with k rows are never suppressed.
        limit = self.allowance.limit(groups if most == 0 else int(np.count_nonzero(rolled.weights >= k)))
        after, moves = np.empty(groups, np.int64), np.empty((groups, 3), np.int32)
        holds, made, _, chi = relocate_groups(
            rolled.keys, fields[:, 0], masks, rolled.weights, k, self.allowance.cells, limit, most, draws, after, moves,
        )  # fmt: skip
        self.relocations += 1
        done = Relocated(bool(holds), moves[:made], after, after >= k, float(chi))
        if not self.judge.others or not holds:
            return done
        return self._repair_groups(rolled, done, limit, random)

    def _repair_groups(
        self, rolled: RollUp, done: Relocated, limit: float, random: np.random.Generator | None
    ) -> Relocated:
        """Relocate further until the models other than k are satisfied as well."""
        rollups = self.judge.rollups
        _, fine, group_of = rollups.roll_with_secrets(rolled.levels[: rollups.quasi])
        group_of = group_of.copy()
        secrets = np.stack(
            [rollups.codes(fine.keys, rollups.quasi + j) for j in range(rollups.secrets)], axis=1
        )
        nodes = np.stack([rollups.codes(rolled.keys, j) for j in range(rollups.quasi)], axis=1)
        mender = Mender(self.table, self.judge.requirements, nodes, group_of, secrets, fine.weights)
        untouched = mender.find_satisfied()
        mender.follow(done.moves)
        holds, good = mender.mend(self.allowance.cells, limit, self.judge.most, random)
        # Other models may suppress groups that the limit assumed to be published: test only what is left.
        tested = int(np.count_nonzero(good | (mender.sizes() == 0)))
        holds = holds and mender.chi() <= self.allowance.limit(tested)
        if not holds and int(rolled.weights[~untouched].sum()) <= self.judge.most:
            # Moves may break groups that satisfy the models as they are, although suppression alone would suffice.
            holds, good = True, untouched
            mender.restore()
        pieces = mender.pieces
        moved = pieces.at != mender.home[pieces.cell]
        moves = np.stack([pieces.cell[moved], pieces.at[moved], pieces.rows[moved]], axis=1).astype(np.int32)
        cells = np.column_stack([group_of, secrets]).astype(np.int32)
        return Relocated(holds, moves, mender.sizes(), good, mender.chi(), cells)

    def _release(self) -> Release:
        """Make the release of the best mapping. Moved rows show the cells of the group that they moved to."""
        from shoal.kernels.grouping import distinct

        judge, levels = self.judge, self.levels
        rolled, _, numbers = judge.rollups.number_groups(levels)
        group_of = numbers[judge.rollups.number_of].astype(np.int32)
        done = self.relocate(rolled, self.lattice.index(levels))
        cell_of = group_of
        if done.cells is not None:
            # Rows of one group with the same sensitive values form one cell, numbered as in the moves.
            own = np.column_stack([group_of, self.table.secrets.wide]).astype(np.int32)
            cell_of = distinct(np.vstack([done.cells, own]))[0][len(done.cells) :]
        target_of = move_rows(group_of, cell_of, done.moves, self.run.random)
        good = done.good
        place = np.full(len(good), -1, np.int32)
        place[good] = np.arange(int(good.sum()), dtype=np.int32)
        low = np.empty((int(good.sum()), judge.rollups.quasi), np.int32)
        high = np.empty_like(low)
        for j, attribute in enumerate(self.table.attributes):
            low[:, j] = judge.rollups.codes(rolled.keys, j)[good]
            high[:, j] = attribute.hierarchy.high[levels[j], low[:, j]]
        region_of = place[target_of]
        degrees = int(np.count_nonzero(good | (done.after == 0))) - 1
        release = Release(region_of, low, high, tuple(levels.tolist()), relocated=True)
        facts: dict[str, Any] = {
            "mappings": self.lattice.size,
            "checked": len(self.tried),
            "relocations_tried": self.relocations,
            "loss_with_relocation": self.rank[0] if self.rank else None,
            "loss_without_relocation": self._without(),
            **account(self.table, release, self.allowance, done.chi, degrees),
        }
        return replace(release, facts=facts)

    def _without(self) -> float | None:
        """Return the loss of the best mapping that needs no relocation; None if there is none."""
        from shoal.methods.full_domain.full_domain import FullDomain

        if self.presence is not None:
            # full-domain does not know the population, so its optimum may violate these bounds.
            return None
        try:
            release = FullDomain().anonymize(self.table, self.judge.requirements, self.run)
        except LimitError:
            return None
        check = self.judge.check(np.array(release.levels, np.int64))
        return round(check.value, 12)

    def _progress(self, at: int) -> None:
        now = time.perf_counter()
        if now - self._seen > 0.2:
            self._seen = now
            self.run.progress("search", at / self.lattice.size)


def move_rows(
    group_of: IntVector, cell_of: IntVector, moves: IntMatrix, random: np.random.Generator
) -> IntVector:
    """Return row -> group after the moves. The rows of a cell that move are random; no row moves twice. O(rows)."""
    target_of = group_of.copy()
    order = random.permutation(len(cell_of))
    order = order[np.argsort(cell_of[order], kind="stable")]
    ends = np.searchsorted(cell_of[order], np.arange(int(cell_of.max(initial=0)) + 2))
    taken = np.zeros(len(ends), np.int64)
    for source, target, rows in moves.tolist():
        begin = ends[source] + taken[source]
        target_of[order[begin : begin + rows]] = target
        taken[source] += rows
    return target_of
