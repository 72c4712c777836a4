"""Many cases in processes side by side."""

from __future__ import annotations

import gc
import multiprocessing
import os
import tempfile
import warnings
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path

from tests.fuzz.cases import case
from tests.fuzz.trial import Outcome, tried

CHUNK = 50
"""Cases that a process takes at a time."""


def folder() -> str | None:
    """Return a folder in memory, if there is one: releases are flushed to the disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _chunk(task: tuple[int, int]) -> list[Outcome]:
    warnings.simplefilter("ignore")
    if gc.isenabled():
        # Little that a case makes refers to itself, and what modules hold stays: collecting after a chunk is enough.
        gc.freeze()
        gc.disable()
    gc.collect()
    seed, first = task
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        return [tried(case(seed, number), Path(place)) for number in range(first, first + CHUNK)]


def outcomes(seed: int, releases: int, jobs: int, first: int = 0) -> Iterator[Outcome]:
    """Yield the outcomes of cases until so many releases were checked."""
    os.environ["POLARS_MAX_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    tasks = ((seed, start) for start in count(first, CHUNK))
    done = 0
    if jobs <= 1:
        for task in tasks:
            for outcome in _chunk(task):
                done += outcome.status != "refused"
                yield outcome
            if done >= releases:
                return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        waiting = deque(pool.submit(_chunk, next(tasks)) for _ in range(2 * jobs))
        while done < releases:
            for outcome in waiting.popleft().result():
                done += outcome.status != "refused"
                yield outcome
            waiting.append(pool.submit(_chunk, next(tasks)))
        pool.shutdown(wait=False, cancel_futures=True)
