"""Two months of the sample visits: whom intersecting two releases exposes that are each 5-anonymous and 3-diverse, and
what it costs to expose nobody (`[privacy] earlier`), against both adversaries.

``python -m benchmarks.over_time [rows ..]``
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import shoal
from benchmarks.timing import head
from shoal.apps.samples import sample
from shoal.policy import Policy

SIZES = (20_000, 100_000)
ADVERSARIES = ("some", "members")
MORE = 0.1
"""The share of rows that may be suppressed against the adversary who knows all members: with 0.05 and 100,000 rows,
more people would be exposed, however they are published."""


def policy(folder: Path, **more: object) -> Policy:
    """The sample's own policy."""
    return Policy.from_keywords(
        person=["patient_id"],
        quasi=["birth_date", "sex", "zip", "visited"],
        sensitive=["diagnosis"],
        plain=["minutes"],
        hierarchies={
            "birth_date": {"dates": ["month", "quarter", "year", "decade"]},
            "zip": {"mask": "right"},
            "visited": {"dates": ["month"]},
        },
        weights={"visited": 0.5},
        k=5,
        l={"distinct": 3},
        base=folder,
        **{"suppression": 0.05, **more},
    )


def main() -> int:
    """Print a table for each number of rows; return 1 if anybody is exposed although the policy names the earlier
    release.
    """
    wrong = 0
    columns = ("february", "in both", "exposed (some)", "exposed (members)", "one value", "of them true")
    for rows in [int(size) for size in sys.argv[1:]] or SIZES:
        print(
            f"\n{rows:,} visits in each month; k = 5, l = 3, at most 5 % (members: 10 %) of rows suppressed\n"
        )
        head(*columns, "LM", "suppressed", "processor seconds")

        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            first, second = sample("visits", rows), sample("visits", rows, month=2)
            before = shoal.anonymize(first, policy(folder))
            first.write_parquet(folder / "january.parquet")
            before.table.write_parquet(folder / "release.parquet")
            (folder / "record.json").write_text(json.dumps(before.record))
            given = [{"release": "release.parquet", "original": "january.parquet", "record": "record.json"}]
            for title, more in (
                ("by itself", {}),
                ("earlier", {"earlier": given}),
                (
                    "earlier, against members",
                    {"earlier": given, "earlier_adversary": "members", "suppression": MORE},
                ),
            ):
                own = policy(folder, **more)
                begin = time.process_time()
                made = shoal.anonymize(second, own)
                taken = time.process_time() - begin
                judged = policy(folder, earlier=given)
                found = {
                    name: shoal.attack(made, judged, original=second, name="intersection", adversary=name)
                    for name in ADVERSARIES
                }
                wanted = {"by itself": (), "earlier": ADVERSARIES[:1]}.get(title, ADVERSARIES)
                wrong += sum(found[name].at_risk for name in wanted)
                some = found["some"].figures
                cells = (
                    title,
                    f"{some['in_several']:,}",
                    f"{found['some'].at_risk:,}",
                    f"{found['members'].at_risk:,}",
                    f"{some['one_value']:,}",
                    f"{some['one_value_and_true']:,}",
                    f"{made.measures['lm']:.3f}",
                    f"{made.suppressed:,}",
                    f"{taken:.1f}",
                )
                print(f"| {' | '.join(cells)} |", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
