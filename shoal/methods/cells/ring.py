"""Non-homogeneous generalization (NH): rows of one group show different values, and nobody can be linked to one."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.judging.models.hybrid_k import FalseCellLimit
from shoal.judging.models.k_anonymity import K, KAnonymity
from shoal.judging.models.k_type import KType
from shoal.judging.models.l_diversity import ProbabilisticDiversity
from shoal.judging.models.model import Spreading
from shoal.judging.models.probabilistic_k import CandidateDiversity, ProbabilisticK
from shoal.judging.models.requirements import Requirements
from shoal.methods.blocks import whole_blocks_suffice
from shoal.methods.loss_tables import cell_measure
from shoal.methods.method import Abilities, Draws, Method, Parts, Shows
from shoal.methods.partitioning.diverse import (
    all_different,
    even,
    merge_until_satisfied,
    spread_asked,
    spread_out,
)
from shoal.methods.partitioning.partition import (
    Partition,
    blocks_first,
    hilbert_order,
    hilbert_partition,
    lexicographic_order,
    lexicographic_partition,
)
from shoal.methods.partitioning.windows import check_shown, group_losses, windows
from shoal.release import Release
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.run import Run
from shoal.support.wording import format_setting

FOREIGN = ("mondrian", "agglomerative")
"""Methods whose classes can become the groups."""
PARTITIONS = ("lexicographic", "hilbert", *FOREIGN, "none")
ORDERS = ("lexicographic", "hilbert", "nearest", "fold", "best")
LOOK = 256
"""Rows among which the nearest order looks for the next; groups that mix values are smaller for most k."""
EDGES = 1 << 23
"""Pairs of people and cells that are drawn between two checks of progress and interrupts."""
ROOM = 1 << 27
"""Pairs of one ring in memory at once, nine bytes each; at least 256 per person, as far as 32-bit numbers reach."""
DRAWS = 400_000
"""How often the assignment of a ring with more than two choices is drawn to find how likely each is."""
CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
"""The words that every block of ChaCha begins with."""


@dataclass(frozen=True, kw_only=True)
class Ring(Method):
    """Ring generalization with a random assignment (Wong, Mamoulis, Cheung 2010).

    The rows of a group form a ring. The cell of position i covers the k rows from i on, and no others. A random
    assignment decides who gets which cell: each pair of a person and a cell that covers them has probability exactly
    1/k. With l-diversity, the rows of a group have different sensitive values.
    """

    name: ClassVar[str] = "ring"
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"order": "best"},
        {"partition": "hilbert", "order": "best"},
    )
    summary: ClassVar[str] = (
        "cells that cover k rows each, assigned at random; loses least, for notion probabilistic-k"
    )
    paper: ClassVar[str] = (
        "Wong, Mamoulis, Cheung: Non-homogeneous generalization in privacy preserving data publishing, SIGMOD 2010"
    )
    can: ClassVar[Abilities] = Abilities(optimize=("cells",))
    parts: ClassVar[Parts | str] = (
        "attacks rerun it on the whole table, and would not find the cells that parts show"
    )
    shows: ClassVar[Shows] = Shows(notions=(KType, CandidateDiversity))

    partition: str = "lexicographic"
    """What splits the table into groups: ``lexicographic`` as in the paper, another method (``hilbert``,
    ``mondrian``, ``agglomerative``), or ``none``: all rows in one ring."""
    order: str = "lexicographic"
    """The order of rows in a ring: ``lexicographic``, ``hilbert``, ``nearest`` (after each row the most similar one),
    ``fold`` (every second row forth, the others back, so that the ends meet), or ``best``, the one of them that loses
    least for each group."""
    show: str = "sets"
    """``sets`` lists the values that occur, which loses least; ``ranges`` shows the smallest node or range."""

    def __post_init__(self) -> None:
        problems = [
            Problem(f"method.{key}", f"'{value}' is unknown", did_you_mean(value, known))
            for key, value, known in (
                ("partition", self.partition, PARTITIONS),
                ("order", self.order, ORDERS),
            )
            if value not in known
        ]
        if problems:
            raise PolicyError(problems)
        check_shown(self.show)

    @property
    def kinds_that_steer(self) -> tuple[str, ...]:
        """Sorting optimizes nothing: a measure steers the other partitions, and the orders that compare losses."""
        sorts = self.partition in ("lexicographic", "none") and self.order not in ("nearest", "best")
        return () if sorts else self.can.optimize

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """Return the requirements that are about classes: the cells of a ring form none."""
        problems = []
        notion = format_setting("privacy.notion", "probabilistic-k")
        for model in requirements.models:
            if isinstance(model, (*self.shows.notions, FalseCellLimit)):
                continue  # there are no false cells
            if model.key is K:
                message = "ring generalizes each row separately, so its releases have no equivalence classes of k rows"
                hint = "ask for " + notion + ", or take lexicographic"
            elif CandidateDiversity.instead_of(model, (ProbabilisticK(k=2),), {}) is not None:
                message = f"{model.name} is about equivalence classes, and ring makes none"
                hint = "with k and " + notion + " it is about candidates; or take lexicographic"
            else:
                message = f"{model.name} is about equivalence classes, and ring makes none"
                hint = "remove it, or take lexicographic"
            problems.append(Problem("method.name", message, hint))
        return problems

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Partition, order, generalize, draw. O(rows x (columns + k)) plus the partition."""
        self.check_suited(requirements, [attribute.name for attribute in table.sensitive])
        k, spread = read_requirements(requirements)
        partition, widths = self.rings(table, k, spread, requirements, run)
        run.progress("generalize", 0.3)
        shown = windows(table, partition, widths, self.show)
        run.progress("assign", 0.5)
        owner = draw_owners(partition, widths, shown.varied, run)
        region_of = np.full(table.rows, -1, np.int32)
        region_of[partition.order[owner]] = shown.region
        facts = {
            "row_groups": len(partition.sizes),
            "largest_row_group": int(partition.sizes.max(initial=0)),
            "mixed_rings": int((shown.varied & (partition.sizes > widths)).sum()),
            "suppressed": partition.dropped,
        }
        return Release(region_of, shown.low, shown.high, sets=shown.sets, facts=facts)

    def rings(
        self, table: CodedTable, k: int, spread: Spreading | None, requirements: Requirements, run: Run
    ) -> tuple[Partition, LongVector]:
        """Return the rings and how many rows a cell of each covers. Everything here follows from the
        quasi-identifiers alone, unless sensitive values have to be spread.
        """
        run.progress("partition", 0.0)
        if spread is None and not requirements.beyond_k:
            partition = self._make_partition(table, k, requirements, run)
            widths = np.full(len(partition.sizes), k, np.int64)
            return self._order_rows(table, partition, widths, requirements.measure), widths
        whole = None if spread is None else self._spread_partition(table, k, spread, requirements, run)
        if whole is None or spread is None:
            partition = self._merge_groups(table, k, requirements, run)
            return partition, partition.sizes
        good = even(table, whole, spread)
        if good.all():
            return self._spread(table, whole, k, spread, requirements.measure)
        partition = self._merge_groups(table, k, requirements, run).chosen(~good)
        if not good.any():
            return partition, partition.sizes
        first, widths = self._spread(table, whole.chosen(good), k, spread, requirements.measure)
        return first.join(partition), np.concatenate([widths, partition.sizes])

    @property
    def rebuilt_by(self) -> Mapping[str, Any]:
        """How rings are formed and ordered, if sensitive values need not be spread."""
        return {"partition": self.partition, "order": self.order}

    def draws(self, table: CodedTable, requirements: Requirements, run: Run) -> Draws:
        """Every way to assign the cells of each ring."""
        k, spread = read_requirements(requirements)
        partition, widths = self.rings(table, k, spread, requirements, run)
        made = windows(table, partition, widths, self.show)
        ends = zip(partition.starts[:-1], partition.starts[1:], strict=True)

        def ways(ring: int, begin: int, end: int) -> Iterator[tuple[IntVector, IntVector, float]]:
            mixed = bool(made.varied[ring]) and widths[ring] < end - begin
            for owners, likely in assignments(end - begin, int(widths[ring]) if mixed else 1):
                yield partition.order[begin:end][list(owners)], made.region[begin:end], likely

        return Draws(
            made.low, made.high, made.sets, [ways(ring, *bounds) for ring, bounds in enumerate(ends)]
        )

    def _spread(
        self, table: CodedTable, whole: Partition, k: int, spread: Spreading, measure: str
    ) -> tuple[Partition, LongVector]:
        """Return rings of different sensitive values, or groups with one cell each, whichever lose less."""
        cut = self.partition == "lexicographic"
        different = all_different(table, whole, spread, k, cut=cut)
        if different is None or k > spread.l:
            # Groups with one cell each, which covers k rows: the only way if there are too few values for rings
            # of k different ones, and often the better one otherwise.
            partition = spread_out(table, whole, spread, k, cut=cut)
            if different is None:
                return partition, partition.sizes
            rings = np.full(len(different.sizes), k, np.int64)
            together = group_losses(table, partition, partition.sizes, measure, self.show)
            apart = group_losses(table, different, rings, measure, self.show)
            if together.sum() <= apart.sum():
                return partition, partition.sizes
        widths = np.full(len(different.sizes), max(k, spread.l), np.int64)
        return self._order_rows(table, different, widths, measure), widths

    def _merge_groups(self, table: CodedTable, k: int, requirements: Requirements, run: Run) -> Partition:
        """Return groups that satisfy the models with one cell each, where sensitive values cannot be spread."""
        if self.partition in FOREIGN:
            by_classes = replace(requirements, models=requirements.group_models)
            return _partition_of(self.partition, table, by_classes, run)
        own = replace(self, partition="lexicographic") if self.partition == "none" else self
        return merge_until_satisfied(table, own._make_partition(table, k, requirements, run), requirements)

    def _make_partition(self, table: CodedTable, k: int, requirements: Requirements, run: Run) -> Partition:
        if self.partition == "lexicographic":
            return lexicographic_partition(table, k, requirements)
        if self.partition == "hilbert":
            return hilbert_partition(table, k, requirements, sets=self.show == "sets")
        if self.partition == "none":
            return blocks_first(table, lexicographic_order(table), k, requirements)
        return _partition_of(self.partition, table, replace(requirements, models=(KAnonymity(k=k),)), run)

    def _spread_partition(
        self, table: CodedTable, k: int, spread: Spreading, requirements: Requirements, run: Run
    ) -> Partition | None:
        """Return groups in which no sensitive value is too frequent, the smallest that are known; None if another
        method cannot make such groups.
        """
        if self.partition in FOREIGN:
            own: dict[str, Any] = {"column": spread.column, "column_name": spread.column_name}
            for least in (max(k, spread.l), spread.l):
                models = (KAnonymity(k=max(k, 2)), ProbabilisticDiversity(l=least, **own))
                asked = replace(requirements, models=models)
                if whole_blocks_suffice(table, asked):
                    return _partition_of(self.partition, table, asked, run)
            return None
        order = hilbert_order(table) if self.partition == "hilbert" else lexicographic_order(table)
        return blocks_first(table, order, k, requirements)

    def _order_rows(
        self, table: CodedTable, partition: Partition, widths: LongVector, measure: str
    ) -> Partition:
        """Put the rows of each group in the order that the ring has."""
        if self.order == "best":
            choices = [_reorder_partition(table, partition, order, measure) for order in ORDERS[:-1]]
            lost = partial(group_losses, table, widths=widths, measure=measure, show=self.show)
            losses = np.stack([lost(choice) for choice in choices])
            chosen = np.repeat(losses.argmin(axis=0), partition.sizes)
            orders = np.stack([choice.order for choice in choices])
            return replace(partition, order=orders[chosen, np.arange(len(partition.order))])
        if self.order == "lexicographic" and self.partition != "hilbert":
            return partition  # rows are in this order already
        return _reorder_partition(table, partition, self.order, measure)


