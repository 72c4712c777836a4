"""How long the full-domain search takes, warm and from codes: Adult with its hierarchies, and a census sample.

Run as ``python -m benchmarks.full_domain [rows of the census sample]``; 0 rows leave it out.
"""

from __future__ import annotations

import sys
import time

import polars as pl

from benchmarks.data import adult, census
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models import MODELS
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.methods.full_domain.incognito import Incognito
from shoal.support.run import Run


def measure(label, table, requirements, method=FullDomain, times=7):
    best = cpu = float("inf")
    for _ in range(times):
        start, start_cpu = time.perf_counter(), time.process_time()
        release = method().anonymize(table, requirements, Run.start(1))
        best = min(best, time.perf_counter() - start)
        cpu = min(cpu, time.process_time() - start_cpu)
    lm = MEASURE.value(Evidence(_published(table, release), table, k=requirements.k))
    print(
        f"{label:<44} {best * 1e3:>8.1f} ms (cpu {cpu * 1e3:>7.1f})  {release.facts['checked']:>5,} of "
        f"{release.facts['mappings']:,} checked  levels {list(release.levels)}  lm {lm:.6f}  "
        f"suppressed {int((release.region_of < 0).sum()):,}",
        flush=True,
    )


def _published(table, release):
    from shoal.release.published import Boxes, Published

    kept = release.region_of >= 0
    return Published(
        table.attributes,
        table.sensitive,
        release.region_of[kept],
        table.secrets.wide[kept],
        Boxes(release.low, release.high),
        suppressed=int((~kept).sum()),
    )


def plain(k, suppression=0.0, measure="lm", *more):
    return Requirements(models=(MODELS["k-anonymity"](k=k), *more), suppression=suppression, measure=measure)


def main(rows):
    table = adult()
    measure("warm-up", table, plain(5, 0.05), times=1)
    for suppression in (0.0, 0.05, 1.0):
        for k in (2, 5, 10, 50, 100):
            measure(f"Adult, k = {k}, suppression {suppression:.0%}", table, plain(k, suppression))
    for name in ("gcp", "entropy", "precision", "ag", "il", "dm", "avg"):
        measure(f"Adult, k = 5, suppression 5%, {name}", table, plain(5, 0.05, name), times=2)
    measure("Adult, k = 5, incognito", table, plain(5), method=Incognito)
    measure("Adult, k = 5, suppression 5%, incognito", table, plain(5, 0.05), method=Incognito, times=2)
    table = adult(sensitive=("occupation",))
    own = {"column": 0, "column_name": "occupation"}
    models = {
        "k alone": (),
        "distinct 3-diversity": (MODELS["distinct-l"](l=3, **own),),
        "entropy 3-diversity": (MODELS["entropy-l"](l=3, **own),),
        "recursive (3,3)-diversity": (MODELS["recursive-cl"](c=3, l=3, **own),),
        "0.2-closeness, equal": (MODELS["t-equal"](t=0.2, **own),),
        "0.2-closeness, ordered": (MODELS["t-ordered"](t=0.2, **own),),
        "0.2-closeness, hierarchical": (MODELS["t-hierarchical"](t=0.2, **own),),
    }
    for suppression in (0.0, 0.05, 1.0):
        for name, more in models.items():
            requirements = plain(5, suppression, "lm", *more)
            measure(f"8 columns, k = 5, {suppression:.0%}, {name}", table, requirements, times=3)
    if rows:
        table = census(rows, trees=True)
        distinct = pl.DataFrame(table.quasi.wide).unique().height
        for suppression in (0.0, 0.05):
            label = f"census {rows:,} ({distinct:,} distinct), k = 5, {suppression:.0%}"
            measure(label, table, plain(5, suppression), times=2)


if __name__ == "__main__":
    MEASURE = __import__("shoal.judging.measures", fromlist=["MEASURES"]).MEASURES["lm"]()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
