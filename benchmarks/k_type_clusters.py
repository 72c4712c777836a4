"""Speed of clusterings, from codes, one thread, warm: the least of a few runs.

    python -m benchmarks.k_type_clusters [--improve]

Adult is taken from the folder SHOAL_DATA and left out where it is absent; census is generated.
"""

from __future__ import annotations

import argparse
import os
import time
from importlib.resources import files
from pathlib import Path

import polars as pl

from shoal.encode import encode
from shoal.methods import METHODS
from shoal.models.k_anonymity import KAnonymity
from shoal.plan import ColumnPlan
from shoal.policy import Policy
from shoal.requirements import Requirements
from shoal.run import Run
from shoal.samples import sample

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))


def adult():
    folder = DATA / "adult"
    data = pl.read_csv(folder / "adult.csv", separator=";")
    return encode(data, [ColumnPlan(c, "quasi", folder / f"adult_hierarchy_{c}.csv") for c in data.columns])


def census(rows):
    policy = Policy.read(str(files("shoal.samples") / "data" / "census.toml"))
    data = sample("census", rows)
    return encode(data, policy.plans(data.columns))


def measured(title, table, name, k, measure, runs=3, **options):
    requirements = Requirements(models=(KAnonymity(k=k),), measure=measure)
    method, seconds, release = METHODS[name](**options), [], None
    for _ in range(runs):
        start = time.perf_counter()
        release = method.anonymize(table, requirements, Run.start(1))
        seconds.append(time.perf_counter() - start)
    facts = {key: value for key, value in release.facts.items() if key.startswith("loss")}
    print(f"{title:<12} {name:<14} {measure:<8} k={k:<3} {min(seconds):8.3f} s  {facts}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--improve", action="store_true", help="also time the improvement, once")
    improve = arguments.parse_args().improve
    if DATA.is_dir():
        table = adult()
        for measure, k in (("lm", 5), ("lm", 10), ("entropy", 5), ("entropy", 10)):
            for distance in ("nergiz-clifton", "logarithm"):
                measured("adult", table, "agglomerative", k, measure, distance=distance, improve=False)
            measured("adult", table, "forest", k, measure)
        if improve:
            for k in (5, 10, 50):
                measured("adult", table, "agglomerative", k, "lm", runs=1)
    measured("census 300K", census(300_000), "agglomerative", 10, "lm", runs=1, improve=False)


if __name__ == "__main__":
    main()
