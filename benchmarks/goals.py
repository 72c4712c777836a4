"""The table of goals for one machine with two processors and 24 GB: each line next to its goal.

Run as ``python -m benchmarks.scale --table``; `lines` yields work, goal and what was measured.
"""

from __future__ import annotations

import time

from benchmarks.data import adult, census
from benchmarks.timing import best, seconds
from shoal.judging.models import MODELS
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.support.run import Run

MILLION = 1_000_000


def large(folder, most, run):
    """Whole processes from file to file. `run` measures one engine: wall and processor seconds, peak, and what polars
    needs to read and write the same table."""
    ten, hundred = 10 * MILLION, 100 * MILLION
    wall, work, peak, plain, plain_work = run(folder, "mondrian", ten, 3)
    found = (
        f"{wall / plain:.1f} x ({seconds(wall)}; {work / plain_work:.1f} x the processor time), {peak:.2f} GB"
    )
    yield "census 10M, mondrian, whole process", "2.5 x polars, 1.2 GB", found
    wall, work, peak, *_ = run(folder, "audit", ten, 2)
    yield "audit of 10M rows", "5 s", _figures(wall, work, peak)
    wall, work, peak, *_ = run(folder, "agglomerative", ten, 1)
    yield "agglomerative, not improved, census 10M", "5 min", _figures(wall, work, peak)
    if most < hundred:
        return
    goals = {
        "mondrian": ("census 100M, mondrian", "4 min, 8 GB"),
        "audit": ("audit of 100M rows", "2 min"),
        "full-domain": ("full-domain, census 100M, 5 %", "2 min"),
    }
    for engine, (work_done, goal) in goals.items():
        wall, work, peak, *_ = run(folder, engine, hundred, 1)
        yield work_done, goal, _figures(wall, work, peak)


def small():
    """Methods alone, from codes, warm: best of several runs."""
    table = adult()
    for share, goal in ((0.0, "10 ms"), (0.05, "30 ms"), (1.0, "40 ms")):
        yield f"Adult, full-domain, k = 5, {share:.0%}", goal, _method(FullDomain(), table, _wanted(share), 7)
    for name in ("dm", "avg"):
        wanted = _wanted(0.05, measure=name)
        yield f"Adult, full-domain, k = 5, 5 %, by {name}", "0.3 s", _method(FullDomain(), table, wanted, 3)
    secret = adult(sensitive=("occupation",))
    plain = _timed(FullDomain(), secret, _wanted(1.0), 7)
    for name in ("t-equal", "t-hierarchical"):
        model = MODELS[name](t=0.2, column=0, column_name="occupation")
        found = _timed(FullDomain(), secret, _wanted(1.0, model), 3)
        words = f"{found[0] / plain[0]:.0f} x ({seconds(found[0])}; plain k {seconds(plain[0])})"
        yield f"Adult, 8 columns, full-domain, 100 %, 0.2-closeness ({name})", "10 x plain k", words
    yield "Adult, mondrian, k = 5", "5 ms", _method(Mondrian(), table, _wanted(), 15)
    yield "census 1M x 8, mondrian, k = 5", "0.12 s", _method(Mondrian(), census(MILLION), _wanted(), 7)


def _wanted(suppression=0.0, *models, measure="lm"):
    return Requirements(models=(KAnonymity(k=5), *models), suppression=suppression, measure=measure)


def _timed(method, table, wanted, times):
    """Shortest wall and processor time."""
    method.anonymize(table, wanted, Run.start(1))
    shortest = float("inf")

    def once():
        nonlocal shortest
        start = time.process_time()
        method.anonymize(table, wanted, Run.start(1))
        shortest = min(shortest, time.process_time() - start)

    return best(once, times)[0], shortest


def _method(method, table, wanted, times):
    wall, work = _timed(method, table, wanted, times)
    return f"{seconds(wall)} ({seconds(work)} of the processor)"


def _figures(wall, work, peak):
    return f"{seconds(wall)} ({seconds(work)} of the processors), {peak:.2f} GB"
