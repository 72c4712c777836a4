"""Trials in separate processes, several at a time, each with a time limit."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import Any

from shoal.comparing.running import Task
from shoal.comparing.trial import Trial
from shoal.errors import ShoalError
from shoal.processes import start_python
from shoal.release import Release
from shoal.table import CodedTable


class Worker:
    """One process that has the table and runs trials one after another; a new one takes over where it was stopped.

    A plain subprocess rather than `multiprocessing`, which would run an unguarded script of the user again.
    """

    def __init__(self, table: CodedTable, threads: int) -> None:
        self._table = table
        self._threads = threads
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def run(self, task: Task, limit: float) -> tuple[Trial, Release | None]:
        """Run a trial, for at most this many seconds."""
        process = self._started()
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            process.kill()

        timer = threading.Timer(limit, stop)
        try:
            timer.start()
            _send(process, task)
            found: tuple[Trial, Release | None] = _receive(process)
            return found
        except (EOFError, OSError, pickle.UnpicklingError):
            self._discard()
            if stopped.is_set():
                reason = f"stopped after {limit:g} seconds"
                late = replace(task.trial, status="timeout", reason=reason, seconds=limit)
                return replace(late, reason_is_public=True), None
            code = process.returncode
            reason = f"its process ended unexpectedly (exit code {code}), perhaps for lack of memory"
            return replace(task.trial, status="failed", reason=reason, reason_is_public=True), None
        finally:
            timer.cancel()

    def close(self) -> None:
        """Stop the process at once."""
        self._closed = True
        self._discard()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = start_python("shoal.comparing.worker", threads=self._threads)
            if self._closed:
                self._process.kill()
            try:
                _send(self._process, self._table)
                _receive(self._process)
            except (EOFError, OSError, pickle.UnpicklingError):
                self._discard()
                raise ShoalError(
                    "a process for trials could not be started, most likely for lack of memory; "
                    "close other programs, or run fewer trials at a time"
                ) from None
        return self._process

    def _discard(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def _send(process: subprocess.Popen[bytes], what: Any) -> None:
    assert process.stdin is not None
    pickle.dump(what, process.stdin, protocol=5)
    process.stdin.flush()


def _receive(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return pickle.load(process.stdout)


def run_all(
    table: CodedTable, tasks: Sequence[Task], *, jobs: int, limit: float
) -> Iterator[tuple[int, Trial, Release | None]]:
    """Yield the place, the trial and the release of each task when it ends. Leaving early stops all processes."""
    if not tasks:
        return
    jobs = max(1, min(jobs, len(tasks)))
    threads = max(1, (os.cpu_count() or 1) // jobs)
    workers = [Worker(table, threads) for _ in range(jobs)]
    free = list(workers)

    def run(task: Task) -> tuple[Trial, Release | None]:
        worker = free.pop()
        try:
            return worker.run(task, limit)
        finally:
            free.append(worker)

    pool = ThreadPoolExecutor(max_workers=jobs)
    try:
        places = {pool.submit(run, task): place for place, task in enumerate(tasks)}
        for future in as_completed(places):
            yield places[future], *future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.close()
        pool.shutdown(wait=True)
