"""Count who is exposed in (k,k) releases of Adult to adversaries who know the members, or a few people, and that nobody
is in global (1,k): writes experiments/linkage.md.

Run as ``python -m experiments.linkage``, with SHOAL_DATA naming the folder that holds adult/. It takes a few minutes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.data import ADULT_COLUMNS, adult, adult_file
from benchmarks.k_type_notions import published
from shoal import io
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI
from shoal.judging.attacks.few_known import FewKnown
from shoal.judging.attacks.linkage import Linkage
from shoal.judging.linking.origins import RECEIVED
from shoal.judging.measures import MEASURES
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.k_type import EVERYBODY, KK, GlobalOneK, KOne
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.support.run import Run

RELEASES = (
    ("mondrian", "mondrian", {}, GlobalOneK),
    ("expansion", "expansion", {}, KOne),
    ("k-k from nearest", "k-k", {"start": "nearest", "improve": False}, KK),
    ("k-k from expansion", "k-k", {"improve": False}, KK),
    ("k-k, improved", "k-k", {}, KK),
    ("global-1-k", "global-1-k", {"improve": False}, GlobalOneK),
    ("global-1-k, improved", "global-1-k", {}, GlobalOneK),
)
ROWS, COLUMNS, K = 3_000, 7, 5
KNOWN = (4, 5, 10, 15, 30, 100)
SAMPLES = 20
HEAD = """# Linkage on Adult

All nine columns of Adult (30,162 people) are quasi-identifiers, with their hierarchies. The methods minimize LM, which
is also the loss shown. Two adversaries attack each release: one knows the values of the person they look for; the other
knows exactly who the *members* of the table are and prunes by complete assignments. *Below k* counts people with fewer
than k candidate rows, *one row* those with a single one.

(k,k) keeps its promise against the first adversary. The second one narrows a quarter of the people down to fewer than k
rows, and more than a third if cells are improved, because improved cells leave less slack. It does not take everyone to
do this: the sections below are about adversaries who know a few others. `global-1-k` leaves nobody below k, and still
loses less than k-anonymity by boxes. The releases of `expansion` are only (k,1), and stop neither adversary.

| k | method | LM | processor seconds | first: below k | one row | members: below k | one row | fewest | guessed right |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
FEW = """
## A few known people

The adversary knows the values of m others, and that they are in the table: for each target, those m who help most
(`docs/attacks/few-known.md`). Shown are the share of people with fewer than 5 rows left, and the number of people with
a single one, in (5,5) releases by `k-k`. Fewer than 5 known people never help. Anyone who knows everyone else knows the
members.

| table | cells | {known} | everyone else |
| --- | --- | {lines} | --- |
"""
CHOICES = """
### It depends on the rows and columns

The same on the first 3,000 rows with each of the {many} choices of seven columns of the nine, and on {samples} random
samples of 3,000 rows with the first seven columns: least, median and most over these tables. Small closed sets are few,
and many people match their rows, so one set more or less changes the figure a lot. A release in which nobody is below 5
for 10 known people is luck, not a property of the method.

| tables | cells | others known | share: least | share: median | share: most | one row: least | median | most |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
PRICE = """
## The price of more known people

`k-k` with `known = m` lets cells grow until 5 rows are left for everybody, whichever m others are known. *Cells* counts
those that grew for it. For comparison: global (1,5), and classes of 5. Below that, the mean over the {samples} samples.

| table | release | LM | cells | share below 5, m others known |
| --- | --- | --- | --- | --- |
"""
CLIFF = """
### The guarantee ends at the number

Releases of all 30,162 rows for 10, 30 and 100 known people, and adversaries who know more: share of people with fewer
than 5 rows left, and number of people with a single one. Sets that use up their rows have just become larger than m.

| (5,5) with | {known} |
| --- | {lines} |
"""
BEYOND = (10, 11, 15, 30, 31, 40, 100, 101, 200)
CONJECTURE = """
## Is a larger k enough?

The paper asks whether ((1 + e)k, (1 + e)k) satisfies global (1,k) on real data, for some e. The table shows (k', k')
releases, the share of people with fewer than 5 matches for an adversary who knows the members, and with fewer than 5
rows left for one who knows 30 others.

| table | k' | cells | LM | members: below 5 | one row | 30 others: below 5 | one row |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def some_rows(columns=ADULT_COLUMNS[:COLUMNS], seed=None):
    """The first rows of Adult, or a random sample, with some columns."""
    plans = [ColumnPlan(name, QUASI, adult_file(name)) for name in columns]
    whole = pl.read_csv(adult_file(), separator=";", infer_schema_length=None)
    return encode(io.read(whole.head(ROWS) if seed is None else whole.sample(ROWS, seed=seed)), plans)


def made(table, model, name="k-k", **options):
    """What is published, and how many cells a repair let grow."""
    release = METHODS[name](**options).anonymize(table, Requirements(models=(model,)), Run.start(1))
    return published(table, release), release.facts


def left(shown, known, k=K):
    """The share of people below k, and how many have one row, if the adversary knows so many others."""
    figures = FewKnown(known=known, k=k).attempt(shown, Run.start(1)).figures
    assert figures["exact"], "a search was too long"
    return figures["rows_left"]["share_below_k"], figures["rows_left"]["single"]


def lost(shown):
    return MEASURES["lm"]().value(shown)


def tables():
    return {
        f"first {ROWS:,} rows, {COLUMNS} columns": some_rows(),
        "all 30,162 rows, 9 columns": adult(),
    }


CELLS = (("not improved", {"improve": False}), ("improved", {}))


