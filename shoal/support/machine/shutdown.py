"""How work ends: at once, together with its processes, and without leftovers.

A command does its work in a second process, which the first one can end at any time (`apps/cli/supervisor.py`). The
work notes in its `Journal` which drafts it has begun and which files have appeared; the first process reads along, so
that it can remove the drafts and say truly what was written.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What asks a command to stop: Ctrl-C, the system or a scheduler, a terminal that was closed."""
TIDY_UP = getattr(signal, "SIGUSR1", None)
"""What the first process sends to the work instead of ending it, if only the work can remove what it has made."""

TOO_LATE = b"!"
"""The answer of the first process if an interrupt came before files could appear; any other allows it."""


@dataclass
class Journal:
    """What the work has begun and finished."""

    made: list[str] = field(default_factory=list)
    """Folders that were made for the output; they go again if nothing appears in them."""
    written: list[str] = field(default_factory=list)
    """Files that have appeared."""
    lent: list[str] = field(default_factory=list)
    """Temporary folders, which go with all that is in them."""
    owed: list[str] = field(default_factory=list)
    """What only the work itself can remove, because it lies in an object store or a catalog."""
    kept: str = ""
    """What remains on purpose if the work is interrupted, in words."""
    moving: bool = False
    """Files are being renamed to their targets now."""
    pipe: int | None = None
    """To the process that waits for this one; None if nobody does."""
    answers: int | None = None
    """From the process that waits for this one."""

    def make(self, folder: str) -> None:
        """Note that a folder was made for the output."""
        self._note("made", folder)

    def lend(self, folder: str) -> None:
        """Note a temporary folder."""
        self._note("lent", folder)

    @contextlib.contextmanager
    def owe(self, what: str) -> Iterator[None]:
        """Note what this block makes and removes where nobody else can remove it. An interrupt inside is an exception,
        so that the block can do so; `settle` notes that it has."""
        with _let_tidy_up() if self.pipe is not None else contextlib.nullcontext():
            self._note("owed", what)
            yield

    def settle(self, what: str) -> None:
        """Note that something that was lent or owed is gone."""
        self._note("settled", what)

    def keep(self, what: str) -> None:
        """Note what remains after an interrupt, such as ``finished trials are in out``."""
        self._note("kept", what)

    @contextlib.contextmanager
    def move(self) -> Iterator[None]:
        """Let files appear inside this block, all or none: an interrupt comes before or after it."""
        with _defer_interrupts():
            self._note("moving", "yes")
            if self.answers is not None:
                answer = os.read(self.answers, 1)
                if not answer:
                    os._exit(1)  # nobody waits for this process any more
                if answer == TOO_LATE:
                    raise KeyboardInterrupt
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
        if what == "kept":
            self.kept = text
        elif what == "moving":
            self.moving = bool(text)
        elif what == "settled":
            self.owed = [one for one in self.owed if one != text]
            self.lent = [one for one in self.lent if one != text]
        elif what in ("made", "lent", "owed", "written"):
            getattr(self, what).append(text)

    def clear(self) -> None:
        """Forget all notes, for the next command of this process."""
        self.made, self.lent, self.owed, self.written, self.kept = [], [], [], [], ""

    def describe_interrupt(self) -> str:
        """Describe which files remain after an interrupt."""
        if self.kept:
            return f"interrupted; {self.kept}"
        if not self.written and self.owed:
            return (
                f"interrupted; nothing was published, but {', '.join(self.owed)} could not be removed, and holds rows "
                "that were not verified: remove it"
            )
        if not self.written:
            return "interrupted; nothing was written"
        more = f" and {len(self.written) - 3} more" if len(self.written) > 3 else ""
        return f"interrupted; already written: {', '.join(self.written[:3])}{more}"


journal = Journal()
"""The journal of this process."""


@contextlib.contextmanager
def _defer_interrupts() -> Iterator[None]:
    """Postpone interrupts until the end of this block."""
    came: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (*SIGNALS, *([] if TIDY_UP is None else [TIDY_UP])):
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda which, _frame: came.append(which))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])


@contextlib.contextmanager
def _let_tidy_up() -> Iterator[None]:
    """Let the first process interrupt this block, once. Ctrl-C at the terminal is ignored here, even if a library
    changed that, because only the first process decides.
    """
    if TIDY_UP is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        signal.signal(TIDY_UP, signal.SIG_IGN)
        logging.disable()  # libraries would show a stack trace
        raise KeyboardInterrupt

    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    before[TIDY_UP] = signal.signal(TIDY_UP, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
