"""The process of one job: reads what to do from its input, and answers with progress, notes and a result.

Started by `jobs.py` as ``python -m shoal.apps.studio.job_worker``; a separate process can be stopped at any time.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from shoal.errors import ShoalError
from shoal.io.databases import passwords
from shoal.support.machine.memory import limit_memory
from shoal.support.machine.shutdown import end_with_parent
from shoal.support.wording import Voice, speak

PAUSE = 0.1
"""Seconds between two messages about progress."""


class Line:
    """What a job says to Studio, and hears from it. Work is called with it: ``work(line, **arguments)``."""

    folder: Path
    """Where the job may write; it goes if the job does not end well."""

    def __init__(self, said: IO[bytes], heard: IO[bytes]) -> None:
        self._said, self._heard = said, heard
        self._lock = threading.Lock()
        self._next = 0.0

    def progress(self, stage: str, share: float) -> None:
        """Tell the stage and the share done, 0..1."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PAUSE
            self.say("progress", (stage, share))

    def note(self, what: Any) -> None:
        """Tell a part of the result, such as a finished trial."""
        self.say("note", what)

    def listen(self, hear: Callable[[Any], None]) -> None:
        """Call a function with everything that Studio tells this job from now on (`Job.tell`), in a thread."""

        def loop() -> None:
            with contextlib.suppress(EOFError, OSError):
                while True:
                    hear(pickle.load(self._heard))

        threading.Thread(target=loop, daemon=True).start()

    def say(self, kind: str, what: Any) -> None:
        """Send one message."""
        with self._lock:
            pickle.dump((kind, what), self._said, protocol=5)
            self._said.flush()


def serve(line: Line, heard: IO[bytes]) -> None:
    """Do the work that was asked for, and tell how it ended."""
    place, arguments, line.folder, known = pickle.load(heard)
    passwords.remember(known)
    module, _, name = place.partition(":")
    try:
        line.say("done", getattr(import_module(module), name)(line, **arguments))
    except ShoalError as error:
        line.say("failed", str(error))
    except MemoryError:
        line.say("failed", "There is not enough memory for this. Close other programs.")
    except BaseException as error:  # a panic in a library is not an Exception
        if os.environ.get("SHOAL_DEBUG"):
            raise
        line.say("failed", own_mistake(error))


def own_mistake(error: BaseException) -> str:
    """Write about a mistake in Shoal. Its message is left out: it may quote the data."""
    return f"Shoal made a mistake of its own ({type(error).__name__}). Nothing was written; please report it."


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(int(sys.argv[1]))
    limit_memory(None)
    speak(cast(Voice, sys.argv[2]))
    said = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may write between the messages
    heard = os.fdopen(os.dup(0), "rb")
    serve(Line(said, heard), heard)
