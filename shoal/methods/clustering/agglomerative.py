"""Agglomerative k-anonymity: merge the closest clusters until each has k rows, then improve them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import IntVector
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.methods.base import Method
from shoal.methods.clustering.clusters import Items, collapse
from shoal.methods.clustering.finishing import blocked, checked, numbered, total_loss
from shoal.methods.partitioning.windows import check_shown, listed
from shoal.models.requirements import Requirements
from shoal.release import Release, closures
from shoal.run import Run
from shoal.table import CodedTable

DISTANCES = ("growth", "difference", "logarithm", "ratio", "nergiz-clifton")
"""The paper's distances (8), (9), (10) and (11), and that of Nergiz and Clifton; kernels know them by place."""
PATIENCE = 20_000
"""Searches between two looks at progress and interrupts."""


@dataclass(frozen=True, kw_only=True)
class Agglomerative(Method):
    """Agglomerative clustering (Gionis, Mazza, Tassa 2008), with an improvement pass of our own.

    Every row starts alone, equal rows together; the two closest clusters become one, and a cluster with k rows
    leaves. Fewer than k leftover rows go, one by one, to the closest finished cluster. Then neighbouring
    clusters are dissolved, or joined and parted anew, for as long as that loses less.
    """

    name: ClassVar[str] = "agglomerative"
    # Improvement may outlast the time limit of a trial, the clustering before it hardly does.
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({}, {"improve": False})
    summary: ClassVar[str] = (
        "grows clusters of similar rows; loses least under k-anonymity, at the price of more time"
    )
    paper: ClassVar[str] = "Gionis, Mazza, Tassa: k-Anonymization Revisited, ICDE 2008"
    optimizes: ClassVar[tuple[str, ...]] = ("cells",)

    distance: str = "nergiz-clifton"
    """Which clusters are close: ``growth``, ``difference``, ``logarithm``, ``ratio`` (the paper's (8) to (11)) or
    ``nergiz-clifton``. See the documentation of the method."""
    modified: bool = False
    """A cluster that reaches more than k rows sheds those whose going lowers its loss most, until k are left."""
    distances: tuple[str, ...] = ()
    """A portfolio: cluster by each of these distances and keep what loses least. Overrides `distance`."""
    improve: bool = True
    """Improve the finished clusters: dissolve some, and join neighbours and part them anew."""
    seconds: float = 0.0
    """Stop improving after so many seconds; 0: when nothing improves any more. A release then depends on the
    speed of the machine."""
    bound: bool = False
    """Report a lower bound for what any clustering loses, and how far the release is from it."""
    show: str = "ranges"
    """``ranges`` shows the smallest node or range over each class; ``sets`` lists the values that occur, which loses
    less, whatever hierarchies permit."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "distances", tuple(self.distances))
        check_shown(self.show)
        problems = [
            Problem(path, f"'{name}' is unknown", did_you_mean(str(name), DISTANCES))
            for path, name in [
                ("method.distance", self.distance),
                *(("method.distances", d) for d in self.distances),
            ]
            if name not in DISTANCES
        ]
        if not self.seconds >= 0:
            problems.append(
                Problem("method.seconds", f"must be at least 0, not {self.seconds}", "0 means no limit")
            )
        if problems:
            raise PolicyError(problems)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Cluster, improve, and let the models judge: a cluster that fails joins its nearest neighbours.

        Expected O(n log n) searches of a few dozen clusters each; the worst case of the first phase is O(n^2).
        """
        k = max(requirements.k, 1)
        kept, dropped = blocked(table, requirements)
        items = collapse(table, requirements.measure)
        facts: dict[str, Any] = {"suppressed": dropped}
        best: IntVector | None = None
        least, before = np.inf, np.inf
        for name in self.distances or (self.distance,):
            start = time.perf_counter()
            found = cluster(items, k, name, self.modified, kept, run)
            classes = checked(table, items, found, requirements)
            loss = first = total_loss(items, classes)
            if self.improve and k > 1:
                from shoal.methods.clustering.improvement import improved

                found = improved(items, found, k, self.seconds, run)
                better = checked(table, items, found, requirements)
                # Clusters that lose less may fail the other models more often, and then lose more.
                if total_loss(items, better) <= loss:
                    classes, loss = better, total_loss(items, better)
            facts[f"loss by {name}"] = round(loss / max(table.rows - dropped, 1), 6)
            facts[f"seconds by {name}"] = round(time.perf_counter() - start, 3)
            if loss < least:
                best, least, before = classes, loss, first
        assert best is not None
        if self.improve:
            facts["before improvement"] = round(before / max(table.rows - dropped, 1), 6)
        regions, count = numbered(best)
        low, high = closures(table, regions, count)
        facts["clusters"] = count
        if self.bound:
            from shoal.methods.clustering.lower_bound import lower_bound

            facts["lower bound"] = lower_bound(table, k, requirements.measure)
        release = Release(regions, low, high, facts=facts)
        return listed(table, release) if self.show == "sets" else release


