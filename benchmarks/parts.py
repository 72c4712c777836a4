"""Large tables in parts: what division costs in loss, and how long methods take that grow faster than the table.

``python -m benchmarks.parts loss 300000`` compares parts with the whole table; ``python -m benchmarks.parts time
10000000 agglomerative`` lets methods divide it as they do by default. Processor seconds count all processes.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from benchmarks.data import census
from benchmarks.timing import head
from shoal.judging.models import MODELS
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.loss_tables import losses_of
from shoal.methods.parts import release_in_parts
from shoal.support.run import Division, Run

K = 5
WORK = {
    "agglomerative": ("agglomerative", {"improve": False}, KAnonymity(k=K)),
    "improved": ("agglomerative", {}, KAnonymity(k=K)),
    "forest": ("forest", {}, KAnonymity(k=K)),
    "k-k": ("k-k", {}, MODELS["k-k"](k=K)),
    "global-1-k": ("global-1-k", {}, MODELS["global-1-k"](k=K)),
    "p-k": ("p-k", {}, KAnonymity(k=K)),
}
SIZES = {"improved": (5_000, 10_000), "p-k": (5_000, 20_000)}
"""Sizes of parts to compare where the default ones are not of interest."""


def loss(table, release):
    """LM of a release."""
    from shoal.kernels.losses import box_losses

    sizes = np.bincount(release.region_of[release.region_of >= 0], minlength=len(release.low))
    box = np.stack([release.low, release.high], axis=2).reshape(len(release.low), -1).astype(np.int64)
    return float(box_losses(box, losses_of(table, "lm")) @ sizes) / table.rows


def spent():
    """Processor seconds of this process and of those that it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(own.ru_utime + own.ru_stime for own in used)


def line(name, table, rows):
    """Print one line of the table."""
    method, options, model = WORK[name]
    wanted = Requirements(models=(model,))
    before, start = spent(), time.perf_counter()
    made = release_in_parts(
        METHODS[method](**options), table, wanted, Run.start(1, division=Division(part_rows=rows))
    )
    wall, cpu = time.perf_counter() - start, spent() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    cells = (
        name,
        f"{table.rows:,}",
        f"{made.facts.get('parts', 1):,}",
        f"{made.facts.get('largest_part', table.rows):,}",
        f"{wall:.1f}",
        f"{cpu:.1f}",
        f"{loss(table, made):.4%}",
        f"{peak:.2f}",
    )
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    """Print a table."""
    what, rows, *names = sys.argv[1:] or ["loss", "100000"]
    table = census(int(rows), trees=True)
    head("method", "rows", "parts", "largest", "wall s", "processor s", "LM", "GB in this process")
    for name in names or WORK:
        sizes = SIZES.get(name, (20_000, 50_000)) if what == "loss" else (None,)
        for size in (0, *reversed(sizes)) if what == "loss" else sizes:
            line(name, table, size)


if __name__ == "__main__":
    main()
