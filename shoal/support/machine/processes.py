"""Processes of our own beside this one: modules of Shoal that talk through pipes, and can be stopped at any time."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

import shoal
from shoal.support.machine.shutdown import end_with_parent
from shoal.support.machine.threads import THREADS
from shoal.support.wording import Voice, speak, voice

LOST = (EOFError, OSError, pickle.UnpicklingError)
"""What talking to a process raises if the process has ended."""


def start_python(module: str, *words: str, threads: int | None = None) -> subprocess.Popen[bytes]:
    """Start a module of Shoal as a process with pipes, which gets the number of this process, its voice and more words
    as arguments."""
    environment = dict(os.environ)
    home = str(Path(shoal.__file__).resolve().parents[1])
    environment["PYTHONPATH"] = os.pathsep.join([home, *filter(None, [environment.get("PYTHONPATH")])])
    if threads is not None:
        environment[THREADS] = str(threads)
    return subprocess.Popen(
        # -P: a file of the user with the name of a library must not replace it.
        [sys.executable, "-P", "-m", module, str(os.getpid()), voice(), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A traceback might show values of the data.
        stderr=None if os.environ.get("SHOAL_DEBUG") else subprocess.DEVNULL,
        env=environment,
    )


class Child:
    """A process that objects are sent to, and that answers with objects: `serve` of a module of Shoal.

    A plain subprocess rather than `multiprocessing`, which would run an unguarded script of the user again.
    """

    def __init__(self, module: str, *, threads: int | None = None) -> None:
        self._process = start_python("shoal.support.machine.processes", module, threads=threads)

    def send(self, what: Any) -> None:
        """Send an object; one of `LOST` if the process has ended."""
        assert self._process.stdin is not None
        pickle.dump(what, self._process.stdin, protocol=5)
        self._process.stdin.flush()

    def receive(self) -> Any:
        """Wait for an object; one of `LOST` if the process has ended."""
        assert self._process.stdout is not None
        return pickle.load(self._process.stdout)

    def exit_code(self) -> int | None:
        """Return the exit code, None if the process still runs."""
        return self._process.poll()

    def kill(self) -> None:
        """Let the process end at once."""
        self._process.kill()

    def end(self) -> int:
        """End the process at once, and return its exit code."""
        self._process.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return code


def _answer() -> None:
    """Be the process of a `Child`: read from its input, write to its output, and end with the process that asks."""
    # The parent stops its workers itself, and nothing else may write between the answers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A parent that was killed cannot stop them, and a kernel does not notice that the pipe is closed. Before the module
    # is imported, which may take seconds.
    end_with_parent(int(sys.argv[1]))
    speak(cast(Voice, sys.argv[2]))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve: Callable[[IO[bytes], IO[bytes]], None] = import_module(sys.argv[3]).serve
    serve(os.fdopen(os.dup(0), "rb"), answers)


if __name__ == "__main__":
    _answer()
