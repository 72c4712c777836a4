"""Estimators of population uniqueness against known populations, and how long risk measures of samples take.

Writes experiments/population_risk.md, and the same tables into docs/how-to/population-risk.md. Run as
``python -m experiments.population_risk``, with SHOAL_DATA naming the folder that holds adult/.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

from benchmarks.data import ADULT_COLUMNS, adult, census
from shoal.judging.linking.individual_risk import individual_risk
from shoal.judging.linking.suda import find_minimal_uniques
from shoal.judging.linking.uniqueness import ESTIMATORS, estimate_uniques
from shoal.kernels.grouping import distinct

PEOPLE = 100_000
FRACTIONS = (0.01, 0.05, 0.1, 0.5)
DRAWS = 20
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "population-risk.md"
FEW_COLUMNS = ("sex", "age", "race", "marital-status", "education")


def populations():
    """Populations of three kinds: the class of each person."""
    rng = np.random.default_rng(1)
    yield "even: all classes are equally likely", rng.integers(0, PEOPLE // 4, PEOPLE)
    chances = rng.lognormal(0, 1.5, PEOPLE // 4)
    yield "skewed: lognormal", rng.choice(len(chances), PEOPLE, p=chances / chances.sum())
    chances = 1 / np.arange(1, PEOPLE + 1)
    yield "heavy tail: Zipf", rng.choice(PEOPLE, PEOPLE, p=chances / chances.sum())


def sampled(population, fraction, seed):
    """What the estimators say about a random sample, and the share of its rows that are unique in the population."""
    chosen = np.random.default_rng(seed).choice(population, round(len(population) * fraction), replace=False)
    sizes = np.unique(chosen, return_counts=True)[1]
    found = estimate_uniques(sizes, len(population))
    return {
        "here": found.uniques / found.rows,
        **{name: found[name].share for name in ESTIMATORS},
        "dankar": found.rule.share,
    }


def share(value):
    """A share as a person reads it."""
    if 0 < value < 0.00005:
        return "< 0.01 %"
    return f"{100 * value:.1f} %" if value >= 0.1 else f"{100 * value:.2f} %"


def line(label, population, fraction):
    """One line of a table: medians over draws; an estimator that refused in some draws says in how many."""
    truth = np.count_nonzero(np.bincount(population) == 1) / len(population)
    drawn = [sampled(population, fraction, seed) for seed in range(DRAWS)]
    cells, shares = [], []
    for name in (*ESTIMATORS, "dankar"):
        values = [one[name] for one in drawn if not math.isnan(one[name])]
        refused = f" ({DRAWS - len(values)} of {DRAWS} refused)" if len(values) < DRAWS else ""
        cells.append((share(np.median(values)) if values else "refused in all") + refused * bool(values))
        shares += values if name in ESTIMATORS else []
    low, high = np.quantile(shares, [0, 1])
    here = np.median([one["here"] for one in drawn])
    cells = [label, f"{fraction:.0%}", share(here), *cells, f"{share(low)} to {share(high)}", share(truth)]
    return f"| {' | '.join(cells)} |"


def table(rows):
    """A table of estimates."""
    head = (
        "| population | sample | unique in the sample | Pitman | Zayatz | SNB | rule of Dankar | range | truth |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return head + "\n".join(line(label, people, fraction) for label, people in rows for fraction in FRACTIONS)


def adult_classes():
    """Adult as a population, by all its columns and by some."""
    whole = adult()
    yield "Adult, nine columns", distinct(whole.quasi.wide)[0]
    few = [ADULT_COLUMNS.index(name) for name in FEW_COLUMNS]
    yield "Adult, five columns", distinct(np.asfortranarray(whole.quasi.wide[:, few]))[0]


def seconds():
    """Processor seconds of minimal uniques and individual risk; kernels are compiled before."""
    lines = ["| work | rows | processor seconds | found |", "| --- | --- | --- | --- |"]
    for label, coded in (("Adult, nine columns", adult()), ("census, eight columns", census(1_000_000))):
        find_minimal_uniques([column[:100] for column in coded.quasi.narrow], 100)
        start = time.process_time()
        found = find_minimal_uniques(coded.quasi.narrow, coded.rows)
        taken = time.process_time() - start
        words = f"{found.people:,} people in {len(found.sets)} sets of up to 4 columns"
        lines.append(f"| SUDA2 to size 4, {label} | {coded.rows:,} | {taken:.2f} | {words} |")
        weights = np.random.default_rng(1).uniform(5, 50, coded.rows)
        start = time.process_time()
        number, first = distinct(coded.quasi.wide)
        risk = individual_risk(number, len(first), weights)
        taken = time.process_time() - start
        words = f"{risk.expected:,.0f} re-identifications expected"
        lines.append(f"| individual risk, {label} | {coded.rows:,} | {taken:.2f} | {words} |")
        print(lines[-2], lines[-1], sep="\n", flush=True)
    return "\n".join(lines)


def main():
    """Draw the samples, estimate, and write the tables."""
    tables = {
        "simulated": table(populations()),
        "adult": table(adult_classes()),
        "seconds": seconds(),
    }
    text = "# Estimators of population uniqueness on known populations\n"
    page = PAGE.read_text(encoding="utf-8")
    for name, rows in tables.items():
        begin, end = f"<!-- {name}: written by experiments/population_risk.py -->", f"<!-- end of {name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n\n{rows}\n\n{end}{rest.split(end)[1]}"
        text += f"\n## {name}\n\n{rows}\n"
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
