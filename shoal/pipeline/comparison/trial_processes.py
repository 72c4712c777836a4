"""Trials in separate processes, several at a time, each with a time limit."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from shoal.coding import CodedTable
from shoal.errors import ShoalError
from shoal.pipeline.comparison.run_trial import Task
from shoal.pipeline.comparison.trial import Trial
from shoal.pipeline.comparison.watch import Watch
from shoal.release import Release
from shoal.support.machine.processes import LOST, Child


class Worker:
    """One process that has the table and runs trials one after another; a new one takes over where it was stopped."""

    def __init__(self, table: CodedTable, threads: int) -> None:
        self._table = table
        self._threads = threads
        self._process: Child | None = None
        self._closed = False

    def run(
        self, task: Task, limit: float, watch: Watch | None = None, place: int = 0
    ) -> tuple[Trial, Release | None]:
        """Run a trial, for at most this many seconds, or until somebody stops it."""
        watch = watch or Watch()
        late, unwanted = threading.Event(), threading.Event()

        def stop(event: threading.Event) -> None:
            event.set()
            if self._process is not None:
                self._process.kill()

        start = time.perf_counter()
        timer = threading.Timer(limit, stop, [late])
        if not watch.begin(place, lambda: stop(unwanted)):
            return _build_stopped(task, 0.0), None
        try:
            process = self._start()
            if unwanted.is_set():
                return _build_stopped(task, time.perf_counter() - start), None
            start = time.perf_counter()
            timer.start()
            process.send(task)
            found: tuple[Trial, Release | None] = process.receive()
            return found
        except (*LOST, ShoalError):
            if unwanted.is_set():
                return _build_stopped(task, time.perf_counter() - start), None
            if self._process is None:
                raise  # it could not be started
            code = self._discard()
            if late.is_set():
                reason = f"stopped after {limit:g} seconds"
                trial = replace(task.trial, status="timeout", reason=reason, seconds=limit)
                return replace(trial, reason_is_public=True), None
            reason = f"its process ended unexpectedly (exit code {code}), perhaps for lack of memory"
            return replace(task.trial, status="failed", reason=reason, reason_is_public=True), None
        finally:
            timer.cancel()
            watch.end(place)
            if late.is_set() or unwanted.is_set():
                self._discard()  # also if the trial ended just before: the next one needs a process

    def close(self) -> None:
        """Stop the process at once."""
        self._closed = True
        self._discard()

    def _start(self) -> Child:
        if self._process is None:
            self._process = Child("shoal.pipeline.comparison.trial_worker", threads=self._threads)
            if self._closed:
                self._process.kill()
            try:
                self._process.send(self._table)
                self._process.receive()
            except LOST:
                self._discard()
                raise ShoalError(
                    "a process for trials could not be started, most likely for lack of memory; "
                    "close other programs, or run fewer trials at a time"
                ) from None
        return self._process

    def _discard(self) -> int | None:
        process, self._process = self._process, None
        return None if process is None else process.end()


def _build_stopped(task: Task, seconds: float) -> Trial:
    reason = (
        f"stopped by the user after {seconds:.1f} seconds"
        if seconds
        else "stopped by the user before it began"
    )
    return replace(task.trial, status="stopped", reason=reason, reason_is_public=True, seconds=seconds)


def run_all(
    table: CodedTable, tasks: Mapping[int, Task], *, jobs: int, limit: float, watch: Watch | None = None
) -> Iterator[tuple[int, Trial, Release | None]]:
    """Yield the place, the trial and the release of each task when it ends. Leaving early stops all processes."""
    if not tasks:
        return
    jobs = max(1, min(jobs, len(tasks)))
    threads = max(1, (os.cpu_count() or 1) // jobs)
    workers = [Worker(table, threads) for _ in range(jobs)]
    free = list(workers)

    def run(place: int, task: Task) -> tuple[Trial, Release | None]:
        worker = free.pop()
        try:
            return worker.run(task, limit, watch, place)
        finally:
            free.append(worker)

    pool = ThreadPoolExecutor(max_workers=jobs)
    try:
        places = {pool.submit(run, place, task): place for place, task in tasks.items()}
        for future in as_completed(places):
            yield places[future], *future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.close()
        pool.shutdown(wait=True)
