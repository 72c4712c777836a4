"""Other Python tools next to Shoal on the same table and requirement: seconds, memory, loss, classes, in one run.

python -m benchmarks.peers [--slow] [k, 5 and 10]

Adult, eight quasi-identifiers, the salary class stays as it is. Each tool has a process of its own, takes a pandas
frame and gives one back, and has run once before on a few rows, so that nobody pays for imports or compiling. Memory is
what the process grew by at its peak. One and the same audit judges what comes out, from its cells alone.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

import shoal
from benchmarks.data import ADULT_COLUMNS, adult_file
from benchmarks.timing import head, seconds

SENSITIVE = "salary-class"
QUASI = [name for name in ADULT_COLUMNS if name != SENSITIVE]
TREES = {name: adult_file(name) for name in QUASI}
LIMIT = 300
"""Seconds after which a tool is stopped."""


def adult_frame():
    return pl.read_csv(adult_file(), separator=";").select(*QUASI, SENSITIVE).to_pandas()


def anjana(frame, k):
    """Full-domain generalization by anjana, whose hierarchies are arrays per level."""
    from anjana.anonymity import k_anonymity

    trees = {}
    for name in QUASI:
        lines = [line.split(";") for line in adult_file(name).read_text().splitlines()]
        values = [int(line[0]) if name == "age" else line[0] for line in lines]
        table = pd.DataFrame([[value, *line[1:]] for value, line in zip(values, lines, strict=True)])
        trees[name] = {level: table[level].to_numpy() for level in table.columns}
    return k_anonymity(frame.copy(), [], QUASI, k, 0, trees)


def _categories(frame):
    coded = frame.copy()
    for name in (*QUASI, SENSITIVE):
        if name != "age":
            coded[name] = coded[name].astype("category")
    return coded


def anonypyx(algorithm):
    def work(frame, k):
        import anonypyx as tool

        made = tool.Anonymiser(
            _categories(frame),
            k=k,
            algorithm=algorithm,
            feature_columns=QUASI,
            sensitive_column=SENSITIVE,
            generalisation_strategy="human-readable",
        )
        return made.anonymise()

    return work


def anonypy(frame, k):
    import anonypy as tool

    made = tool.Preserver(_categories(frame), list(QUASI), SENSITIVE).anonymize_k_anonymity(k=k)
    # Its cells are lists of one text.
    return pd.DataFrame(made).map(lambda cell: cell[0] if isinstance(cell, list) else cell)


def ours(method, trees=True, **options):
    def work(frame, k):
        return shoal.anonymize(
            frame,
            quasi=QUASI,
            sensitive=[SENSITIVE],
            k=k,
            method={"name": method, **options},
            hierarchies=TREES if trees else {},
        ).table

    return work


TOOLS = {
    "shoal mondrian": ours("mondrian"),
    "shoal mondrian, no hierarchies": ours("mondrian", trees=False),
    "shoal agglomerative, not improved": ours("agglomerative", improve=False),
    "shoal agglomerative": ours("agglomerative"),
    "shoal agglomerative, no hierarchies": ours("agglomerative", trees=False),
    "shoal lexicographic, value sets": ours("lexicographic", trees=False, show="sets"),
    "shoal full-domain": ours("full-domain"),
    "anonypy Mondrian": anonypy,
    "anonypyx Mondrian": anonypyx("Mondrian"),
    "anjana full-domain": anjana,
}
SLOW = {"anonypyx MDAV": anonypyx("MDAV-generic")}
"""Minutes, and 17 GB for Adult."""


def peak():
    """Most memory this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(name, k, place, report):
    """In a process of its own: run a tool, time it, keep its output."""
    warnings.simplefilter("ignore")  # other people's
    frame, work = adult_frame(), (TOOLS | SLOW)[name]
    try:
        work(frame.head(200), k)
        before, start = peak(), time.perf_counter()
        made = work(frame, k)
        report.send((time.perf_counter() - start, peak() - before))
        one_notation(made).to_parquet(place)
        report.send("")
    except ImportError as error:
        report.send(f"not installed ({error.name})")
    except Exception as error:  # other people's tools may fail in any way
        report.send(f"failed: {type(error).__name__}: {str(error)[:80]}")


def _as_text(cell):
    if isinstance(cell, list | np.ndarray):
        return "{" + ", ".join(map(str, cell)) + "}" if len(cell) > 1 else str(cell[0])
    return str(cell)