def _reorder_partition(table: CodedTable, partition: Partition, order: str, measure: str) -> Partition:
    from shoal.kernels.ring import sort_by

    base = hilbert_order(table) if order == "hilbert" else lexicographic_order(table)
    group_of = np.full(table.rows, len(partition.sizes), np.int32)
    group_of[partition.order] = np.repeat(np.arange(len(partition.sizes), dtype=np.int32), partition.sizes)
    rows = sort_by(group_of, len(partition.sizes) + 1, base)[: len(partition.order)]
    if order == "nearest":
        from shoal.kernels.nearest import nearest_order

        # Average loss of a cell by one more value of a column.
        rule, units = cell_measure(measure), []
        for attribute, counts in zip(table.attributes, table.value_counts, strict=True):
            last = attribute.hierarchy.size - 1
            whole = rule.loss(attribute, counts, np.zeros(1, np.int32), np.full(1, last, np.int32))[0]
            units.append(attribute.weight * float(whole) / max(last, 1))
        rows = rows[nearest_order(table.quasi.wide[rows], partition.starts, np.array(units), LOOK)]
    if order == "fold":
        begin, size = (
            np.repeat(partition.starts[:-1], partition.sizes),
            np.repeat(partition.sizes, partition.sizes),
        )
        at = np.arange(len(rows)) - begin
        folded = np.empty_like(rows)
        folded[begin + np.where(at % 2 == 0, at // 2, size - 1 - at // 2)] = rows
        rows = folded
    return replace(partition, order=rows)


def _partition_of(name: str, table: CodedTable, requirements: Requirements, run: Run) -> Partition:
    """Take the classes of another method as groups."""
    from shoal.kernels.ring import sort_by
    from shoal.methods import METHODS

    if name not in METHODS:
        raise PolicyError(
            [Problem("method.partition", f"ring cannot start from '{name}'", "take lexicographic")]
        )
    region_of = METHODS[name]().anonymize(table, requirements, run).region_of
    regions = int(region_of.max(initial=-1)) + 1
    group_of = np.where(region_of < 0, regions, region_of).astype(np.int32)
    sizes = np.bincount(group_of, minlength=regions + 1)
    starts = np.concatenate([[0], np.cumsum(sizes[:regions])]).astype(np.int64)
    rows = sort_by(group_of, regions + 1, lexicographic_order(table))[: starts[-1]]
    # Limits may forbid joining classes; then each stays a separate block.
    blocks = starts if table.block_of.any() else starts[[0, -1]]
    return Partition(rows, starts, blocks, int(sizes[regions]))


def stream(run: Run) -> IntVector:
    """Key a stream of random words for the assignment kernel: by the operating system, unless a seed is given.

    The run's generator would not do: whoever learns some of its numbers may compute the others.
    """
    words = 16 - len(CONSTANTS)
    if run.seed is None:
        key = np.frombuffer(secrets.token_bytes(4 * words), np.uint32)
    else:
        key = run.random.integers(0, 1 << 32, words).astype(np.uint32)
    return np.concatenate([np.array(CONSTANTS, np.uint32), key])


def draw_owners(partition: Partition, widths: LongVector, varied: BoolVector, run: Run) -> IntVector:
    """Draw who gets the cell of each position, as a position; both point into ``partition.order``.

    If all cells of a group are equal, there is nothing to draw. O(rows x k) for the others. In a ring with too many
    pairs for the memory, only cells at some random distances take part, the same distances for the whole ring.
    """
    from shoal.kernels.assignment import draw_assignments

    owner = np.arange(len(partition.order), dtype=np.int32)
    block = stream(run)
    degrees = np.where(varied & (widths < partition.sizes), widths, 1)
    sampled = np.minimum(degrees, np.maximum(ROOM // partition.sizes, 256))
    sampled = np.minimum(sampled, np.iinfo(np.int32).max // partition.sizes)
    for first, last in _batches(partition.sizes * sampled):
        run.progress("assign", 0.5 + 0.5 * first / len(degrees))
        own = slice(first, last)
        draw_assignments(partition.starts[first : last + 1], degrees[own], sampled[own], block, owner)
    return owner


def draw_ring_owners(size: int, width: int, times: int, run: Run) -> IntMatrix:
    """Draw the assignment of a ring many times: ``[time, position]`` who gets the cell of each position."""
    starts = np.arange(times + 1, dtype=np.int64) * size
    rings = Partition(np.arange(times * size, dtype=np.int32), starts, starts[[0, -1]])
    owner = draw_owners(rings, np.full(times, width), np.ones(times, np.bool_), run)
    return owner.reshape(times, size) - starts[:-1, None].astype(np.int32)


def assignments(size: int, width: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield every way to assign the cells of a ring that cover `width` rows each, and how likely it is."""
    if width == 1:
        yield tuple(range(size)), 1.0
    elif width == 2:  # The only two: everybody has their own cell, or that before.
        yield tuple(range(size)), 0.5
        yield tuple((at + 1) % size for at in range(size)), 0.5
    else:
        yield from _draw_shares(size, width).items()


@cache
def _draw_shares(size: int, width: int) -> dict[tuple[int, ...], float]:
    """Return the relative frequency of each assignment of a ring, estimated from draws."""
    owners = draw_ring_owners(size, width, DRAWS, Run.start(1))
    return {owner: many / DRAWS for owner, many in Counter(map(tuple, owners.tolist())).items()}


def _batches(work: LongVector) -> Iterator[tuple[int, int]]:
    done = np.concatenate([[0], np.cumsum(work)])
    first = 0
    while first < len(work):
        last = max(first + 1, int(np.searchsorted(done, done[first] + EDGES, side="right")) - 1)
        yield first, last
        first = last


def read_requirements(requirements: Requirements) -> tuple[int, Spreading | None]:
    """Return k, and the sensitive column to spread if there is one."""
    # Every cell covers k rows, and every person has k cells: all notions of k follow.
    return requirements.k, spread_asked(requirements)
