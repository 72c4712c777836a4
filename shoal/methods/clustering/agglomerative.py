"""Agglomerative k-anonymity: merge the closest clusters until each has k rows, then improve them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.judging.models.requirements import Requirements
from shoal.methods.clustering.agglomeration import DISTANCES, cluster
from shoal.methods.clustering.cluster_classes import (
    join_failing_clusters,
    number_clusters,
    select_rows,
    total_loss,
)
from shoal.methods.clustering.clusters import collapse
from shoal.methods.clustering.improvement import improve_clusters
from shoal.methods.method import CLASSES_OF_PARTS, Abilities, Method, Parts, Shows
from shoal.methods.partitioning.windows import check_shown, list_values
from shoal.release import Release, closures
from shoal.support.arrays import IntVector
from shoal.support.run import Run


@dataclass(frozen=True, kw_only=True)
class Agglomerative(Method):
    """Agglomerative clustering (Gionis, Mazza, Tassa 2008), with an improvement pass of our own.

    Every row starts alone, equal rows together. The two closest clusters merge, again and again; a cluster with k rows
    is finished. Each of the fewer than k leftover rows joins the closest finished cluster. Then a search takes
    neighbouring clusters apart and builds them anew, for some seconds or until its rounds are over.
    """

    name: ClassVar[str] = "agglomerative"
    can: ClassVar[Abilities] = Abilities(
        count_people=True, keep_earlier=True, make_buckets=True, optimize=("cells",)
    )
    shows: ClassVar[Shows] = Shows(classes=True)
    # Improvement may outlast the time limit of a trial, the clustering before it hardly does.
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({}, {"improve": False})
    summary: ClassVar[str] = (
        "grows clusters of similar rows; loses least under k-anonymity, but takes more time"
    )
    paper: ClassVar[str] = "Gionis, Mazza, Tassa: k-Anonymization Revisited, ICDE 2008"
    parts: ClassVar[Parts | str] = Parts(
        why=CLASSES_OF_PARTS, whole=1_000_000, rows=250_000, memory=2000, sums=("suppressed", "clusters")
    )
    improved_parts: ClassVar[Parts] = Parts(
        why=CLASSES_OF_PARTS, whole=200_000, rows=50_000, memory=4000, sums=("suppressed", "clusters")
    )

    distance: str = "nergiz-clifton"
    """How to measure which clusters are close: ``growth``, ``difference``, ``logarithm``, ``ratio`` (the paper's (8)
    to (11)) or ``nergiz-clifton``. See the documentation of the method."""
    modified: bool = False
    """A cluster with more than k rows gives up the rows whose removal lowers its loss most, until k are left."""
    distances: tuple[str, ...] = ()
    """A portfolio: cluster by each of these distances and keep the result that loses least. Overrides `distance`."""
    improve: bool = True
    """Improve the finished clusters: take neighbours apart and build them anew, and move rows between them."""
    seconds: float = 10.0
    """Improve for this many seconds at most; 0: until the search is over. If the time ends the search, two runs may
    give different releases. Parts of a table get their shares of it."""
    bound: bool = False
    """Report a lower bound for what any clustering loses, and how far the release is from it."""
    show: str = "ranges"
    """``ranges`` shows the smallest node or range over each class; ``sets`` lists the values that occur, which loses
    less, whatever the hierarchies allow."""

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

    @property
    def divides(self) -> Parts | str:
        """Improvement takes far longer, so its parts are smaller."""
        if self.bound:
            return "the lower bound is about the whole table"
        return self.improved_parts if self.improve else self.parts

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Cluster, improve, and let the models judge: a cluster that fails joins its nearest neighbours.

        Expected O(n log n) searches of a few dozen clusters each; the worst case of the first phase is O(n^2).
        """
        k = max(requirements.k, 1)
        kept, dropped = select_rows(table, requirements)
        items = collapse(table, requirements.measure)
        facts: dict[str, Any] = {"suppressed": dropped}
        share = (
            table.rows / max(int(table.value_counts[0].sum()), 1) / len(self.distances or (self.distance,))
        )
        best: IntVector | None = None
        least, before = np.inf, np.inf
        for name in self.distances or (self.distance,):
            start = time.perf_counter()
            found = cluster(items, k, name, self.modified, kept, run)
            classes = join_failing_clusters(table, items, found, requirements)
            loss = first = total_loss(items, classes)
            if self.improve and k > 1:
                found = improve_clusters(items, found, k, self.seconds * share, run)
                better = join_failing_clusters(table, items, found, requirements)
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
        regions, count = number_clusters(best)
        low, high = closures(table, regions, count)
        facts["clusters"] = count
        if self.bound:
            from shoal.methods.clustering.lower_bound import lower_bound

            facts["lower bound"] = lower_bound(table, k, requirements.measure)
        release = Release(regions, low, high, facts=facts)
        return list_values(table, release) if self.show == "sets" else release
