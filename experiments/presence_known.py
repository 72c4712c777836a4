"""What an adversary who knows the method learns about presence, and what it costs to stop them.

Run as ``python -m experiments.presence_known`` from the project's folder; SHOAL_DATA is the folder that holds adult/.
Writes presence_known.md next to this file.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.data import adult
from shoal.coding import Context
from shoal.coding.columns import Columns
from shoal.coding.population import encode_both
from shoal.errors import LimitError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.cell_losses import Lm
from shoal.judging.models.delta_presence import DeltaPresence
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods.presence.mpalm import MPALM
from shoal.methods.presence.spalm import SPALM
from shoal.policy import Policy
from shoal.support.run import Run

METHODS = {"mpalm": MPALM(), "spalm": SPALM(), "mpalm, drawn": MPALM(drawn=True)}
ZIP = [70, 71, 70, 72, 73, 71, 70, 72, 73]
POPULATIONS = (
    pl.DataFrame({"age": [21, 22, 25, 28, 31, 36, 38, 44, 47]}),
    pl.DataFrame({"age": [21, 21, 25, 28, 31, 36, 38, 44, 47], "zip": ZIP}),
    pl.DataFrame({"age": [20, 24, 24, 30, 33, 35, 41, 42, 49], "zip": [70, 70, 71, 71, 72, 72, 73, 73, 70]}),
)
TREES = {"age": {"widths": [5, 10, 20]}, "zip": {"tree": {"a": [70, 71], "b": [72, 73]}}}
BOUNDS = (0.0, 0.7)
ON_ADULT = (
    (2_000, (0.0, 0.1)),
    (2_000, (0.0, 0.3)),
    (2_000, (0.0, 0.5)),
    (10_000, (0.0, 0.5)),
    (10_000, (0.1, 0.6)),
)


def wish(bounds, k=0):
    models = (DeltaPresence(low=bounds[0], high=bounds[1]),)
    return Requirements(models=(KAnonymity(k=k), *models) if k else models)


def count_exposed(population, trees, method, k):
    """Return the releases that put somebody above the higher bound, and all releases, over all tables of three or four
    people. For drawn cuts, the method itself says how likely everybody is."""
    hierarchies = {name: TREES[name] for name in population.columns} if trees else {}
    plans = Policy.from_keywords(quasi=population.columns, hierarchies=hierarchies, k=2).plans(
        population.columns
    )
    bad = every = 0
    for size in (3, 4):
        found, known = defaultdict(list), {}
        for inside in combinations(range(population.height), size):
            table = encode_both(population[list(inside)], population, plans)
            try:
                made = method.anonymize(table, wish(BOUNDS, k), Run.start(1))
            except LimitError:
                continue
            cells = np.concatenate([made.low, made.high], axis=1)[made.region_of]
            key = cells[np.lexsort(cells.T)].tobytes()
            found[key].append(inside)
            if method == METHODS["mpalm, drawn"]:
                shown = Evidence.of_release(table, made).published
                known[key] = method.find_presence(table, wish(BOUNDS, k), shown).max()
        for key, tables in found.items():
            shares = np.bincount(np.concatenate(tables), minlength=population.height) / len(tables)
            bad += known.get(key, shares.max()) > BOUNDS[1]
        every += len(found)
    return bad, every


def on_adult(everyone, rows, bounds, method):
    """Return LM and seconds of one release."""
    chosen = np.sort(np.random.default_rng(1).choice(everyone.rows, rows, replace=False))
    table = replace(everyone.part(chosen), context=Context(population=everyone.quasi.wide))
    table = replace(table, quasi=Columns.of(everyone.attributes, everyone.quasi.wide[chosen]))
    start = time.perf_counter()
    release = method.anonymize(table, wish(bounds), Run.start(1))
    seconds = time.perf_counter() - start
    return Lm().value(Evidence.of_release(table, release)), seconds


def main():
    lines = [
        "# Presence for adversaries who know the method",
        "",
        "Made by `python -m experiments.presence_known`. The adversary runs the method on every table and keeps those "
        "that lead to the release.",
        "",
        "## Releases that put somebody above the higher bound",
        "",
        f"Three populations of nine people, all tables of three or four of them, bounds {BOUNDS[0]} and {BOUNDS[1]}.",
        "",
        "| method | free ranges | trees | free ranges, k = 2 | trees, k = 2 |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, method in METHODS.items():
        cells = []
        for k in (0, 2):
            for trees in (False, True):
                counts = [count_exposed(population, trees, method, k) for population in POPULATIONS]
                bad, every = (sum(own[at] for own in counts) for at in (0, 1))
                cells.append(f"{bad} of {every} ({bad / every:.1%})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        "## What it costs to stop them",
        "",
        "Adult, nine columns, tables drawn from all complete rows. LM, and seconds of the method.",
        "",
        "| rows | bounds | " + " | ".join(METHODS) + " |",
        "| ---: | --- " + "| ---: " * len(METHODS) + "|",
    ]
    everyone = adult()
    for rows, bounds in ON_ADULT:
        found = [on_adult(everyone, rows, bounds, method) for method in METHODS.values()]
        cells = [f"{lm:.4f} ({seconds:.1f} s)" for lm, seconds in found]
        lines.append(f"| {rows:,} | {bounds[0]} to {bounds[1]} | {' | '.join(cells)} |")
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
