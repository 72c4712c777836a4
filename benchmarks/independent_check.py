"""An independent checker from PyPI (pycanon) on Shoal's own releases of Adult: does it see the same k and l?

Run as ``python -m benchmarks.independent_check`` in the environment of ``make bench``. The checker gets a fresh
index and no nulls, because it uses row labels as positions and drops null rows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd
from pycanon import anonymity

import shoal
from benchmarks.data import ADULT_COLUMNS, adult_file
from benchmarks.timing import head

RUNS = [
    *(("full-domain", k, share, None) for k in (2, 5, 10, 50, 100) for share in (0.0, 0.05)),
    ("mondrian", 5, 0.0, None),
    ("mondrian", 10, 0.0, None),
    ("mondrian", 5, 0.0, 3),
    ("full-domain", 5, 0.05, 3),
]


def main():
    head(
        "method",
        "k",
        "limit",
        "l",
        "rows",
        "suppressed",
        "classes",
        "k: shoal",
        "k: pycanon",
        "l: shoal",
        "l: pycanon",
    )
    disagree = 0
    for method, k, share, diversity in RUNS:
        sensitive = [] if diversity is None else ["occupation"]
        quasi = [name for name in ADULT_COLUMNS if name not in sensitive]
        policy = shoal.Policy.from_keywords(
            quasi=quasi,
            sensitive=sensitive,
            k=k,
            l=None if diversity is None else {"distinct": diversity},
            method=method,
            suppression=share,
            hierarchies={name: adult_file(name).resolve() for name in ADULT_COLUMNS},
        )
        with tempfile.TemporaryDirectory() as folder:
            from shoal.pipeline.anonymize import anonymize_file

            path = Path(folder) / "release.csv"
            result = anonymize_file(adult_file(), policy, path)
            rows = pd.read_csv(path, sep=";", dtype=str, keep_default_na=False)
        theirs = anonymity.k_anonymity(rows, quasi)
        ours = int(result.verdicts[0].reached)
        agree = theirs == ours
        cells = [method, k, f"{share:.0%}", diversity or "", f"{result.rows:,}", f"{result.suppressed:,}"]
        cells += [f"{result.classes:,}", ours, theirs]
        if diversity is None:
            cells += ["", ""]
        else:
            theirs_l = anonymity.l_diversity(rows, quasi, sensitive)
            ours_l = int(result.verdicts[1].reached)
            agree &= theirs_l == ours_l
            cells += [ours_l, theirs_l]
        disagree += not agree
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    print(f"\n{len(RUNS)} releases, {disagree} on which the two disagree")
    raise SystemExit(disagree > 0)


if __name__ == "__main__":
    main()
