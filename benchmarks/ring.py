"""Speed of rings, their random assignment, and their partitions: ``python -m benchmarks.ring [--large]``."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.data import CENSUS_COLUMNS, census
from benchmarks.timing import best, head, row, seconds
from shoal.apps.samples import sample
from shoal.judging.models import MODELS
from shoal.judging.models.requirements import Requirements
from shoal.kernels.assignment import draw_assignments
from shoal.methods.cells.ring import Ring, stream
from shoal.methods.partitioning.ordered import Hilbert, Lexicographic
from shoal.support.run import Run

KS = (10, 20, 50, 100, 200, 500, 1000)


def asked(method, k):
    name = "probabilistic-k" if method.name == "ring" else "k-anonymity"
    return Requirements(models=(MODELS[name](k=k),))


def assignments():
    random = np.random.default_rng(1)
    for k, target in ((10, "0.1 s"), (100, "1 s")):
        sizes = random.integers(max(k, 10), 201, 100_000 // 100)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        starts = starts[: np.searchsorted(starts, 100_000) + 1].astype(np.int64)
        owner, degrees = np.empty(starts[-1], np.int32), np.full(len(starts) - 1, k)
        block = stream(Run.start(1))
        taken, _ = best(lambda: draw_assignments(starts, degrees, degrees, block, owner))  # noqa: B023
        rows = f"{starts[-1]:,} rows in rings of {np.diff(starts).min()} to {np.diff(starts).max()}"
        row(f"random assignment, k = {k}", target, seconds(taken), rows)


def curve(rows=100_000):
    """One ring of all rows, where k alone decides: the time per pair of a person and a cell should stay the same."""
    starts, owner, block = np.array([0, rows], np.int64), np.empty(rows, np.int32), stream(Run.start(1))
    for k in KS:
        degrees = np.array([k])
        taken, _ = best(lambda: draw_assignments(starts, degrees, degrees, block, owner), 2)  # noqa: B023
        note = f"{taken / rows / k * 1e9:.0f} ns per pair"
        row(f"random assignment, one ring of {rows:,}, k = {k:,}", "linear in k", seconds(taken), note)


def search(method, rows, k, target, times=3, columns=3):
    table = census(rows, columns)
    work = lambda: method.anonymize(table, asked(method, k), Run.start(1))  # noqa: E731
    work()
    taken, release = best(work, times)
    facts = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in release.facts.items() if value)
    row(f"{method.name}, n = {rows:,}, d = {columns}, k = {k:,}", target, seconds(taken), facts)


POLICY = """
[data]
other_columns = "drop"
[privacy]
k = 10
notion = "probabilistic-k"
[method]
name = "ring"
[columns]
"""


def whole_process(rows=10_000_000, columns=5):
    """Parquet to Parquet, compilation included where the kernels are not cached yet."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sample("census", rows).write_parquet(place / "in.parquet")
        lines = [f'{name} = "quasi"' for name in CENSUS_COLUMNS[:columns]]
        (place / "policy.toml").write_text(POLICY + "\n".join(lines))
        start = time.perf_counter()
        command = ["anonymize", "in.parquet", "-p", "policy.toml", "-o", "out.parquet", "--json"]
        subprocess.run([sys.executable, "-m", "shoal", *command], cwd=place, check=True, capture_output=True)
        taken = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    row(
        f"ring, {rows:,} rows, d = {columns}, k = 10, Parquet to Parquet",
        "30 s",
        seconds(taken),
        f"{memory:.1f} GiB",
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true", help="also 10 million rows from file to file")
    large = parser.parse_args().large
    head("work", "target", "measured", "note")
    assignments()
    search(Ring(), 500_000, 10, "1.5 s")
    search(Hilbert(), 500_000, 10, "2 s")
    search(Lexicographic(), 500_000, 10, "-")
    for k in KS:
        search(Ring(), 100_000, k, "1.5 s" if k == 100 else "-")
    curve()
    if large:
        whole_process()


if __name__ == "__main__":
    main()
