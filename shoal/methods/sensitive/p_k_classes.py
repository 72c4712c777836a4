"""Classes with enough rows and enough sensitive values, grown one after the other in each block of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.models.demands import Demands, demands_of, outlook
from shoal.judging.models.feasibility import find_unserved_blocks
from shoal.judging.models.requirements import Requirements
from shoal.methods.blocks import find_satisfying_blocks, rows_by_block
from shoal.methods.loss_tables import losses_of
from shoal.methods.sensitive.exchanges import Labels, exchange_rows
from shoal.release import Release, closures
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

PATIENCE = 20_000_000
"""Points visited between two checks of progress and interrupts; some tenths of a second."""
MOST_COUNTS = 1 << 26
"""With more classes x labels than this, shares are not watched while rows are assigned, but repaired afterwards."""


@dataclass(frozen=True, eq=False, repr=False)
class Clustering(Brief):
    """Rows in classes, and facts about them."""

    class_of: IntVector
    """Row -> class; -1 for a suppressed row."""
    classes: int
    """Some of them may show identical quasi-identifiers in the end; they are one equivalence class to an outsider."""
    loss: float
    """What all rows lose together."""
    bound: int
    """No clustering has more classes."""
    suppressed: tuple[str, ...]
    """The blocks that cannot satisfy the requirements, by name and size."""
    outlook: str
    """What the sensitive values allow, in words; empty if no requirement is about them."""

    def release(self, table: CodedTable, **facts: Any) -> Release:
        """Return the release that shows the smallest allowed ranges over the classes."""
        low, high = closures(table, self.class_of, self.classes)
        facts |= {"clusters": self.classes, "most_clusters": self.bound}
        if self.outlook:
            facts["outlook"] = self.outlook
        if self.suppressed:
            facts["suppressed_blocks"] = list(self.suppressed)
        return Release(self.class_of, low, high, facts=facts)


def cluster(
    table: CodedTable,
    requirements: Requirements,
    run: Run,
    *,
    guarded: bool,
    at_random: bool = False,
    improve: bool = False,
) -> Clustering:
    """Grow classes in each block of a table; suppress blocks that cannot satisfy the requirements.

    Leftover rows, which no class could be grown from, are assigned to the classes that lose least by them. With
    `improve`, rows then move between classes (`exchange_rows`), unless a label has a largest share or people have
    several rows: counts of distinct labels would not tell whether such classes hold. For models other than k, p,
    distinct l and (alpha,k), classes that fail are merged with near ones. Raises InfeasibleError if too many rows would
    have to be suppressed. See `grow_classes` for the cost.
    """
    problem = _Problem(table, requirements, run)
    problem.improve = improve
    names, blocks = _blocks(table, requirements)
    class_of = np.full(table.rows, -1, np.int32)
    classes = bound = 0
    for rows in blocks:
        labels = problem.labels(rows)
        own = problem.block(rows, labels, guarded, at_random)
        class_of[rows] = own + classes
        classes += int(own.max()) + 1
        bound += labels.most_classes
        problem.done += len(rows)
    low, high = closures(table, class_of, classes)
    loss = float(problem.loss(low, high) @ np.bincount(class_of[class_of >= 0], minlength=classes))
    far = outlook(table, requirements)
    return Clustering(class_of, classes, loss, bound, tuple(names), str(far) if far else "")


def values_limit_classes(table: CodedTable, requirements: Requirements, run: Run) -> bool:
    """Return whether sensitive values, and not rows, limit how many classes there can be. O(rows log rows)."""
    problem = _Problem(table, requirements, run)
    parts = [(len(rows), problem.labels(rows)) for rows in _blocks(table, requirements)[1]]
    return sum(own.most_classes for _, own in parts) < sum(rows // own.size for rows, own in parts)


def _blocks(table: CodedTable, requirements: Requirements) -> tuple[list[str], list[LongVector]]:
    """Return the names of the blocks that cannot satisfy the requirements, and the rows of each of the others."""
    rows, starts = rows_by_block(table, find_satisfying_blocks(table, requirements))
    return find_unserved_blocks(table, requirements, private=True)[1], np.split(
        rows.astype(np.int64), starts[1:-1]
    )


class _Problem:
    """What all blocks share."""

    def __init__(self, table: CodedTable, requirements: Requirements, run: Run) -> None:
        self.table, self.requirements, self.run = table, requirements, run
        self.demands: Demands = demands_of(table, requirements)
        self.losses = losses_of(table, requirements.measure)
        self.codes = np.ascontiguousarray(table.quasi.wide)
        self.done = 0
        self.improve = False

    def loss(self, low: IntMatrix, high: IntMatrix) -> FloatVector:
        """What a row of each class loses. O(classes x columns)."""
        from shoal.kernels.losses import box_losses

        found: FloatVector = box_losses(np.stack([low, high], axis=2).reshape(len(low), -1), self.losses)
        return found

    def labels(self, rows: LongVector) -> Labels:
        """Number the labels of some rows, and bound the size and the number of classes that they allow."""
        demands = self.demands.each
        columns = [np.unique(demand.label_of[rows], return_inverse=True) for demand in demands]
        starts = np.cumsum([0, *(len(values) for values, _ in columns)])
        of = np.stack([own + at for (_, own), at in zip(columns, starts[:-1], strict=True)], axis=1)
        counts = [np.bincount(own).astype(np.int64) for _, own in columns]
        shares = [np.full(len(own), demand.alpha) for own, demand in zip(counts, demands, strict=True)]
        for share, (values, _), demand in zip(shares, columns, demands, strict=True):
            if demand.capped is not None:
                share[~demand.capped[values]] = 2.0
        size = self.demands.size(counts, shares)
        most = self.demands.bound(counts, size)
        demand_of = np.repeat(np.arange(len(counts)), [len(own) for own in counts])
        rows_of, share_of = np.concatenate(counts), np.concatenate(shares)
        return Labels(of.astype(np.int32), rows_of, demand_of, share_of, size, most)

    def block(self, rows: LongVector, labels: Labels, guarded: bool, at_random: bool) -> IntVector:
        """Return the classes of the rows of one block, 0, 1, .."""
        from shoal.kernels.grouping import distinct
        from shoal.kernels.p_k import assign_to_classes

        codes = self.codes[rows]
        point_of, first = distinct(codes)
        kind_of, kind_first = distinct(labels.of)
        atom_of, atom_first = distinct(np.stack([kind_of, point_of], axis=1))
        if at_random:
            order = self.run.random.permutation(len(atom_first)).astype(np.int32)
            atom_of, atom_first = order[atom_of], atom_first[np.argsort(order)]
        pool = _pool(
            codes[first],
            point_of[atom_first],
            kind_of[atom_first],
            np.bincount(atom_of),
            labels.of[kind_first],
            labels.rows,
        )
        atom, owner, classes = self._grow(pool, labels, guarded, not at_random)
        class_of = np.full(len(rows), -1, np.int32)
        if classes == 0:
            class_of[:] = 0
            return class_of
        # The t-th draw of an atom is its t-th row.
        by_atom, by_draw = np.argsort(atom_of, kind="stable"), np.argsort(atom, kind="stable")
        begins = np.searchsorted(atom_of[by_atom], atom[by_draw])
        turn = np.arange(len(atom)) - np.searchsorted(atom[by_draw], atom[by_draw])
        class_of[by_atom[begins + turn]] = owner[by_draw]
        left = np.flatnonzero(class_of < 0)
        if len(left):
            low, high = self._ends(codes, class_of, classes)
            members = np.bincount(class_of[class_of >= 0], minlength=classes).astype(np.int64)
            watch = bool((labels.share <= 1).any()) and classes * len(labels.share) <= MOST_COUNTS
            inside = np.zeros((classes, len(labels.share) if watch else 0), np.int32)
            if watch:
                grown = class_of >= 0
                np.add.at(inside, (class_of[grown][:, None], labels.of[grown]), 1)
            class_of[left] = assign_to_classes(
                codes[left],
                labels.of[left],
                low,
                high,
                members,
                inside,
                labels.share,
                self.losses,
            )
        counted = not (labels.share <= 1).any() and self.table.counting.one_value
        if self.improve and counted and classes * len(labels.share) <= MOST_COUNTS:
            p = np.array([demand.p for demand in self.demands.each], np.int64)
            class_of = exchange_rows(codes, labels, p, class_of, self.losses, self.run)
        if not self.demands.complete or not counted:
            class_of = self._merge_failing(rows, codes, class_of, classes)
        return class_of

    def _grow(
        self, pool: Any, labels: Labels, guarded: bool, farthest: bool
    ) -> tuple[IntVector, IntVector, int]:
        """Run the kernel to its end; return the drawn atoms, the class of each draw, and the number of classes."""
        from shoal.kernels.p_k import Rules, grow_classes

        rows = int(pool.left.sum())
        most = np.where(labels.share > 1, rows, np.floor(np.minimum(labels.share, 1.0) * labels.size + 1e-9))
        p = np.array([demand.p for demand in self.demands.each], np.int64)
        rules = Rules(labels.size, p, most.astype(np.int64), labels.share, guarded, farthest)
        workspace = _workspace(
            pool, labels, sum(a.hierarchy.size for a in self.table.attributes), self.losses.rising
        )
        while workspace.state[4] == 0:
            self.run.progress("grow", (self.done + int(workspace.state[0])) / self.table.rows)
            grow_classes(pool, self.losses, rules, workspace, PATIENCE)
        drawn = int(workspace.state[0])
        return workspace.atom[:drawn], workspace.owner[:drawn], int(workspace.state[1])

    def _ends(self, codes: Any, class_of: IntVector, classes: int) -> tuple[Any, Any]:
        from shoal.kernels.closures import bounds

        ends = [bounds(np.ascontiguousarray(codes[:, j]), class_of, classes) for j in range(codes.shape[1])]
        low = np.ascontiguousarray(np.stack([low for low, _ in ends], axis=1))
        return low, np.ascontiguousarray(np.stack([high for _, high in ends], axis=1))

    def _merge_failing(self, rows: LongVector, codes: Any, class_of: IntVector, classes: int) -> IntVector:
        """Merge each failing class with the one that makes both lose least, until none fails.

        Each round checks the requirements again; all rows as one class satisfy them. O(classes^2 x columns) per round,
        and usually at least half of the failing classes disappear.
        """
        table = self.table
        while True:
            groups = table.group_rows(class_of, classes, rows)
            bad = np.flatnonzero(~self.requirements.holds_in(groups))
            if not len(bad) or classes == 1:
                return class_of
            low, high = self._ends(codes, class_of, classes)
            size, loss = groups.rows.copy(), self.loss(low, high)
            target = np.arange(classes, dtype=np.int32)
            alive = np.ones(classes, np.bool_)
            for one in bad:
                if not alive[one]:
                    continue
                merged = self.loss(np.minimum(low, low[one]), np.maximum(high, high[one]))
                growth = merged * (size + size[one]) - loss * size
                growth[~alive] = np.inf
                growth[one] = np.inf
                other = int(np.argmin(growth))
                if not alive[other] or other == one:
                    continue
                low[other], high[other] = np.minimum(low[other], low[one]), np.maximum(high[other], high[one])
                loss[other] = merged[other]
                size[other] += size[one]
                alive[one] = False
                target[one] = other
            while not np.array_equal(target[target], target):
                target = target[target]
            renumbered = np.cumsum(alive) - 1
            class_of = renumbered[target[class_of]].astype(np.int32)
            classes = int(alive.sum())


def _pool(
    codes: IntMatrix, point: IntVector, kind: IntVector, left: LongVector, labels: IntMatrix, rows: LongVector
) -> Any:
    """List the atoms kind after kind, as the kernel expects them."""
    from shoal.kernels.p_k import Pool

    listed = np.argsort(kind, kind="stable").astype(np.int32)
    place = np.empty_like(listed)
    place[listed] = np.arange(len(listed), dtype=np.int32)
    live = np.bincount(kind, minlength=len(labels)).astype(np.int64)
    return Pool(
        codes=codes,
        point=np.ascontiguousarray(point),
        kind=np.ascontiguousarray(kind),
        left=left.astype(np.int64),
        start=np.concatenate(([0], np.cumsum(live))).astype(np.int64),
        listed=listed,
        place=place,
        live=live,
        labels=labels,
        rows=rows.copy(),
        point_rows=np.bincount(point, weights=left, minlength=len(codes)).astype(np.int64),
    )


def _workspace(pool: Any, labels: Labels, codes: int, rising: bool) -> Any:
    """Return working memory for the kernel; `codes` is how many all columns have."""
    from shoal.kernels.p_k import ClassWorkspace

    points, width = pool.codes.shape
    kinds, demands = pool.labels.shape
    rows = int(pool.left.sum())

    def longs(size: int) -> LongVector:
        return np.zeros(size, np.int64)

    def integers(size: int) -> IntVector:
        return np.zeros(size, np.int32)

    return ClassWorkspace(
        state=np.array([0, 0, labels.most_classes, rows, 0], np.int64),
        far=np.zeros(points),
        atom=integers(rows),
        owner=integers(rows),
        cost=np.zeros(points),
        bound=np.zeros(points),
        seen=longs(points),
        standing=integers(points),
        worth=longs(len(pool.rows)),
        inside=longs(len(pool.rows)),
        demand_of=labels.demand,
        kinds_left=integers(kinds),
        chosen_kinds=integers(kinds),
        grown=np.zeros(codes),
        least=np.zeros(0 if rising else codes),
        low=longs(width),
        high=longs(width),
        different=longs(demands),
        spare=longs(demands),
    )
