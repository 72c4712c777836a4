"""Spark next to one machine: ``python -m benchmarks.spark [ROWS ..]``.

A cluster on loopback, one master and two workers of one core, works on the same files as the local engine: wall and
processor seconds, memory, bytes shuffled, and whether the rows are equal. ``--plot FILE`` draws the curves. ``--cold``
measures what the first task of a Python worker pays for its kernels.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import polars as pl

from benchmarks.timing import head
from tests.harness.cluster import ROOT, running, session_on

SIZES = (100_000, 1_000_000)
STAGES = ("encode", "anonymize", "write", "verify")


def line(*cells: str) -> None:
    """One line of a Markdown table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def sample(folder: Path, rows: int) -> tuple[Path, Path]:
    """A census as Parquet, with its policy."""
    data = folder / f"census{rows}.parquet"
    if not data.exists():
        words = ["sample", "census", "--rows", str(rows), "-o", str(data), "--seed", "1", "--force"]
        subprocess.run(
            [sys.executable, "-m", "shoal", *words], check=True, stdout=subprocess.DEVNULL, cwd=folder
        )
    return data, folder / "census.toml"


class Watch:
    """The most memory that the processes below some others had together, and the processor seconds that they took,
    sampled four times a second."""

    def __init__(self, roots: list[int]) -> None:
        self.roots, self.most, self._done = roots, 0, threading.Event()
        self._spent: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def seconds(self) -> float:
        """Processor seconds of all processes that were seen."""
        ticks = sum(spent - self._before.get(process, 0) for process, spent in self._spent.items())
        return ticks / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Watch:
        self._look()
        self._before = dict(self._spent)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.25):
            self._look()

    def _look(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        parents, sizes, spent = {}, {}, {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    shared = int((entry / "statm").read_text().split()[2])
                except (OSError, IndexError):
                    continue
                own = int(entry.name)
                parents[own], sizes[own] = int(fields[1]), (int(fields[21]) - shared) * page
                spent[own] = int(fields[11]) + int(fields[12])
        below = [process for process in sizes if self._is_below(process, parents)]
        self.most = max(self.most, sum(sizes[process] for process in below))
        self._spent |= {process: spent[process] for process in below}

    def _is_below(self, process: int, parents: dict[int, int]) -> bool:
        while process in parents:
            if process in self.roots:
                return True
            process = parents[process]
        return False


def locally(data: Path, policy: Path, out: Path, method: str) -> tuple[float, float, int]:
    """Wall and processor seconds and the most memory of a whole process."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [
        "anonymize",
        str(data),
        "-p",
        str(policy),
        "-o",
        str(out),
        "--method",
        method,
        "--force",
        "--json",
    ]
    process = subprocess.Popen([sys.executable, "-m", "shoal", *words], stdout=subprocess.DEVNULL)
    with Watch([process.pid]) as memory:
        assert process.wait() == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu, memory.most


def shuffled(session) -> int:
    """Bytes that executors have written for shuffles so far."""
    store = session.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(store.apply(i).totalShuffleWrite() for i in range(store.size()))


def main() -> None:
    if "--cold" in sys.argv:
        cold()
        return
    sizes = [round(float(word)) for word in sys.argv[1:] if word[0].isdigit()] or SIZES
    methods = ["full-domain", "mondrian"] if "--both" in sys.argv else ["mondrian"]
    figures = ("local MB", "workers MB", "shuffled MB", "parts, rounds", "same rows")
    head("method", "rows", "local s (cpu)", "Spark s (cpu)", *STAGES, *figures)
    found: list[dict[str, float]] = []
    settings = {"spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "4"}
    with (
        tempfile.TemporaryDirectory(prefix="shoal-bench-") as name,
        running("2g") as cluster,
        session_on(cluster.master, **settings) as session,
    ):
        warm(Path(name))
        workers = [process.pid for process in cluster.processes.values()]
        for rows in sizes:
            for method in methods:
                line(*both(Path(name), session, workers, rows, method, found))
    if "--plot" in sys.argv:
        plot(found, Path(sys.argv[sys.argv.index("--plot") + 1]))


def both(
    folder: Path, session, workers: list[int], rows: int, method: str, found: list[dict[str, float]]
) -> list[str]:
    """A line of the table: one table by both engines. Its figures go to `found`."""
    from shoal.pipeline.anonymize import anonymize_file
    from shoal.policy import Policy

    data, policy = sample(folder, rows)
    wall, cpu, memory = locally(data, policy, folder / "here.parquet", method)
    part = max(50_000, rows // 16)
    chosen = Policy.read(policy, ["engine.name=spark", f"engine.part_rows={part}", f"method.name={method}"])
    before, start = shuffled(session), time.perf_counter()
    with Watch(workers) as there, Watch([*workers, os.getpid()]) as all_of_it:
        result = anonymize_file(data, chosen, folder / "there", force=True)
    spent, facts = time.perf_counter() - start, result.record
    moved = shuffled(session) - before
    found.append({
        "rows": rows, "local": cpu, "spark": all_of_it.seconds, "local MB": memory / 1e6,
        "spark MB": there.most / 1e6, "shuffled MB": moved / 1e6,
    })  # fmt: skip
    return [
        method,
        f"{rows:,}",
        f"{wall:.1f} ({cpu:.1f})",
        f"{spent:.1f} ({all_of_it.seconds:.1f})",
        *(f"{result.seconds[stage]:.1f}" for stage in STAGES),
        *(f"{size / 1e6:,.0f}" for size in (memory, there.most, moved)),
        f"{facts.get('parts', '-')}, {facts.get('rounds', '-')}",
        str(same(folder)),
    ]


def plot(found: list[dict[str, float]], place: Path) -> None:
    """Draw processor seconds and megabytes by rows, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    rows = [one["rows"] for one in found]
    for axis, keys in ((left, ("local", "spark")), (right, ("local MB", "spark MB", "shuffled MB"))):
        for key in keys:
            axis.loglog(rows, [one[key] for one in found], marker="o", label=key.removesuffix(" MB"))
        axis.grid(alpha=0.3, which="both")
        axis.legend(frameon=False)
    left.set(xlabel="rows", ylabel="processor seconds", title="time, all processes")
    right.set(xlabel="rows", ylabel="MB", title="memory, and bytes shuffled")
    figure.savefig(place)


def warm(folder: Path) -> None:
    """Start the workers and load the kernels, which every table would pay once."""
    from shoal.pipeline.anonymize import anonymize_file
    from shoal.policy import Policy

    data, policy = sample(folder, 2000)
    for method in ("mondrian", "full-domain"):
        settings = ["engine.name=spark", "engine.part_rows=500", f"method.name={method}"]
        anonymize_file(data, Policy.read(policy, settings), folder / "warm", force=True)


def same(folder: Path) -> bool:
    """Whether both releases hold the same rows, as multisets."""
    both = [pl.scan_parquet(folder / "here.parquet"), pl.scan_parquet(folder / "there" / "part-*.parquet")]
    counted = [frame.select(pl.all().cast(pl.String)).group_by(pl.all()).len() for frame in both]
    tables = [frame.collect().sort(pl.all()) for frame in counted]
    return tables[0].select(sorted(tables[0].columns)).equals(tables[1].select(sorted(tables[1].columns)))


COLD = """
import time; start = time.perf_counter()
import numpy, polars, pyarrow, shoal.methods.partitioning.mondrian as m
loaded = time.perf_counter() - start
import shoal
table = polars.DataFrame({"a": numpy.arange(2000) % 50, "b": numpy.arange(2000) % 7, "s": numpy.arange(2000) % 3})
def run():
    start = time.perf_counter()
    shoal.anonymize(table, quasi=["a", "b"], sensitive=["s"], k=5)
    return time.perf_counter() - start
first = run(); second = run()
print(loaded, first, second)
"""


def cold() -> None:
    """What the first call of a process pays: libraries, kernels from the cache of the machine, or compiled anew."""
    head("a Python worker", "libraries", "first box", "second box")
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as empty:
        for title, more in (
            ("kernels compiled on this machine before", {}),
            ("first worker of a machine: nothing compiled", {"NUMBA_CACHE_DIR": empty}),
            ("second worker of that machine", {"NUMBA_CACHE_DIR": empty}),
        ):
            environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
            told = subprocess.run(
                [sys.executable, "-c", COLD], env=environment, capture_output=True, text=True, check=True
            )
            line(title, *(f"{float(number):.2f} s" for number in told.stdout.split()))


if __name__ == "__main__":
    main()
