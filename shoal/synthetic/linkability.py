"""Linkability: two parts of a person's record, held by two parties, lead to the same synthetic row.

For a target, the nearest synthetic row is found by the columns of the one part, and by those of the other. If it is the
same row, the adversary links the two parts. Equally near rows are chosen from at random, for each part by itself: in
which order a table is stored links nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from shoal.errors import ARGUMENTS, PolicyError, Problem
from shoal.support.arrays import LongVector
from shoal.support.run import Run
from shoal.support.wording import format_value, some_values
from shoal.synthetic.arguments import check_named
from shoal.synthetic.distances import find_nearest
from shoal.synthetic.rates import LINKABILITY, Attempt, Rate
from shoal.synthetic.tables import Rows, Tables

SPLITS = 3
"""So many random halves of the columns are tried if none are named."""
EXAMPLE = "for example age,sex and zip,job"
SHOWN = 20
Split = tuple[tuple[str, ...], tuple[str, ...]]


def choose_splits(names: Sequence[str], run: Run) -> list[Split]:
    """Draw random halves of the columns, or return the only one."""
    if len(names) < 2:
        return []
    found: dict[frozenset[str], Split] = {}
    for _ in range(SPLITS):
        drawn = [names[at] for at in run.random.permutation(len(names))]
        half = sorted(drawn[: len(names) // 2], key=list(names).index)
        rest = sorted(drawn[len(names) // 2 :], key=list(names).index)
        found.setdefault(frozenset(half) if names[0] in half else frozenset(rest), (tuple(half), tuple(rest)))
    return list(found.values())


def check_splits(splits: Any, names: Sequence[str]) -> list[Split]:
    """Return the splits that were named; PolicyError if one is none."""
    found = []
    if type(splits) not in (list, tuple):
        _refuse(f"must be pairs of sets of columns, not {format_value(splits)}", EXAMPLE)
    for split in splits:
        pair = type(split) in (list, tuple) and len(split) == 2
        if not pair or not all(type(part) in (list, tuple) and len(part) for part in split):
            _refuse("needs two sets of columns, each of at least one", EXAMPLE)
        own = check_named("link", split[0], names), check_named("link", split[1], names)
        both = [name for name in own[0] if name in own[1]]
        if both:
            _refuse(f"{some_values(both)} is in both sets", "it would link every row: name it in one")
        found.append(own)
    return found


def _refuse(message: str, hint: str) -> NoReturn:
    raise PolicyError([Problem("link", message, hint)], where=ARGUMENTS)


def link(
    tables: Tables, targets: tuple[LongVector, LongVector | None], splits: Sequence[Split], run: Run
) -> list[Attempt]:
    """Link the targets, rows of the original and of the holdout, by each split. O(splits x targets x rows)."""
    if len(tables.columns) < 2:
        refused = "two sets of columns are needed, and there is one column"
        return [Attempt(question=LINKABILITY, name="halves", refused=refused)]
    found = []
    for at, split in enumerate(splits):
        own = _links(tables, tables.original.take(targets[0]), split, run, at / len(splits))
        control = None
        if tables.holdout is not None and targets[1] is not None:
            rows = tables.holdout.take(targets[1])
            control = Rate.of_hits(_links(tables, rows, split, run, (at + 0.5) / len(splits)))
        shown = targets[0][np.flatnonzero(own)[:SHOWN]]
        found.append(
            Attempt(
                question=LINKABILITY,
                name=" with ".join(", ".join(part) for part in split),
                train=Rate.of_hits(own),
                control=control,
                baseline=1.0 / tables.synthetic.count,
                exposed=tuple((int(row), "both parts lead to the same synthetic row") for row in shown),
            )
        )
    return found


def _links(
    tables: Tables, rows: Rows, split: Split, run: Run, done: float
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    found = []
    for part in split:
        own = np.array([tables.names.index(name) for name in part])
        order = run.random.permutation(tables.synthetic.count)
        nearest = find_nearest(
            np.ascontiguousarray(tables.synthetic.places[own][:, order]),
            np.ascontiguousarray(rows.places[own]),
            tables.numbers[own],
            tables.unit,
            run,
            ("linkability", 0.2 + 0.2 * done, 0.2 + 0.2 * done),
        )
        found.append(order[nearest.row[0]])
    return np.asarray(found[0] == found[1], np.bool_)