def one_notation(made):
    """Write ranges, sets and counts of equal rows as Shoal does, so that one audit reads them all."""
    if "count" in made.columns:
        made = made.loc[made.index.repeat(made["count"].astype(int))].drop(columns="count")
    made = made.reset_index(drop=True).map(_as_text)
    for name in QUASI:
        plain = not made[name].str.contains(r"[\[{*]").any()
        if name == "age" and plain:
            made[name] = made[name].str.replace(r"^(\d+)-(\d+)$", r"[\1, \2]", regex=True)
        elif plain:
            made[name] = ["{" + cell.replace(",", ", ") + "}" if "," in cell else cell for cell in made[name]]
    return made


def judged(place, frame, k):
    """Audit a release. Ages in ranges of their own are read as numbers, others by the hierarchy."""
    made = pl.read_parquet(place).with_columns(pl.all().cast(pl.String))
    free = made["age"].str.contains(r"^[\[{].*[\]}]$").any()
    trees = {name: tree for name, tree in TREES.items() if name != "age" or not free}
    return shoal.audit(
        made, original=frame, quasi=QUASI, sensitive=[SENSITIVE], k=k, hierarchies=trees, suppression=1.0
    )


def line(name, k, frame, folder):
    """Run one tool and return its cells of the table."""
    ours_ends, theirs = multiprocessing.Pipe(duplex=False)
    place = Path(folder) / "release.parquet"
    place.unlink(missing_ok=True)
    child = multiprocessing.get_context("spawn").Process(target=timed, args=(name, k, place, theirs))
    child.start()
    theirs.close()
    answers = []
    try:
        while len(answers) < 2 and not (answers and isinstance(answers[-1], str)):
            if not ours_ends.poll(LIMIT):
                answers.append(f"stopped after {LIMIT} s")
            else:
                answers.append(ours_ends.recv())
    except EOFError:
        answers.append("its process ended")
    child.kill()
    child.join()
    took, grew = (seconds(answers[0][0]), f"{answers[0][1]:.0f} MB") if len(answers) == 2 else ("-", "-")
    if answers[-1]:
        return [took, grew, *["-"] * 6, answers[-1]]
    found = judged(place, frame, k)
    measures = {key: found.measures.get(key) for key in ("lm", "gcp", "dm", "classes")}
    shown = [
        "-" if value is None else f"{value:,.0f}" if key in ("dm", "classes") else f"{value:.4f}"
        for key, value in measures.items()
    ]
    reached = next(verdict.reached for verdict in found.verdicts if "anonymity" in verdict.model)
    return [took, grew, *shown, f"{found.suppressed:,}", f"{reached:,.0f}", ""]


def checking(frame, k):
    """Seconds that pycanon and Shoal take to tell the k of a release."""
    made = ours("mondrian")(frame, k)
    print()
    head("who tells k of a release (Mondrian's)", "seconds", "k")
    for name, work in (
        ("shoal audit", lambda: shoal.audit(made, quasi=QUASI, k=k).verdicts[0].reached),
        ("pycanon k_anonymity", lambda: _pycanon(made)),
    ):
        try:
            work()
            start = time.perf_counter()
            found = work()
            print(f"| {name} | {seconds(time.perf_counter() - start)} | {found:,.0f} |")
        except ImportError as error:
            print(f"| {name} | - | not installed ({error.name}) |")


def _pycanon(made):
    from pycanon import anonymity

    return anonymity.k_anonymity(made, QUASI)


def table(sizes=(5, 10), slow=False):
    """All tools at each k."""
    warnings.simplefilter("ignore")
    frame = adult_frame()
    for k in sizes:
        print()
        head(
            f"Adult, k = {k}",
            "seconds",
            "memory",
            "LM",
            "GCP",
            "DM",
            "classes",
            "suppressed",
            "k reached",
            "",
        )
        for name in TOOLS | (SLOW if slow else {}):
            with tempfile.TemporaryDirectory() as folder:
                print(f"| {name} | " + " | ".join(line(name, k, frame, folder)) + " |", flush=True)
    checking(frame, sizes[0])


if __name__ == "__main__":
    table([int(word) for word in sys.argv[1:] if word.isdigit()] or (5, 10), "--slow" in sys.argv)
