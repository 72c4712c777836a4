"""`Watch`: follows a comparison while it runs, and stops single trials of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.pipeline.comparison.trial import Trial
    from shoal.release import Release


class Watch:
    """Is told what becomes of each trial, and may stop one. Places are those of `Comparison.trials`."""

    keeps = False
    """Whether `on_end` wants the releases, too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unwanted: set[int] = set()
        self._kills: dict[int, Callable[[], None]] = {}

    def on_plan(self, table: CodedTable, trials: Sequence[Trial], waiting: Collection[int]) -> None:
        """Receive all trials before the first one starts; `waiting` are the positions of those that will run."""

    def began(self, place: int) -> None:
        """Take note that a trial has begun, in the thread of its process."""

    def on_end(self, place: int, trial: Trial, release: Release | None) -> None:
        """Receive a finished trial, with its release if there is one."""

    def stop(self, place: int) -> None:
        """Stop a trial that runs, or let it never begin. From any thread."""
        with self._lock:
            self._unwanted.add(place)
            if place in self._kills:
                self._kills[place]()

    def begin(self, place: int, kill: Callable[[], None]) -> bool:
        """Let a trial begin that `kill` can stop; False if nobody wants it any more."""
        with self._lock:
            if place in self._unwanted:
                return False
            self._kills[place] = kill
        self.began(place)
        return True

    def end(self, place: int) -> None:
        """A trial that has ended cannot be stopped: its process may run another one."""
        with self._lock:
            self._kills.pop(place, None)
