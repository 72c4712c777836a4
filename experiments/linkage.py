"""Count who is exposed in (k,k) releases of Adult, and that nobody is in global (1,k): writes experiments/linkage.md.

Run as ``python -m experiments.linkage``, with SHOAL_DATA naming the folder that holds adult/.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.data import adult
from benchmarks.k_type_notions import published
from shoal.judging.attacks.linkage import Linkage
from shoal.judging.measures import MEASURES
from shoal.judging.models.k_type import KK, GlobalOneK, KOne
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
HEAD = """# Linkage on Adult

All nine columns of Adult (30,162 people) are quasi-identifiers, with their hierarchies. The methods minimize LM, which
is also the loss shown. Two adversaries attack each release: one knows *some* people's values; the other knows exactly
who the *members* of the table are and prunes by complete assignments. *Below k* counts people with fewer
than k candidate rows, *one row* those with a single one.

(k,k) keeps its promise against the first adversary. The second one narrows a quarter of the people down to fewer than k
rows, and more than a third if cells are improved, because improved cells leave less slack. So the notion is safe only
if nobody knows exactly who is in the table. `global-1-k` leaves nobody below k, and still loses less than k-anonymity
by boxes. The releases of `expansion` are only (k,1), and stop neither adversary.

| k | method | LM | processor seconds | some: below k | one row | members: below k | one row | fewest | guessed right |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def main():
    """Make the releases, attack them, and write the table."""
    table = adult()
    small = replace(table, quasi=table.quasi.take(np.arange(200)))
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
            shown = replace(published(table, release), owner=None)
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
    Path(__file__).with_suffix(".md").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
