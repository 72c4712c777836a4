"""The forest algorithm: trees of at least k rows by cheapest edges, then split where they are too large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.models.requirements import Requirements
from shoal.methods.clustering.cluster_classes import (
    join_failing_clusters,
    number_clusters,
    select_rows,
    total_loss,
)
from shoal.methods.clustering.clusters import Items, collapse
from shoal.methods.method import CLASSES_OF_PARTS, Abilities, Method, Parts, Shows
from shoal.release import Release, closures
from shoal.support.arrays import IntVector
from shoal.support.run import Run


@dataclass(frozen=True, kw_only=True)
class Forest(Method):
    """The forest algorithm (Aggarwal et al. 2005), within a factor 3k - 3 of the optimum; here a baseline.

    Each component with fewer than k rows takes its cheapest edge to another component, until none is left. Trees
    with more than max(2k - 1, 3k - 5) rows are split into trees of at least k.
    """

    name: ClassVar[str] = "forest"
    can: ClassVar[Abilities] = Abilities(
        count_people=True, keep_earlier=True, make_buckets=True, optimize=("cells",)
    )
    shows: ClassVar[Shows] = Shows(classes=True)
    summary: ClassVar[str] = (
        "joins rows by cheapest edges; has a proven bound, but loses more than agglomerative"
    )
    paper: ClassVar[str] = "Aggarwal et al.: Approximation Algorithms for k-Anonymity, JPT 2005"
    parts: ClassVar[Parts | str] = Parts(
        why=CLASSES_OF_PARTS, whole=1_000_000, rows=250_000, sums=("suppressed", "clusters")
    )

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Grow, split, and let the models judge: a cluster that fails joins its nearest neighbours.

        Expected O(rows log rows x log k) row visits, O(rows^2 log k) at worst.
        """
        k = max(requirements.k, 1)
        kept, dropped = select_rows(table, requirements)
        items = collapse(table, requirements.measure)
        run.progress("grow", 0.0)
        cluster_of = trees(items, k, kept)
        loss = total_loss(items, cluster_of) / max(len(kept), 1)
        cluster_of = join_failing_clusters(table, items, cluster_of, requirements)
        regions, count = number_clusters(cluster_of)
        low, high = closures(table, regions, count)
        return Release(
            regions, low, high, facts={"suppressed": dropped, "clusters": count, "loss": round(loss, 6)}
        )


def trees(items: Items, k: int, kept: IntVector) -> IntVector:
    """Return the tree of each row, -1 for rows that are not `kept`; the numbers have gaps."""
    from shoal.kernels.forest import cut_trees, grow_forest

    losses = items.losses
    codes, _, row_item, tree = items.plant_tree()
    by_item = kept[np.argsort(row_item[kept], kind="stable")].astype(np.int64)
    count = np.bincount(row_item[kept], minlength=len(codes)).astype(np.int64)
    parent = grow_forest(codes, count, tree, losses, k)
    # Equal rows are a chain of edges without cost: the first row of an item represents it.
    first = np.cumsum(count) - count
    above = np.full(len(items.item_of), -1, np.int64)
    own = row_item[by_item]
    chained = np.flatnonzero(own[1:] == own[:-1]) + 1
    above[by_item[chained]] = by_item[chained - 1]
    joined = np.flatnonzero(parent >= 0)
    above[by_item[first[joined]]] = by_item[first[parent[joined]]]
    cluster_of = np.full(len(above), -1, np.int32)
    cluster_of[kept] = cut_trees(above, kept.astype(np.int64), k)[kept]
    return cluster_of
