"""Four generators of synthetic tables, attacked by `shoal audit-synthetic`: the known order of their risk.

Adult is divided at random into training rows and a holdout of the same size. Bootstrap draws training rows; copies with
noise add 5 % of the range to numbers and replace one category in ten; trees draw each column from the leaves of a tree
over the columns before it; shuffled marginals draw each column by itself. `fresh` are other rows of Adult, from which
no generator learned: what is reported there is chance.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

import shoal
from shoal import io
from shoal.synthetic.rates import COPIES, INFERENCE, LINKABILITY, SINGLING_OUT
from tests.inputs.generators import GENERATORS

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
ROWS = 10_000
HEAD = (
    "| generator | singling out, univariate | multivariate | linkability | inference, mean | largest | near copies | "
    "minimal uniques | membership | nearer to training | leaks | k-marginal | s |\n| --- "
    + "| ---: " * 12
    + "|"
)


def percent(residual):
    return "-" if residual is None else f"{residual.value:.1%} ({residual.low:.1%} to {residual.high:.1%})"


def line(name, audit, seconds):
    found = {question: {} for question in (SINGLING_OUT, LINKABILITY, INFERENCE, COPIES)}
    for one in audit.attempts:
        found[one.question][one.name] = one.residual()
    inferred = [one for one in found[INFERENCE].values() if one is not None]
    cells = (
        name,
        percent(found[SINGLING_OUT]["univariate"]),
        percent(found[SINGLING_OUT]["multivariate"]),
        percent(max(found[LINKABILITY].values(), key=lambda one: one.value)),
        f"{np.mean([one.value for one in inferred]):.1%}",
        percent(max(inferred, key=lambda one: one.value)),
        percent(found[COPIES]["near copies"]),
        percent(found[COPIES]["minimal uniques"]),
        f"{audit.membership.area:.3f}",
        f"{audit.closest.nearer.share:.1%}",
        f"{len(audit.leaks)} of {len(audit.attempts)}",
        f"{audit.usefulness.figures[0].synthetic:.0f}",
        f"{seconds:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def main():
    rows = io.read(DATA / "adult" / "adult.csv").data
    rows = rows[np.random.default_rng(1).permutation(len(rows))]
    train, holdout, fresh = (rows[start : start + ROWS] for start in range(0, 3 * ROWS, ROWS))
    lines = [
        "# Synthetic tables: the order of four generators\n",
        f"Adult, {ROWS:,} training rows, {ROWS:,} in the holdout, {len(train.columns)} columns; 2,000 people of each "
        "are attacked (seed 1). Residual risks with 95 % intervals; linkability is the largest of three random halves. "
        "*Membership*: area under the ROC curve of the distance to the nearest synthetic row. *Leaks*: attacks whose "
        "risk is above 0 beyond chance, with intervals that hold together. *Fresh*: other rows of Adult, in the place "
        "of a synthetic table. Univariate statements are few in Adult, where few values are unique, so their intervals "
        "are wide. The one leak of shuffled marginals is the inference of education; ten other divisions, with 5,000 "
        "rows each, gave one such leak (sex) for shuffled marginals, none for fresh rows. Seconds are of a busy "
        "machine.\n",
        HEAD,
    ]
    made = {name: make(train, ROWS, 5) for name, make in GENERATORS.items()} | {"fresh": fresh}
    for name, synthetic in made.items():
        begin = time.perf_counter()
        audit = shoal.audit_synthetic(synthetic, train, holdout, seed=1)
        lines.append(line(name, audit, time.perf_counter() - begin))
        print(lines[-1], flush=True)
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
