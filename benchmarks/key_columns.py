"""k for adversaries who know few columns, next to k over all 24 columns of a census: loss, suppressed cells, seconds.

Run as ``python -m benchmarks.key_columns [rows]``; ``python -m benchmarks.key_columns verify [rows]`` only counts, in
all sets of up to 3 of 30 columns.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations

import numpy as np

from benchmarks.data import wide
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.key_matches import KeyCells, count_matches
from shoal.judging.models import MODELS
from shoal.judging.models.known_columns import KeySets
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.cell_suppression import loss_of
from shoal.methods.wrappers import propose_release
from shoal.support.run import Run

K = 5


def measure(table, label, method, model, **more):
    asked = Requirements(models=(model,), **more)
    start = time.perf_counter()
    made = propose_release(METHODS[method](), table, asked, Run.start(1))
    passed = time.perf_counter() - start
    weights = sum(attribute.weight for attribute in table.attributes)
    loss = loss_of(table, asked, made) / (table.rows * weights)
    tops = np.array([attribute.hierarchy.size - 1 for attribute in table.attributes])
    shown = made.region_of[made.region_of >= 0]
    stars = int(((made.low == 0) & (made.high == tops))[shown].sum())
    start = time.perf_counter()
    verdict = model.verify(Evidence.of_release(table, made, K))
    checked = time.perf_counter() - start
    print(
        f"| {label} | {method} | {loss:.3f} | {stars / (table.rows * len(tops)):.1%} | {table.rows - len(shown):,} | "
        f"{passed:.0f} | {verdict.holds}, {verdict.reached}, {checked:.1f} s |",
        flush=True,
    )


def main(rows):
    table = wide(rows)
    everything = MODELS["k-anonymity"](k=K)
    print(f"census, 24 columns, {rows:,} rows, k = {K}")
    print("| known | method | LM | cells that show * | rows left out | seconds | verified |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for size in (1, 2, 3):
        few = MODELS["known-columns"](k=K, keys=KeySets(any=size))
        measure(table, f"any {size}, cells", "full-domain", few, suppress="cells")
        measure(table, f"any {size}", "full-domain", few)
    sets = ((0, 1, 6), (7, 8, 21), (2, 3, 13))
    names = tuple(tuple(table.attributes[j].name for j in own) for own in sets)
    named = MODELS["known-columns"](k=K, keys=KeySets(sets=names))
    measure(table, "three named sets of 3", "mondrian", named)
    measure(table, "three named sets of 3, cells", "full-domain", named, suppress="cells")
    measure(table, "all 24", "mondrian", everything)
    measure(table, "all 24, cells", "full-domain", everything, suppress="cells")
    measure(table, "all 24, 5 % of rows", "full-domain", everything, suppression=0.05)


def verify(rows, columns=30):
    random = np.random.default_rng(0)
    for stars in (0.0, 0.001, 0.01):
        sizes = random.integers(50, 101, columns)
        profiles = np.stack([random.integers(0, size, 1000) for size in sizes], axis=1).astype(np.int32)
        codes = profiles[random.integers(0, 1000, rows)]
        hidden = random.random(codes.shape) < stars
        low, high = np.where(hidden, 0, codes), np.where(hidden, sizes - 1, codes)
        ones = np.ones(rows, np.int64)
        start, busy = time.perf_counter(), time.process_time()
        cells = KeyCells.of_boxes(low, high, ones, codes, ones)
        every = [own for size in (1, 2, 3) for own in combinations(range(columns), size)]
        found = count_matches(cells, every, K)
        print(
            f"{rows:,} rows x {columns} columns, {stars:.1%} of cells *: {found.sets:,} sets, fewest {found.least:,}, "
            f"{time.perf_counter() - start:.1f} s, of processors {time.process_time() - busy:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["verify"]:
        verify(int((*words[1:], "1000000")[0]))
    else:
        main(int((*words, "30000")[0]))
