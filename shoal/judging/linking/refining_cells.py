"""What generalized cells can have been, if a tool coarsened only rows whose finer groups were too small.

Local recoding and suppressed cells publish every group that is large enough at a finer state of the columns, and
coarsen only the rest. So a coarse row had values that no finer class inside its cells shows, and at no finer state did
k of the coarse rows share their values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, csr_matrix, hstack, identity

from shoal.coding import Attribute
from shoal.errors import DataError
from shoal.release.published import Published
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

MOST_PER_CLASS = 4_096
"""Classes with more combinations of values are left as they are."""
MOST_COMBINATIONS = 400_000
"""So many combinations of all classes are considered together."""
MOST_STATES = 256
"""So many finer states are compared, those with the most classes first."""
PRICE = 50.0
"""What a row more in a finer group costs the program, next to the logarithms of likelihoods."""
SECONDS = 60.0
"""The linear program ends after this time."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells(Brief):
    """The cells of a release as nodes of hierarchies."""

    attributes: tuple[Attribute, ...]
    low: IntMatrix
    """``[classes, columns]`` first code of each cell."""
    high: IntMatrix
    state: IntMatrix
    """``[classes, columns]`` the level of each cell."""
    sizes: LongVector

    @classmethod
    def read(cls, published: Published) -> Cells:
        """Read a release, or raise DataError if its cells are not nodes of hierarchies."""
        low, high = published.cell_ranges
        state = np.empty_like(low)
        for j, attribute in enumerate(published.attributes):
            tree = attribute.hierarchy
            levels = np.arange(len(tree.levels))[:, None]
            same = (tree.low[levels, low[:, j]] == low[:, j]) & (tree.high[levels, low[:, j]] == high[:, j])
            if published.sets is not None or not same.any(axis=0).all():
                raise DataError(
                    f"the cells of '{attribute.name}' are not nodes of its hierarchy, so Shoal cannot tell which rows "
                    "were coarsened: the attack is for full-domain generalization with suppressed cells, and for "
                    "local recoding of other tools"
                )
            state[:, j] = _choose_levels(same.argmax(axis=0), len(same) - 1 - same[::-1].argmax(axis=0))
        return cls(published.attributes, low, high, state, published.sizes)

    @cached_property
    def finest(self) -> IntVector:
        """Per column the finest level that the release shows."""
        found: IntVector = self.state.min(axis=0).astype(np.int32)
        return found

    @cached_property
    def coarse(self) -> BoolVector:
        """``[classes]`` some cell is above the finest level of its column."""
        found: BoolVector = np.asarray(np.any(self.state > self.finest, axis=1))
        return found

    @cached_property
    def shares(self) -> tuple[FloatVector, ...]:
        """Per column how often each node of the finest level is shown, plus one; by the first code of the node."""
        found = []
        for j, attribute in enumerate(self.attributes):
            shown = self.state[:, j] == self.finest[j]
            size = attribute.hierarchy.size
            counts = np.bincount(self.low[shown, j], weights=self.sizes[shown], minlength=size) + 1.0
            found.append(counts / counts[self.nodes(j, 0, size - 1)].sum())
        return tuple(found)

    def nodes(self, j: int, low: int, high: int) -> IntVector:
        """Return the first codes of the nodes of the finest level within a cell."""
        starts = self.attributes[j].hierarchy.levels[self.finest[j]].starts
        first, end = np.searchsorted(starts, low), np.searchsorted(starts, high, "right")
        return np.asarray(starts[first:end], np.int32)

    @cached_property
    def states(self) -> IntMatrix:
        """The states that classes show, those with the most classes first, at most `MOST_STATES`."""
        found, counts = np.unique(self.state, axis=0, return_counts=True)
        return found[np.argsort(-counts, kind="stable")[:MOST_STATES]]


def _choose_levels(first: LongVector, last: LongVector) -> LongVector:
    """Return a level for each cell, from the first to the last level that has its node, so that all cells of a column
    need as few levels as possible."""
    chosen: list[int] = []
    for low, high in sorted(set(zip(first.tolist(), last.tolist(), strict=True)), key=lambda ends: ends[1]):
        if not chosen or low > chosen[-1]:
            chosen.append(high)
    return np.array(chosen)[np.searchsorted(chosen, first)]


