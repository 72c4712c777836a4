"""What it costs to verify what was written: whole processes of this checkout and of another one, in turn.

Run as ``python -m benchmarks.verified_bytes --before PATH``; PATH is a checkout to compare with.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import ADULT_COLUMNS, CENSUS_COLUMNS, adult_file
from benchmarks.timing import head, row, seconds

HERE = Path(__file__).parents[1]


def process(checkout, words):
    """Wall time, processor time and peak memory of a whole process, those that it starts included."""
    start = time.perf_counter()
    running = subprocess.Popen(
        [sys.executable, "-m", "shoal", *map(str, words)],
        cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, used = os.wait4(running.pid, 0)
    if status:
        sys.exit(f"{checkout}: failed")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024**2


def table(work, words, checkouts, times):
    """Let the checkouts run in turn, and print the best of each."""
    for checkout in checkouts.values():
        process(checkout, words)  # compiles kernels, and fills the cache of the disk
    found = {name: [] for name in checkouts}
    for _ in range(times):
        for name, checkout in checkouts.items():
            found[name].append(process(checkout, words))
    best = {name: tuple(map(min, zip(*runs, strict=True))) for name, runs in found.items()}
    first = next(iter(best.values()))
    for name, (wall, work_done, peak) in best.items():
        change = f"{wall / first[0] - 1:+.0%} wall, {work_done / first[1] - 1:+.0%} processor"
        row(f"{work}, {name}", seconds(wall), seconds(work_done), f"{peak:.2f} GB; {change}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--before", type=Path, help="another checkout")
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--times", type=int, default=3)
    given = options.parse_args()
    checkouts = ({"before": given.before.resolve()} if given.before else {}) | {"now": HERE}
    head("work", "seconds", "processor", "peak memory")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source = folder / "census.parquet"
        # In a process of its own: the peak memory of a process is at least that of the one that started it.
        process(HERE, ["sample", "census", "--rows", given.rows, "-o", source])
        roles = ["--quasi", ",".join(CENSUS_COLUMNS), "--sensitive", "salary", "--k", "5", "--force"]
        words = ["anonymize", source, "-o", folder / "out.parquet", *roles]
        table(f"mondrian, census {given.rows:,} x 8, Parquet", words, checkouts, given.times)
        policy = "".join(
            f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{adult_file(name).resolve()}"\n'
            for name in ADULT_COLUMNS
        )
        (folder / "adult.toml").write_text(policy + '[privacy]\nk = 5\n[method]\nname = "mondrian"\n')
        words = [
            "anonymize",
            adult_file().resolve(),
            "-p",
            folder / "adult.toml",
            "-o",
            folder / "out.csv",
            "--force",
        ]
        table("mondrian, Adult, CSV", words, checkouts, given.times * 3)


if __name__ == "__main__":
    main()
