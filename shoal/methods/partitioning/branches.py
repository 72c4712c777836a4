"""Branches of Mondrian's tree of splits, which threads cut side by side.

A branch is a box that is not finished, with the working memory of the kernel that cuts it. Branches are listed in the
order in which one thread would finish them, so regions have the same numbers however many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE, in_threads, processors

if TYPE_CHECKING:
    from shoal.kernels.mondrian import CutWorkspace

PER_THREAD = 4
"""Branches for each thread: more of them share the work more evenly."""
EVERY = 0.1
"""Seconds between two reports of progress."""
OPEN, BEGUN, REGION, DONE = range(4)
"""Places in the state of the kernel: open nodes, blocks begun, the next region, rows done."""


@dataclass(frozen=True, eq=False, repr=False)
class Branch(Brief):
    """A box that is not finished, or some blocks that are not begun."""

    workspace: CutWorkspace
    blocks: LongVector
    """Where blocks begin that the kernel has to cut; at most one entry if there are none."""
    rows: int
    first: int
    """The number of its first region."""

    @classmethod
    def of_blocks(cls, blocks: LongVector, cells: int, width: int, first: int = 0) -> Branch:
        """Return blocks of rows that are not begun."""
        rows = int(blocks[-1] - blocks[0])
        space = _workspace(rows, cells, width)
        space.state[REGION] = first
        return cls(space, blocks, rows, first)

    @property
    def is_finished(self) -> bool:
        """Nothing is left to cut."""
        return bool(self.workspace.state[DONE] == self.rows)

    def sides(self, cells: int, width: int, k: int) -> list[Branch]:
        """Return the two sides of its first split, the one first that the kernel would finish first; itself, if it was
        not split."""
        if self.workspace.state[OPEN] != 2:
            return [self]
        found, first = [], self.first
        for slot in (1, 0):
            begin, end = (int(self.workspace.stack[2 * slot + side]) for side in (0, 1))
            space = _workspace(end - begin, cells, width)
            space.state[OPEN], space.state[REGION] = 1, first
            space.stack[0], space.stack[1] = begin, end
            space.histogram[:cells] = self.workspace.histogram[slot * cells : (slot + 1) * cells]
            for mine, theirs in (
                (space.least, self.workspace.least),
                (space.most, self.workspace.most),
                (space.active, self.workspace.active),
            ):
                mine[:width] = theirs[slot * width : (slot + 1) * width]
            space.actives[0] = self.workspace.actives[slot]
            found.append(Branch(space, self.blocks[:1], end - begin, first))
            first += (end - begin) // k
        return found


def _workspace(rows: int, cells: int, width: int) -> CutWorkspace:
    from shoal.kernels.mondrian import CutWorkspace

    # The larger side of a split takes its parent's place, so open nodes at least halve from one to the next.
    depth = rows.bit_length() + 2
    return CutWorkspace(
        state=np.zeros(4, np.int64),
        stack=np.zeros(2 * depth, np.int64),
        histogram=np.zeros(depth * cells, np.int32),
        least=np.zeros(depth * width, np.int64),
        most=np.zeros(depth * width, np.int64),
        active=np.zeros(depth * width, np.int64),
        actives=np.zeros(depth, np.int64),
        values=np.zeros(cells, np.int64),
        counts=np.zeros(cells, np.int64),
        right=np.zeros(cells, np.float64),
        widths=np.zeros(width, np.float64),
    )


def divide_blocks(
    blocks: LongVector, cells: int, width: int, k: int, cut: Callable[[Branch, int], None]
) -> list[Branch]:
    """Split blocks until no branch has too large a share of the rows; `cut` lets the kernel split one."""
    rows, branches = int(blocks[-1] - blocks[0]), list[Branch]()
    for begin, end in pairwise(blocks):
        first = branches[-1].first + branches[-1].rows // k if branches else 0
        branches.append(Branch.of_blocks(np.array([begin, end]), cells, width, first))
    threads = processors()
    most = max(PIECE, rows // (PER_THREAD * threads)) if threads > 1 else rows
    while large := [branch for branch in branches if branch.rows > most and not branch.is_finished]:
        in_threads(lambda branch: cut(branch, 1), large)
        branches = [
            side
            for branch in branches
            for side in (branch.sides(cells, width, k) if branch.rows > most else [branch])
        ]
    return branches


def finish(
    branches: Sequence[Branch], cut: Callable[[Branch], None], progress: Callable[[int], None]
) -> None:
    """Cut all branches to the end, and say now and then how many rows are done."""
    stopped = False

    def work(branch: Branch) -> None:
        while not branch.is_finished and not stopped:
            cut(branch)

    def done() -> int:
        return sum(int(branch.workspace.state[DONE]) for branch in branches)

    if len(branches) == 1:
        while not branches[0].is_finished:
            progress(done())
            cut(branches[0])
        return
    with ThreadPoolExecutor(processors()) as pool:
        try:
            waiting = {pool.submit(work, branch) for branch in branches}
            while waiting:
                ready, waiting = wait(waiting, EVERY)
                for one in ready:
                    one.result()
                progress(done())
        finally:
            stopped = True  # threads end when their kernel returns


def join_branches(
    branches: Sequence[Branch], region_of: IntVector, low: IntMatrix, high: IntMatrix
) -> tuple[IntVector, IntMatrix, IntMatrix]:
    """Number the regions of all branches without gaps. O(rows), if there are several."""
    ranges = [(branch.first, int(branch.workspace.state[REGION])) for branch in branches]
    if len(branches) == 1:
        return region_of, low[: ranges[0][1]].copy(), high[: ranges[0][1]].copy()
    used = np.concatenate([np.arange(first, end) for first, end in ranges])
    number = np.zeros(len(low) + 1, np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    number[-1] = -1  # rows that are not published

    def renumber(start: int) -> None:
        part = region_of[start : start + PIECE]
        part[:] = np.take(number, part, mode="wrap")  # the last number is that of -1

    in_threads(renumber, range(0, len(region_of), PIECE))
    low, high = (np.concatenate([ends[first:end] for first, end in ranges]) for ends in (low, high))
    return region_of, low, high
