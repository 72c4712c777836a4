"""Rows that can be followed: what it costs that people look alike and not rows, on the sample visits.

For k = 2, 5 and 10, mondrian makes two releases of the same rows: one whose rows cannot be followed, and one with a
pseudonym for each patient. Both are written as CSV. The table shows what each lost, how many rows were left out, and
how many people an audit of the written file finds in a class of fewer than k people; for rows that can be followed, a
class is everybody who shows the same rows. It needs the record for rows that cannot be followed, since only that says
whose they are, and nothing but the file for rows that can.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import head, seconds
from shoal.apps.samples import sample
from shoal.judging.read_case import Received, read_case
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy

ROWS = 30_000
KS = (2, 5, 10)
SUPPRESSION = 0.05


def policy(k, followed):
    """The quasi-identifiers of the sample's own policy, and k alone."""
    more = {"publish": {"patient_id": "pseudonym"}, "order": {"patient_id": "visited"}} if followed else {}
    return Policy.from_keywords(
        quasi=["birth_date", "sex", "zip", "visited"],
        sensitive=["diagnosis"],
        plain=["minutes"],
        person=["patient_id"],
        hierarchies={
            "birth_date": {"dates": ["month", "quarter", "year", "decade"]},
            "zip": {"mask": "right"},
            "visited": {"dates": ["month"]},
        },
        weights={"visited": 0.5},
        k=k,
        suppression=SUPPRESSION,
        **more,
    )


def main():
    """Print a table; return 1 if an audit finds anybody below k."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    below = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        table = sample("visits", rows)
        table.write_csv(place / "visits.csv")
        print(f"{rows:,} rows of {table['patient_id'].n_unique():,} people, suppression {SUPPRESSION:.0%}")
        head("k", "can be followed", "LM", "rows left out", "people left out", "people below k", "time")
        for k in KS:
            for followed in (False, True):
                asked = policy(k, followed)
                wall, cpu = time.perf_counter(), time.process_time()
                made = anonymize_file(place / "visits.csv", asked, place / f"{k}{followed}.csv")
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                given = {} if followed else {"original": place / "visits.csv", "record": made.record}
                sizes = read_case(Received(place / f"{k}{followed}.csv", **given), asked).sizes
                short = int(sizes[sizes < k].sum())
                below += short
                cells = (
                    str(k),
                    "yes" if followed else "no",
                    f"{made.measures['lm']:.4f}",
                    f"{made.suppressed:,} ({made.suppressed / rows:.2%})",
                    f"{made.people_suppressed:,}",
                    f"{short:,}",
                    f"{seconds(wall)}, {seconds(cpu)} of the processor",
                )
                print(f"| {' | '.join(cells)} |", flush=True)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
