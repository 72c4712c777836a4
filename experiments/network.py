"""Masked networks on random graphs: losses against k and alpha, time, memory, structure, attacks.

Run as ``python -m experiments.network [nodes of the largest graphs, 100000]`` from the project's folder. Writes
network.md next to this file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.network import GRAPHS, measured, peak

HERE = Path(__file__).parent
SIZES = (2, 5, 10, 20, 50)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
NODES, LINKS = 2_000, 8


def table(columns, rows):
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def figures(result, taken, fewest):
    """The columns that all tables share."""
    own = result.measures
    return [f"{own['ngil']:.4f}", f"{own['nsil']:.5f}", f"{own['avg']:.3f}", f"{fewest:,}", f"{taken:.1f}"]


SHARED = ("NGIL", "NSIL", "AVG", "fewest by degree", "seconds")


def by_k():
    """Losses against k."""
    rows = [
        [kind, k, *figures(*measured(kind, NODES, LINKS, k=k, samples=0, attack=False))]
        for kind in GRAPHS
        for k in SIZES
    ]
    return table(("graph", "k", *SHARED), rows)


def by_alpha():
    """Losses against the weight of attributes."""
    rows = []
    for kind in GRAPHS:
        for alpha in WEIGHTS:
            found = measured(kind, NODES, LINKS, alpha=alpha, samples=0, attack=False)
            rows.append([kind, alpha, 1 - alpha, *figures(*found)])
    return table(("graph", "alpha", "beta", *SHARED), rows)


def in_detail():
    """Structure and attacks."""
    structure, attacks = [], []
    for kind in GRAPHS:
        result, _, _ = measured(kind, NODES, LINKS, samples=3)
        before, after = result.structure["before"], result.structure["after"]
        structure += [
            [kind, name.replace("_", " "), f"{before[name]:.4g}", f"{after[name]:.4g}"] for name in before
        ]
        attacks += [
            [
                kind,
                a.knowledge,
                a.targets,
                a.before_least,
                a.before_unique,
                a.after_least,
                f"{a.after_mean:.0f}",
                a.at_risk,
            ]
            for a in result.attacks
        ]
    head = (
        "graph",
        "known",
        "tried",
        "fewest before",
        "unique before",
        "fewest after",
        "mean after",
        "below k",
    )
    return table(("graph", "figure", "before", "after"), structure), table(head, attacks)


def by_size(largest):
    """Time and memory; the memory is that of all runs so far, so sizes grow."""
    rows = []
    for nodes in sorted({1_000, 10_000, largest}):
        for kind in GRAPHS:
            result, taken, fewest = measured(kind, nodes, 10, samples=0, attack=False)
            own = figures(result, taken, fewest)
            rows.append(
                [
                    kind,
                    f"{nodes:,}",
                    f"{result.network.edges:,}",
                    *own,
                    f"{result.seconds['cluster']:.1f}",
                    peak(),
                ]
            )
            print(rows[-1], flush=True)
    return table(("graph", "nodes", "edges", *SHARED, "of them clustering", "peak MB"), rows)


def main():
    """Write network.md."""
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    measured("Watts-Strogatz", 60, 3)  # compiles
    structure, attacks = in_detail()
    parts = [
        "# Masked networks on random graphs",
        f"Made by `experiments/network.py` on {os.cpu_count()} cores. Nodes have three quasi-identifiers (age, zip, "
        "sex) and a sensitive attribute of five values; every cluster has k nodes and p = 2 values. Unless stated "
        f"otherwise {NODES:,} nodes, k = 10, alpha = beta = 0.5. *Fewest by degree* is the least number of candidates, "
        "over all nodes, for an adversary who knows a person's degree.",
        "## Against k",
        by_k(),
        "## Against alpha and beta",
        by_alpha(),
        "## Structure",
        "Before, and the mean of three graphs drawn from the masked network.",
        structure,
        "## Attacks",
        "Candidates left. After masking, a candidate is any node that the adversary's knowledge does not rule out.",
        attacks,
        "## Size",
        "Without measuring structure and without attacks, but with verification.",
        by_size(largest),
    ]
    (HERE / "network.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
