"""How long the audit of a synthetic table takes: rows x 20 columns, as many training rows, half as many in the holdout.

Run as ``python -m benchmarks.synthetic [rows]``.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl

import shoal

CATEGORIES = (2, 2, 3, 5, 5, 8, 12, 20, 50, 300)
NUMBERS = (10, 20, 80, 100, 100, 500, 2000, 10_000, 100_000, 1_000_000)


def people(rows, seed):
    """Ten categories and ten numbers, all of which depend on one hidden number."""
    random = np.random.default_rng(seed)
    hidden = random.random(rows)
    columns = {}
    for place, size in enumerate((*CATEGORIES, *NUMBERS)):
        value = ((0.5 * hidden + 0.5 * random.random(rows)) * size).astype(int)
        category = place < len(CATEGORIES)
        columns[f"c{place}"] = pl.Series(value).cast(pl.String) + "_" if category else pl.Series(value)
    return pl.DataFrame(columns)


def main(rows):
    train, holdout = people(rows, 1), people(rows // 2, 2)
    half = train.sample(rows // 2, with_replacement=True, seed=3)
    synthetic = pl.concat([half, people(rows - rows // 2, 4)])
    small = (frame.head(500) for frame in (synthetic, train, holdout))
    shoal.audit_synthetic(*small, seed=1)  # compiles the kernels
    # Processor seconds of all threads, which other programs on the machine do not change much.
    begin, spent, used = time.perf_counter(), {}, time.process_time()
    last = ["read", used]

    def progress(stage, _share):
        now = time.process_time()
        spent[last[0]] = spent.get(last[0], 0.0) + now - last[1]
        last[:] = [stage, now]

    audit = shoal.audit_synthetic(synthetic, train, holdout, seed=1, progress=progress)
    passed, used = time.perf_counter() - begin, time.process_time() - used
    size = f"{rows:,} rows x {len(train.columns)} columns, holdout {rows // 2:,}"
    print(f"{size}: {used:.0f} s of processors, {passed:.0f} s passed")
    print("  of processors: " + ", ".join(f"{stage} {seconds:.0f}" for stage, seconds in spent.items()))
    print(f"  holds {audit.holds}, minimal uniques of up to {audit.largest} columns")


if __name__ == "__main__":
    main(int([*sys.argv[1:], "1000000"][0]))