def cluster(items: Items, k: int, distance: str, modified: bool, kept: IntVector, run: Run) -> IntVector:
    """Return the cluster of each row by agglomeration, -1 for rows that are not `kept`; numbers have holes."""
    from shoal.kernels.agglomerative import FINISHED, agglomerate, deal

    losses = items.losses
    codes, _, row_item, tree = items.planted()
    state = _start(codes, row_item, tree, k, modified, kept)
    while state.counters[0] > 0:
        run.progress("cluster", float(state.size[state.slot_of == FINISHED].sum()) / max(len(kept), 1))
        agglomerate(codes, row_item, state, tree, losses, k, DISTANCES.index(distance), modified, PATIENCE)
    cluster_of = np.full(len(row_item), -1, np.int32)
    deal(codes, row_item, state, losses, DISTANCES.index(distance), cluster_of)
    return cluster_of


def _start(codes: Any, row_item: Any, tree: Any, k: int, modified: bool, kept: IntVector) -> Any:
    """Return the state in which every item is a cluster; those with k rows are finished."""
    from shoal.kernels.agglomerative import FINISHED, GONE, State

    items, width = codes.shape
    rows = len(row_item)
    count = np.bincount(row_item[kept], minlength=items)
    capacity = 4 * rows + 4 if modified else 2 * items + 2
    nodes = len(tree.left)
    by_item = kept[np.argsort(row_item[kept], kind="stable")]
    own = row_item[by_item]
    same = own[1:] == own[:-1]
    next_row = np.full(rows, -1, np.int64)
    next_row[by_item[:-1][same]] = by_item[1:][same]
    head = np.full(capacity, -1, np.int64)
    tail = np.full(capacity, -1, np.int64)
    head[own[np.concatenate([[True], ~same])]] = by_item[np.concatenate([[True], ~same])]
    tail[own[np.concatenate([~same, [True]])]] = by_item[np.concatenate([~same, [True]])]
    # Rows that are shed come back one by one, so their leaf needs a slot for each.
    room = np.bincount(tree.leaf_of, weights=np.maximum(count, 1) if modified else None, minlength=nodes)
    starts = (np.cumsum(room) - room).astype(np.int64)
    live = np.flatnonzero((count > 0) & (count < k))
    leaf = tree.leaf_of[live]
    by_leaf = np.argsort(leaf, kind="stable")
    within = np.empty(len(live), np.int64)
    within[by_leaf] = np.arange(len(live)) - np.searchsorted(leaf[by_leaf], leaf[by_leaf])
    slot_of = np.full(capacity, GONE, np.int64)
    slot_of[:items][count >= k] = FINISHED
    slot_of[live] = starts[leaf] + within
    used = np.bincount(leaf, minlength=nodes).astype(np.int64)
    for node in range(nodes - 1, 0, -1):
        used[tree.parent[node]] += used[node]
    slots = int(room.sum())
    box = np.zeros((slots, 2 * width), codes.dtype)
    box[slot_of[live], 0::2] = codes[live]
    box[slot_of[live], 1::2] = codes[live]
    id_at = np.full(slots, -1, np.int64)
    id_at[slot_of[live]] = live
    ids = np.zeros(capacity, np.int64)
    ids[: len(live)] = live
    size = np.zeros(capacity, np.int64)
    size[:items] = count
    anchor = np.zeros(capacity, np.int64)
    anchor[:items] = np.arange(items)
    return State(
        counters=np.array([len(live), items, 0, 0], np.int64),
        keys=np.full(capacity, -np.inf),
        ids=ids,
        box=box,
        loss=np.zeros(capacity),
        size=size,
        slot_of=slot_of,
        id_at=id_at,
        starts=starts,
        used=used,
        most_loss=np.zeros(nodes),
        nearest=np.full(capacity, -1, np.int64),
        found=np.zeros(capacity),
        waiting=np.full(capacity, -1, np.int64),
        next_waiting=np.full(capacity, -1, np.int64),
        head=head,
        tail=tail,
        next_row=next_row,
        anchor=anchor,
    )
