"""Masked networks: time and memory on random graphs with attributes.

python -m benchmarks.network [nodes of the largest graph, 100000]
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import polars as pl

from benchmarks.timing import head, seconds
from shoal.network.anonymize_network import anonymize_network
from shoal.network.structure_attacks import degree_candidates


def barabasi_albert(nodes, links, random):
    """Everyone who comes makes friends with about `links` others, of many friends more likely."""
    ends = np.empty(2 * nodes * links, np.int64)
    filled, pairs = 0, []
    chosen = np.arange(links)
    for newcomer in range(links, nodes):
        pairs.append(np.stack([np.full(len(chosen), newcomer), chosen], axis=1))
        ends[filled : filled + len(chosen)] = chosen
        ends[filled + len(chosen) : filled + 2 * len(chosen)] = newcomer
        filled += 2 * len(chosen)
        chosen = np.unique(ends[random.integers(0, filled, links)])
    return np.concatenate(pairs)


def watts_strogatz(nodes, links, random, rewired=0.1):
    """A ring in which everyone knows the nearest 2 x `links`; a tenth of the edges leads elsewhere."""
    here = np.repeat(np.arange(nodes), links)
    there = (here + np.tile(np.arange(1, links + 1), nodes)) % nodes
    moved = random.random(len(here)) < rewired
    there[moved] = random.integers(0, nodes, int(moved.sum()))
    return np.stack([here, there], axis=1)


def stochastic_block(nodes, links, random, size=100, outside=0.2):
    """Circles of about 100; a fifth of the edges leads out of them."""
    here = random.integers(0, nodes, nodes * links)
    there = np.minimum(here // size * size + random.integers(0, size, len(here)), nodes - 1)
    out = random.random(len(here)) < outside
    there[out] = random.integers(0, nodes, int(out.sum()))
    return np.stack([here, there], axis=1)


GRAPHS = {
    "Barabasi-Albert": barabasi_albert,
    "Watts-Strogatz": watts_strogatz,
    "stochastic block": stochastic_block,
}
POLICY = {"quasi": ["age", "zip", "sex"], "sensitive": ["disease"], "identifier": ["id"]}


def tables(kind, nodes, links, seed=1):
    """The node and the edge table of a random graph; neighbours by number live near each other."""
    random = np.random.default_rng(seed)
    pairs = GRAPHS[kind](nodes, links, random)
    people = pl.DataFrame(
        {
            "id": np.arange(nodes),
            "age": np.clip(random.normal(45, 15, nodes).astype(int), 18, 90),
            "zip": 1000 + np.arange(nodes) * 1000 // nodes // 20 * 20 + random.integers(0, 20, nodes),
            "sex": random.choice(["f", "m"], nodes),
            "disease": random.choice(
                ["flu", "asthma", "cold", "ulcer", "none"], nodes, p=[0.2, 0.1, 0.2, 0.1, 0.4]
            ),
        }
    )
    return people, pl.DataFrame({"source": pairs[:, 0], "target": pairs[:, 1]})


def measured(kind, nodes, links, k=10, alpha=0.5, p=2, **options):
    """Mask one graph; return the result, the seconds it took, and the fewest candidates by degree."""
    people, edges = tables(kind, nodes, links)
    start = time.perf_counter()
    result = anonymize_network(people, edges, **POLICY, k=k, p=p, alpha=alpha, seed=1, **options)
    taken = time.perf_counter() - start
    return result, taken, int(degree_candidates(result.network, result.masked).min())


def peak():
    """The most memory that this process has used, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main():
    """Print a table."""
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    measured("Watts-Strogatz", 60, 3)  # compiles
    head("graph", "nodes", "edges", "clustering", "all, with structure and attacks", "peak memory")
    for kind in GRAPHS:
        for nodes, links in ((4_000, 22), (largest, 10)):
            result, taken, _ = measured(kind, nodes, links)
            cells = kind, f"{nodes:,}", f"{result.network.edges:,}", seconds(result.seconds["cluster"])
            print("| " + " | ".join([*cells, seconds(taken), f"{peak():,} MB"]) + " |", flush=True)


if __name__ == "__main__":
    main()
