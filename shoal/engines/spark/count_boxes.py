"""Boxes by mondrian's cuts: tasks count codes in all open boxes at once, and the driver chooses cuts by the method's
own rule. A row's box follows from its codes, so nothing is moved before the last cut is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shoal.engines.spark.driver_tables import Counted
from shoal.engines.spark.session import translate_errors
from shoal.engines.spark.tasks import Tally, codes_of, pieces, without_values
from shoal.judging.models.requirements import Requirements
from shoal.methods.blocks import find_satisfying_blocks
from shoal.methods.loss_tables import losses_of
from shoal.methods.method import BoxCuts
from shoal.methods.partitioning.counted_cuts import BoxCounts, CutTree, chosen_cuts
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_COUNTS = 1 << 27
"""Counts that the driver holds at a time."""


@dataclass(repr=False)
class Router(Brief):
    """Which box each row is in: first its block, then a walk down the tree of cuts of this block."""

    limited: tuple[tuple[int, IntVector, int], ...]
    """Columns with a limit: place, the number of the highest node of each code, and how many of these there are."""
    keys: LongVector
    """The numbers of the blocks that are published, ascending; one 0 without limits."""
    trees: list[CutTree]
    """One per block."""

    @classmethod
    def start(cls, table: Counted, good: Any) -> Router:
        """Begin with the blocks that satisfy the requirements, each one box."""
        limited = find_limited_columns(table)
        keys = block_keys(limited, table.quasi.wide)[np.flatnonzero(good)]
        keys = np.sort(keys)
        return cls(limited, keys, [CutTree() for _ in keys])

    @property
    def starts(self) -> LongVector:
        """The number of the first node of each tree, if all nodes are numbered consecutively."""
        sizes = [len(tree.column) for tree in self.trees]
        return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    def box_of(self, codes: IntMatrix) -> IntVector:
        """Return the box of each row, -1 if its block is suppressed."""
        found = np.full(len(codes), -1, np.int32)
        starts = self.starts
        if not self.limited:
            return self.trees[0].box_of(codes)
        keys = block_keys(self.limited, codes)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[order], np.arange(len(self.keys) + 1))
        for block, tree in enumerate(self.trees):
            rows = order[ends[block] : ends[block + 1]]
            rows = rows[keys[rows] == self.keys[block]]
            if len(rows):
                found[rows] = tree.box_of(np.ascontiguousarray(codes[rows])) + starts[block]
        return found


def find_limited_columns(table: Counted) -> tuple[tuple[int, IntVector, int], ...]:
    """Return the columns whose limits split the table, with the number of the highest node of each code."""
    found = []
    for j, attribute in enumerate(table.attributes):
        starts = attribute.hierarchy.levels[-1].starts
        if len(starts) > 1:
            tops = np.searchsorted(starts, attribute.hierarchy.blocks).astype(np.int32)
            found.append((j, tops, len(starts)))
    return tuple(found)


def block_keys(limited: tuple[tuple[int, IntVector, int], ...], codes: IntMatrix) -> LongVector:
    """Number the blocks of rows by their highest nodes."""
    keys = np.zeros(len(codes), np.int64)
    for j, tops, size in limited:
        keys = keys * size + tops[codes[:, j]]
    return keys


@dataclass(repr=False)
class Boxes(Brief):
    """The boxes after the last cut."""

    router: Router
    sizes: dict[int, int]
    """Box -> rows; numbered as `Router.box_of` does."""
    closed: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    """Boxes that no cut divides although they are larger than a part: what they show, first and last codes."""
    rounds: int = 0

    @property
    def open(self) -> list[int]:
        """The boxes that a method finishes; those that lie close in the tree of cuts are close in the list."""
        starts = self.router.starts.tolist()
        every = [
            start + box for start, tree in zip(starts, self.router.trees, strict=False) for box in tree.boxes
        ]
        return [box for box in every if box not in self.closed]


def cut_into_boxes(
    frame: DataFrame,
    table: Counted,
    requirements: Requirements,
    how: BoxCuts,
    part_rows: int,
    run: Run,
) -> Boxes:
    """Cut until every box fits into a part, or cannot be cut. Each round is one job over all rows."""
    good = find_satisfying_blocks(table, requirements)
    router = Router.start(table, good)
    losses = losses_of(table, requirements.measure)
    groups = table.blocks
    order = np.argsort(block_keys(router.limited, table.quasi.wide)[np.flatnonzero(good)], kind="stable")
    # Nodes are named by their block and their place in its tree, because trees grow.
    sizes = {(b, 0): int(rows) for b, rows in enumerate(groups.rows[good][order])}
    closed: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    rounds = 0
    while True:
        k = max(requirements.k, 1)
        wanted = [node for node, rows in sizes.items() if rows > part_rows and node not in closed]
        if not wanted:
            break
        rounds += 1
        run.progress("cut", min(0.9, rounds / 20))
        secrets = () if requirements.only_k else tuple(a.hierarchy.size for a in table.sensitive)
        cells = int(sum(attribute.hierarchy.size for attribute in table.attributes))
        most = max(1, MOST_COUNTS // (cells * (1 + sum(secrets))))
        wanted = sorted(wanted, key=lambda node: -sizes[node])[:most]
        counts = _counts(frame, table, router, wanted, secrets)
        column, first, last = chosen_cuts(
            how, counts, losses, requirements, table.sensitive, table.sensitive_counts
        )
        starts = np.cumsum([0, *(a.hierarchy.size for a in table.attributes)])
        for at, (block, node) in enumerate(wanted):
            own = counts.codes[at]
            if column[at] < 0 or sizes[block, node] < 2 * k:
                closed[block, node] = _lift_box(table, own, starts)
                continue
            begin = starts[column[at]]
            inside = int(own[begin + first[at] : begin + last[at] + 1].sum())
            left, right = router.trees[block].cut(node, int(column[at]), int(first[at]), int(last[at]))
            whole = sizes.pop((block, node))
            sizes[block, left], sizes[block, right] = inside, whole - inside
    base = router.starts
    return Boxes(
        router,
        {int(base[b]) + node: rows for (b, node), rows in sizes.items()},
        {int(base[b]) + node: shown for (b, node), shown in closed.items()},
        rounds,
    )


def _lift_box(table: Counted, counts: LongVector, starts: Any) -> tuple[list[int], list[int]]:
    """Return the smallest publishable cells over a box."""
    low, high = [], []
    for j, attribute in enumerate(table.attributes):
        codes = np.flatnonzero(counts[starts[j] : starts[j + 1]]).astype(np.int32)
        ends = attribute.hierarchy.lift(codes[:1], codes[-1:])
        low.append(int(ends[0][0]))
        high.append(int(ends[1][0]))
    return low, high


def _counts(
    frame: DataFrame,
    table: Counted,
    router: Router,
    wanted: list[tuple[int, int]],
    secrets: tuple[int, ...],
) -> BoxCounts:
    """Count the codes of some boxes, and if needed the codes together with sensitive values."""
    starts = np.cumsum([0, *(a.hierarchy.size for a in table.attributes)])
    base = router.starts
    place = np.full(int(base[-1]), -1, np.int32)
    for at, (block, node) in enumerate(wanted):
        place[base[block] + node] = at
    shared = frame.sparkSession.sparkContext.broadcast((router, place, len(wanted), starts, secrets))
    counted = frame.mapInArrow(
        lambda batches: _count(batches, shared.value), "kind int, place long, rows long"
    )
    with translate_errors("counting rows in boxes"):
        rows = counted.groupBy("kind", "place").sum("rows").toArrow()
    kind, at, many = (rows.column(i).to_numpy() for i in range(3))
    codes = np.zeros(len(wanted) * int(starts[-1]), np.int64)
    codes[at[kind == 0]] = many[kind == 0]
    values = []
    for s, size in enumerate(secrets):
        own = np.zeros(len(codes) * size, np.int64)
        own[at[kind == s + 1]] = many[kind == s + 1]
        values.append(own.reshape(len(wanted), -1, size))
    shared.unpersist()
    return BoxCounts(codes.reshape(len(wanted), -1), tuple(values))


@without_values("counting rows in boxes")
def _count(batches: Iterator[pa.RecordBatch], shared: Any) -> Iterator[pa.RecordBatch]:
    router, place, boxes, starts, secrets = shared
    cells = int(starts[-1])
    tallies = [Tally(boxes * cells), *(Tally(boxes * cells * size) for size in secrets)]
    for piece in pieces(batches):
        codes = codes_of(piece, "c")
        box = router.box_of(codes)
        at = np.where(box >= 0, place[box], -1)
        rows = np.flatnonzero(at >= 0)
        values = codes_of(piece, "s")
        for j in range(codes.shape[1]):
            cell = at[rows].astype(np.int64) * cells + starts[j] + codes[rows, j]
            tallies[0].add(cell)
            for s, size in enumerate(secrets):
                tallies[s + 1].add(cell * size + values[rows, s])
    for kind, tally in enumerate(tallies):
        index, many = tally.occurrences()
        yield pa.RecordBatch.from_arrays(
            [pa.array(np.full(len(index), kind, np.int32)), pa.array(index), pa.array(many)],
            names=["kind", "place", "rows"],
        )
