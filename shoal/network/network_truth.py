"""Is a masked network true of its original? Whether the counts of edges can be those of the original.

`judging.linking.truth` compares what members show; this file compares structure. Which nodes a super-node stands for is
known if its maker says so, or if no other super-node covers them and has their sensitive values. Otherwise only the
number of all edges is compared.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.linking.consistency import People
from shoal.judging.linking.row_search import EXACT, LINKS
from shoal.network.graph import Network
from shoal.network.masked import MaskedNetwork
from shoal.release.published import Published
from shoal.release.verdict import Verdict
from shoal.support.arrays import BoolVector, IntVector
from shoal.support.brief import Brief

AT_ONCE = 256
"""How many super-nodes look for the nodes that they cover at a time."""
SEVERAL = -2
SUPPRESSED = -1
NOT_COMPARED = (
    "not checked: whether the edges are in the right clusters. Some people fit several clusters, so Shoal compared the "
    "number of all edges only"
)


@dataclass(frozen=True, eq=False, repr=False)
class Places(Brief):
    """Which super-node each node of the original belongs to, as far as it is known."""

    cluster_of: IntVector
    """Node -> its super-node, `SUPPRESSED`, or `SEVERAL` if several super-nodes cover it."""

    @property
    def suppressed(self) -> BoolVector:
        """Which nodes no super-node covers."""
        return np.asarray(self.cluster_of == SUPPRESSED)

    def of_all(self, masked: MaskedNetwork) -> bool:
        """Whether every node has one place, and each super-node its number of nodes."""
        if (self.cluster_of == SEVERAL).any():
            return False
        kept = self.cluster_of[self.cluster_of >= 0]
        return np.array_equal(np.bincount(kept, minlength=masked.clusters), masked.size)


def places_by_owner(owner: IntVector, place: IntVector, nodes: int) -> Places:
    """Return the places of nodes if it is known which node each published row is about."""
    cluster_of = np.full(nodes, SUPPRESSED, np.int32)
    cluster_of[owner] = place
    return Places(cluster_of)


def places_by_cells(published: Published, table: CodedTable, ignored: Collection[str] = ()) -> Places | None:
    """Return the places of nodes by what super-nodes show: a super-node may stand for a node if its cells cover the
    node, and some member has the node's sensitive values, except those of `ignored` columns. None if that takes too
    long, or if some cells cannot be read. O(nodes + pairs of a super-node and such a node), up to a limit.
    """
    from shoal.kernels.grouping import distinct

    boxes = published.cells
    if boxes is None or boxes.sets is not None or boxes.foreign:
        return None
    columns = [j for j, attribute in enumerate(table.sensitive) if attribute.name not in ignored]
    both = np.concatenate([table.secrets.wide[:, columns], published.sensitive_codes[:, columns]])
    value = distinct(np.asfortranarray(both))[0] if columns else np.zeros(len(both), np.int32)
    before, after = value[: table.rows], value[table.rows :]
    first = distinct(np.asfortranarray(np.stack([published.class_of, after], axis=1)))[1]
    class_of, shown = published.class_of[first], after[first][:, None]
    low, high = np.hstack([boxes.low[class_of], shown]), np.hstack([boxes.high[class_of], shown])
    unread = boxes.unread[class_of]
    low[unread, 0], high[unread, 0] = 1, 0
    people = People.over(
        np.asfortranarray(np.column_stack([table.quasi.wide, before]).astype(np.int32)),
        np.array([*People.scales(table.attributes), EXACT]),
        [*People.cuts(table.attributes), np.zeros(int(value.max(initial=0)) + 2, np.int32)],
    )
    found = np.full(len(people.weight), SUPPRESSED, np.int32)
    total = 0
    for begin in range(0, len(low), AT_ONCE):
        start, links = people.inside(low[begin : begin + AT_ONCE], high[begin : begin + AT_ONCE])
        total += len(links)
        if total > LINKS:
            return None
        own = np.repeat(class_of[begin : begin + AT_ONCE], np.diff(start))
        times = np.bincount(links, minlength=len(found))
        several = (times > 1) | ((times == 1) & (found != SUPPRESSED))
        found[links] = own
        found[several] = SEVERAL
    return Places(found[people.row_of])


def total_verdicts(
    masked: MaskedNetwork, network: Network, places: Places | None, *, may_suppress: bool
) -> list[Verdict]:
    """Compare the numbers of nodes and edges with the original."""
    missing = network.nodes - masked.people
    if missing <= 0 or not may_suppress:
        return [
            _complete("all nodes", network.nodes, masked.people),
            _complete("all edges", network.edges, masked.links),
        ]
    if places is not None and int(places.suppressed.sum()) == missing:
        return [_complete("all edges", network.without(places.suppressed).edges, masked.links)]
    return [_edges_within_bounds(masked, network, missing)]


def cluster_verdicts(
    masked: MaskedNetwork, network: Network, places: Places | None
) -> tuple[list[Verdict], list[str]]:
    """Compare the edges inside and between clusters with the original, if the nodes of all clusters are known. Without
    them attacks still test degrees, unless nodes were suppressed: then nothing does, and it could not be checked.
    """
    if places is None or not places.of_all(masked):
        if masked.people == network.nodes:
            return [], [NOT_COMPARED]
        detail = "could not be checked: some people fit several clusters, and nodes were suppressed"
        return [Verdict("edges of clusters", 0, None, None, detail, higher_is_safer=False)], []
    a, b = (places.cluster_of[end].astype(np.int64) for end in network.pairs())
    there = (a >= 0) & (b >= 0)
    keys = (np.minimum(a, b) * masked.clusters + np.maximum(a, b))[there]
    one, other, count = masked.between
    shown = np.minimum(one, other).astype(np.int64) * masked.clusters + np.maximum(one, other)
    inside = np.arange(masked.clusters, dtype=np.int64) * (masked.clusters + 1)
    cells, at = np.unique(np.concatenate([keys, shown, inside]), return_inverse=True)
    number = np.concatenate([np.ones(len(keys), np.int64), -count, -masked.inside])
    wrong = int(np.count_nonzero(np.bincount(at, weights=number, minlength=len(cells))))
    detail = "counts of edges inside or between clusters that differ from the original" if wrong else ""
    return [Verdict("edges of clusters", 0, wrong, not wrong, detail, higher_is_safer=False)], []


def _complete(what: str, required: int, reached: int) -> Verdict:
    same = required == reached
    return Verdict(what, required, reached, same, "" if same else "they differ", public=True)


def _edges_within_bounds(masked: MaskedNetwork, network: Network, missing: int) -> Verdict:
    """Compare the number of edges with the fewest and the most that can be left without `missing` unknown nodes.

    They have at most the sum of the largest degrees, and at least half the sum of the smallest: an edge between two of
    them counts twice there.
    """
    degree = np.sort(network.degree)
    fewest = network.edges - int(degree[len(degree) - missing :].sum())
    most = network.edges - (int(degree[:missing].sum()) + 1) // 2
    fewest = max(fewest, 0)
    required = f"{fewest:,} to {most:,}"
    if not fewest <= masked.links <= most:
        detail = "no network without so many of the nodes has this number of edges"
        return Verdict("all edges", required, masked.links, False, detail)
    detail = "could not be checked: nothing shows which nodes were suppressed, and with them which edges"
    return Verdict("all edges", required, masked.links, None, detail)
