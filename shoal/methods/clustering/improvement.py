"""Improvement of finished clusters: rows move, and neighbouring clusters are clustered again."""

from __future__ import annotations

import time

import numpy as np

from shoal.arrays import IntVector, LongVector
from shoal.methods.clustering.clusters import Items
from shoal.methods.clustering.finishing import boxes, numbered, total_loss
from shoal.methods.clustering.local_moves import moved
from shoal.methods.clustering.merging import cluster
from shoal.run import Run

NEIGHBOURHOOD = 6
"""Clusters that are rebuilt together. More take longer and gain more; fewer leave little choice."""
WAYS = ("logarithm", "difference")
"""Distances for clustering neighbourhoods again, in turn: not the default, which made most of the clusters."""
LEAST_GAIN = 1e-6
"""Smaller gains are rounding errors."""


def improved(items: Items, cluster_of: IntVector, k: int, seconds: float, run: Run) -> IntVector:
    """Return clusters that lose less, or as much; each still has at least k rows.

    Rows move until no move helps; then the clusters around each cluster are rebuilt; then rows move again.
    """
    stop = time.perf_counter() + seconds if seconds > 0 else np.inf
    better = moved(items, cluster_of, k, stop, run)
    better = rebuilt(items, better, k, stop, run)
    return moved(items, better, k, stop, run)


def rebuilt(items: Items, cluster_of: IntVector, k: int, stop: float, run: Run) -> IntVector:
    """Return clusters that lose less, or as much; each still has at least k rows. `stop` is a time of the clock.

    For every cluster, the rows of the cluster and its neighbours (those whose union with it loses least) are clustered
    again, as if there were no others, and moved. The result replaces them if it loses less. O(clusters) clusterings of
    some hundred rows, and O(clusters^2 x columns) for the neighbours.
    """
    numbers, count = numbered(cluster_of)
    if count < 2:
        return numbers
    plan = _Plan(items, numbers, count, k)
    for turn, distance in enumerate(WAYS):
        tried: set[tuple[int, ...]] = set()
        for centre in range(plan.count):
            if time.perf_counter() > stop:
                return plan.cluster_of()
            if centre >= plan.count:  # Rebuilding has made fewer clusters than before.
                break
            run.progress("rebuild", (turn + centre / plan.count) / len(WAYS))
            together = plan.around(centre)
            known = tuple(np.sort(plan.made[together]).tolist())
            if len(together) < 2 or known in tried:
                continue
            tried.add(known)
            plan.rebuild(together, distance, run)
    return plan.cluster_of()


class _Plan:
    """Clusters numbered without gaps: their rows, sizes, losses and bounds, and when each was made."""

    def __init__(self, items: Items, numbers: IntVector, count: int, k: int) -> None:
        from shoal.kernels.losses import box_losses

        self.items, self.k, self.rows = items, k, len(numbers)
        most = max(int((numbers >= 0).sum()) // k, count)
        order = np.argsort(numbers, kind="stable")[int((numbers < 0).sum()) :]
        own = np.bincount(numbers[numbers >= 0], minlength=count)
        self.members: list[LongVector] = np.split(order, np.cumsum(own)[:-1])
        self.count = count
        self.size, self.loss = np.zeros(most, np.int64), np.zeros(most)
        self.box = np.zeros((most, 2 * items.codes.shape[1]), np.int64)
        self.size[:count] = own
        self.box[:count] = boxes(items, numbers, count)
        self.loss[:count] = box_losses(self.box[:count], items.losses)
        self.made = np.arange(most)
        self.last = most

    def around(self, centre: int) -> LongVector:
        """Return a cluster and its nearest ones."""
        from shoal.kernels.neighbours import nearest_clusters

        live = slice(0, self.count)
        near = nearest_clusters(
            self.box[live], self.loss[live], self.size[live], np.array([centre]), self.items.losses,
            NEIGHBOURHOOD - 1,
        )[0]  # fmt: skip
        return np.concatenate([[centre], near[near >= 0]])

    def rebuild(self, together: LongVector, distance: str, run: Run) -> None:
        """Cluster the rows of some clusters again, and keep the result if it loses less."""
        rows = np.concatenate([self.members[c] for c in together])
        part = self.items.of(rows)
        quiet = Run(run.random)
        found = cluster(part, self.k, distance, True, np.arange(len(rows), dtype=np.int32), quiet)
        found = moved(part, found, self.k, np.inf, quiet)
        if total_loss(part, found) < float(self.loss[together] @ self.size[together]) - LEAST_GAIN:
            self._replace(np.sort(together), part, rows, found)

    def _replace(self, slots: LongVector, part: Items, rows: LongVector, found: IntVector) -> None:
        """Put new clusters in the place of old ones."""
        from shoal.kernels.losses import box_losses

        numbers, many = numbered(found)
        own = np.bincount(numbers, minlength=many)
        members = np.split(rows[np.argsort(numbers, kind="stable")], np.cumsum(own)[:-1])
        box = boxes(part, numbers, many)
        loss = box_losses(box, part.losses)
        while len(slots) < many:
            slots = np.append(slots, self.count)
            self.members.append(rows[:0])
            self.count += 1
        for at in range(many):
            slot = int(slots[at])
            self.members[slot] = members[at]
            self.size[slot], self.loss[slot], self.box[slot], self.made[slot] = (
                own[at],
                loss[at],
                box[at],
                self.last,
            )
            self.last += 1
        for slot in slots[
            : many - 1 : -1
        ].tolist():  # From the highest down, so that what moves down is live.
            self.count -= 1
            self.members[slot] = self.members[self.count]
            del self.members[self.count]
            for kept in (self.size, self.loss, self.box, self.made):
                kept[slot] = kept[self.count]

    def cluster_of(self) -> IntVector:
        """Return the cluster of each row, -1 for rows that are in none."""
        out = np.full(self.rows, -1, np.int32)
        out[np.concatenate(self.members)] = np.repeat(
            np.arange(self.count), [len(own) for own in self.members]
        )
        return out
