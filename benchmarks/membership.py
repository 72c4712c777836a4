"""Membership: counting in single buckets of Adult, and methods for delta-presence on 2,000 of its people.

Run as ``python -m benchmarks.membership``. Buckets are boxes of Mondrian over the whole population, which is harder
than random people: neighbours differ in few values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.data import adult
from benchmarks.timing import best, head, row, seconds
from shoal.membership import membership
from shoal.methods import METHODS
from shoal.models.delta_presence import DeltaPresence
from shoal.models.k_anonymity import KAnonymity
from shoal.requirements import Requirements
from shoal.run import Run

CASES = (
    # label, people, private, columns, limit on states, target
    ("64 people x 8 columns, half private", 64, 32, 8, 1_000_000, "50 ms"),
    ("128 people x 8 columns, a quarter private", 128, 32, 8, 1_000_000, "1 s"),
    ("500 people x 4 columns, half private", 500, 250, 4, 1_000_000, "5 s"),
    ("500 people x 8 columns, certain people only", 500, 250, 8, 0, "1 s"),
)


def question(codes, private):
    """Distinct tuples, people, and published counts."""
    columns = [np.unique(codes[:, j], return_inverse=True)[1] for j in range(codes.shape[1])]
    people = np.stack(columns, axis=1).astype(np.int32)
    tuples, many = np.unique(people, axis=0, return_counts=True)
    shown = [
        np.bincount(people[private, j], minlength=people[:, j].max() + 1) for j in range(people.shape[1])
    ]
    return tuples, many.astype(np.int64), shown


def boxes(table, people):
    """Boxes of at least so many people, cut to exactly so many."""
    release = METHODS["mondrian"]().anonymize(
        table, Requirements(models=(KAnonymity(k=people),)), Run.start(1)
    )
    order = np.argsort(release.region_of, kind="stable")
    starts = np.searchsorted(release.region_of[order], np.arange(len(release.low)))
    return [table.codes[order[start : start + people]] for start in starts]


def population(private=2000):
    """Adult as a population, and a table of some of its people at random."""
    everyone = adult()
    inside = np.sort(np.random.default_rng(0).choice(everyone.rows, private, replace=False))
    return replace(
        everyone,
        codes=np.asfortranarray(everyone.codes[inside]),
        sensitive_codes=np.asfortranarray(everyone.sensitive_codes[inside]),
        population=everyone.codes,
    )


def main():
    head("membership in one bucket")
    table, random = adult(), np.random.default_rng(0)
    membership(*question(table.codes[:30], np.arange(15)))
    for label, people, private, columns, limit, target in CASES:
        places = boxes(table, people)
        taken, exact, undecided = [], 0, 0
        for _ in range(8):
            codes = places[random.integers(len(places))][:, :columns]
            asked = question(codes, random.choice(people, private, replace=False))
            time, found = best(
                lambda asked=asked, limit=limit: membership(*asked, limit=limit, seconds=2.0), 1
            )
            taken.append(time)
            exact += bool(found.exact.all())
            undecided += int(found.undecided.any())
        note = f"median; highest {max(taken):.2f} s; {exact} of 8 counted exactly, {undecided} with undecided people"
        row(label, target, seconds(float(np.median(taken))), note)
    head("methods, 2,000 of 30,162 people")
    table = population()
    for name, target in (("mpalm", "0.5 s"), ("spalm", "0.2 s")):
        for low, high in ((0.0, 0.2), (0.0, 0.5)):
            wanted = Requirements(models=(DeltaPresence(low=low, high=high),))
            time, release = best(
                lambda name=name, wanted=wanted: METHODS[name]().anonymize(table, wanted, Run.start(1)), 3
            )
            row(
                f"{name} ({low}, {high})",
                target,
                seconds(time),
                f"{len(release.low)} classes, {release.facts}",
            )


if __name__ == "__main__":
    main()
