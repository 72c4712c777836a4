"""All processors for one piece of work: threads, because numpy, polars and kernels let others run while they work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Generic, TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

PIECE = 1 << 18
"""Rows that are worked on at a time. Tables up to this size take no detour: threads and pieces are for larger ones."""


THREADS = "POLARS_MAX_THREADS"
"""The variable that says how many threads a process may use, if several processes share the processors."""


def processors() -> int:
    """Return how many processors this process may use."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    given = os.environ.get(THREADS, "")
    return min(own, int(given)) if given.isdigit() and int(given) else own


def in_threads(work: Callable[[Item], Found], items: Sequence[Item], *, many: bool = True) -> list[Found]:
    """Return what `work` finds for each item, in their order, in as many threads as there are processors.

    Without `many` rows to work on, threads would cost more than they save. The first error is raised.
    """
    threads = min(processors(), len(items))
    if threads < 2 or not many:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


class Ahead(Generic[Found]):
    """Work that a thread begins now, for somebody who asks for its result later, if at all."""

    def __init__(self, work: Callable[[], Found]) -> None:
        pool = ThreadPoolExecutor(1)
        self._found = pool.submit(work)
        pool.shutdown(wait=False)

    def __call__(self) -> Found:
        """Return what was found, or raise what was raised."""
        return self._found.result()


def one_after_another(work: Callable[[Item], Found], items: Iterable[Item]) -> Iterator[Found]:
    """Yield what `work` finds for each item, in their order. Threads work ahead, but by few items, which bounds the
    memory."""
    threads = processors()
    if threads < 2:
        yield from map(work, items)
        return
    source = iter(items)
    with ThreadPoolExecutor(threads) as pool:
        waiting: list[Future[Found]] = [pool.submit(work, item) for item in islice(source, threads + 1)]
        while waiting:
            found = waiting.pop(0).result()
            waiting += [pool.submit(work, item) for item in islice(source, 1)]
            yield found
