"""How quickly Studio answers, and how much memory it takes: ``python -m benchmarks.studio [--rows 1000000]``.

A Studio in a process of its own reads the census sample. Each click is a request and the page that it leads to, without
the time of a browser.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.timing import head, row, seconds
from shoal.apps.samples import sample

HERE = Path(__file__).parents[1]


def resident(process):
    """Memory that a process and those that it started hold now, in MB."""
    pages = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if process in (int(folder.name), parent):
                pages += int((folder / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def timed(times, ask):
    """Seconds of several calls, each with its number."""
    took = []
    for at in range(times):
        start = time.perf_counter()
        ask(at).raise_for_status()
        took.append(time.perf_counter() - start)
    return took


def told(work, took, target):
    """One line: the median and the worst."""
    row(work, target, seconds(statistics.median(took)), f"worst {seconds(max(took))} of {len(took)}")


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=1_000_000)
    rows = asked.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "census.csv"
        sample("census", rows).write_csv(data)
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal", "studio", str(data), "--no-browser"],
            cwd=HERE, env={**os.environ, "PYTHONPATH": str(HERE)}, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            measure(process, start, rows)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def measure(process, start, rows):
    link = re.search(r"http://\S+", process.stdout.readline())[0]
    base = link.split("/?")[0]
    head("Studio", "target", "median", f"{rows:,} rows")
    with httpx.Client(base_url=base, headers={"origin": base}, timeout=60, follow_redirects=True) as client:
        client.get(link.removeprefix(base))
        client.get("/data").raise_for_status()
        row("first page after the start", "1 s", seconds(time.perf_counter() - start))
        while f"of {rows:,}" not in client.get("/data").text:
            time.sleep(0.05)
        row("table is shown after the start", "-", seconds(time.perf_counter() - start))
        while "being counted" in (page := client.get("/roles").text) or "looking at the values" in page:
            time.sleep(0.2)
        row("all columns are counted", "-", seconds(time.perf_counter() - start))
        columns = len(set(re.findall(r'data-column="(\d+)"', page)))
        some = random.Random(1)
        clicks = {
            "jump to a row": timed(40, lambda _: client.get(f"/data/rows?first={some.randrange(rows)}")),
            "page Data": timed(10, lambda _: client.get("/data")),
            "page Roles": timed(10, lambda _: client.get("/roles")),
            "give a column a role": timed(
                2 * columns,
                lambda at: client.post(
                    "/roles/give",
                    data={"column": at % columns, "role": "drop" if at < columns - 1 else "quasi"},
                ),
            ),
            "undo": timed(10, lambda _: client.post("/studio/undo", data={"screen": "roles"})),
        }
        for work, took in clicks.items():
            told(work, took, "0.2 s")
        told("all clicks", [one for took in clicks.values() for one in took], "0.2 s")
        row("memory of all processes", "-", f"{resident(process.pid):,.0f} MB")


if __name__ == "__main__":
    main()
