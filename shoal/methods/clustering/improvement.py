"""Improvement of finished clusters: an anytime search, in which neighbouring clusters are built anew."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.methods.clustering.cluster_classes import boxes, number_clusters, total_loss
from shoal.methods.clustering.clusters import Items
from shoal.methods.clustering.local_moves import move_rows
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import one_after_another
from shoal.support.run import Run

ROUNDS = (8, 100, 20)
"""Rounds of the search, if time allows: at least, at most, and between them one for so many rows. The clusters are
divided into pieces of work anew in each."""
LONGER = (20.0, 3.0)
"""For each so many seconds, the search has as many rounds again; and how many times as many without a limit."""
PIECE = (7500, 300)
"""Rows in a piece, about: at least, and times k. Not by the number of processors, so that the result does not depend on
it; and not too few, because clusters of different pieces leave each other alone."""
WORK = 80
"""Rows visited in a round, for each row and each row of k."""
WARMTH = 4.0
"""How many times the mean loss of a row a step may add at first; this falls to 0."""
ENOUGH = 20
"""With time for fewer rounds, the search starts colder: it could not make up for what it adds at first."""
NEIGHBOURS = (20, 100)
"""Items around each item, at least and at most; between them it is 2k."""
SURE = 5_000_000
"""Rows that every machine visits in a second. If all rounds take less than the time by that, the clock is not asked, so
that small tables have the same release everywhere."""
SEARCH = 0.85
"""The share of the time for the search; the rest is for moves that end it."""


def improve_clusters(items: Items, cluster_of: IntVector, k: int, seconds: float, run: Run) -> IntVector:
    """Return clusters that lose less, or as much; each still has at least k rows.

    The search ends after `seconds`, or after its last round: then equal items give equal clusters, whatever the
    machine. Then rows move until no move helps, or the time is up.
    """
    start = time.perf_counter()
    rounds = _rounds(len(cluster_of), seconds)
    sure = rounds * WORK * k * len(cluster_of) <= SURE * seconds
    limit = seconds if seconds > 0 and not sure else np.inf
    found = search_clusters(items, cluster_of, k, run, Allowed(start, limit * SEARCH, rounds))
    if total_loss(items, found) >= total_loss(items, cluster_of):
        found = cluster_of
    return move_rows(items, found, k, start + limit, run)


@dataclass(frozen=True)
class Allowed:
    """How long a search may take."""

    start: float
    seconds: float
    """Since the start."""
    rounds: int

    @classmethod
    def every_round(cls, rows: int) -> Allowed:
        """Return that so many rows have all their rounds."""
        return cls(time.perf_counter(), np.inf, _rounds(rows, 0.0))


def search_clusters(items: Items, cluster_of: IntVector, k: int, run: Run, allowed: Allowed) -> IntVector:
    """Return clusters that mostly lose less; each still has at least k rows.

    In each round the clusters are divided into pieces, which threads work on; clusters of different pieces leave each
    other alone. Expected O(rounds x rows x k x columns).
    """
    from shoal.kernels.rebuilding import rebuild

    numbers, count = number_clusters(cluster_of)
    if count < 2:
        return numbers
    plan = _Plan.start(items, numbers, count, k)
    inside = max(int(plan.pool.size.sum()), 1)
    clock = _Clock(allowed.start, allowed.seconds, inside, allowed.rounds)
    mean = float(plan.pool.loss @ plan.pool.size) / inside

    def work(piece: _Piece) -> int:
        warmth = WARMTH * mean * clock.warmth(piece.round)
        if warmth >= 0:
            rebuild(
                plan.codes, plan.row_item, plan.item_start, plan.item_rows, plan.near, plan.pool, k, items.losses,
                piece.seeds, warmth, np.uint64(piece.number), WORK * k * piece.rows, piece.spare,
            )  # fmt: skip
        return piece.rows

    for turn in range(clock.rounds):
        for rows in one_after_another(work, plan.pieces(turn, k)):
            clock.done += rows / clock.rows
            run.progress("improve", clock.share(turn))
        if clock.over():
            break
    found: IntVector = plan.pool.cluster_of.astype(np.int32)
    return found


def _rounds(rows: int, seconds: float) -> int:
    least, most, each = ROUNDS
    longer = max(seconds / LONGER[0], 1.0) if seconds > 0 else LONGER[1]
    return round(min(max(rows // each, least), most) * longer)


@dataclass
class _Clock:
    """How far the search is: by rounds, unless there is no time for all of them."""

    start: float
    limit: float
    rows: int
    rounds: int
    done: float = 0.0
    """Rounds that are done."""

    def over(self) -> bool:
        return time.perf_counter() - self.start >= self.limit

    def estimate_rounds(self) -> float:
        """Estimate how many rounds the time limit allows."""
        elapsed = time.perf_counter() - self.start
        return min(self.limit * self.done / max(elapsed, 1e-6), self.rounds) if self.done else self.rounds

    def share(self, turn: int) -> float:
        """Return which share of the search is done before a round: the same on every machine that has the time."""
        if self.estimate_rounds() >= self.rounds:
            return turn / self.rounds
        return min((time.perf_counter() - self.start) / self.limit, 1.0)

    def warmth(self, turn: int) -> float:
        """Return how warm the search is now, from 1 down to 0; below 0 if the time is up."""
        if self.over():
            return -1.0
        return (1.0 - self.share(turn)) * min(1.0, self.estimate_rounds() / min(ENOUGH, self.rounds))


@dataclass(repr=False)
class _Piece(Brief):
    """Clusters that one thread works on in a round."""

    round: int
    seeds: LongVector
    rows: int
    number: int
    spare: LongVector
    """How many numbers of clusters are free, and these numbers."""


@dataclass(repr=False)
class _Plan(Brief):
    """Everything the search needs."""

    codes: Any
    row_item: LongVector
    item_start: LongVector
    item_rows: LongVector
    near: Any
    pool: Any

    @classmethod
    def start(cls, items: Items, numbers: IntVector, count: int, k: int) -> _Plan:
        """Return the plan for some clusters, numbered without gaps. O(rows log rows), and the search for neighbours."""
        from shoal.kernels.losses import box_losses
        from shoal.kernels.neighbours import nearest_items
        from shoal.kernels.rebuilding import Pool

        codes, _, row_item, tree = items.plant_tree()
        many = min(max(NEIGHBOURS[0], 2 * k), NEIGHBOURS[1], max(len(codes) - 1, 1))
        near, _ = nearest_items(codes, tree, items.losses, many)
        item_rows = np.argsort(row_item, kind="stable")
        item_start = np.searchsorted(row_item[item_rows], np.arange(len(codes) + 1))
        inside = np.flatnonzero(numbers >= 0)
        most = max(len(inside) // k, count)
        box = np.zeros((most, 2 * codes.shape[1]), np.int64)
        box[:count] = boxes(items, numbers, count)
        loss, size = np.zeros(most), np.zeros(most, np.int64)
        loss[:count] = box_losses(box[:count], items.losses)
        size[:count] = np.bincount(numbers[inside], minlength=count)
        order = inside[np.argsort(numbers[inside], kind="stable")]
        same = numbers[order[1:]] == numbers[order[:-1]]
        head, next_row = np.full(most, -1, np.int64), np.full(len(numbers), -1, np.int64)
        next_row[order[:-1][same]] = order[1:][same]
        head[:count] = order[np.concatenate([[True], ~same])]
        pool = Pool(numbers.astype(np.int64), next_row, head, size, loss, box, np.full(most, -1, np.int64))
        return cls(codes, row_item, item_start, item_rows, near, pool)

    def pieces(self, turn: int, k: int) -> list[_Piece]:
        """Divide the clusters: in the order of a column or of the tree, another one in each round. O(rows log rows)."""
        pool = self.pool
        live = np.flatnonzero(pool.size)
        place = self.row_item[pool.head[live]]
        column = turn % (self.codes.shape[1] + 1)
        keys = (place,) if column == self.codes.shape[1] else (place, pool.box[live, 2 * column])
        live = np.roll(live[np.lexsort(keys)], turn * len(live) // 7)
        rows = np.cumsum(pool.size[live])
        many = max(int(rows[-1]) // max(PIECE[0], PIECE[1] * k), 1)
        pool.piece[live] = np.minimum((rows - 1) * many // rows[-1], many - 1)
        free = np.flatnonzero(pool.size == 0)
        inside = np.flatnonzero(pool.cluster_of >= 0)
        piece_of = pool.piece[pool.cluster_of[inside]]
        found, taken = [], 0
        for piece in range(many):
            own = inside[piece_of == piece]
            seeds = own[pool.loss[pool.cluster_of[own]] > 0]
            clusters = int((pool.piece[live] == piece).sum())
            extra = max(len(own) // k - clusters, 0)
            if not len(seeds):
                continue
            spare = np.zeros(1 + extra + clusters, np.int64)
            spare[0] = extra
            spare[1 : 1 + extra] = free[taken : taken + extra]
            taken += extra
            number = (turn * many + piece + 1) * 0x9E3779B97F4A7C15 % 2**64
            found.append(_Piece(turn, seeds, len(own), number, spare))
        return found
