"""Groups of full-domain mappings against the requirements: the loss of a mapping, and what it proves about others."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.groups import Groups, Histograms, group
from shoal.judging.measures.measure import ClassMeasure
from shoal.judging.models.overall import Seen
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.objective import objective
from shoal.methods.full_domain.rollups import RollUp, RollUps
from shoal.methods.method import Abilities, Method, Parts, Shows
from shoal.release import Release
from shoal.support.arrays import BoolVector, FloatMatrix, IntVector, LongVector
from shoal.support.run import Run


class SearchesMappings(Method):
    """A method that chooses one level per column for all rows."""

    can: ClassVar[Abilities] = Abilities(
        count_people=True, search_mappings=True, make_buckets=True, optimize=("cells", "classes")
    )
    shows: ClassVar[Shows] = Shows(classes=True)
    parts: ClassVar[Parts | str] = "each column has one level for all rows"

    @abstractmethod
    def search(self, table: CodedTable, judge: Judge, run: Run) -> Release:
        """Return the best mapping among those that can be listed, by a judge who may have the rows elsewhere."""


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
    above: float = 0.0
    """What every generalization loses at least."""

    def check(self, value: float) -> Check:
        """Return what was found about a mapping with this value."""
        return Check(value, self.dropped, self.least, self.above, self.below, self.floors)


class Judge:
    """Groups rows by mappings and checks the groups against the requirements.

    With `fine`, rows with different sensitive values stay apart, for whoever moves or counts them one by one.
    """

    def __init__(self, table: CodedTable, requirements: Requirements, fine: bool = False) -> None:
        from shoal.kernels import grouping
        from shoal.kernels import lattice as kernels

        self._kernels, self._grouping = kernels, grouping
        self.attributes = table.sensitive
        self.requirements = requirements
        self.most = requirements.suppressible(table.rows)
        self.rows = table.rows
        self.countings, self.adds_up = table.countings, table.counting.adds_up
        # Rows are counted in any case, which is enough for k if each is a person of its own.
        self.others = requirements.beyond_k if self.adds_up else requirements.group_models
        self.rules = requirements.overall(table)
        """Rules over all groups together."""
        self.by_groups = bool(self.others) or bool(not self.adds_up and self.rules)
        """Groups have to be counted in more ways than by rows."""
        self.fine = self.by_groups and (fine or table.shared is not None)
        """Rows with different sensitive values or owners are looked at one by one, not only counted."""
        self.sizes = [attribute.hierarchy.size for attribute in table.sensitive]
        self.rollups = self._roll_ups(table)
        self.fields = self.rollups.fields[: self.rollups.quasi]
        self.objective = objective(table, requirements)
        measure = self.objective.measure
        self.classes = measure if isinstance(measure, ClassMeasure) else None
        """The measure, if it is one of classes."""
        self._floors = (self.rollups.quasi, 1 + max(a.hierarchy.height for a in table.attributes))
        self.checked = 0
        self.fewest = table.rows
        """The fewest rows that any checked mapping has to suppress."""
        # Without suppression, if a group fails a monotone model, some subgroup of it fails at every level below.
        # Otherwise only groups for which no subgroup can be valid are certain to be suppressed below.
        self.strict = self.most == 0 and requirements.monotone(table)
        self._counts: LongVector = np.zeros(max(a.hierarchy.size for a in table.attributes), np.int64)
        self.loose = [m.title for m in self.others if not m.merges(table.counting)]
        """The models whose satisfying groups may not satisfy them together."""

    def _roll_ups(self, table: CodedTable) -> RollUps:
        return RollUps(table, sensitive=self.fine, counted=self.by_groups and not self.fine)

    def groups(self, rolled: RollUp, good: BoolVector) -> Groups:
        """Return the valid ones of the groups of a mapping, as models see them."""
        keep = self._grouping.kept_histograms
        kept = [Histograms(*keep(*one, good)) for one in rolled.histograms(self.sizes)]
        return Groups(rolled.weights[good], tuple(kept), self.countings[0].totals, self.attributes)

    def fine_groups(self, numbers: IntVector, good: BoolVector, fine: RollUp) -> Groups:
        """Return the valid ones of the numbered groups, as models see them, from rows one by one."""
        place = np.full(len(good), -1, np.int32)
        place[good] = np.arange(int(good.sum()), dtype=np.int32)
        first = self.rollups.quasi
        codes = np.empty((len(numbers), len(self.attributes)), np.int32, order="F")
        for j in range(len(self.attributes)):
            codes[:, j] = self.rollups.codes(fine.keys, first + j)
        rows, own = (place[numbers], int(good.sum()), codes, self.attributes), first + len(self.attributes)
        found = []
        for counting in self.countings:
            owner = None if counting.adds_up else self.rollups.codes(fine.keys, own)
            found.append(group(*rows, counting.totals, fine.weights, owner, counting.everyone))
            own += not counting.adds_up
        return replace(found[0], units=tuple(found[1:]))

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
            return self._check_failed(dropped, above)
        # Finer groups add up to more, unless people with several rows count in several of them.
        if self.adds_up and any(rule.out_of_reach(rolled.weights, self.most) for rule in self.rules):
            return self._check_failed(dropped, above)
        floor = self._floor(rolled, lost, dropped)._replace(above=above)
        if not self.by_groups:
            return self._together(rolled, good, None, lost, floor)
        if self._exceeds(levels, floor, beat):
            return self._check_undecided(floor)
        return self._apply_models(rolled, good, floor, beat)

    def _floor(self, rolled: RollUp, lost: LongVector, dropped: int) -> Floor:
        """Return what follows for every specialization if so many rows of each group are lost in all of them."""
        cost = self.objective
        if self.classes is not None:
            return self._floor_of_classes(dropped, rolled.weights - lost, lost, rolled.weights)
        if dropped == 0:
            return Floor(0, 0.0, 0.0)
        floors = np.zeros(self._floors)
        _, own, least = self._kernels.least_shortfall(
            rolled.keys, lost, rolled.levels, self.fields, cost.gains, self._counts, floors
        )
        return Floor(dropped, own, least, 0.0, floors)

    def _floor_of_classes(self, dropped: int, kept: LongVector, lost: LongVector, sizes: LongVector) -> Floor:
        """Return the same by a measure of classes; see `ClassMeasure.floor`."""
        assert self.classes is not None
        least = self.classes.floor(kept, lost, sizes, self.objective.k)
        return Floor(dropped, least, least) if self.classes.floor_adds else Floor(dropped, 0.0, 0.0, least)

    def _exceeds(self, levels: LongVector, floor: Floor, beat: float) -> bool:
        """Return whether a mapping loses more than `beat` in any case."""
        return max(self.objective.least_at(levels) + floor.above + floor.own, floor.below) > beat + 1e-9

    def _check_undecided(self, floor: Floor) -> Check:
        return floor.check(np.inf)

    def _apply_models(self, rolled: RollUp, good: BoolVector, floor: Floor, beat: float) -> Check:
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
                return self._check_failed(dropped, floor.above)
            floor = self._floor(rolled, lost, dropped)._replace(above=floor.above)
            if self._exceeds(levels, floor, beat):
                return self._check_undecided(floor)
        satisfied: BoolVector = np.ones(len(groups), np.bool_)
        for model in self.others:
            satisfied &= model.holds_in(groups)
        lost, dropped = self._kernels.lost_rows(rolled.weights, good, groups.rows * satisfied)
        self.fewest = min(self.fewest, dropped)
        if dropped > self.most:
            return self._check_failed(dropped, floor.above) if self.strict else self._check_undecided(floor)
        good[good] = satisfied
        return self._together(rolled, good, groups.size[satisfied], lost, floor._replace(dropped=dropped))

    def _together(
        self,
        rolled: RollUp,
        good: BoolVector,
        sizes: LongVector | None,
        lost: LongVector,
        floor: Floor,
    ) -> Check:
        """Apply the rules over all groups: the smallest are suppressed until they hold, if so many rows may be."""
        if not self.rules:
            return self._value(rolled, good, lost, floor)
        kept = self._choose_groups(
            good, rolled.weights[good] if sizes is None else sizes, rolled.weights, self.most
        )
        if kept is None:
            self.fewest = min(self.fewest, floor.dropped)
            return self._check_undecided(floor)
        lost = np.where(kept, 0, rolled.weights)
        return self._value(rolled, kept, lost, floor._replace(dropped=int(lost.sum())))

    def _choose_groups(
        self, good: BoolVector, sizes: LongVector, rows: LongVector, most: int
    ) -> BoolVector | None:
        """Return which valid groups to keep so that all rules hold; None if too many rows would be suppressed."""
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

    def _check_failed(self, dropped: int, above: float) -> Check:
        self.fewest = min(self.fewest, dropped)
        return Check(np.inf, dropped, np.inf, above)

    def _value(self, rolled: RollUp, good: BoolVector, lost: LongVector, floor: Floor) -> Check:
        cost = self.objective
        self.fewest = min(self.fewest, floor.dropped)
        if self.classes is not None:
            value = self.classes.of_sizes(rolled.weights[good], floor.dropped, cost.k)
        else:
            penalty = floor.own
            if self.by_groups or self.rules or not cost.exact:
                penalty = self._penalty(rolled, lost)
            value = cost.additive(rolled.levels) + penalty
        return floor.check(value)

    def release(self, table: CodedTable, levels: LongVector, facts: dict[str, Any]) -> Release:
        """Make the release of a mapping: groups that satisfy all models become regions, the rest is suppressed."""
        rolled, fine, numbers = self.rollups.number_groups(levels)
        good = rolled.weights >= self.objective.k
        sizes = rolled.weights[good]
        if self.by_groups:
            groups = self.fine_groups(numbers, good, fine) if self.fine else self.groups(rolled, good)
            satisfied = self.requirements.holds_in(groups)
            good[good], sizes = satisfied, groups.size[satisfied]
        if self.rules:
            kept = self._choose_groups(good, sizes, rolled.weights, self.most)
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
