"""The command: `make fuzz` and `make fuzz CASE=..`."""

from __future__ import annotations

import argparse
import os
import pprint
import sys
import tempfile
import time
import warnings
from pathlib import Path

from tests.fuzz.cases import case
from tests.fuzz.running import folder, outcomes
from tests.fuzz.shrinking import shrunk
from tests.fuzz.tallies import Tallies
from tests.fuzz.trial import tried


def main() -> int:
    """Run, print, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--releases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="run this case alone, and show all of it")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    if asked.case is not None:
        return _one(asked.seed, asked.case)
    tallies = Tallies(asked.seed)
    start = time.perf_counter()
    try:
        for outcome in outcomes(asked.seed, asked.releases, asked.jobs, asked.first):
            tallies.add(outcome)
            if outcome.problems:
                print(tallies.failure(outcome), flush=True)
    except KeyboardInterrupt:
        print("stopped")
    print(tallies.text(time.perf_counter() - start))
    return int(tallies.failed > 0 or bool(tallies.unshuffled))


def _one(seed: int, number: int) -> int:
    """Run one case, shrink it if it fails, and print it."""
    warnings.simplefilter("ignore")
    chosen = case(seed, number)
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        outcome = tried(chosen, Path(place), thorough=True)
        if outcome.problems:
            chosen, outcome = shrunk(chosen, outcome, Path(place))
        pprint.pprint(chosen.policy, width=110, sort_dicts=False)
        print(f"from {chosen.source} to {chosen.target}, {chosen.rows} rows")
        for column in chosen.columns:
            print(f"  {column.name!r} ({column.role}, {column.type}): {column.values!r}")
        print(f"{outcome.status} {outcome.reason} suppressed {outcome.suppressed} attack {outcome.attacked}")
        for problem in outcome.problems:
            print(f"  {problem}")
        for path in sorted(Path(place).glob("out*")):
            print(f"{path.name}: {path.read_bytes()[:1500]!r}")
    return int(bool(outcome.problems))


if __name__ == "__main__":
    sys.exit(main())
