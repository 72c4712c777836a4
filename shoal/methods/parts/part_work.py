"""The method in each part: in this process, or in several processes that work on one part after the other.

A part goes to its process through a pipe, and its release comes back through one. No file of personal data is made, so
none is left behind, however a process ends.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.columns import Columns
from shoal.errors import InfeasibleError, LimitError, PolicyError, Problem, ShoalBug, ShoalError
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import Method
from shoal.release import Release
from shoal.support.arrays import LongVector
from shoal.support.brief import Brief
from shoal.support.machine.processes import LOST, Child
from shoal.support.machine.threads import processors
from shoal.support.run import UNDIVIDED, Progress, Run, silent
from shoal.support.wording import format_setting

WORKER = "shoal.methods.parts.part_worker"
LOOK = 0.2
"""Seconds between two looks at the progress."""
STAGE = "parts"


@dataclass(frozen=True, eq=False, repr=False)
class Task(Brief):
    """One part: its rows, what it has to satisfy, and the words that its randomness is made from."""

    rows: LongVector
    requirements: Requirements
    words: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Brief):
    """What became of a part."""

    release: Release | None = None
    """None: the method finds no release of the part."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with the policy."""
    error: str = ""
    """Why the work cannot go on, in words for the user."""
    bug: str = ""
    """The kind of an error that is nobody's fault but ours."""

    def unwrap(self) -> Release | None:
        """Return the release, or raise the error that occurred in the process."""
        if self.problems:
            raise PolicyError(self.problems)
        if self.error:
            raise ShoalError(self.error)
        if self.bug:
            raise ShoalBug(f"a part of the table failed ({self.bug})")
        return self.release


def part_made(
    method: Method, part: CodedTable, requirements: Requirements, run: Run, words: Sequence[int]
) -> Release | None:
    """Return the release of a part, None if the method finds none. The part alone proves nothing about the table."""
    drawn = np.random.Generator(np.random.PCG64DXSM(list(words)))
    try:
        return method.anonymize(part, requirements, replace(run, random=drawn, division=UNDIVIDED))
    except (InfeasibleError, LimitError):
        return None


def release_tasks(method: Method, table: CodedTable, tasks: Sequence[Task], run: Run) -> list[Release | None]:
    """Return the release of each part, None if the method finds none."""
    jobs = min(run.division.jobs or processors(), len(tasks))
    bar = _Bar([len(task.rows) for task in tasks], run.progress)
    if jobs > 1:
        return _side_by_side(method, table, tasks, run, jobs, bar)
    found = []
    for at, task in enumerate(tasks):
        own = replace(run, progress=bar.of(at))
        found.append(part_made(method, table.part(task.rows), task.requirements, own, task.words))
        bar.set(at, 1.0)
    return found


class _Bar:
    """One progress for all parts."""

    def __init__(self, rows: Sequence[int], progress: Progress) -> None:
        self._rows, self._progress = np.array(rows), progress
        self._done = np.zeros(len(rows))

    def set(self, at: int, share: float) -> None:
        """Note how far a part is; methods begin every stage at 0, but a bar does not go back."""
        self._done[at] = max(self._done[at], share)
        self.show()

    def show(self) -> None:
        """Show how many of all rows are done."""
        self._progress(STAGE, float(self._done @ self._rows / self._rows.sum()))

    def of(self, at: int) -> Progress:
        """Return the progress of a part. A part whose stages are through is not yet done."""
        return lambda _stage, share: self.set(at, 0.99 * min(share, 1.0))


def _side_by_side(
    method: Method, table: CodedTable, tasks: Sequence[Task], run: Run, jobs: int, bar: _Bar
) -> list[Release | None]:
    """Work on several parts at a time, the largest first. Leaving for any reason ends all processes at once."""
    found: list[Release | None] = [None] * len(tasks)
    waiting = sorted(range(len(tasks)), key=lambda at: len(tasks[at].rows))
    mail: queue.SimpleQueue[tuple[Child, Any]] = queue.SimpleQueue()
    skeleton = table.part(np.zeros(0, np.int64))
    at_work: dict[Child, int] = {}
    children: list[Child] = []
    followers: list[threading.Thread] = []
    try:
        children += [Child(WORKER, threads=1) for _ in range(jobs)]
        for child in children:
            followers.append(threading.Thread(target=_follow, args=(child, mail), daemon=True))
            followers[-1].start()
            child.send((method, skeleton, run.seed))
            at_work[child] = _give(child, table, tasks, waiting)
        while at_work:
            try:
                child, message = mail.get(timeout=LOOK)
            except queue.Empty:
                bar.show()
                continue
            if isinstance(message, float):
                bar.set(at_work[child], 0.99 * min(message, 1.0))
            elif isinstance(message, Answer):
                at = at_work.pop(child)
                found[at] = message.unwrap()
                bar.set(at, 1.0)
                if waiting:
                    at_work[child] = _give(child, table, tasks, waiting)
            else:
                raise OSError
    except LOST:
        raise ShoalError(_explain_end(_codes(children))) from None
    finally:
        for child in children:
            child.kill()
        for follower in followers:
            follower.join()  # a pipe must not be closed while it is read
        for child in children:
            child.end()
    return found


def _give(child: Child, table: CodedTable, tasks: Sequence[Task], waiting: list[int]) -> int:
    """Send the next part to a process, and return which one it is."""
    at = waiting.pop()
    part = table.part(tasks[at].rows)
    narrow = part.rows, part.quasi.narrow, part.secrets.narrow
    countings = tuple(one.over(Columns((), (), 0)) for one in part.countings)
    child.send((*narrow, countings, tasks[at].requirements, tasks[at].words))
    return at


def _follow(child: Child, mail: queue.SimpleQueue[tuple[Child, Any]]) -> None:
    """Pass on what a process says until it says nothing more."""
    try:
        while True:
            mail.put((child, child.receive()))
    except LOST:
        mail.put((child, None))


def _codes(children: Sequence[Child]) -> list[int]:
    """Return the exit codes of processes that have ended. A pipe may close a moment before its process has ended."""
    until = time.monotonic() + 1
    while time.monotonic() < until:
        found = [code for child in children if (code := child.exit_code()) is not None]
        if found:
            return found
        time.sleep(0.01)
    return []


def _explain_end(codes: Sequence[int]) -> str:
    code = f" (exit code {codes[0]})" if codes else ""
    return (
        f"a process that worked on a part of the table ended unexpectedly{code}, most likely for lack of memory; "
        f"make parts smaller ({format_setting('engine.part_rows', ...)}), or work on fewer at a time ("
        + format_setting("engine.jobs", 1)
        + ")"
    )


def answer(
    method: Method, part: CodedTable, requirements: Requirements, words: Sequence[int], seed: int | None,
    tell: Progress = silent,
) -> Answer:  # fmt: skip
    """Return what becomes of a part, whatever happens."""
    run = Run(np.random.default_rng(0), seed, tell, UNDIVIDED)
    try:
        return Answer(part_made(method, part, requirements, run, words))
    except PolicyError as error:
        return Answer(problems=error.problems)
    except ShoalError as error:
        return Answer(error=str(error))
    except MemoryError:
        return Answer(error=_explain_end([]))
    except Exception as error:
        # Only its kind: a message of a library may hold values of the data.
        return Answer(bug=type(error).__name__)


def seldom(tell: Progress) -> Progress:
    """Pass on progress a few times a second at most."""
    last = [0.0]

    def report(stage: str, share: float) -> None:
        now = time.monotonic()
        if now - last[0] > LOOK:
            last[0] = now
            tell(stage, share)

    return report
