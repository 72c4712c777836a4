"""Cells grow until k rows are left for everybody, whichever m others the adversary knows; (k,k) is not enough."""

from __future__ import annotations

import numpy as np

from shoal.judging.linking.rows_left import ClosedSets, rows_left
from shoal.methods.cells.cells import Cells
from shoal.support.arrays import BoolVector, LongVector
from shoal.support.run import Run


def repair(cells: Cells, known: int, run: Run) -> int:
    """Let cells grow until an adversary who knows `known` others leaves k rows for everybody. Returns how many grew.

    Cells that grow only make closed sets larger, so nobody loses a row by it. In each round, every smallest closed set
    that takes rows from somebody who lacks them is opened: a row from outside grows to cover one of its people, the one
    that costs least. The set then has more people, or is closed no more, so the rounds end. Where no cell can grow, and
    if nothing limits `known`, cells grow as for global (1,k).
    """
    grown, rounds = 0, 0
    people = int(cells.people.weight.sum())
    while known < people - 1:
        run.progress("repair", rounds / (rounds + 4))
        graph = cells.graph()
        lacking = rows_left(graph, known, Run(run.random)).least < cells.k
        if not lacking.any():
            return grown
        more = _open_sets(cells, ClosedSets(graph, known), lacking)
        if not more:
            break
        grown, rounds = grown + more, rounds + 1
    return grown + cells.join(run)[0]


def _open_sets(cells: Cells, sets: ClosedSets, lacking: BoolVector) -> int:
    """Open the smallest closed sets that take rows from the people who lack them."""
    from shoal.kernels.covering import hulls, open_sets

    people, tree = cells.people, cells.people.tree
    component = sets.graph.components[1]
    wanted = np.isin(component, _find_sinks(sets, lacking))
    members = np.flatnonzero(wanted)
    members = members[np.argsort(component[members], kind="stable")]
    starts = np.flatnonzero(np.diff(component[members], prepend=-1, append=-1))
    hull, costliest = hulls(cells.slots, cells.low, cells.high, *tree[:3], cells.losses)
    grown: int = open_sets(
        people.codes, cells.slots, cells.changed, cells.low, cells.high, component, members, starts, *tree[:3],
        hull, costliest, cells.losses,
    )  # fmt: skip
    return grown


def _find_sinks(sets: ClosedSets, lacking: BoolVector) -> LongVector:
    """Return the components that are closed by themselves, among those that take rows from people who lack them."""
    begins, items, _ = sets.targets
    start, heads = sets.edges
    taking = np.zeros(len(sets.weight), np.bool_)
    new = np.unique(items[np.repeat(lacking, np.diff(begins))])
    tails = np.repeat(np.arange(len(sets.weight)), np.diff(start))
    while len(new):
        taking[new] = True
        new = np.unique(heads[taking[tails]])
        new = new[~taking[new]]
    return np.flatnonzero(taking & (np.diff(start) == 0))
