"""What audits said about many random releases, and where they contradict each other."""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.running import folder


@dataclass
class Said:
    """What became of a case: how often what was said, and what is wrong."""

    said: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def run(name: str, about: str | None, many: int, tried: Callable[[int, int, Path], Said]) -> int:
    """Try many cases as a command, print what was found, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=about)
    parser.add_argument("--cases", type=int, default=many)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after so long")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    said: Counter[str] = Counter()
    wrong = cases = 0
    end = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        for number in range(asked.first, asked.first + asked.cases):
            if time.monotonic() > end:
                break
            found = tried(asked.seed, number, Path(place))
            said += found.said
            cases, wrong = cases + 1, wrong + bool(found.problems)
            for problem in found.problems:
                print(f"seed {asked.seed}, case {number}: {problem}", flush=True)
    print(f"seed {asked.seed}: {cases:,} cases, {wrong} with problems")
    for what, count in sorted(said.items()):
        print(f"{count:8,} {what}")
    return int(wrong > 0)
