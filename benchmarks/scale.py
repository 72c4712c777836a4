"""How time and memory grow with the table: whole processes from file to file, next to polars reading and writing it.

Run as ``python -m benchmarks.scale``. ``--rows 1e5 1e6 1e7`` chooses the sizes, ``--engine`` the engines, ``--folder``
where the tables are kept for the next time; ``--plot FILE.svg`` draws the curves. Each engine runs in processes of its
own, in turn with polars, so that both see the machine in the same state. A further engine is one line of `ENGINES`.

``--table`` prints what is measured next to its goal, large tables and small ones (Adult, from the folder SHOAL_DATA).
It takes about ten minutes on two quiet processors, and 10 GB of memory. ``--most 1e7`` leaves out 100,000,000 rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import CENSUS_COLUMNS
from benchmarks.timing import head, seconds

SHOAL = [sys.executable, "-m", "shoal"]
ROLES = ["--quasi", ",".join(CENSUS_COLUMNS), "--sensitive", "salary", "--k", "5"]
PLAIN = "import sys, polars; polars.read_parquet(sys.argv[1]).write_parquet(sys.argv[2])"
STREAMED = "import sys, polars; polars.scan_parquet(sys.argv[1]).sink_parquet(sys.argv[2])"
"""For tables that polars would not hold decoded in the memory of a small machine."""
MOST_DECODED = 20_000_000
TOGETHER = """
import sys, polars as pl
pl.concat([pl.scan_parquet(part) for part in sys.argv[2:]]).sink_parquet(sys.argv[1])
"""
AS_INSTALLED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Installed packages have bytecode. Where Python writes none, every process would compile Shoal's own modules."""
AT_ONCE = 10_000_000
"""Rows of the sample that are drawn at a time."""


def mondrian(source, release):
    """The default method, with free ranges."""
    return [*SHOAL, "anonymize", source, "-o", release, *ROLES, "--force", "--json"]


def full_domain(source, release):
    """With the hierarchies that ship with the sample, and 5 % of the rows suppressed."""
    policy = [
        "-p",
        source.with_name("census.toml"),
        "--method",
        "full-domain",
        "--set",
        "utility.suppression=0.05",
    ]
    return [*SHOAL, "anonymize", source, "-o", release, *policy, "--force", "--json"]


def audited(source, release):
    """Judge the release that mondrian has left, next to its original."""
    return [*SHOAL, "audit", release, "--original", source, *ROLES, "--json"]


def agglomerative(source, release):
    """In parts, without the improvement at the end."""
    return [*mondrian(source, release), "--method", "agglomerative", "--set", "method.improve=false"]


ENGINES = {
    "mondrian": mondrian,
    "audit": audited,
    "full-domain": full_domain,
    "agglomerative": agglomerative,
}
"""The name of an engine -> the words of the process that is measured, from the table and the place of a release."""


def measured(words):
    """Wall seconds, processor seconds, peak memory in GB, and what the process printed."""
    start = time.perf_counter()
    running = subprocess.Popen(
        [str(word) for word in words], stdout=subprocess.PIPE, text=True, env=AS_INSTALLED
    )
    said = running.stdout.read()
    _, status, used = os.wait4(running.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(map(str, words))}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024**2, said


def table(folder, rows):
    """The census sample with so many rows, kept for the next time; in pieces, because the sample is drawn in memory."""
    place = folder / f"census{rows}.parquet"
    if place.exists():
        return place
    parts = []
    while rows > 0:
        part = place.with_name(f"part{len(parts)}.parquet")
        words = [
            "sample",
            "census",
            "--rows",
            min(rows, AT_ONCE),
            "--seed",
            len(parts) + 1,
            "-o",
            part,
            "--force",
        ]
        measured([*SHOAL, *words])
        parts.append(part)
        rows -= AT_ONCE
    measured([sys.executable, "-c", TOGETHER, place, *parts])
    for part in parts:
        part.unlink()
    return place


