"""Mondrian: split the table into ever smaller boxes, one column at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.errors import check_known
from shoal.judging.models.requirements import Requirements
from shoal.methods.blocks import find_satisfying_blocks, rows_by_block
from shoal.methods.loss_tables import losses_of
from shoal.methods.method import Abilities, BoxCuts, Method, Parts, Shows
from shoal.methods.partitioning.branches import Branch, divide_blocks, finish, join_branches
from shoal.methods.partitioning.windows import check_shown, list_values
from shoal.release import Release
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.machine.threads import PIECE, in_threads
from shoal.support.run import Run

if TYPE_CHECKING:
    from shoal.kernels.losses import Losses

Regions = tuple[IntVector, IntMatrix, IntMatrix]

CHOICES = ("gain", "width")
MOST_CELLS = 1 << 16
"""With more codes in all columns together, the histograms of nodes are too large to pass on to their children."""
PATIENCE = 30_000_000
"""Row visits between two checks of progress and interrupts; some tenths of a second."""


@dataclass(frozen=True, kw_only=True)
class Mondrian(Method):
    """Greedy top-down partitioning (LeFevre, DeWitt, Ramakrishnan 2006).

    Starts with all rows in one box and splits boxes in two as long as both sides satisfy the requirements.
    A split lies between two codes of a column. In a column with a tree, one child of the lowest node over the box
    may also be split off from the middle. The release shows the smallest range or node over each box.
    Results are reproducible: the order of columns and codes decides between equally good splits.
    """

    name: ClassVar[str] = "mondrian"
    can: ClassVar[Abilities] = Abilities(
        count_people=True, keep_earlier=True, make_buckets=True, optimize=("cells",)
    )
    shows: ClassVar[Shows] = Shows(classes=True)
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({}, {"strict": False})
    summary: ClassVar[str] = (
        "splits the table into small boxes; fast at any size, and loses far less than full-domain"
    )
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity, ICDE 2006"
    parts: ClassVar[Parts | str] = "it splits the table into ever smaller parts itself"

    strict: bool = True
    """Rows with equal values stay together in every split. Otherwise a side that is too small takes the closest
    rows of the other side: boxes may overlap, and the release loses less."""
    choose: str = "gain"
    """How to choose a split: ``gain`` takes the one that lowers the loss of its column most; ``width``, as in the
    paper, the one closest to the median in the column that is widest after weighting."""
    show: str = "ranges"
    """``ranges`` shows the smallest node or range over each class; ``sets`` lists the values that occur, which loses
    less, whatever the hierarchies allow."""

    def __post_init__(self) -> None:
        check_shown(self.show)
        check_known("method.choose", self.choose, CHOICES)

    def kernels(self, requirements: Requirements) -> set[str]:
        """Name the kernels that it will call: one for plain k, two for models and for people with several rows."""
        by_size, by_models = {"mondrian.cut_by_size"}, {"cuts.propose_cuts", "mondrian.try_cuts"}
        unused: set[str] = by_models if requirements.only_k else by_size
        return super().kernels(requirements) - (set() if requirements.people else unused)

    @property
    def box_cuts(self) -> BoxCuts:
        """Its own cuts."""
        return BoxCuts(self.strict, self.choose == "width")

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Split until no allowed split is left.

        For plain k, O(rows x (splits above a row + columns x log rows)); otherwise each level of the descent
        costs O(rows x columns) for every split that it tries.
        """
        (region_of, low, high), blocks, dropped = self._cut(table, requirements, run)
        facts = {"cuts": len(low) - blocks, "blocks": blocks, "suppressed": dropped}
        release = Release(region_of, low, high, facts=facts)
        return list_values(table, release) if self.show == "sets" else release

    def first_boxes(self, table: CodedTable, requirements: Requirements, enough: int, run: Run) -> IntVector:
        """Return the box of each row when boxes of at most `enough` rows are not split further; -1 for rows in blocks
        that do not satisfy the requirements. Every box satisfies them as one class. Boxes that lie close in the tree of
        splits have close numbers.
        """
        return self._cut(table, requirements, run, enough)[0][0]

    def _cut(
        self, table: CodedTable, requirements: Requirements, run: Run, enough: int = 0
    ) -> tuple[Regions, int, int]:
        """Return the regions, the number of blocks that are split, and of rows in blocks that are not published."""
        good = find_satisfying_blocks(table, requirements)
        if len(good) == 1 and table.shared is None:
            ids, blocks = None, np.array([0, table.rows])
        else:
            ids, blocks = rows_by_block(table, good)
        if ids is not None and table.shared is not None:
            # Cuts keep the order of rows, so rows of a person stay neighbours, and people are counted without sorting.
            ids = ids[np.lexsort((table.shared.owner[ids], table.block_of[ids]))]
        losses, k = losses_of(table, requirements.measure), max(requirements.k, 1)
        cells = sum(attribute.hierarchy.size for attribute in table.attributes)
        by_size = requirements.plain_k(table) and cells <= MOST_CELLS
        boxes = _Boxes(table, ids, blocks, losses, k, self, enough, ahead=by_size)
        regions = boxes.cut_by_size(run) if by_size else boxes.cut_by_models(requirements, run)
        return regions, len(blocks) - 1, table.rows - boxes.rows


