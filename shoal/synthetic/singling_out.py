"""Singling out: statements made from the synthetic table that exactly one training row satisfies.

A statement that few people satisfy isolates one of them by accident, the more easily the more people there are. So the
success on the holdout is scaled to the number of training rows, if there are more of them than in the holdout: the
chance that n people contain exactly one who satisfies a statement of weight w is ``n w (1 - w)^(n - 1)``, the weights
are taken as uniform up to a limit, and this limit and a factor are fitted to the success on parts of the holdout
(Giomi et al. 2023). In a larger holdout the expected success among as many people is counted exactly.
"""

from __future__ import annotations

import numpy as np

from shoal.support.arrays import FloatVector, LongVector
from shoal.support.run import Run
from shoal.synthetic.predicates import (
    FEWEST,
    Predicates,
    make_multivariate,
    make_random,
    make_univariate,
)
from shoal.synthetic.rates import SINGLING_OUT, Attempt, Rate
from shoal.synthetic.tables import Tables

PARTS = 8
"""The success is fitted to so many sizes of parts of the holdout."""
WEIGHTS = 400
"""So many limits of weights are tried."""
SHOWN = 20
"""So many training rows at most are named in the private result."""
UNIVARIATE, MULTIVARIATE = "univariate", "multivariate"


def single_out(tables: Tables, targets: int, run: Run) -> list[Attempt]:
    """Try statements about one column, and about several."""
    run.progress("singling out", 0.0)
    attempts = [_try(tables, UNIVARIATE, make_univariate(tables, targets, run), run)]
    if len(tables.columns) < 2:
        refused = "statements about several columns need two columns, and there is one"
        return [*attempts, Attempt(question=SINGLING_OUT, name=MULTIVARIATE, refused=refused)]
    return [*attempts, _try(tables, MULTIVARIATE, make_multivariate(tables, targets, run), run)]


def _try(tables: Tables, name: str, predicates: Predicates, run: Run) -> Attempt:
    if not predicates.many:
        what = (
            "value that one synthetic row has"
            if name == UNIVARIATE
            else "statement that isolates a synthetic row"
        )
        return Attempt(question=SINGLING_OUT, name=name, refused=f"no {what} was found")
    count, first = predicates.count_in(tables.original)
    isolated = count == 1
    conditions = 1 if name == UNIVARIATE else FEWEST
    blind, _ = make_random(tables, conditions, predicates.many, run).count_in(tables.original)
    control = measured = None
    if tables.holdout is not None:
        found, _ = predicates.count_in(tables.holdout, most=tables.holdout.count)
        measured = Rate.of_hits(found == 1)
        control = Rate(scale_success(found, tables.holdout.count, tables.original.count), predicates.many)
    shown = np.flatnonzero(isolated)[:SHOWN]
    return Attempt(
        question=SINGLING_OUT,
        name=name,
        train=Rate.of_hits(isolated),
        control=control,
        control_measured=measured if tables.holdout is not None and tables.holdout.count < tables.original.count
        else None,
        baseline=float((blind == 1).mean()),
        exposed=tuple((int(first[one]), predicates.describe(tables, one)) for one in shown),
    )  # fmt: skip


def isolate_in_part(count: LongVector, rows: int, part: int) -> float:
    """Return the share of statements that are expected to isolate somebody in a random part of the rows, if `count` of
    them satisfy each: the chance that exactly one of these is in the part.
    """
    from scipy.stats import hypergeom

    counts, many = np.unique(count, return_counts=True)
    return float(hypergeom.pmf(1, rows, counts, part) @ many / max(many.sum(), 1))


def scale_success(count: LongVector, rows: int, wanted: int) -> float:
    """Return the share of statements that isolate somebody among `wanted` people, from how many of `rows` people
    satisfy each.
    """
    measured = float((count == 1).mean())
    if wanted <= rows:
        return isolate_in_part(count, rows, wanted)
    if not measured:
        return 0.0
    sizes = np.unique(np.linspace(max(rows // PARTS, 1), rows, PARTS).astype(np.int64))
    success = np.array([isolate_in_part(count, rows, int(size)) for size in sizes])
    best, limit = np.inf, 1.0
    for weight in np.geomspace(0.01 / wanted, 1.0, WEIGHTS):
        chance = chance_to_isolate(sizes, weight)
        factor = float(chance @ success / max(float(chance @ chance), 1e-300))
        missed = float(((factor * chance - success) ** 2).sum())
        if missed < best:
            best, limit = missed, float(weight)
    here, there = chance_to_isolate(np.array([rows, wanted]), limit)
    return min(measured * float(there) / max(float(here), 1e-300), 1.0)


def chance_to_isolate(people: LongVector, limit: float) -> FloatVector:
    """Return the mean over weights w, uniform from 0 to the limit, of the chance ``n w (1 - w)^(n - 1)`` that exactly
    one of n people satisfies a statement: its integral is
    ``(1 - (n limit + 1) (1 - limit)^n) / (n + 1)``.
    """
    n = people.astype(np.float64)
    rest = np.exp(n * np.log1p(-min(limit, 1.0 - 1e-12)))
    found: FloatVector = (1.0 - (n * limit + 1.0) * rest) / ((n + 1.0) * limit)
    return found
