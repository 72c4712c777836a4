"""Full-domain generalization beyond the exact limit: what is found, what is proven, and how long it takes.

Run as ``python -m benchmarks.wide [rows] [seconds]``. Adult is searched in the same way, where the optimum is known.
"""

from __future__ import annotations

import sys
import time

from benchmarks.data import adult, wide
from shoal.judging.models import MODELS
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.methods.full_domain.mapping_lattice import mappings_of
from shoal.methods.full_domain.wide import WideSearch
from shoal.support.run import Run


def measure(label, table, suppression, seconds):
    wanted = Requirements(models=(MODELS["k-anonymity"](k=5),), suppression=suppression)
    start = time.perf_counter()
    facts = WideSearch(table, wanted, mappings_of(table), seconds, Run.start(1)).best().facts
    passed = time.perf_counter() - start
    proven = "the optimum" if facts["exact"] else f"at least {facts['bound']:.4f}"
    print(
        f"{label}, k = 5, suppression {suppression:.0%}: lm {facts['loss']:.4f}, proven {proven}, {passed:.1f} s, "
        f"{facts['checked']:,} of {facts['mappings']:,} mappings checked",
        flush=True,
    )
    return facts


def main(rows, seconds):
    table = adult()
    FullDomain().anonymize(table, Requirements(models=(MODELS["k-anonymity"](k=50),)), Run.start(1))
    for suppression in (0.0, 0.05, 1.0):
        found = measure("Adult, 9 columns", table, suppression, seconds)
        wanted = Requirements(models=(MODELS["k-anonymity"](k=5),), suppression=suppression)
        exact = FullDomain().anonymize(table, wanted, Run.start(1)).facts["loss"]
        print(f"  the exact search: lm {exact:.4f}, difference {found['loss'] - exact:.1e}")
    table = wide(rows)
    for suppression in (0.0, 0.01, 0.05):
        measure(f"census, 24 columns, {rows:,} rows", table, suppression, seconds)


if __name__ == "__main__":
    main(*(int(word) for word in (*sys.argv[1:], "30000", "60")[:2]))
