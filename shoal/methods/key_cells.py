"""Cells that show `*`, or rows that are left out, so that k holds over each set of columns that an adversary may know.

Over each set, every row then shows the same as k - 1 others, `*` included. That is stricter than what the policy asks
for, where `*` matches every value: with that alone, k rows of `*` would match everybody and stand in for all
candidates. It can also be verified from the published rows only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.judging.linking.key_matches import DENSE, SMALL, Chosen
from shoal.support.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.machine.threads import PIECE, in_threads
from shoal.support.run import Run

ROUNDS = 12
"""The nodes of a column are tried so many times; each time without the cells of rows that failed."""
RESTORED = 1.2
"""Cells that get their nodes back save at most about a sixth, so more than this is too much before."""
SHARES = 4
"""The sets are counted in so many shares, in threads."""


class Shown:
    """What rows show: nodes at the level of each column, and `*`."""

    def __init__(
        self, nodes: Sequence[IntVector], spans: Sequence[int], sets: Sequence[Chosen], k: int
    ) -> None:
        self.nodes = [own.copy() for own in nodes]
        self.spans = [span + 1 for span in spans]
        """The last place of each column is `*`."""
        self.sets, self.k = sets, k
        self.rows: LongVector = np.arange(len(nodes[0]))
        """Rows that are published."""

    @property
    def stars(self) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """``[columns, rows]`` which cells show `*`."""
        return np.stack([own == span - 1 for own, span in zip(self.nodes, self.spans, strict=True)])

    def count_failing(self, sets: Sequence[Chosen] | None = None) -> IntMatrix:
        """Return ``[columns, rows]`` in how many sets with the column a row shows the same as fewer than k - 1 others.
        O(sets x rows).
        """
        asked = self.sets if sets is None else sets
        step = max(1, -(-len(asked) // SHARES))
        shares = [asked[at : at + step] for at in range(0, len(asked), step)]
        found = np.zeros((len(self.nodes), len(self.rows)), np.int32)
        for own in in_threads(self._count_share, shares, many=len(asked) * len(self.rows) > PIECE):
            found += own
        return found

    def _count_share(self, sets: Sequence[Chosen]) -> IntMatrix:
        from shoal.kernels.grouping import distinct_rows
        from shoal.kernels.key_sets import add_failing

        rows = len(self.rows)
        found = np.zeros((len(self.nodes), rows), np.int32)
        nothing = np.zeros(rows, np.int32)
        known: tuple[Chosen, IntVector] = ((), nothing)
        for chosen in sets:
            *others, last = chosen
            places = math.prod(self.spans[j] for j in chosen)
            if places > max(DENSE * rows, SMALL):
                key, first = distinct_rows([self.nodes[j] for j in chosen], rows)
                grid = np.zeros(len(first), np.int32)
                add_failing(nothing, key, 1, grid, self.k, np.array(chosen), found)
                continue
            if known[0] != chosen[:-1]:
                key = nothing
                for j in others:
                    key = key * np.int32(self.spans[j]) + self.nodes[j]
                known = chosen[:-1], key
            grid = np.zeros(places, np.int32)
            add_failing(known[1], self.nodes[last], self.spans[last], grid, self.k, np.array(chosen), found)
        return found

    def drop_rows(self, most: int, run: Run) -> bool:
        """Leave out rows until none fails; return whether at most so many had to be."""
        before = len(self.rows)
        while len(self.rows):
            good: BoolVector = np.asarray(~self.count_failing().any(axis=0))
            if good.all():
                return True
            self.rows = self.rows[good]
            self.nodes = [own[good] for own in self.nodes]
            run.progress("suppress rows", 0.5)
            if before - len(self.rows) > most:
                return False
        return before <= most

    def star_cells(self, prices: Sequence[FloatVector], run: Run, most: float = np.inf) -> bool:
        """Let cells show `*` until no row fails; return False as soon as they lose more than `most`.

        In each round, every row that fails gets one more `*`: in the column that cures the most failing sets for what
        it loses. `prices` is ``[column][node]`` what a cell loses more with `*`. Rows never lose a `*`, so it ends, at
        the latest when all cells show one. Then cells get their nodes back where no row fails by it.
        """
        spent, before = 0.0, [own.copy() for own in self.nodes]
        while True:
            cured = self.count_failing()
            fails = cured.any(axis=0)
            if not fails.any():
                self._restore_cells(before, run)
                return True
            stars = self.stars
            cured[stars] = 0
            cost = np.stack([own[nodes] for own, nodes in zip(prices, self.nodes, strict=True)])
            best = np.argmax(np.where(cured > 0, cured / np.maximum(cost, 1e-12), -1.0), axis=0)
            helped = cured.any(axis=0)
            for j, span in enumerate(self.spans):
                own = helped & (best == j)
                spent += float(cost[j, own].sum())
                self.nodes[j][own] = span - 1
            if (fails & ~helped).any():
                spent += self._add_stars(cost)
            run.progress("suppress cells", 1 - float(fails.mean()))
            if spent > RESTORED * most:
                return False

    def _restore_cells(self, before: Sequence[IntVector], run: Run) -> None:
        """Show nodes again, column by column, where `*` is not needed any more. O(columns x sets x rows)."""
        for j, span in enumerate(self.spans):
            tried: LongVector = np.flatnonzero((self.nodes[j] == span - 1) & (before[j] != span - 1))
            own = [chosen for chosen in self.sets if j in chosen]
            for _ in range(ROUNDS):
                if not len(tried):
                    break
                self.nodes[j][tried] = before[j][tried]
                fails: BoolVector = np.asarray(self.count_failing(own).any(axis=0))
                if not fails.any():
                    break
                # If only other rows fail, too few rows with `*` are left for them: all of these keep it.
                good = tried[~fails[tried]] if fails[tried].any() else tried[:0]
                self.nodes[j][tried] = span - 1
                tried = good
            else:
                self.nodes[j][tried] = span - 1
            run.progress("restore cells", (j + 1) / len(self.spans))

    def _add_stars(self, cost: FloatMatrix) -> float:
        """Where fewer than k rows show `*` in all columns of a set, let the rows follow that lose least by it; return
        what they lose. O(sets x rows).
        """
        stars, spent = self.stars, 0.0
        for chosen in self.sets:
            own = list(chosen)
            alike = stars[own].all(axis=0)
            missing = self.k - int(alike.sum())
            if not 0 < missing < self.k:
                continue
            price = np.where(stars[own], 0.0, cost[own]).sum(axis=0)
            price[alike] = np.inf
            for row in np.argsort(price, kind="stable")[:missing]:
                spent += float(price[row])
                stars[own, row] = True
                for j in own:
                    self.nodes[j][row] = self.spans[j] - 1
        return spent