class _Boxes:
    """Rows on their way into boxes: packed, and moved so that each box is a run of rows.

    With `ahead`, a large table is packed as its first split leaves it: that one is found by counting values, and the
    kernel would move all rows in one thread. Its two sides are then blocks like any other. Without `ids`, all rows of
    the table are in one block, in their order.
    """

    def __init__(
        self,
        table: CodedTable,
        ids: IntVector | None,
        blocks: LongVector,
        losses: Losses,
        k: int,
        method: Mondrian,
        enough: int = 0,
        *,
        ahead: bool = False,
    ) -> None:
        self.table = table
        self.enough = enough
        self.rows = table.rows if ids is None else len(ids)
        self.blocks = blocks
        self.losses = losses
        self.k = k
        self.rules = (k, method.strict, method.choose == "width")
        sizes = np.array([attribute.hierarchy.size for attribute in table.attributes])
        self.cells = int(sizes.sum())
        largest = int(sizes.max())
        kind = np.dtype(np.uint8 if largest <= 1 << 8 else np.uint16 if largest <= 1 << 16 else np.uint32)
        self.words = np.zeros((2 * self.rows, -(-(len(sizes) * kind.itemsize + 4) // 8)), np.uint64)
        self.codes: NDArray[Any] = self.words.view(kind)
        self.ids = self.words.view(np.uint32)
        split = self._first_split() if ahead and ids is None and method.strict else None
        if split is not None:
            self._pack_split(*split)
            return

        def pack(start: int) -> None:
            rows = slice(start, min(start + PIECE, self.rows))
            for j in range(len(sizes)):
                self.codes[rows, j] = table.quasi.narrow[j][rows if ids is None else ids[rows]]
            self.ids[rows, -1] = np.arange(rows.start, rows.stop) if ids is None else ids[rows]

        in_threads(pack, range(0, self.rows, PIECE))

    def _first_split(self) -> tuple[int, int, int] | None:
        """Return the split of all rows: a column, and the first and the last code of one side. None if there is none,
        or if the table is so small that it is not cut in threads."""
        from shoal.kernels.cuts import cuts_of_histograms

        counts = self.table.value_counts
        if self.rows <= max(2 * PIECE, self.enough) or any(own.sum() != self.rows for own in counts):
            return None  # a part of a table knows the counts of the whole
        k, _, by_width = self.rules
        cuts = cuts_of_histograms(np.concatenate(counts)[np.newaxis], self.losses, k, True, by_width)
        column, first, last = (int(own[0, 0]) for own in cuts)
        return (column, first, last) if column >= 0 else None

    def _pack_split(self, column: int, first: int, last: int) -> None:
        """Pack the rows of the smaller side of a split first, as the kernel would finish it first."""
        table, starts = self.table, range(0, self.rows, PIECE)
        inside = int(table.value_counts[column][first : last + 1].sum())
        small = 2 * inside <= self.rows
        codes = table.quasi.narrow[column]

        def in_front(start: int) -> NDArray[np.bool_]:
            own = codes[start : start + PIECE]
            found: NDArray[np.bool_] = ((own >= first) & (own <= last)) == small
            return found

        sizes = in_threads(lambda start: np.count_nonzero(in_front(start)), starts)
        fronts = np.cumsum([0, *sizes])

        def pack(piece: int) -> None:
            start, front = starts[piece], in_front(starts[piece])
            own = slice(start, start + PIECE)
            for side, at in (front, fronts[piece]), (~front, fronts[-1] + start - fronts[piece]):
                rows = np.flatnonzero(side)
                to = slice(at, at + len(rows))
                for j in range(len(table.attributes)):
                    self.codes[to, j] = table.quasi.narrow[j][own][rows]
                self.ids[to, -1] = rows + start

        in_threads(pack, range(len(starts)))
        self.blocks = np.array([0, fronts[-1], self.rows])

    def cut_by_size(self, run: Run) -> Regions:
        """Split down to boxes of at least k rows, in a kernel that returns now and then to report progress; a large
        table in threads, a branch of the tree of splits each."""
        from shoal.kernels.mondrian import cut_by_size

        low = np.empty((self.rows // self.k + 1, len(self.table.attributes)), np.int32)
        high = np.empty_like(low)
        everyone = self.rows == self.table.rows
        region_of = np.empty(self.rows, np.int32) if everyone else np.full(self.table.rows, -1, np.int32)

        def cut(branch: Branch, patience: int = PATIENCE) -> None:
            cut_by_size(
                self.codes, self.words, self.ids, branch.blocks, self.losses, *self.rules, self.enough,
                region_of, low, high, branch.workspace, patience,
            )  # fmt: skip

        branches = [Branch.of_blocks(self.blocks, self.cells, len(self.table.attributes))]
        if self.rows > 2 * PIECE:
            branches = divide_blocks(self.blocks, self.cells, len(self.table.attributes), self.k, cut)
        finish(branches, cut, lambda done: run.progress("cut", done / self.rows))
        return join_branches(branches, region_of, low, high)

    def cut_by_models(self, requirements: Requirements, run: Run) -> Regions:
        """Split all open boxes at once, level by level, wherever both sides satisfy the requirements. Boxes of at most
        `enough` rows are not split further.

        Each box tries its splits, the best first; each round of trials is one batch of groups.
        """
        from shoal.kernels.cuts import propose_cuts
        from shoal.kernels.mondrian import try_cuts

        table = self.table
        begins, ends = self.blocks[:-1], self.blocks[1:]
        done: list[tuple[LongVector, LongVector]] = []
        finished = 0
        while len(begins):
            small = ends - begins <= self.enough
            if small.any():
                done.append((begins[small], ends[small]))
                finished += int((ends[small] - begins[small]).sum())
                begins, ends = begins[~small], ends[~small]
            column, first, last = propose_cuts(self.codes, begins, ends, self.losses, *self.rules)
            waiting = np.arange(len(begins))
            born: list[tuple[LongVector, LongVector]] = []
            choice = 0
            while len(waiting):
                closed = (
                    column[waiting, choice] < 0
                    if choice < column.shape[1]
                    else np.ones(len(waiting), np.bool_)
                )
                done.append((begins[closed], ends[closed]))
                finished += int((ends[closed] - begins[closed]).sum())
                waiting, begins, ends = waiting[~closed], begins[~closed], ends[~closed]
                run.progress("cut", finished / self.rows)
                if not len(waiting):
                    break
                middles, rows, sides = try_cuts(
                    self.codes, self.words, self.ids, begins, ends,
                    column[waiting, choice], first[waiting, choice], last[waiting, choice],
                    self.losses, *self.rules[:2],
                )  # fmt: skip
                groups = table.group_rows(sides, 2 * len(waiting), rows)
                good = requirements.holds_in(groups).reshape(-1, 2).all(axis=1)
                born += [(begins[good], middles[good]), (middles[good], ends[good])]
                waiting, begins, ends = waiting[~good], begins[~good], ends[~good]
                choice += 1
            begins = np.concatenate([begins, *(begin for begin, _ in born)])
            ends = np.concatenate([ends, *(end for _, end in born)])
        return self._regions(np.concatenate([d[0] for d in done]), np.concatenate([d[1] for d in done]))

    def _regions(self, begins: LongVector, ends: LongVector) -> Regions:
        """Collect the finished boxes, number them by position, and find what they show."""
        order = np.argsort(begins % self.rows)
        begins, sizes = begins[order], (ends - begins)[order]
        starts = np.cumsum(sizes) - sizes
        at = np.repeat(begins - starts, sizes) + np.arange(self.rows)
        region_of = np.full(self.table.rows, -1, np.int32)
        region_of[self.ids[at, -1]] = np.repeat(np.arange(len(begins), dtype=np.int32), sizes)
        codes = self.codes[at, : len(self.table.attributes)]
        low = np.minimum.reduceat(codes, starts, axis=0).astype(np.int32)
        high = np.maximum.reduceat(codes, starts, axis=0).astype(np.int32)
        for j, attribute in enumerate(self.table.attributes):
            low[:, j], high[:, j] = attribute.hierarchy.lift(low[:, j], high[:, j])
        return region_of, low, high
