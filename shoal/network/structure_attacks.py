"""Adversaries who know part of the structure around a person: which nodes can be that person, and what these reveal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.network.graph import Network
from shoal.network.masked import MaskedNetwork
from shoal.network.network_disclosure import Attributes, Beliefs, NetworkDisclosure
from shoal.network.ordinary import graph_of
from shoal.support.arrays import BoolVector, IntVector, LongVector
from shoal.support.brief import Brief

EFFORT = 300_000_000
"""About how many steps the more expensive attacks may take; in large networks they try only some nodes."""
MOST_TARGETS = 2_000
KNOWLEDGE = {
    "degree": "how many neighbours a person has",
    "neighbour-degrees": "how many neighbours a person has, and how many each of those has",
    "subgraph": "the subgraph of a person and all neighbours",
}


@dataclass(frozen=True)
class NetworkExposure:
    """How many candidates remain for an adversary, before and after."""

    knowledge: str
    """A key of `KNOWLEDGE`; with ``+ attributes``, the adversary also knows quasi-identifiers."""
    targets: int
    """Nodes that were attacked."""
    before_least: int
    before_mean: float
    before_unique: int
    """Nodes of the whole original network that are unique by this knowledge."""
    after_least: int
    """The fewest candidates of any target in the masked network."""
    after_mean: float
    at_risk: int
    """Targets with fewer than k candidates left, those without any included."""
    unmatched: int = 0
    """Targets with no candidate at all: another tool changed edges, or this is not a release of the network. What an
    adversary learns who allows for changes is unknown, so they count as at risk."""

    def summary(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, eq=False, repr=False)
class DegreeRanges(Brief):
    """The degrees that nodes of each super-node can have in graphs that are consistent with the masked network."""

    low: LongVector
    high: LongVector
    start: LongVector
    """Where the neighbours of each super-node begin in `other`, itself included if it has inner edges."""
    other: IntVector
    """Neighbours of all super-nodes, ascending by their `low`."""
    room: LongVector
    """How many neighbours a node can have in each of them."""
    by_high: LongVector
    """The places in `other`, descending by `high` within each super-node."""


def degree_ranges(masked: MaskedNetwork) -> DegreeRanges:
    """Return the lowest and highest degree of a node of each super-node, over all consistent graphs.

    Of e edges between s and t nodes, a node has at most min(e, t), and at least those that the other s - 1 nodes cannot
    have. The terms of a degree are independent, so every number in between is possible, too. O(super-edges log).
    """
    size, inside = masked.size, masked.inside
    a, b, count = masked.between
    own = np.flatnonzero(inside > 0).astype(np.int32)
    here = np.concatenate([a, b, own])
    there = np.concatenate([b, a, own])
    edges = np.concatenate([count, count, inside[own]])
    within = here == there
    across = np.where(within, size[here] - 1, size[there])
    others = np.where(within, (size[here] - 1) * (size[here] - 2) // 2, (size[here] - 1) * size[there])
    room = np.minimum(edges, across)
    needed = np.maximum(edges - others, 0)
    low = np.bincount(here, weights=needed, minlength=len(size)).astype(np.int64)
    high = np.bincount(here, weights=room, minlength=len(size)).astype(np.int64)
    order = np.lexsort((low[there], here))
    start = np.concatenate(([0], np.cumsum(np.bincount(here, minlength=len(size))))).astype(np.int64)
    other = there[order].astype(np.int32)
    by_high = np.lexsort((-high[other], here[order])).astype(np.int64)
    return DegreeRanges(low, high, start, other, room[order], by_high)


@dataclass(frozen=True)
class NetworkAttacks:
    """What all adversaries found."""

    exposures: tuple[NetworkExposure, ...]
    """Who can be found, for each knowledge."""
    disclosures: tuple[NetworkDisclosure, ...]
    """What the candidates reveal, for each knowledge and sensitive column."""


def attack_network(
    network: Network,
    masked: MaskedNetwork,
    attributes: Attributes | None,
    k: int,
    random: np.random.Generator,
) -> NetworkAttacks:
    """Try all attacks, each with and without knowledge of quasi-identifiers.

    Candidates in the masked network are all nodes of super-nodes that the knowledge does not rule out. The tests are
    necessary conditions, so a stronger adversary might rule out more, but never another member of the right super-node:
    what matches one member matches all. If every super-node is a single node, the release is an ordinary graph, and the
    tests are exact.
    """
    from shoal.kernels.graph_structure import common_neighbours

    n = network.nodes
    steps = masked.clusters * (2 * network.edges // max(n, 1) + 10)
    some = min(max(EFFORT // steps, 50), MOST_TARGETS)
    targets = np.arange(n) if some >= n else np.sort(random.choice(n, some, replace=False))
    common = common_neighbours(network.start, network.neighbours)
    shown = graph_of(masked) if masked.size.max(initial=1) == 1 else None
    highest = max(int(one.degree.max(initial=0)) for one in (network, shown or network))
    noise = random.integers(0, 2**64, highest + 2, dtype=np.uint64)
    keys = _structural_keys(network, common, noise)
    fits = _fits_exactly(keys, shown, noise) if shown else _fits_possibly(network, masked, common)
    points, covers = _find_covering(attributes)
    counted: dict[str, list[int]] = {name: [] for name in KNOWLEDGE}
    counted |= {f"{name} + attributes": [] for name in KNOWLEDGE} if covers is not None else {}
    beliefs = Beliefs(attributes, list(counted))
    for x in targets.tolist():
        for name, good in fits(x).items():
            counted[name].append(int(good @ masked.size))
            beliefs.add(name, x, good)
            if covers is not None:
                both = good & covers(x)
                counted[f"{name} + attributes"].append(int(both @ masked.size))
                beliefs.add(f"{name} + attributes", x, both)
    if shown is None:
        counted["degree"] = degree_candidates(network, masked).tolist()
    alike = {name: _alike(_known_columns(name, keys, points)) for name in counted}
    exposures = [
        _exposure(name, np.bincount(alike[name])[alike[name]], np.array(left), k)
        for name, left in counted.items()
    ]
    return NetworkAttacks(tuple(exposures), beliefs.disclosures(alike))


def _known_columns(name: str, keys: Mapping[str, LongVector], points: LongVector | None) -> list[LongVector]:
    """Return what somebody with this knowledge compares: the structure, and the attributes if they are known."""
    plain = name.partition(" ")[0]
    return [keys[plain]] + ([points.astype(np.uint64)] if name != plain and points is not None else [])


def _exposure(knowledge: str, before: LongVector, after: LongVector, k: int) -> NetworkExposure:
    """Sum up how many candidates there are for all nodes before, and for the targets after."""
    return NetworkExposure(
        knowledge,
        len(after),
        int(before.min()),
        float(before.mean()),
        int((before == 1).sum()),
        int(after.min()),
        float(after.mean()),
        int((after < k).sum()),
        int((after == 0).sum()),
    )


def degree_candidates(network: Network, masked: MaskedNetwork) -> LongVector:
    """Return for every node how many candidates remain for an adversary who knows its degree.

    O(nodes + super-nodes + highest degree).
    """
    ranges = degree_ranges(masked)
    highest = int(max(network.degree.max(initial=0), ranges.high.max(initial=0)))
    change = np.zeros(highest + 2, np.int64)
    np.add.at(change, ranges.low, masked.size)
    np.add.at(change, ranges.high + 1, -masked.size)
    candidates: LongVector = np.cumsum(change)[network.degree]
    return candidates


Fits = Callable[[int], dict[str, BoolVector]]
"""Per attack, which super-nodes are consistent with what the adversary knows about a node."""


def _fits_possibly(network: Network, masked: MaskedNetwork, common: IntVector) -> Fits:
    """Rule out super-nodes by conditions that every true candidate satisfies."""
    from shoal.kernels.graph_structure import neighbours_match

    ranges = degree_ranges(masked)
    most_edges = _edges_among_neighbours(masked, ranges)
    # The number of edges among the neighbours of a node is its number of triangles.
    edges_among = np.diff(np.concatenate(([0], np.cumsum(common)))[network.start]) // 2

    def fits(x: int) -> dict[str, BoolVector]:
        around = network.neighbours[network.start[x] : network.start[x + 1]]
        degrees = np.sort(network.degree[around])
        by_degree = (ranges.low <= len(around)) & (len(around) <= ranges.high)
        by_neighbours = neighbours_match(
            degrees, ranges.low, ranges.high, ranges.start, ranges.other, ranges.room, ranges.by_high
        )
        by_subgraph = by_degree & (most_edges >= int(edges_among[x]))
        return {"degree": by_degree, "neighbour-degrees": by_neighbours, "subgraph": by_subgraph}

    return fits


def _fits_exactly(keys: dict[str, Any], shown: Network, noise: Any) -> Fits:
    """Compare with every node of an ordinary graph."""
    from shoal.kernels.graph_structure import common_neighbours

    others = _structural_keys(shown, common_neighbours(shown.start, shown.neighbours), noise)
    return lambda x: {name: own == keys[name][x] for name, own in others.items()}


def _structural_keys(network: Network, common: IntVector, noise: Any) -> dict[str, Any]:
    """Return per attack a key for each node; nodes that the adversary cannot distinguish have the same key. `noise` is
    a random number for every degree.
    """
    from shoal.kernels.graph_structure import ego_keys

    degree = network.degree
    sums = np.concatenate(
        (np.zeros(1, np.uint64), np.cumsum(noise[degree[network.neighbours]], dtype=np.uint64))
    )
    around = sums[network.start[1:]] - sums[network.start[:-1]]
    egos = ego_keys(network.start, network.neighbours, common, noise)
    return {"degree": degree.astype(np.uint64), "neighbour-degrees": around, "subgraph": egos}


def _alike(columns: list[Any]) -> LongVector:
    """Number the distinct rows, and return the number of each row."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, own = np.unique(column, return_inverse=True)
        _, number = np.unique(number * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
    return number


def _edges_among_neighbours(masked: MaskedNetwork, ranges: DegreeRanges) -> LongVector:
    """Return the largest number of edges among neighbours of a node of each super-node: those inside and between
    its neighbouring super-nodes. O(sum of squared numbers of super-edges) at worst, by sparse products.
    """
    from scipy.sparse import csr_matrix

    clusters = masked.clusters
    a, b, count = masked.between
    near = csr_matrix((np.ones(len(ranges.other)), ranges.other, ranges.start), shape=(clusters, clusters))
    ends = (np.concatenate([a, b]), np.concatenate([b, a]))
    joined = csr_matrix((np.concatenate([count, count]).astype(np.float64), ends), shape=(clusters, clusters))
    most = np.zeros(clusters, np.int64)
    piece = max(1, 20_000_000 // max(len(ranges.other), 1))
    for first in range(0, clusters, piece):
        rows = near[first : first + piece]
        twice = np.asarray((rows @ joined).multiply(rows).sum(axis=1)).ravel()
        most[first : first + piece] = np.rint(twice / 2 + rows @ masked.inside).astype(np.int64)
    return most


def _find_covering(attributes: Attributes | None) -> tuple[Any, Any]:
    """Return a number for each combination of quasi-identifiers, and a function that says which super-nodes cover a
    node."""
    if attributes is None or not attributes.published.readable:
        return None, None
    from shoal.kernels.grouping import distinct

    codes, (low, high) = attributes.table.quasi.wide, attributes.published.cell_ranges

    def covers(x: int) -> BoolVector:
        return np.asarray(((low <= codes[x]) & (codes[x] <= high)).all(axis=1))

    return distinct(codes)[0], covers
