"""The structure of a graph: degrees, clustering, components, centralities; and how far two graphs differ in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.network.graph import Network
from shoal.support.arrays import FloatVector
from shoal.support.brief import Brief

PIVOTS = 64
"""In larger graphs, shortest paths start from this many nodes; paths from all nodes would be too expensive."""


@dataclass(frozen=True, eq=False, repr=False)
class Structure(Brief):
    """Figures of a graph, and the distributions behind them."""

    figures: dict[str, float]
    spread: dict[str, FloatVector]
    """One value per node, by name."""


def structure_of(network: Network, random: np.random.Generator) -> Structure:
    """Measure a graph. O(sum of squared degrees + pivots x (nodes + edges))."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    from shoal.kernels.graph_structure import common_neighbours, pivot_centrality

    n, degree = network.nodes, network.degree.astype(np.float64)
    links = csr_matrix((np.ones(len(network.neighbours)), network.neighbours, network.start), shape=(n, n))
    parts, part_of = connected_components(links, directed=False)
    common = common_neighbours(network.start, network.neighbours)
    triangles = np.diff(np.concatenate(([0], np.cumsum(common)))[network.start]) / 2
    pairs = degree * (degree - 1) / 2
    local = np.where(pairs > 0, triangles / np.maximum(pairs, 1), 0.0)
    few = n <= 4 * PIVOTS
    pivots = np.arange(n, dtype=np.int32) if few else random.choice(n, PIVOTS, replace=False).astype(np.int32)
    between, far, reached = pivot_centrality(network.start, network.neighbours, pivots)
    # A pivot reaches itself over distance 0, which does not count.
    others = reached - np.isin(np.arange(n), pivots)
    ways = max((n - 1) * (n - 2), 1) * len(pivots) / max(n, 1)
    closeness = np.where(far > 0, others * (others / max(len(pivots), 1)) / np.maximum(far, 1), 0.0)
    spread = {
        "degree": degree,
        "clustering": local,
        "betweenness": between / ways,
        "closeness": closeness,
        "pagerank": _pagerank(links, degree) * n,
    }
    sizes = np.bincount(part_of, minlength=1)
    reach = int(others.sum())
    figures = {
        "edges": float(network.edges),
        "mean_degree": float(degree.mean()) if n else 0.0,
        "highest_degree": float(degree.max(initial=0)),
        "isolated": float((degree == 0).sum()),
        "components": float(parts),
        "largest_component": float(sizes.max(initial=0) / max(n, 1)),
        "clustering": float(local.mean()) if n else 0.0,
        "transitivity": float(triangles.sum() / pairs.sum()) if pairs.sum() else 0.0,
        "mean_distance": float(far.sum() / reach) if reach else 0.0,
        "highest_betweenness": float(spread["betweenness"].max(initial=0)),
    }
    return Structure(figures, spread)


def _pagerank(links: object, degree: FloatVector, rounds: int = 50) -> FloatVector:
    """Return the probability of each node in a random walk that restarts anywhere with probability 15 %; sums to 1."""
    n = len(degree)
    rank = np.full(n, 1.0 / max(n, 1))
    for _ in range(rounds):
        passed = links @ np.where(degree > 0, rank / np.maximum(degree, 1), 0.0)
        lost = 1.0 - float(passed.sum())
        new = 0.85 * (passed + lost / n) + 0.15 / n
        if np.abs(new - rank).sum() < 1e-10:
            return np.asarray(new)
        rank = new
    return rank


def differences(before: Structure, after: Structure) -> dict[str, float]:
    """Return per distribution the largest difference between the shares of nodes up to any value (0..1)."""
    found = {}
    for name, old in before.spread.items():
        one, other = np.sort(np.round(old, 12)), np.sort(np.round(after.spread[name], 12))
        values = np.concatenate([one, other])
        shares = [np.searchsorted(own, values, side="right") / max(len(own), 1) for own in (one, other)]
        found[name] = float(np.abs(shares[0] - shares[1]).max(initial=0.0))
    return found
