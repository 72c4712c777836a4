"""Clusters: time and loss on Adult and the census sample, from codes, each next to its target.

Run as ``python -m benchmarks.k_type_clusters [rows of the census sample]``; 0 rows leave it out. ``improved`` instead
of the number shows the improved clusters only, in 10 and in 60 seconds. Adult is taken from the folder SHOAL_DATA.
Times are processor times, the shortest of a few runs. The clock of the improvement runs by them too, at half their
speed: 10 seconds are 20 of the processor, as on two cores that have nothing else to do.
"""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

from benchmarks.data import ADULT_COLUMNS, adult, adult_file, census
from benchmarks.k_type_notions import best
from benchmarks.timing import head, row, seconds
from shoal import io
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.clustering import improvement, local_moves
from shoal.support.run import Run

TIMED = (
    ("lm", 5, "0.6 s"),
    ("lm", 10, "0.8 s"),
    ("entropy", 5, ""),
    ("entropy", 10, "1.5 s"),
)
IMPROVED = (
    (5, 10.0, "LM 0.0485"),
    (10, 10.0, "LM 0.0740"),
    (50, 10.0, "LM 0.147"),
    (5, 60.0, "LM 0.0475"),
    (10, 60.0, ""),
    (50, 60.0, ""),
)
FREE = ((5, "NCP 0.0309"), (10, "NCP 0.0562"))


def measured(label, table, name, k, measure, target, times=3, **options):
    """Print one line: the time, and what is lost by the measure."""
    wanted = Requirements(models=(KAnonymity(k=k),), measure=measure)
    taken, release = best(lambda: METHODS[name](**options).anonymize(table, wanted, Run.start(1)), times)
    value = MEASURES[measure]().value(Evidence.of_release(table, release, k))
    row(f"{label}, {measure}, k = {k}", target, seconds(taken), f"{measure} {value:.4f}")


def improvements(table):
    """Print what the improvement reaches in 10 and 60 seconds of two cores."""
    improvement.time = local_moves.time = SimpleNamespace(perf_counter=lambda: time.process_time() / 2)
    for k, limit, target in IMPROVED:
        measured(
            f"improved for {limit:.0f} s, Adult", table, "agglomerative", k, "lm", target, 1, seconds=limit
        )
    improvement.time = local_moves.time = time


def main():
    """Print a table."""
    only = sys.argv[1:] == ["improved"]
    rows = int(sys.argv[1]) if len(sys.argv) > 1 and not only else 300_000
    table = adult()
    # Kernels are compiled, or loaded, at their first use.
    METHODS["agglomerative"]().anonymize(
        census(300, trees=True), Requirements(models=(KAnonymity(k=5),)), Run.start(1)
    )
    head("Clusters", "target", "processor time", "loss")
    if only:
        improvements(table)
        return
    for measure, k, target in TIMED:
        measured("agglomerative, Adult", table, "agglomerative", k, measure, target, improve=False)
        measured("modified, Adult", table, "agglomerative", k, measure, "", modified=True, improve=False)
        measured("forest, Adult", table, "forest", k, measure, "")
    improvements(table)
    plain = encode(io.read(adult_file()), [ColumnPlan(name, QUASI) for name in ADULT_COLUMNS])
    for k, target in FREE:
        # What an analyst without hierarchies gets: classes that list their values, and ranges of ages.
        measured("value sets, lexicographic, Adult", plain, "lexicographic", k, "gcp", target, show="sets")
        measured("value sets, hilbert, Adult", plain, "hilbert", k, "gcp", target, show="sets")
        measured("value sets, mondrian, Adult", plain, "mondrian", k, "gcp", target, show="sets")
        clusters = {"improve": False, "show": "sets"}
        measured("value sets, agglomerative, Adult", plain, "agglomerative", k, "gcp", target, **clusters)
        measured("ages as ranges, text whole or hidden, Adult", plain, "agglomerative", k, "gcp", "", 1)
    if rows:
        label = f"agglomerative, census {rows:,}"
        measured(label, census(rows, trees=True), "agglomerative", 10, "lm", "20 s", 1, improve=False)


if __name__ == "__main__":
    main()
