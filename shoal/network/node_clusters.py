"""Clusters of nodes with similar attributes and similar neighbours (SaNGreeA, Campan and Truta 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.groups import group
from shoal.judging.measures.cell_losses import Il
from shoal.judging.models.demands import Demands, demands_of
from shoal.judging.models.requirements import Requirements
from shoal.methods.loss_tables import losses_of
from shoal.network.graph import Network
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

PATIENCE = 50_000_000
"""How many nodes are visited between two progress reports; some tenths of a second."""


@dataclass(frozen=True, eq=False, repr=False)
class NetworkClusters(Brief):
    """Nodes in clusters."""

    cluster_of: IntVector
    """Node -> cluster, 0, 1, .."""
    clusters: int
    leftovers: int
    """Nodes that were left over and added to another cluster."""
    merged: int
    """Clusters that violated some model and were merged with others."""


def cluster_network(
    network: Network, table: CodedTable, requirements: Requirements, alpha: float, run: Run
) -> NetworkClusters:
    """Cluster the nodes so that every cluster satisfies the group models of the requirements.

    Clusters grow from the free node of highest degree (see `grow_network_clusters`). Nodes that are left over are
    added to the nearest cluster. Clusters that violate a model other than k, p and distinct l are merged with the
    nearest one. The distance is ``alpha`` x growth of the mean generalization loss + ``(1 - alpha)`` x mean distance
    of neighbourhoods. Every block of the table must satisfy the requirements as one class.
    """
    work = _Work(network, table, requirements, alpha, run)
    cluster_of, clusters = work.grow_clusters()
    leftovers = int((cluster_of < 0).sum())
    cluster_of, clusters = work.whole_blocks(cluster_of, clusters)
    cluster_of = work.leftovers_added(cluster_of, clusters)
    cluster_of, kept = work.merge_failing(cluster_of, clusters)
    return NetworkClusters(cluster_of, kept, leftovers, clusters - kept)


class _Work:
    """The state that all steps share."""

    def __init__(
        self, network: Network, table: CodedTable, requirements: Requirements, alpha: float, run: Run
    ) -> None:
        self.network, self.table, self.requirements, self.run = network, table, requirements, run
        self.demands: Demands = demands_of(table, requirements)
        self.losses = losses_of(table, Il.name)
        self.by_loss = alpha
        self.by_distance = (1.0 - alpha) / max(network.nodes - 2, 1)

    def grow_clusters(self) -> tuple[IntVector, int]:
        """Grow clusters; nodes that are left over have -1."""
        from shoal.kernels.network_clusters import Progress, grow_network_clusters

        network = self.network
        numbers = np.arange(network.nodes)
        order = np.lexsort((numbers, -network.degree)).astype(np.int32)
        by_rank = np.lexsort((numbers, network.degree)).astype(np.int32)
        rank = np.empty_like(by_rank)
        rank[by_rank] = numbers
        atoms, labels = self._atoms(by_rank)
        progress = Progress(
            cluster_of=np.full(network.nodes, -1, np.int32),
            head=atoms.start[:-1].copy(),
            closed=np.zeros(len(atoms.block_start) - 1, np.int32),
            state=np.zeros(2, np.int64),
        )
        p = np.array([demand.p for demand in self.demands.each], np.int64)
        while progress.state[0] < network.nodes:
            done = int(progress.state[1]) * self.demands.k / max(network.nodes, 1)
            self.run.progress("cluster", 0.2 + 0.5 * min(done, 1.0))
            grow_network_clusters(
                network.start, network.neighbours, order, rank, atoms, labels, p, self.losses,
                self.by_loss, self.by_distance, self.demands.k, progress, PATIENCE,
            )  # fmt: skip
        return progress.cluster_of, int(progress.state[1])

    def _atoms(self, by_rank: IntVector) -> tuple[Any, IntMatrix]:
        """Group equal nodes, block by block; also return the labels of each combination."""
        from shoal.kernels.grouping import distinct
        from shoal.kernels.network_clusters import Atoms

        table = self.table
        columns = [np.unique(demand.label_of, return_inverse=True) for demand in self.demands.each]
        offsets = np.cumsum([0, *(len(values) for values, _ in columns)])
        of_row = np.stack([own + at for (_, own), at in zip(columns, offsets[:-1], strict=True)], axis=1)
        kind_of, kind_first = distinct(of_row.astype(np.int32))
        point_of, _ = distinct(table.quasi.wide)
        raw, first = distinct(np.stack([table.block_of, point_of, kind_of], axis=1))
        order = np.argsort(table.block_of[first], kind="stable")
        number = np.empty(len(first), np.int32)
        number[order] = np.arange(len(first), dtype=np.int32)
        of, first = number[raw], first[order]
        nodes = by_rank[np.argsort(of[by_rank], kind="stable")]
        start = np.concatenate(([0], np.cumsum(np.bincount(of, minlength=len(first))))).astype(np.int64)
        block = table.block_of[first]
        ends = np.searchsorted(block, np.arange(int(block.max()) + 2)).astype(np.int64)
        codes = np.ascontiguousarray(table.quasi.wide[first])
        atoms = Atoms(
            of, start, nodes, codes, np.ascontiguousarray(kind_of[first]), block.astype(np.int32), ends
        )
        return atoms, of_row[kind_first].astype(np.int32)

    def whole_blocks(self, cluster_of: IntVector, clusters: int) -> tuple[IntVector, int]:
        """Make one cluster of each block in which no cluster was completed."""
        block_of = self.table.block_of
        served = np.zeros(int(block_of.max()) + 1, np.bool_)
        served[block_of[cluster_of >= 0]] = True
        bare = np.flatnonzero(~served)
        number = np.full(len(served), -1, np.int32)
        number[bare] = clusters + np.arange(len(bare), dtype=np.int32)
        return np.where(served[block_of], cluster_of, number[block_of]), clusters + len(bare)

    def leftovers_added(self, cluster_of: IntVector, clusters: int) -> IntVector:
        """Add each node that is left over to the nearest cluster of its block, in the order of the table.

        O(clusters x columns + degrees of neighbours) per node.
        """
        left = np.flatnonzero(cluster_of < 0).astype(np.int32)
        if not len(left):
            return cluster_of
        standing = _Standing(self, cluster_of, clusters)
        for turn, x in enumerate(left):
            if turn % 256 == 0:
                self.run.progress("add leftovers", 0.7 + 0.05 * turn / len(left))
            codes = self.table.quasi.wide[x]
            costs = standing.costs(left[turn : turn + 1], codes, codes, int(self.table.block_of[x]))
            nearest = int(np.argmin(costs))
            cluster_of[x] = nearest
            standing.take_in(nearest, codes, codes, 1, int(self.network.degree[x]))
        return cluster_of

    def merge_failing(self, cluster_of: IntVector, clusters: int) -> tuple[IntVector, int]:
        """Merge each cluster that violates a model with the nearest one of its block, until none does.

        O(rounds x failing clusters x clusters x columns). The whole block satisfies the models, so this ends.
        """
        table = self.table
        while True:
            groups = group(cluster_of, clusters, table.secrets.wide, table.sensitive, table.sensitive_counts)
            failing = np.flatnonzero(~self.requirements.holds_in(groups))
            standing = _Standing(self, cluster_of, clusters) if len(failing) else None
            if standing is None:
                return cluster_of, clusters
            alive = np.ones(clusters, np.bool_)
            grown = np.zeros(clusters, np.bool_)
            for one in failing:
                if grown[one]:
                    continue  # judged again in the next round
                members = np.flatnonzero(cluster_of == one).astype(np.int32)
                block = int(standing.block[one])
                costs = standing.costs(members, standing.low[one], standing.high[one], block)
                costs[one] = np.inf
                costs[~alive] = np.inf
                nearest = int(np.argmin(costs))
                if not np.isfinite(costs[nearest]):
                    continue
                cluster_of[members] = nearest
                standing.take_in(
                    nearest, standing.low[one], standing.high[one], len(members), int(standing.degrees[one])
                )
                alive[one], grown[nearest] = False, True
            if alive.all():
                return cluster_of, clusters
            cluster_of = (np.cumsum(alive) - 1)[cluster_of].astype(np.int32)
            clusters = int(alive.sum())


class _Standing:
    """The current clusters: ranges, sizes, degrees."""

    def __init__(self, work: _Work, cluster_of: IntVector, clusters: int) -> None:
        self.work, self.cluster_of, self.clusters = work, cluster_of, clusters
        inside = cluster_of >= 0
        from shoal.kernels.closures import bounds

        codes = work.table.quasi.wide
        ends = [
            bounds(np.ascontiguousarray(codes[:, j]), cluster_of, clusters) for j in range(codes.shape[1])
        ]
        self.low = np.stack([low for low, _ in ends], axis=1)
        self.high = np.stack([high for _, high in ends], axis=1)
        self.size: LongVector = np.bincount(cluster_of[inside], minlength=clusters)
        degrees = np.bincount(cluster_of[inside], weights=work.network.degree[inside], minlength=clusters)
        self.degrees: LongVector = degrees.astype(np.int64)
        self.block = np.zeros(clusters, np.int32)
        self.block[cluster_of[inside]] = work.table.block_of[inside]
        self.loss: FloatVector = self.losses(self.low, self.high)

    def losses(self, low: IntMatrix, high: IntMatrix) -> FloatVector:
        """Return what a node of each range of codes loses."""
        from shoal.kernels.losses import box_losses

        found: FloatVector = box_losses(np.stack([low, high], axis=2).reshape(len(low), -1), self.work.losses)
        return found

    def costs(self, members: IntVector, low: IntVector, high: IntVector, block: int) -> FloatVector:
        """Return the distance of each cluster of the block from some nodes outside it."""
        from shoal.kernels.network_clusters import network_contacts

        work, network, count = self.work, self.work.network, len(members)
        merged = self.losses(np.minimum(self.low, low), np.maximum(self.high, high))
        own = float(self.losses(low[None, :], high[None, :])[0])
        together = self.size + count
        growth = (together * merged - self.size * self.loss - count * own) / together
        contacts = network_contacts(
            network.start, network.neighbours, self.cluster_of, members, self.clusters
        )
        degrees = int(network.degree[members].sum())
        differing = self.size * degrees + count * self.degrees - 2 * contacts
        distance = differing / (self.size * count)
        costs = work.by_loss * growth + work.by_distance * distance
        return np.where(self.block == block, costs, np.inf)

    def take_in(self, cluster: int, low: IntVector, high: IntVector, nodes: int, degrees: int) -> None:
        """Let a cluster grow."""
        self.low[cluster] = np.minimum(self.low[cluster], low)
        self.high[cluster] = np.maximum(self.high[cluster], high)
        self.size[cluster] += nodes
        self.degrees[cluster] += degrees
        self.loss[cluster] = self.losses(self.low[cluster : cluster + 1], self.high[cluster : cluster + 1])[0]
