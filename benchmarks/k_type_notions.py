"""(k,1), (k,k) and global (1,k): time and loss on Adult, and verification on Adult and the census sample.

Run as ``python -m benchmarks.k_type_notions [rows of the census sample]``; 0 rows leave it out.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

from benchmarks.data import adult, census
from benchmarks.timing import head, row, seconds
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import RECEIVED, Traced
from shoal.judging.measures import MEASURES
from shoal.judging.models.k_type import KK, GlobalOneK, KOne
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.release.published import Boxes, Published
from shoal.support.run import Run

GIVES = {"nearest": KOne, "expansion": KOne, "k-k": KK, "global-1-k": GlobalOneK}
CELLS = ("k-k", "global-1-k")
TARGETS = {("expansion", 10): "0.5 s", ("k-k", 10): "1.5 s", ("global-1-k", 10): "3 s"}


def best(work, times):
    """Shortest processor time of several runs, in seconds, and the last result: all of this is one thread."""
    shortest, result = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        result = work()
        shortest = min(shortest, time.process_time() - start)
    return shortest, result


def published(table, release):
    """What an outsider sees, as the maker knows it: with the owner of each row."""
    kept = release.region_of >= 0
    shown = Published(
        table.attributes,
        table.sensitive,
        release.region_of[kept],
        table.secrets.wide[kept],
        Boxes(release.low, release.high),
        int((~kept).sum()),
    )
    return Evidence(shown, table, Traced(np.flatnonzero(kept).astype(np.int32)))


def anonymized(name, table, k, measure="lm", times=3, targets=TARGETS, **options):
    """Print one line; return what is published."""
    wanted = Requirements(models=(GIVES[name](k=k),), measure=measure)
    taken, release = best(lambda: METHODS[name](**options).anonymize(table, wanted, Run.start(1)), times)
    shown = published(table, release)
    losses = ", ".join(f"{loss} {MEASURES[loss]().value(shown):.4f}" for loss in ("lm", "entropy"))
    label = f"{name}{', improved,' if options.get('improve') else ''} by {measure}, k = {k}"
    row(label, targets.get((name, k), ""), seconds(taken), losses)
    return shown


def verified(label, shown, table, k, target, times=5):
    """Print one line for the maker, and one for an adversary who has to find an assignment first."""
    for who, seen in (("maker", shown), ("outsider", replace(shown, origin=RECEIVED))):
        taken, verdict = best(lambda seen=seen: GlobalOneK(k=k).verify(replace(seen)), times)
        row(
            f"{label}, {who}",
            target if who == "maker" else "",
            seconds(taken),
            f"fewest matches {verdict.reached}",
        )


def main():
    """Print a table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    table = adult()
    head("Adult, 9 columns", "target", "best processor time", "result")
    for measure in ("lm", "entropy"):
        for k in (5, 10):
            for name in GIVES:
                plain = {"improve": False} if name in CELLS else {}
                anonymized(name, table, k, measure, *((3, TARGETS) if measure == "lm" else (1, {})), **plain)
            for name in CELLS:
                anonymized(name, table, k, measure, 1, {}, improve=True)
    for name in CELLS:
        shown = anonymized(name, table, 10, times=1, improve=False)
        verified(f"global (1,10) of {name}, Adult", shown, table, 10, "50 ms")
    if rows:
        table = census(rows, trees=True)
        for name in CELLS:
            shown = anonymized(name, table, 10, times=1, targets={}, improve=False)
            verified(f"global (1,10) of {name}, census {rows:,}", shown, table, 10, "3 s", times=2)


if __name__ == "__main__":
    main()
