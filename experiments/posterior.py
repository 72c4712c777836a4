"""How likely the likeliest pair of a person and a row is under global (1,k), and what the repair costs.

    python -m experiments.posterior [--tables art adult]

writes experiments/posterior.md. The probability of a pair is the share of all complete assignments that contain it:
exact where they can be counted, else an estimate. Adult is taken from the folder SHOAL_DATA.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from experiments.k_type import adult, art
from shoal.judging.attacks.linkage import Linkage
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES
from shoal.judging.models import MODELS
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.support.run import Run

RELEASES = (
    ("k-anonymity (agglomerative, not improved)", "agglomerative", {"improve": False}, None),
    ("ring", "ring", {"show": "ranges"}, "probabilistic-k"),
    ("global (1,k)", "global-1-k", {}, "global-1-k"),
    ("global (1,k), repaired", "global-1-k", {"repair": True}, "global-1-k"),
    ("global (1,k), repaired to 0.5", "global-1-k", {"repair": True, "confidence": 0.5}, "global-1-k"),
)
HEAD = """# The likeliest pair under global (1,k), and its repair

An adversary knows exactly who is in the table, and holds all complete assignments of rows to people equally likely. The
likeliest pair of a person and a row then has the probability shown; (est.) marks an estimate by a Markov chain, with
the interval of the number of people above 1/k. Rings are drawn with exactly 1/k for each pair; the figure is that of an
adversary who does not know the draw. All show ranges or nodes, LM is their mean loss. Seconds are processor time.
"""


def line(title, name, options, notion, table, k):
    """One row of the table, and its figures."""
    model = KAnonymity(k=k) if notion is None else MODELS[notion](k=k)
    start = time.process_time()
    release = METHODS[name](**options).anonymize(table, Requirements(models=(model,)), Run.start(1))
    taken = time.process_time() - start
    evidence = Evidence.of_release(table, release, k)
    lost = MEASURES["lm"]().value(evidence)
    pair = Linkage(k=k).attempt(evidence, Run.start(1)).figures["likeliest_pair"]
    many, interval = pair["above_one_in_k"], pair.get("above_one_in_k_interval")
    above = f"{many:,}" if interval is None else f"{many:,} ({interval[0]:,} to {interval[1]:,})"
    how = "" if pair["exact"] else " (est.)"
    shown = f"| {k} | {title} | {lost:.4f} | {pair['largest']:.3f}{how} | {above} | {taken:.1f} |"
    print(shown, flush=True)
    return shown, (lost, many)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tables", nargs="*", default=["art", "adult"], choices=["art", "adult"])
    chosen = arguments.parse_args()
    words, text = [], []
    for name in chosen.tables:
        title, table = (
            ("ART, 5,000 rows", art(5_000, 0)) if name == "art" else ("Adult, 30,162 rows", adult())
        )
        lines = [
            "| k | release | LM | likeliest pair | people above 1/k | s |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for k in (5, 10):
            found = {}
            for one in RELEASES:
                shown, found[one[0]] = line(*one, table, k)
                lines.append(shown)
            plain, fixed = found["global (1,k)"], found["global (1,k), repaired"]
            half, classes = found["global (1,k), repaired to 0.5"], found[RELEASES[0][0]]
            words.append(
                f"- {title}, k = {k}: {plain[1]:,} of {table.rows:,} people are above 1/{k} under global (1,k), and "
                f"{fixed[1]:,} after the repair. LM goes from {plain[0]:.4f} to {fixed[0]:.4f} ({half[0]:.4f} if a "
                f"pair may be as likely as 0.5); classes that are not improved lose {classes[0]:.4f}."
            )
        text += [f"## {title}", "", *lines, ""]
        Path(__file__).with_suffix(".md").write_text("\n".join([HEAD, *words, "", *text]), encoding="utf-8")


if __name__ == "__main__":
    main()
