"""Full-domain and incognito over more combinations than the driver holds: Spark groups by the mappings that are too
fine for it, and tasks count what a judge needs to know.

The search and its rules are those of one machine. It ends with the same mapping, because that depends neither on the
order of checks nor on how early a mapping is ruled out: full-domain returns the least of all mappings by a total order,
incognito the least of all minimal ones, and each check says what is true of its mapping. Whether a group satisfies the
models, and how many of its rows a specialization can keep, follows from the group alone, so a task that has the whole
group finds it out. What a mapping loses follows from how many rows are lost in each node of each column (measures of
cells), or from how many groups have each size (measures of classes). Tasks count both, and counts add up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from shoal.coding import Attribute
from shoal.coding.groups import group
from shoal.engines.spark.driver_tables import Counted, empty_codes
from shoal.engines.spark.session import translate_errors
from shoal.engines.spark.tasks import codes_of, pieces, without_values
from shoal.judging.measures import MEASURES, CellMeasure
from shoal.judging.models.model import GroupModel
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.mapping_judge import Check, Floor, Judge
from shoal.methods.full_domain.rollups import HELD, RollUp, RollUps
from shoal.release import Release
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASK_ROWS = 1_000_000
"""Combinations that a task judges at a time."""
Sizes = tuple[LongVector, LongVector]
"""Different numbers, and how often each occurs."""


@dataclass(frozen=True, eq=False, repr=False)
class Rules(Brief):
    """What a task needs to judge groups."""

    k: int
    others: tuple[GroupModel, ...]
    sensitive: tuple[Attribute, ...]
    totals: tuple[LongVector, ...]
    cells: bool
    """The measure is one of cells, so it matters which nodes lost rows are in."""


@dataclass(frozen=True, eq=False, repr=False)
class Tallies(Brief):
    """What tasks have counted about the groups of a mapping, together."""

    combinations: int
    """Groups, split by sensitive values if models need them."""
    sizes: Sizes
    kept: Sizes
    """How many rows specializations can keep at most of each group."""
    good: Sizes
    """Sizes of the groups that satisfy the requirements."""
    lost_of: Sizes
    """Sizes of groups, and how many rows in groups of each size no specialization keeps."""
    lost: tuple[Sizes, ...]
    """Per column, nodes and how many rows in them no specialization keeps. For measures of cells."""
    bad: tuple[Sizes, ...]
    """Per column, nodes and how many rows in them are in groups that do not satisfy the requirements. Likewise."""


class Combinations:
    """The distinct combinations of a table, on the cluster."""

    def __init__(
        self, session: SparkSession, frame: DataFrame, table: Counted, requirements: Requirements, most: int
    ) -> None:
        """`frame` has the columns c0, .., and s0, .. if models need them, and `many`; the driver holds `most` rows."""
        self.session, self.frame, self.table, self.most = session, frame, table, most
        cells = isinstance(MEASURES[requirements.measure](), CellMeasure)
        self.rules = Rules(
            requirements.k, requirements.beyond_k, table.sensitive, table.counting.totals, cells
        )
        self.quasi = [f"l{j}" for j in range(len(table.attributes))]
        self.secrets = [name for name in frame.columns if name[0] == "s"]
        with translate_errors("counting combinations"):
            self.parts = max(1, -(-frame.count() // TASK_ROWS))

    def most_at(self, levels: LongVector) -> int:
        """Return how many combinations a mapping can have at most."""
        nodes = [len(a.hierarchy.levels[at].starts) for a, at in self._at(levels)]
        return math.prod([*nodes, *(self.table.sensitive[int(s[1:])].hierarchy.size for s in self.secrets)])

    def _at(self, levels: LongVector) -> list[tuple[Attribute, int]]:
        return list(zip(self.table.attributes, levels.tolist(), strict=True))

    def _lift(self, levels: LongVector) -> DataFrame:
        """Return the combinations as a mapping shows them; equal ones may occur several times."""
        looked = [a.hierarchy.low[at] for a, at in self._at(levels)]
        shared = self.session.sparkContext.broadcast((looked, self.secrets))
        names = [*self.quasi, *self.secrets]
        schema = ", ".join([*(f"{name} int" for name in names), "many long"])
        return self.frame.mapInArrow(lambda batches: _lift(batches, shared.value), schema)

    def fetch_groups(self, levels: LongVector) -> tuple[list[IntVector], LongVector]:
        """Return the groups of a mapping that the driver can hold: their codes, column by column, and sizes."""
        names = [*self.quasi, *self.secrets]
        with translate_errors("counting combinations"):
            found = self._lift(levels).groupBy(*names).sum("many").toArrow()
        *columns, sizes = (found.column(at).to_numpy() for at in range(found.num_columns))
        return columns, sizes.astype(np.int64)

    def _in_tasks(self, levels: LongVector, work: Any, schema: str) -> DataFrame:
        """Let tasks work on groups of a mapping: all rows of a group meet in one task."""
        shared = self.session.sparkContext.broadcast(self.rules)
        together = self._lift(levels).repartition(self.parts, *self.quasi)
        return together.mapInArrow(lambda batches: work(batches, shared.value), schema)

    def tally(self, levels: LongVector) -> Tallies:
        """Count, in tasks, the numbers by which a mapping is judged."""
        counted = self._in_tasks(levels, _tally, "kind int, place long, rows long")
        with translate_errors("counting combinations"):
            found = counted.groupBy("kind", "place").sum("rows").toArrow()
        kind, place, rows = (found.column(at).to_numpy() for at in range(3))
        order = np.lexsort((place, kind))
        kind, place, rows = kind[order], place[order], rows[order]
        first, width = 5, len(self.quasi) if self.rules.cells else 0
        ends = np.searchsorted(kind, np.arange(first + 2 * width + 1))
        own = [(place[a:z], rows[a:z]) for a, z in itertools.pairwise(ends)]
        sizes, kept, good, lost_of = own[1:first]
        lost, bad = tuple(own[first : first + width]), tuple(own[first + width :])
        return Tallies(int(own[0][1].sum()), sizes, kept, good, lost_of, lost, bad)

    def find_failing(self, levels: LongVector) -> DataFrame:
        """Return the groups of a mapping that do not satisfy the requirements, as a frame of Spark."""
        return self._in_tasks(levels, _find_failing, ", ".join(f"{name} int" for name in self.quasi))


@without_values("generalizing combinations")
def _lift(batches: Iterator[pa.RecordBatch], shared: Any) -> Iterator[pa.RecordBatch]:
    looked, secrets = shared
    for piece in pieces(batches):
        codes = codes_of(piece, "c")
        own = pl.DataFrame({f"l{j}": low[codes[:, j]] for j, low in enumerate(looked)})
        rest = [pl.Series(name, piece.column(name).to_numpy()) for name in (*secrets, "many")]
        own = own.with_columns(*rest)
        names = own.columns[:-1]
        yield from own.group_by(names).agg(pl.col("many").sum()).to_arrow().to_batches()


def _judge_partition(
    batches: Iterator[pa.RecordBatch], rules: Rules
) -> tuple[IntMatrix, LongVector, LongVector, BoolVector, int] | None:
    """Return the groups of a partition: their nodes, sizes, how many rows specializations can keep of each, and
    whether they satisfy the requirements; and how many combinations there are."""
    from shoal.kernels.grouping import distinct, group_sizes

    held = list(batches)
    rows = pa.Table.from_batches(held) if held else None
    if rows is None or not rows.num_rows:
        return None
    nodes, values = codes_of(rows, "l"), codes_of(rows, "s")
    many = rows.column("many").to_numpy().astype(np.int64)
    number, first = distinct(nodes)
    sizes = group_sizes(number, len(first), many)
    good: BoolVector = sizes >= rules.k
    kept: LongVector = np.where(good, sizes, 0)
    if rules.others and good.any():
        place = np.full(len(good), -1, np.int32)
        place[good] = np.arange(int(good.sum()), dtype=np.int32)
        groups = group(place[number], int(good.sum()), values, rules.sensitive, rules.totals, many)
        kept[good] = np.min([groups.rows, *(model.keepable(groups) for model in rules.others)], axis=0)
        good[good] = np.all([model.holds_in(groups) for model in rules.others], axis=0)
    combinations = len(distinct(np.concatenate((nodes, values), axis=1))[1])
    return nodes[first], sizes, kept, good, combinations


@without_values("judging combinations")
def _tally(batches: Iterator[pa.RecordBatch], rules: Rules) -> Iterator[pa.RecordBatch]:
    judged = _judge_partition(batches, rules)
    if judged is None:
        return
    nodes, sizes, kept, good, combinations = judged
    found: list[tuple[Any, Any]] = [(np.zeros(1), np.array([combinations]))]
    found += [np.unique(own, return_counts=True) for own in (sizes, kept, sizes[good])]
    found.append(_sum_by_number(sizes, sizes - kept))
    if rules.cells:
        lost, bad = sizes - kept, np.where(good, 0, sizes)
        found += [_sum_by_number(column, own) for own in (lost, bad) for column in nodes.T]
    for kind, (place, rows) in enumerate(found):
        own = [np.full(len(place), kind, np.int32), place.astype(np.int64), rows.astype(np.int64)]
        yield pa.RecordBatch.from_arrays([pa.array(one) for one in own], names=["kind", "place", "rows"])


@without_values("finding what is suppressed")
def _find_failing(batches: Iterator[pa.RecordBatch], rules: Rules) -> Iterator[pa.RecordBatch]:
    judged = _judge_partition(batches, rules)
    if judged is None:
        return
    nodes, _, _, good, _ = judged
    yield pa.RecordBatch.from_pydict({f"l{j}": pa.array(own[~good]) for j, own in enumerate(nodes.T)})


def _sum_by_number(numbers: IntVector | LongVector, rows: LongVector) -> Sizes:
    """Return the distinct numbers with at least one row, and the sum of rows for each."""
    index, place = np.unique(numbers[rows > 0], return_inverse=True)
    return index.astype(np.int64), np.bincount(place, rows[rows > 0], len(index)).astype(np.int64)


class HeldRollUps(RollUps):
    """Roll-ups of a table whose rows are elsewhere: those of the mappings that were put in, and all above them."""

    def __init__(self, table: Counted, *, sensitive: bool, most: int) -> None:
        self._lay_out(table, sensitive)
        self._bases: list[RollUp] = []
        self._room = max(HELD, 12 * most)
        self._buffers(0)
        self._forget()

    def reach(self, levels: LongVector) -> bool:
        """Return whether the groups of a mapping, with sensitive values, can be rolled up from what is here."""
        from shoal.kernels.lattice import smallest_below

        own = self._full(levels, shown=True)
        return bool(smallest_below(self._known, self._sizes, len(self._rolled), own) >= 0)

    def put(self, levels: LongVector, columns: list[IntVector], sizes: LongVector) -> None:
        """Put the groups of a mapping in. The oldest go if there are too many: they can be asked for again."""
        own = self._full(levels, shown=True)
        above = [base for base in self._bases if not (own <= base.levels).all()]
        self._bases = [*above, RollUp(own, self.pack(columns, len(sizes)), sizes)]
        while sum(len(base.weights) for base in self._bases) > self._room // 2 and len(self._bases) > 1:
            self._bases.pop(0)
        if len(sizes) > self._scratch[0].shape[1]:
            self._buffers(len(sizes))
        self._forget()


class DistantJudge(Judge):
    """Checks mappings of a table whose rows, and too many of its combinations, are elsewhere."""

    rollups: HeldRollUps

    def __init__(self, table: Counted, requirements: Requirements, combinations: Combinations) -> None:
        self.combinations = combinations
        super().__init__(table, requirements, fine=True)
        assert not self.rules, "rules over all groups together are refused on Spark"

    def _roll_ups(self, table: Any) -> RollUps:
        return HeldRollUps(table, sensitive=self.fine, most=self.combinations.most)

    def check(self, levels: LongVector, beat: float = np.inf) -> Check:
        """Group by a mapping: here, if the groups that are here or that can be brought here suffice, else in tasks."""
        there = self.combinations
        if not self.rollups.reach(levels):
            fits = there.most_at(levels) <= there.most
            if not fits:
                found = there.tally(levels)
                if found.combinations > there.most:
                    return self._check_tallies(levels, found)
            brought = self._lowest(levels) if fits else levels
            self.rollups.put(brought, *there.fetch_groups(brought))
        return super().check(levels, beat)

    def _lowest(self, levels: LongVector) -> LongVector:
        """Return a specialization of a mapping that is sure to fit the driver, so that it is of use for others, too."""
        levels = levels.copy()
        while True:
            lower = [levels - row for row in np.eye(len(levels), dtype=np.int64)[levels > 0]]
            found = ((self.combinations.most_at(one), at) for at, one in enumerate(lower))
            most, at = min(found, default=(0, -1))
            if at < 0 or most > self.combinations.most:
                return levels
            levels = lower[at]

    def _check_tallies(self, levels: LongVector, found: Tallies) -> Check:
        """Check a mapping by what tasks have counted. The same bounds as for groups that are here, but all of them."""
        self.checked += 1
        cost = self.objective
        dropped, lost = (self.rows - int(own[0] @ own[1]) for own in (found.good, found.kept))
        above, floor = 0.0, Floor(lost, 0.0, 0.0)
        if self.classes is not None:
            above = self.classes.bound(np.repeat(*found.sizes), cost.k)
            in_groups, many = found.lost_of
            floor = self._floor_of_classes(lost, np.repeat(*found.kept), many, in_groups)
        if lost > self.most:
            return self._check_failed(lost, above)
        self.fewest = min(self.fewest, dropped)
        if self.classes is None:
            floor = self._floor_of_nodes(levels, lost, found.lost)
        floor = floor._replace(above=above)
        if dropped > self.most:
            return self._check_failed(dropped, above) if self.strict else self._check_undecided(floor)
        if self.classes is not None:
            value = self.classes.of_sizes(np.repeat(*found.good), dropped, cost.k)
        else:
            value = cost.additive(levels) + self._price_of_dropping(levels, found.bad)
        return floor._replace(dropped=dropped).check(value)

    def _floor_of_nodes(self, levels: LongVector, lost: int, rows: tuple[Sizes, ...]) -> Floor:
        """Return what lost rows cost specializations, from how many there are in each node; see `least_shortfall`."""
        gains, floors = self.objective.gains, np.zeros(self._floors)
        for j, (nodes, many) in enumerate(rows):
            level = int(levels[j])
            first, last = (int(gains.first[j, level + more]) for more in (0, 1))
            place = int(gains.place[j, level])
            least = gains.least[place : place + (level + 1) * (last - first)].reshape(level + 1, last - first)
            floors[j, : level + 1] = least[:, np.searchsorted(gains.nodes[first:last], nodes)] @ many
        own = float(floors[np.arange(len(levels)), levels].sum())
        least_of_all = sum(float(floors[j, : level + 1].min()) for j, level in enumerate(levels.tolist()))
        return Floor(lost, own, least_of_all, 0.0, floors)

    def _price_of_dropping(self, levels: LongVector, rows: tuple[Sizes, ...]) -> float:
        """Return the additional loss of suppressing rows, from the number of rows in each node."""
        total, gain = 0.0, self.objective.gain
        for j, (nodes, many) in enumerate(rows):
            start, size = (int(number) for number in self.rollups.fields[j, 3:])
            total += float(gain[start + int(levels[j]) * size + nodes] @ many)
        return total

    def release(self, table: Any, levels: LongVector, facts: dict[str, Any]) -> Release:
        """Return the levels of a mapping; which rows are suppressed is found out where they are."""
        ends = empty_codes(len(table.attributes))
        return Release(np.empty(0, np.int32), ends, ends, tuple(levels.tolist()), facts=facts)