def curves(folder, sizes, engines, times):
    """Measure all sizes; the best of several runs of each process."""
    found = []
    for rows in sizes:
        source, release = table(folder, rows), folder / "release.parquet"
        copying = PLAIN if rows <= MOST_DECODED else STREAMED
        for name in engines:
            runs, plain = [], []
            for _ in range(times):
                plain.append(measured([sys.executable, "-c", copying, source, folder / "plain.parquet"]))
                runs.append(measured(ENGINES[name](source, release)))
            wall, work, peak = (min(run[at] for run in runs) for at in range(3))
            read, read_work = (min(run[at] for run in plain) for at in range(2))
            stages = json.loads(runs[-1][3])["seconds"]
            found.append({
                "engine": name, "rows": rows, "seconds": wall, "processor": work, "peak": peak, "plain": read,
                "plain processor": read_work, "stages": stages,
            })  # fmt: skip
            times_plain = f"{wall / read:.1f} x | {work / read_work:.1f} x"
            shown = ", ".join(f"{key} {value:.2f}" for key, value in stages.items())
            figures = f"{seconds(wall)} | {seconds(work)} | {peak:.2f} GB | {times_plain}"
            print(f"| {name} | {rows:,} | {figures} | {shown} |", flush=True)
    return found


def compared(folder, name, rows, times):
    """The best of several runs of an engine in turn with polars: wall and processor seconds, peak, polars' two."""
    source, release = table(folder, rows), folder / "release.parquet"
    copying = PLAIN if rows <= MOST_DECODED else STREAMED
    runs, plain = [], []
    for _ in range(times):
        plain.append(measured([sys.executable, "-c", copying, source, folder / "plain.parquet"]))
        runs.append(measured(ENGINES[name](source, release)))
    return (
        *(min(run[at] for run in runs) for at in range(3)),
        *(min(run[at] for run in plain) for at in range(2)),
    )


def plot(found, place):
    """Draw seconds and memory by rows, on logarithmic axes."""
    from benchmarks.curves import drawn

    engines = list(dict.fromkeys(one["engine"] for one in found))
    plain = "polars, read and write"
    curves = {
        figure: {
            name: [(one["rows"], one[figure]) for one in found if one["engine"] == name] for name in engines
        }
        for figure in ("processor", "peak")
    }
    both = {one["rows"]: one["plain processor"] for one in found}
    curves["processor"][plain] = list(both.items())
    panels = [
        ("Time", "processor seconds", lambda value: f"{value:g}", curves["processor"]),
        ("Memory", "peak, GB", lambda value: f"{value:g}", curves["peak"]),
    ]
    told = "; ".join(
        f"{one['engine']}, {one['rows']:,} rows: {one['processor']:.1f} processor seconds, {one['peak']:.2f} GB"
        for one in found
    )
    place.write_text(drawn("Time and memory by rows of the table", told, panels, [*engines, plain]))


def goals(folder, most):
    """Print the table of goals."""
    from benchmarks.goals import large, small

    head("work", "goal", "measured")
    for lines in (small(), large(folder, most, compared)):
        for line in lines:
            print(f"| {' | '.join(line)} |", flush=True)


def main():
    """Print a table, and draw it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    options.add_argument("--engine", nargs="+", choices=ENGINES, default=["mondrian", "audit", "full-domain"])
    options.add_argument("--times", type=int, default=1)
    options.add_argument("--folder", type=Path)
    options.add_argument("--plot", type=Path)
    options.add_argument("--json", type=Path, help="keep the figures, or add to those that are there")
    options.add_argument("--table", action="store_true", help="what is measured, next to its goal")
    options.add_argument("--most", type=float, default=1e8, help="rows of the largest table of --table")
    given = options.parse_args()
    if given.table:
        with tempfile.TemporaryDirectory() as place:
            goals(given.folder or Path(place), given.most)
        return
    head("engine", "rows", "seconds", "processor", "peak memory", "of polars", "of its processor", "stages")
    with tempfile.TemporaryDirectory() as place:
        found = curves(
            given.folder or Path(place), [int(rows) for rows in given.rows], given.engine, given.times
        )
    if given.json is not None:
        known = json.loads(given.json.read_text()) if given.json.exists() else []
        new = {(one["engine"], one["rows"]) for one in found}
        found = sorted(
            [*(one for one in known if (one["engine"], one["rows"]) not in new), *found],
            key=lambda one: (one["engine"], one["rows"]),
        )
        given.json.write_text(json.dumps(found, indent=1))
    if given.plot is not None:
        plot(found, given.plot)


if __name__ == "__main__":
    main()
