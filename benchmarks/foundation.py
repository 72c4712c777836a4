"""The foundation's speed table: searches from codes, whole processes from file to file, and other tools.

Run as ``python -m benchmarks.foundation``; ``--large`` adds the tables of 10 million rows.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from benchmarks import peers
from benchmarks.data import ADULT_COLUMNS, CENSUS_COLUMNS, adult, adult_file, census
from benchmarks.timing import best, head, row, seconds
from shoal import io
from shoal.apps.samples import sample
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI
from shoal.judging.models import MODELS
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.support.run import Run

OWN = {"column": 0, "column_name": "occupation"}
EXTRA = {
    "distinct 3-diversity": MODELS["distinct-l"](l=3, **OWN),
    "entropy 3-diversity": MODELS["entropy-l"](l=3, **OWN),
    "recursive (3,3)-diversity": MODELS["recursive-cl"](c=3.0, l=3, **OWN),
    "0.2-closeness, equal": MODELS["t-equal"](t=0.2, **OWN),
    "0.2-closeness, ordered": MODELS["t-ordered"](t=0.2, **OWN),
}


def asked(k, suppression=0.0, *more):
    return Requirements(models=(MODELS["k-anonymity"](k=k), *more), suppression=suppression)


def search(method, table, requirements, times=5):
    return best(lambda: method.anonymize(table, requirements, Run.start(1)), times)


def full_domain(table):
    search(FullDomain(), table, asked(5, 0.05), times=1)
    for share, target in ((0.0, "15 ms"), (0.05, "60 ms"), (1.0, "0.5 s")):
        taken, release = search(FullDomain(), table, asked(5, share))
        note = f"{release.facts['checked']:,} of {release.facts['mappings']:,} mappings checked"
        row(f"full-domain, Adult, k = 5, suppression {share:.0%}", target, seconds(taken), note)


def models(method, name, limit):
    table = adult(sensitive=("occupation",))
    for share in (0.0, 0.05) if name == "full-domain" else (0.0,):
        plain, _ = search(method, table, asked(5, share))
        for label, model in EXTRA.items():
            search(method, table, asked(5, share, model), times=1)
            taken, _ = search(method, table, asked(5, share, model), times=3)
            work = f"{name}, Adult, 8 columns, k = 5, suppression {share:.0%}, {label}"
            row(work, f"{limit}x plain k", seconds(taken), f"{taken / plain:.1f}x of {seconds(plain)}")


def mondrian(table):
    search(Mondrian(), table, asked(5), times=1)
    taken, _ = search(Mondrian(), table, asked(5), times=15)
    row("mondrian, Adult, k = 5", "6 ms", seconds(taken))
    million = census(1_000_000)
    search(Mondrian(), million, asked(5), times=1)
    taken, _ = search(Mondrian(), million, asked(5))
    row("mondrian, census 1M x 8, k = 5", "0.25 s", seconds(taken))
    distinct = sample("census", 1_000_000).select(CENSUS_COLUMNS).n_unique()
    taken, release = search(FullDomain(), census(1_000_000, trees=True), asked(5, 0.05), times=2)
    note = f"{release.facts['checked']:,} of {release.facts['mappings']:,} mappings checked"
    row(f"full-domain, census 1M, {distinct:,} distinct, k = 5, 5 %", "1.5 s", seconds(taken), note)


def encoding(rows):
    data = sample("census", rows).select(pl.col(CENSUS_COLUMNS).cast(pl.String))
    plans = [ColumnPlan(name, QUASI) for name in CENSUS_COLUMNS]
    cast, _ = best(lambda: [column.cast(pl.Categorical) for column in data], 3)
    taken, _ = best(lambda: encode(data, plans), 3)
    row(
        f"encode {rows:,} x 8 strings", "2x a cast", seconds(taken), f"{taken / cast:.2f}x of {seconds(cast)}"
    )


def process(words, environment=None):
    """Wall time and peak memory of a whole process."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *map(str, words)], capture_output=True, text=True, env=environment
    )
    taken = time.perf_counter() - start
    if done.returncode:
        sys.exit(done.stderr)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    return taken, peak


def processes(folder, large):
    import os

    policy = "".join(
        f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{adult_file(name).resolve()}"\n'
        for name in ADULT_COLUMNS
    )
    (folder / "adult.toml").write_text(policy + '[privacy]\nk = 5\n[method]\nname = "mondrian"\n')
    words = ["anonymize", adult_file(), "-p", folder / "adult.toml", "-o", folder / "out.csv", "--force"]
    empty = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    taken, _ = process(words, empty)
    row("`shoal anonymize` Adult, CSV to CSV, very first run", "12 s", seconds(taken))
    taken = min(process(words, empty)[0] for _ in range(3))
    row("the same, second run", "1.5 s", seconds(taken))
    taken = min(process(["--help"])[0] for _ in range(5))
    row("`shoal --help`", "0.3 s", seconds(taken))
    if large:
        source, target = folder / "census.parquet", folder / "out.parquet"
        data = sample("census", 10_000_000)
        io.write(data, source)
        plain, _ = best(lambda: pl.read_parquet(source).write_parquet(target), 1)
        del data
        roles = ["--quasi", ",".join(CENSUS_COLUMNS), "--sensitive", "salary", "--k", "5", "--force"]
        taken, peak = process(["anonymize", source, "-o", target, *roles])
        note = f"{peak:.2f} GB; polars alone reads and writes the file in {seconds(plain)}"
        row("mondrian, census 10M x 8, Parquet to Parquet, whole process", "10 s, 4 GB", seconds(taken), note)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--large", action="store_true", help="also the tables of 10 million rows")
    large = options.parse_args().large
    head("work", "target", "measured", "")
    table = adult()
    full_domain(table)
    mondrian(table)
    models(FullDomain(), "full-domain", 5)
    models(Mondrian(), "mondrian", 10)
    encoding(10_000_000 if large else 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        processes(Path(folder), large)
    peers.table()


if __name__ == "__main__":
    main()
