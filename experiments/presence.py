"""The experiments of Toth's thesis on presence: who is re-identified in shuffled tables, and what hiding them costs.

Run as ``python -m experiments.presence [largest k]`` from the project's folder; SHOAL_DATA is the folder that holds
adult/. Writes presence.md and, if matplotlib is installed, presence_*.svg next to this file. ``--only 4`` runs
and prints the fourth experiment alone, in a minute.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from benchmarks.membership import population
from experiments import presence_text as text
from experiments import presence_trials as trials
from experiments.presence_plots import plotted
from shoal.coding.columns import Kept
from shoal.judging.attacks.membership import Membership


def main():
    """Run all experiments, and write them down."""
    parser = argparse.ArgumentParser()
    parser.add_argument("largest", nargs="?", type=int, default=128)
    parser.add_argument("--only", type=int, choices=[4])
    asked = parser.parse_args()
    table = replace(population(), kept=Kept())
    if asked.only:
        print(text.against_k_text(*trials.against_k(table)))
        return
    assert Membership().limit >= trials.LIMIT
    alike = trials.distinct_people(table)
    found = text.Found(
        table=table,
        first=trials.found_out(table, "all"),
        alone=trials.found_out(alike, "distinct"),
        people_first=trials.found_by_people(table, "all"),
        people_alone=trials.found_by_people(alike, "distinct"),
        second=trials.compared(table),
        third=trials.growing(table, [k for k in (2, 4, 8, 16, 32, 64, 128) if k <= asked.largest]),
        fourth=trials.against_k(table),
        drawn=trials.draws(table),
    )
    plots = plotted(
        found.first,
        found.alone,
        found.people_first,
        found.people_alone,
        found.second,
        found.third,
        table.rows,
    )
    (Path(__file__).parent / "presence.md").write_text(text.text_of(found, plots), encoding="utf-8")


if __name__ == "__main__":
    main()
