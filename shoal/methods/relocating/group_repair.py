"""Relocation for models of sensitive values: groups that fail take rows that they lack, or move as a whole.

Sizes are corrected first (kernels/hybrid.py). What remains are groups with enough rows but too few distinct sensitive
values. Mappings that can win have few of these, so this is plain numpy over the cells of a mapping. A cell here is a
set of interchangeable rows: those of one group with the same sensitive values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.groups import Groups, group
from shoal.judging.models.requirements import Requirements
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

NEAREST = 12
"""How many other groups are tried, starting with the closest."""
STEPS = 24
"""How many times rows are taken to correct one group."""


@dataclass(eq=False, repr=False)
class Pieces(Brief):
    """Rows of cells and their current groups: piece p is `rows[p]` rows of `cell[p]` in group `at[p]`."""

    cell: LongVector
    at: LongVector
    rows: LongVector

    def move(self, piece: int, target: int, rows: int) -> None:
        """Move some rows of a piece to another group."""
        if rows == self.rows[piece]:
            self.at[piece] = target
            return
        self.rows[piece] -= rows
        self.cell = np.append(self.cell, self.cell[piece])
        self.at = np.append(self.at, target)
        self.rows = np.append(self.rows, rows)

    def copy(self) -> Pieces:
        """Return an independent copy."""
        return Pieces(self.cell.copy(), self.at.copy(), self.rows.copy())


class Mender:
    """The groups of one mapping while rows move between them."""

    def __init__(
        self,
        table: CodedTable,
        requirements: Requirements,
        nodes: IntMatrix,
        group_of: IntVector,
        secrets: IntMatrix,
        rows: LongVector,
    ) -> None:
        """`nodes` are the nodes that each group shows; `group_of`, `secrets` and `rows` describe the cells."""
        self.table, self.requirements, self.nodes, self.secrets = table, requirements, nodes, secrets
        self.home: LongVector = group_of.astype(np.int64)
        self.before = np.bincount(group_of, weights=rows, minlength=len(nodes)).astype(np.int64)
        self.rows = rows
        self.restore()
        order = np.lexsort(secrets.T[::-1]) if secrets.shape[1] else np.arange(len(rows))
        changes = np.any(np.diff(secrets[order], axis=0, prepend=-1) != 0, axis=1)
        self.kind: LongVector = np.empty(len(rows), np.int64)
        """Cell -> its combination of sensitive values."""
        self.kind[order] = np.cumsum(changes) - 1

    def restore(self) -> None:
        """Put all rows back where they came from."""
        self.pieces = Pieces(np.arange(len(self.rows)), self.home.copy(), self.rows.copy())

    def find_satisfied(self) -> BoolVector:
        """Return which groups satisfy the models now; empty groups do not."""
        sizes = self.sizes()
        live = np.flatnonzero(sizes)
        good = np.zeros(len(sizes), np.bool_)
        good[live] = self._check_groups(self.pieces, live)
        return good

    def apart(self, g: int) -> LongVector:
        """Return in how many columns each group differs from group g."""
        counts: LongVector = np.count_nonzero(self.nodes != self.nodes[g], axis=1)
        return counts

    def follow(self, moves: IntMatrix) -> None:
        """Repeat moves between groups. Within a group, the most frequent sensitive values move first."""
        for source, target, rows in moves.tolist():
            here = np.flatnonzero((self.pieces.at == source) & (self.home[self.pieces.cell] == source))
            here = here[np.argsort(-self.pieces.rows[here], kind="stable")]
            spare = self.pieces.rows[here] - (int(self.pieces.rows[here].sum()) > rows)
            for piece, some in zip(here.tolist(), spare.tolist(), strict=True):
                take = min(some, rows)
                if take:
                    self.pieces.move(piece, target, take)
                    rows -= take
            for piece in here.tolist():
                take = min(int(self.pieces.rows[piece]), rows) if self.pieces.at[piece] == source else 0
                if take:
                    self.pieces.move(piece, target, take)
                    rows -= take

    def sizes(self) -> LongVector:
        """Return the current number of rows of each group."""
        return np.bincount(self.pieces.at, weights=self.pieces.rows, minlength=len(self.nodes)).astype(
            np.int64
        )

    def chi(self) -> float:
        """Return the chi-squared statistic of the sizes."""
        return float(((self.sizes() - self.before) ** 2 / self.before).sum())

    def cells_changed(self, pieces: Pieces) -> int:
        """Count the cells of the table in which rows now differ from their own group."""
        home = self.home[pieces.cell]
        moved = np.flatnonzero(home != pieces.at)
        apart = np.count_nonzero(self.nodes[home[moved]] != self.nodes[pieces.at[moved]], axis=1)
        return int(apart @ pieces.rows[moved])

    def _check_groups(self, pieces: Pieces, wanted: LongVector, merged: int = -1) -> BoolVector:
        """Return whether groups satisfy the models; with `merged`, each of them joined with that group."""
        place = np.full(len(self.nodes), -1, np.int64)
        place[wanted] = np.arange(len(wanted))
        here = np.flatnonzero(place[pieces.at] >= 0)
        group_of, chosen = place[pieces.at[here]], here
        if merged >= 0:
            more = np.flatnonzero(pieces.at == merged)
            group_of = np.concatenate([group_of, np.repeat(np.arange(len(wanted)), len(more))])
            chosen = np.concatenate([here, np.tile(more, len(wanted))])
        codes = np.asfortranarray(self.secrets[pieces.cell[chosen]])
        made: Groups = group(
            group_of.astype(np.int32), len(wanted), codes, self.table.sensitive, self.table.sensitive_counts,
            pieces.rows[chosen],
        )  # fmt: skip
        return self.requirements.holds_in(made)

    def mend(
        self, cells: int, limit: float, most: int, random: np.random.Generator | None = None
    ) -> tuple[bool, BoolVector]:
        """Correct groups that fail, the smallest first, while at most `cells` cells change in all and the statistic
        stays within `limit`. Return whether all but `most` rows are in groups that satisfy the models, and which do.
        """
        sizes = self.sizes()
        good = self.find_satisfied()
        failing = np.flatnonzero(~good & (sizes > 0))
        short = int(sizes[failing].sum())
        used = self.cells_changed(self.pieces)
        if len(failing) > cells - used and most == 0:
            return False, good
        for g in failing[np.argsort(sizes[failing], kind="stable")].tolist():
            nearest = np.flatnonzero(good)
            if random is not None:
                nearest = random.permutation(nearest)[:NEAREST]
            else:
                nearest = nearest[np.argsort(self.apart(g)[nearest], kind="stable")][:NEAREST]
            before = self.pieces
            best: tuple[int, Pieces] | None = None
            for changed in (self._fill_group(g, nearest), self._dissolve_group(g, nearest)):
                if changed is not None:
                    price = self.cells_changed(changed)
                    self.pieces = changed
                    if price <= cells and self.chi() <= limit and (best is None or price < best[0]):
                        best = price, changed
                    self.pieces = before
            if best is None:
                if most == 0:
                    return False, good
                continue
            self.pieces = best[1]
            short -= int(sizes[g])
            good[g] = bool(np.any(self.pieces.at == g))
        return short <= most, good

    def _dissolve_group(self, g: int, nearest: LongVector) -> Pieces | None:
        """Move a whole group to the closest one that still satisfies the models with it."""
        if not len(nearest):
            return None
        suited = np.flatnonzero(self._check_groups(self.pieces, nearest, merged=g))
        if not len(suited):
            return None
        changed = self.pieces.copy()
        changed.at[changed.at == g] = nearest[suited[0]]
        return changed

    def _fill_group(self, g: int, nearest: LongVector) -> Pieces | None:
        """Take rows with sensitive values that are rare in the group from close groups that can spare them."""
        changed = self.pieces.copy()
        rank = np.full(len(self.nodes), len(nearest))
        rank[nearest] = np.arange(len(nearest))
        refused: set[int] = set()
        for step in range(STEPS):
            inside = changed.at == g
            held = np.bincount(
                self.kind[changed.cell[inside]], changed.rows[inside], minlength=self.kind.max() + 1
            )
            offered = np.flatnonzero(
                (rank[changed.at] < len(nearest)) & (self.home[changed.cell] == changed.at) & ~inside
            )
            offered = offered[~np.isin(offered, list(refused))] if refused else offered
            if not len(offered):
                return None
            kinds = held[self.kind[changed.cell[offered]]]
            piece = int(offered[np.lexsort((-changed.rows[offered], rank[changed.at[offered]], kinds))[0]])
            donor = int(changed.at[piece])
            trial = changed.copy()
            trial.move(piece, g, min(1 << step // 4, int(changed.rows[piece])))
            ours, theirs = self._check_groups(trial, np.array([g, donor]))
            if not theirs:
                refused.add(piece)
                continue
            changed = trial
            if ours:
                return changed
        return None
