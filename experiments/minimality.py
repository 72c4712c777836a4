"""What the choice of classes reveals: every table of up to eight rows, for each method that looks at sensitive values.

    python -m experiments.minimality [--rows 8]

writes experiments/minimality.md. Ages are 1, 2, .., n; the sensitive values are spread over people in every way that
allows l-diversity. Tables that differ only in the names of values are rerun once: methods treat all values alike.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl

from shoal.coding.column_plan import ColumnPlan
from shoal.coding.columns import Columns
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import InfeasibleError, LimitError
from shoal.judging.attacks.possible_releases import outcomes
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.l_diversity import ProbabilisticDiversity
from shoal.judging.models.probabilistic_k import CandidateDiversity, ProbabilisticK
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.support.run import Run

TOLERANCE = 0.01
"""Rings with three or more choices are drawn 400,000 times, so their probabilities are not exact."""
METHODS_TRIED = (
    ("ring", "ring", {}),
    ("lexicographic", "lexicographic", {}),
    ("hilbert", "hilbert", {}),
    ("mondrian", "mondrian", {}),
    ("mondrian, not strict", "mondrian", {"strict": False}),
    ("agglomerative", "agglomerative", {}),
    ("full-domain", "full-domain", {}),
    ("lexicographic, blind", "lexicographic", {"blind": True}),
    ("hilbert, blind", "hilbert", {"blind": True}),
)


def patterns(rows, most):
    """Every way to say who shares a value with whom, nobody with more than `most` - 1 others: restricted growth."""

    def grow(so_far, counts):
        if len(so_far) == rows:
            yield tuple(so_far)
            return
        for value in range(len(counts) + 1):
            count = counts[value] if value < len(counts) else 0
            if count < most:
                longer = [*counts, 0][: max(len(counts), value + 1)]
                longer[value] = count + 1
                yield from grow([*so_far, value], longer)

    yield from grow([], [])


def renamed(pattern):
    """Every table with this pattern in which value i occurs as often as it does here: names of equally frequent values
    change places.
    """
    counts = [pattern.count(value) for value in range(max(pattern) + 1)]
    order = sorted(range(len(counts)), key=lambda value: (-counts[value], value))
    place = {value: at for at, value in enumerate(order)}
    by_count = defaultdict(list)
    for value in order:
        by_count[counts[value]].append(place[value])
    groups = list(by_count.values())

    def names(left):
        if not left:
            yield {}
            return
        for rest in names(left[1:]):
            for chosen in permutations(left[0]):
                yield {**rest, **dict(zip(left[0], chosen, strict=True))}

    for name in names(groups):
        yield {value: name[place[value]] for value in range(len(counts))}


def table_of(rows):
    """Ages 1..rows, and as many values as rows."""
    frame = pl.DataFrame({"age": list(range(1, rows + 1)), "value": [f"v{i}" for i in range(rows)]})
    return encode(frame, [ColumnPlan("age", QUASI, None), ColumnPlan("value", SENSITIVE, None)])


def asked(method, least):
    """The requirements of l-diversity by shares: of classes, or of candidates for rings."""
    place = {"column": 0, "column_name": "value"}
    if method == "ring":
        return Requirements(
            models=(ProbabilisticK(k=least), CandidateDiversity(l=least, shares=True, **place))
        )
    return Requirements(models=(KAnonymity(k=least), ProbabilisticDiversity(l=float(least), **place)))


def beliefs(name, options, rows, least):
    """Per number of values: release -> [(table, how likely it gives the release)]."""
    method, requirements, table = METHODS[name](**options), asked(name, least), table_of(rows)
    by_release = defaultdict(list)
    refused = 0
    for pattern in patterns(rows, rows // least):
        labels = np.array(pattern, np.int32)
        own = replace(table, secrets=Columns.of(table.sensitive, np.asfortranarray(labels[:, None])))
        try:
            found = outcomes(method, own, labels, requirements, Run.start(1))
        except (InfeasibleError, LimitError):
            refused += 1
            continue
        for name_of in renamed(pattern):
            counts = tuple(sorted((pattern.count(v) for v in set(pattern)), reverse=True))
            arranged = tuple(name_of[value] for value in pattern)
            for key, likely in found.items():
                shown = (counts, tuple(sorted((cell, name_of[value]) for cell, value in key)))
                by_release[shown].append((arranged, likely))
    return by_release, refused


def above(by_release, rows, least, tolerance):
    """How many tables, and people of tables, are above 1/l, and the largest probability; weighed by likelihood."""
    tables, people, largest = Fraction(0), Fraction(0), 0.0
    every = Fraction(0)
    for found in by_release.values():
        total = sum(likely for _, likely in found)
        belief = defaultdict(float)
        for arranged, likely in found:
            for person, value in enumerate(arranged):
                belief[person, value] += likely / total
        top = [max(belief[p, v] for v in range(rows)) for p in range(rows)]
        risky = sum(one > 1 / least + tolerance for one in top)
        largest = max(largest, *top)
        weight = Fraction(total).limit_denominator(10**6)
        every += weight
        people += weight * risky
        tables += weight * (risky > 0)
    return tables, people, every, largest


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=8, help="the largest tables")
    chosen = arguments.parse_args()
    lines, worst = [], {}
    for least in (2, 3):
        for title, name, options in METHODS_TRIED:
            tables = people = every = everybody = Fraction(0)
            largest, refused = 0.0, 0
            for rows in range(least, chosen.rows + 1):
                tolerance = TOLERANCE if name == "ring" and least > 2 else 1e-9
                found, no = beliefs(name, options, rows, least)
                more = above(found, rows, least, tolerance)
                tables, people, every = tables + more[0], people + more[1], every + more[2]
                everybody += more[2] * rows
                largest, refused = max(largest, more[3]), refused + no
            lines.append(
                f"| {least} | {title} | {int(every):,} | {int(tables):,} | {int(people):,} of {int(everybody):,} "
                f"| {float(people / everybody):.1%} | {largest:.3f} | {refused:,} |"
            )
            worst[least, title] = (float(people / everybody), largest)
            print(lines[-1], flush=True)
    safe = [
        f"{title} (l = {least})" for (least, title), (_, top) in worst.items() if top <= 1 / least + TOLERANCE
    ]
    head = [
        "# Minimality: what the choice of classes reveals",
        "",
        f"All tables of up to {chosen.rows} rows with ages 1, 2, .. and sensitive values that can be l-diverse. The "
        "adversary knows all ages, how often each value occurs, and the method. They rerun it on every table, keep "
        "those that give the release, and hold them equally likely. A person is above 1/l if some value is more "
        "likely than that. Refused: patterns of values of which the method makes no release.",
        "",
        f"Nobody is above 1/l with: {', '.join(safe) or 'none of them'}. For `blind` that is proven, see its page.",
        "",
        "| l | method | tables | with somebody above 1/l | people above 1/l | share | largest probability | refused |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