@dataclass(frozen=True, eq=False, repr=False)
class Combinations(Brief):
    """What the rows of coarse classes can have been at the finest level."""

    cells: Cells
    classes: IntVector
    """The classes that are considered."""
    of: IntVector
    """Combination -> place in `classes`."""
    codes: IntMatrix
    """``[combinations, columns]`` first codes of nodes of the finest level."""

    @classmethod
    def list_all(cls, cells: Cells) -> Combinations:
        """List the combinations of all coarse classes, those with the fewest first, up to the limits."""
        coarse = np.flatnonzero(cells.coarse)
        columns = range(len(cells.attributes))
        many = np.ones(len(coarse))
        for j in columns:
            starts = cells.attributes[j].hierarchy.levels[cells.finest[j]].starts
            ends = np.searchsorted(starts, cells.high[coarse, j], "right")
            many *= ends - np.searchsorted(starts, cells.low[coarse, j])
        order = np.argsort(many, kind="stable")
        fits = (many[order] <= MOST_PER_CLASS) & (np.cumsum(many[order]) <= MOST_COMBINATIONS)
        taken = np.sort(coarse[order[fits]]).astype(np.int32)
        parts = []
        for one in taken:
            axes = [cells.nodes(j, cells.low[one, j], cells.high[one, j]) for j in columns]
            parts.append(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes)))
        of = np.repeat(np.arange(len(taken), dtype=np.int32), [len(part) for part in parts])
        codes = np.concatenate(parts) if parts else np.empty((0, len(cells.attributes)), np.int32)
        return cls(cells, taken, of, codes)

    @cached_property
    def weights(self) -> FloatVector:
        """How likely each combination is by the shares of the single columns."""
        found = np.ones(len(self.of))
        for j, share in enumerate(self.cells.shares):
            found *= share[self.codes[:, j]]
        return found

    def compare_with_finer(self) -> tuple[BoolVector, csr_matrix]:
        """Return which combinations a finer class inside the cells of their class rules out, and the groups of
        combinations that read alike at a finer state: ``[groups, combinations]``. O(states x combinations).
        """
        from shoal.kernels.grouping import distinct

        cells, excluded = self.cells, np.zeros(len(self.of), np.bool_)
        above = cells.state[self.classes]
        rows: list[LongVector] = []
        places: list[LongVector] = []
        groups = 0
        for state in cells.states:
            finer = ((above >= state).all(axis=1) & (above > state).any(axis=1))[self.of]
            if not finer.any():
                continue
            own = np.flatnonzero(finer)
            shown = cells.low[(cells.state == state).all(axis=1)]
            lifted = np.stack(
                [a.hierarchy.low[state[j], self.codes[own, j]] for j, a in enumerate(cells.attributes)],
                axis=1,
            )
            number, first = distinct(np.asfortranarray(np.vstack([shown, lifted])))
            known = np.zeros(len(first), np.bool_)
            known[number[: len(shown)]] = True
            mine = number[len(shown) :]
            excluded[own[known[mine]]] = True
            rows.append(mine[~known[mine]].astype(np.int64) + groups)
            places.append(own[~known[mine]])
            groups += len(first)
        row = np.concatenate(rows) if rows else np.empty(0, np.int64)
        used, row = np.unique(row, return_inverse=True)
        place = np.concatenate(places) if places else np.empty(0, np.int64)
        shape = (len(used), len(self.of))
        return excluded, coo_matrix((np.ones(len(row)), (row, place)), shape).tocsr()


@dataclass(frozen=True, eq=False, repr=False)
class Refined(Brief):
    """How the rows of each coarse class are likely to be spread over combinations."""

    combinations: Combinations
    excluded: BoolVector
    """Combinations that finer classes rule out."""
    rows: FloatVector
    """Combination -> rows of its class that have it in a likeliest assignment."""
    beyond: float
    """Rows by which finer groups have k rows or more: the tool took a further step."""

    def guess(self, j: int, weights: FloatVector) -> IntVector:
        """Return the node that most rows of each class have in a column, by some weight of each combination."""
        mine, own = self.combinations, self.combinations.codes[:, j].astype(np.int64)
        size = mine.cells.attributes[j].hierarchy.size
        keys, place = np.unique(mine.of.astype(np.int64) * size + own, return_inverse=True)
        total = np.bincount(place, weights=weights, minlength=len(keys))
        best = np.lexsort((keys, -np.round(total, 9), keys // size))
        first = np.unique(keys[best] // size, return_index=True)[1]
        found: IntVector = (keys[best][first] % size).astype(np.int32)
        return found


def refine(cells: Cells, most: int | None) -> Refined:
    """Find a likeliest assignment of the rows of coarse classes to combinations, with at most `most` rows of each finer
    group that is not published (None: any number). What the release contradicts is not ruled out.

    DataError if no finer class rules anything out.
    """
    mine = Combinations.list_all(cells)
    excluded, alike = mine.compare_with_finer()
    if not excluded.any():
        raise DataError(
            "no class lies inside the cells of another, so no row was coarsened because its finer group was too small: "
            "this attack learns nothing here"
        )
    left = np.bincount(mine.of[~excluded], minlength=len(mine.classes))
    excluded &= (left > 0)[mine.of]  # Another rule made a class of which nothing would be left.
    free = np.flatnonzero(~excluded)
    sizes = cells.sizes[mine.classes].astype(float)
    likely = np.log(mine.weights[free])
    each = coo_matrix((np.ones(len(free)), (mine.of[free], np.arange(len(free)))), (len(sizes), len(free)))
    groups = alike.shape[0] if most is not None else 0
    # A group may have more rows at a high price, so that a tool with further steps is not beyond the program.
    solve: Any = linprog  # whose types know no sparse matrices
    found = solve(
        np.append(-likely, np.full(groups, PRICE)),
        A_ub=hstack([alike[:groups, free], -identity(groups)], "csr") if groups else None,
        b_ub=np.full(groups, float(most or 0)) if groups else None,
        A_eq=hstack([each, coo_matrix((len(sizes), groups))], "csr"),
        b_eq=sizes,
        method="highs",
        options={"time_limit": SECONDS},
    ).x
    if found is None:
        raise DataError(f"the linear program over {len(free):,} combinations took over {SECONDS:.0f} seconds")
    rows = np.zeros(len(mine.of))
    rows[free] = found[: len(free)]
    return Refined(mine, excluded, rows, float(found[len(free) :].sum()))
