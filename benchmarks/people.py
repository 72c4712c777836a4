"""People: what a release that counts rows does to people with several rows, and what counting people costs.

The sample visits with 1,000,000 (or so many) rows of about a third as many people, k = 5, mondrian: how many people a
release that calls itself 5-anonymous by rows leaves in a class of fewer than five, and how many are left if people are
counted; and the time of both searches, in one process, one after the other.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.timing import head, row, seconds
from shoal import io
from shoal.apps.samples import sample
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.policy import Policy
from shoal.policy.encode_table import encode_with_population
from shoal.support.run import Run

K = 5
TIMES = 3
GOAL = 4.0
"""Counting people may take this many times as long as counting rows."""


def policy(whose):
    """The quasi-identifiers of the sample's own policy, k alone, and the patient in one of two roles."""
    return Policy.from_keywords(
        quasi=["birth_date", "sex", "zip", "visited"],
        sensitive=["diagnosis"],
        plain=["minutes"],
        hierarchies={
            "birth_date": {"dates": ["month", "quarter", "year", "decade"]},
            "zip": {"mask": "right"},
            "visited": {"dates": ["month"]},
        },
        weights={"visited": 0.5},
        k=K,
        **{whose: ["patient_id"]},
    )


def exposed(region_of, person):
    """How many people have a row in a class of fewer than K people, and in a class of their own."""
    people = int(person.max()) + 1
    pairs = np.unique(region_of.astype(np.int64) * people + person)
    size = np.bincount(pairs // people)[pairs // people]
    return len(np.unique(pairs[size < K] % people)), len(np.unique(pairs[size == 1] % people))


def main():
    """Print a table; return 1 if counting people takes too long, or leaves anybody below K."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    table = sample("visits", rows)
    policies = {"rows": policy("identifier"), "people": policy("person")}
    coded = {
        name: encode_with_population(io.read(table, one.read_options()), one)
        for name, one in policies.items()
    }
    person = coded["people"].person
    print(f"{rows:,} rows of {coded['people'].people:,} people, k = {K}")
    walls, cpus, found = ({name: [] for name in policies} for _ in range(3))
    for turn in range(TIMES + 1):
        for name, one in policies.items():
            wall, cpu = time.perf_counter(), time.process_time()
            found[name] = Mondrian().anonymize(
                coded[name], one.requirements(coded[name].sensitive), Run.start(1)
            )
            if turn:  # The first one compiles.
                walls[name].append(time.perf_counter() - wall)
                cpus[name].append(time.process_time() - cpu)
    head("counted in", "best time", "release", "people")
    failed = False
    for name, release in found.items():
        below, alone = exposed(release.region_of, person)
        loss = MEASURES["lm"]().value(Evidence.of_release(coded["rows"], release))
        times = f"{seconds(min(walls[name]))}, {seconds(min(cpus[name]))} of the processor"
        row(
            name,
            times,
            f"{len(release.low):,} classes, LM {loss:.4f}",
            f"{below:,} people below {K}, {alone:,} alone",
        )
        failed |= name == "people" and below > 0
    ratio = min(cpus["people"]) / min(cpus["rows"])
    print(f"counting people takes {ratio:.2f} times as long (goal: at most {GOAL:g})")
    return 1 if failed or ratio > GOAL else 0


if __name__ == "__main__":
    sys.exit(main())