def few_known():
    """How far adversaries get who know a few others."""
    lines = []
    for label, table in tables().items():
        for cells, options in CELLS:
            shown, _ = made(table, KK(k=K), **options)
            found = [left(shown, known) for known in (*KNOWN, EVERYBODY)]
            lines.append(f"| {label} | {cells} | " + " | ".join(f"{a:.1%}, {b:,}" for a, b in found) + " |")
            print(lines[-1], flush=True)
    return lines


def choices():
    """The same over all choices of columns, and over samples of rows."""
    lines = []
    families = {
        "choices of columns": [some_rows(chosen) for chosen in combinations(ADULT_COLUMNS, COLUMNS)],
        "samples of rows": [some_rows(seed=seed) for seed in range(SAMPLES)],
    }
    for family, own in families.items():
        for cells, options in CELLS:
            releases = [made(table, KK(k=K), **options)[0] for table in own]
            for known in (10, 15, 30):
                shares, alone = zip(*(left(shown, known) for shown in releases), strict=True)
                ends = [f"{of(shares):.1%}" for of in (np.min, np.median, np.max)]
                ends += [f"{of(alone):,.0f}" for of in (np.min, np.median, np.max)]
                lines.append(f"| {family} | {cells} | {known} | {' | '.join(ends)} |")
                print(lines[-1], flush=True)
    return lines


def price():
    """What it costs to leave 5 rows to everybody."""
    lines = []
    samples = [some_rows(seed=seed) for seed in range(SAMPLES)]
    families = {label: [table] for label, table in tables().items()}
    for label, own in (families | {f"{SAMPLES} samples of {ROWS:,} rows": samples}).items():
        for known in (0, 5, 10, 30, 100, EVERYBODY):
            found = [made(table, KK(k=K, known=known)) for table in own]
            words = {0: "(5,5)", EVERYBODY: "(5,5), everyone else known"}.get(
                known, f"(5,5), {known} others known"
            )
            loss = np.mean([lost(shown) for shown, _ in found])
            cells = np.mean([facts.get("repaired", 0) for _, facts in found])
            share = f"{max(left(shown, known)[0] for shown, _ in found):.1%}" if known else "-"
            lines.append(f"| {label} | {words} | {loss:.5f} | {cells:,.0f} | {share} |")
            print(lines[-1], flush=True)
        for words, model, name in (
            ("global (1,5)", GlobalOneK(k=K), "global-1-k"),
            ("classes of 5, `agglomerative`", KAnonymity(k=K), "agglomerative"),
        ):
            loss = np.mean([lost(made(table, model, name)[0]) for table in own])
            lines.append(f"| {label} | {words} | {loss:.5f} | - | - |")
            print(lines[-1], flush=True)
    return lines


def cliff():
    """How far adversaries get who know more people than a release was made for."""
    table, lines = adult(), []
    for known in (10, 30, 100):
        shown, _ = made(table, KK(k=K, known=known))
        found = [left(shown, many) for many in BEYOND]
        lines.append(f"| {known} others known | " + " | ".join(f"{a:.1%}, {b:,}" for a, b in found) + " |")
        print(lines[-1], flush=True)
    return lines


def conjecture():
    """Whether (k', k') for a larger k' leaves 5 matches."""
    lines = []
    for label, table in tables().items():
        for k in (5, 6, 8, 10, 15, 20):
            for cells, options in CELLS:
                shown, _ = made(table, KK(k=k), **options)
                (members, alone), (few, single) = left(shown, EVERYBODY), left(shown, 30)
                found = f"{members:.1%} | {alone:,} | {few:.1%} | {single:,}"
                lines.append(f"| {label} | {k} | {cells} | {lost(shown):.4f} | {found} |")
                print(lines[-1], flush=True)
    return lines


def main():
    """Make the releases, attack them, and write the table."""
    table = adult()
    small = table.part(np.arange(200))
    lines = []
    for k in (5, 10):
        for label, name, options, notion in RELEASES:
            wanted = Requirements(models=(notion(k=k),))
            method = METHODS[name](**options)
            # Kernels are compiled, or loaded, at their first use.
            method.anonymize(small, wanted, Run.start(1))
            start = time.process_time()
            release = method.anonymize(table, wanted, Run.start(1))
            taken = time.process_time() - start
            shown = replace(published(table, release), origin=RECEIVED)
            loss = MEASURES["lm"]().value(shown)
            some, members = (
                Linkage(adversary=adversary, k=k).attempt(shown, Run.start(1))
                for adversary in ("some", "members")
            )
            before, after = some.figures["candidates"], members.figures["candidates_after_pruning"]
            lines.append(
                f"| {k} | {label} | {loss:.4f} | {taken:.2f} | {before['below_k']:,} | {before['single']:,} "
                f"| {after['below_k']:,} | {after['single']:,} | {after['least']} | {members.success:.2%} |"
            )
            print(lines[-1], flush=True)
    many = len(list(combinations(ADULT_COLUMNS, COLUMNS)))
    few = FEW.format(known=" | ".join(map(str, KNOWN)), lines=" | ".join("---" for _ in KNOWN))
    parts = [HEAD, lines, few, few_known()]
    parts += [CHOICES.format(many=many, samples=SAMPLES), choices()]
    parts += [PRICE.format(samples=SAMPLES), price()]
    parts += [
        CLIFF.format(known=" | ".join(map(str, BEYOND)), lines=" | ".join("---" for _ in BEYOND)),
        cliff(),
    ]
    parts += [CONJECTURE, conjecture()]
    text = "".join(part if isinstance(part, str) else "\n".join(part) + "\n" for part in parts)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
