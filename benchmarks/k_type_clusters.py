"""Clusters: time and loss on Adult and the census sample, from codes, each next to its target.

Run as ``python -m benchmarks.k_type_clusters [rows of the census sample]``; 0 rows leave it out. Adult is taken from
the folder SHOAL_DATA. Times are processor times of one thread, the shortest of a few runs.
"""

from __future__ import annotations

import sys

from benchmarks.data import ADULT_COLUMNS, adult, adult_file, census
from benchmarks.k_type_notions import best
from benchmarks.timing import head, row, seconds
from shoal import frames
from shoal.linking.evidence import Evidence
from shoal.measures import MEASURES
from shoal.methods import METHODS
from shoal.models.k_anonymity import KAnonymity
from shoal.models.requirements import Requirements
from shoal.run import Run
from shoal.table.encode import encode
from shoal.table.plan import ColumnPlan

TIMED = (
    ("lm", 5, "0.6 s"),
    ("lm", 10, "0.8 s"),
    ("entropy", 5, ""),
    ("entropy", 10, "1.5 s"),
)
IMPROVED = ((5, "LM 0.050"), (10, "LM 0.080"), (50, "LM 0.150"))
FREE = ((5, "NCP 0.0309"), (10, "NCP 0.0562"))


def measured(label, table, name, k, measure, target, times=3, **options):
    """Print one line: the time, and what is lost by the measure."""
    wanted = Requirements(models=(KAnonymity(k=k),), measure=measure)
    taken, release = best(lambda: METHODS[name](**options).anonymize(table, wanted, Run.start(1)), times)
    value = MEASURES[measure]().value(Evidence.of_release(table, release, k))
    row(f"{label}, {measure}, k = {k}", target, seconds(taken), f"{measure} {value:.4f}")


def main():
    """Print a table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    table = adult()
    # Kernels are compiled, or loaded, at their first use.
    METHODS["agglomerative"]().anonymize(
        census(300, trees=True), Requirements(models=(KAnonymity(k=5),)), Run.start(1)
    )
    head("Clusters", "target", "processor time", "loss")
    for measure, k, target in TIMED:
        measured("agglomerative, Adult", table, "agglomerative", k, measure, target, improve=False)
        measured("modified, Adult", table, "agglomerative", k, measure, "", modified=True, improve=False)
        measured("forest, Adult", table, "forest", k, measure, "")
    for k, target in IMPROVED:
        measured("improved, Adult", table, "agglomerative", k, "lm", target, 1)
    plain = encode(frames.read(adult_file()), [ColumnPlan(name, "quasi") for name in ADULT_COLUMNS])
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
