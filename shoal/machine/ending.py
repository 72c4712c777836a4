"""How work ends: at once, together with its processes, and without leftovers.

A command does its work in a second process, which the first one can end at any time (`cli/supervising.py`). The
work notes in its `Journal` which drafts it has begun and which files have appeared; the first process reads along, so
that it can remove the drafts and say truly what was written.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What asks a command to stop: Ctrl-C, the system or a scheduler, a terminal that was closed."""


@dataclass
class Journal:
    """What the work has begun and finished."""

    folders: set[str] = field(default_factory=set)
    """Where drafts were begun."""
    made: list[str] = field(default_factory=list)
    """Folders that were made for the output; they go again if nothing appears in them."""
    written: list[str] = field(default_factory=list)
    """Files that have appeared."""
    lent: list[str] = field(default_factory=list)
    """Temporary folders, which go with all that is in them."""
    kept: str = ""
    """What remains on purpose if the work is interrupted, in words."""
    moving: bool = False
    """Files are being renamed to their targets now."""
    pipe: int | None = None
    """To the process that waits for this one; None if nobody does."""
    answers: int | None = None
    """From the process that waits for this one."""

    def begin(self, folder: str) -> None:
        """Note that a draft will be in a folder."""
        if folder not in self.folders:
            self._note("folders", folder)

    def make(self, folder: str) -> None:
        """Note that a folder was made for the output."""
        self._note("made", folder)

    def lend(self, folder: str) -> None:
        """Note a temporary folder."""
        self._note("lent", folder)

    def keep(self, what: str) -> None:
        """Note what remains after an interrupt, such as ``finished trials are in out``."""
        self._note("kept", what)

    @contextlib.contextmanager
    def move(self) -> Iterator[None]:
        """Let files appear inside this block, all or none: an interrupt comes before or after it."""
        with _undisturbed():
            self._note("moving", "yes")
            if self.answers is not None and not os.read(self.answers, 1):
                os._exit(1)  # nobody waits for this process any more
            try:
                yield
            finally:
                self._note("moving", "")

    def write(self, target: str) -> None:
        """Note that a file has appeared."""
        self._note("written", target)

    def _note(self, what: str, text: str) -> None:
        self.take(what, text)
        if self.pipe is not None:
            os.write(self.pipe, json.dumps([what, text]).encode() + b"\n")

    def take(self, what: str, text: str) -> None:
        """Enter a note."""
        if what == "folders":
            self.folders.add(text)
        elif what == "kept":
            self.kept = text
        elif what == "moving":
            self.moving = bool(text)
        elif what in ("made", "lent", "written"):
            getattr(self, what).append(text)

    def clear(self) -> None:
        """Forget all notes, for the next command of this process."""
        self.folders, self.made, self.lent, self.written, self.kept = set(), [], [], [], ""

    def interrupted(self) -> str:
        """Say what an interrupt has left."""
        if self.kept:
            return f"interrupted; {self.kept}"
        if not self.written:
            return "interrupted; nothing was written"
        more = f" and {len(self.written) - 3} more" if len(self.written) > 3 else ""
        return f"interrupted; already written: {', '.join(self.written[:3])}{more}"


journal = Journal()
"""The journal of this process."""


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Heed an interrupt only after this block."""
    came: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda which, _frame: came.append(which))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])


def end_with_parent(parent: int) -> None:
    """End this process when the process that started it is gone, however it went and whatever this one does."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # 1: PR_SET_PDEATHSIG; the system sees to it
    elif hasattr(os, "getppid"):

        def watch() -> None:
            while os.getppid() == parent:
                time.sleep(0.5)
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()
    if hasattr(os, "getppid") and os.getppid() != parent:
        os._exit(1)
