"""A command does its work in a second process, and the first one waits for it and can end it at any time.

Python heeds a signal only between two of its own instructions, and a kernel, or a library in another language, may run
for a minute without one. The first process only waits, so it heeds Ctrl-C at once: it ends the work with all its
processes, removes their drafts, and says so. It also says what happened if the system ends the work, for example for
lack of memory.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import json
import os
import selectors
import shutil
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from shoal.apps.cli.early_interrupt import restore_interrupts
from shoal.apps.cli.messages import out_of_memory, report_error
from shoal.support.machine.memory import keep_freed
from shoal.support.machine.shutdown import SIGNALS, TIDY_UP, TOO_LATE, Journal, end_with_parent, journal

PATIENCE = 1.0
"""Seconds for files to finish appearing after an interrupt."""
TIDYING = 60.0
"""Seconds for the work to remove, after an interrupt, what nobody else can: in an object store or a catalog."""
SELDOM = 50_000
"""New objects between two searches for unused ones: with Python's own 700, imports take a tenth longer."""


def supervise() -> bool:
    """Return in a second process, which does the work; the first one ends here, with the exit code of the second.
    False if this is the first one, because there can be no second.
    """
    gc.set_threshold(SELDOM, *gc.get_threshold()[1:])
    if not hasattr(os, "fork"):
        restore_interrupts()
        return False
    _open_standard_streams()
    # Where the caller ignores it, nobody would learn how the work has ended.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    notes, note = os.pipe()
    answers, answer = os.pipe()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    before = {number: signal.signal(number, lambda *_: None) for number in heeded}
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # otherwise both processes would write what waits in it
    parent = os.getpid()
    terminal = _terminal()
    try:
        child = os.fork()
    except OSError:  # no more processes: heed signals as well as one process can
        child = -1
    if child > 0:
        os.close(note)
        os.close(answers)
        code = _wait(child, heeded, notes, answer, woken)
        _restore(terminal)
        os._exit(code)
    signal.set_wakeup_fd(-1)
    for number in heeded:
        # Only the first process decides when the work ends.
        signal.signal(number, before[number] if child else signal.SIG_IGN)
    for handle in (notes, answer, woken, wake, *((note, answers) if child else ())):
        os.close(handle)
    restore_interrupts()
    if child == 0:
        journal.pipe, journal.answers = note, answers
        end_with_parent(parent)
        keep_freed()
        _keep_libraries_quiet()
    return child == 0


def end(code: object) -> None:
    """End the second process as Python does, but leave its memory to the system: to free a large table, and a thousand
    modules one by one, takes some tenths of a second. Returns only if something is left to tell.
    """
    if not isinstance(code, int | None):
        return
    threading._shutdown()  # type: ignore[attr-defined]  # other threads come to an end first, as in multiprocessing
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code or 0)


def _terminal() -> list[Any] | None:
    """Return the settings of the terminal; None if there is none."""
    try:
        import termios
    except ImportError:
        return None
    try:
        return termios.tcgetattr(0)
    except (OSError, termios.error):
        return None


def _restore(settings: list[Any] | None) -> None:
    """Let the terminal show again what is typed: work that was ended while it asked for a password could not."""
    if settings is not None:
        import termios

        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, settings)


def _open_standard_streams() -> None:
    """Let no pipe have the number of a standard stream that the caller has closed: others would write to it."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", errors="replace"))


def _keep_libraries_quiet() -> None:
    """Let only Python write to the terminal: a library that fails may show values of the data."""
    if os.environ.get("SHOAL_DEBUG"):
        return
    with contextlib.suppress(OSError, AttributeError):
        own = os.dup(2)
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_Unheard(own, "wb")),
            encoding=sys.stderr.encoding,
            errors="replace",
            line_buffering=True,
        )


class _Unheard(io.FileIO):
    """Standard error: where it takes nothing, the exit code has to tell everything."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _wait(child: int, heeded: Sequence[int], notes: int, answer: int, woken: int) -> int:
    """Wait for the work to end, and return the exit code."""
    seen, rest = Journal(), b""
    came: list[int] = []
    until = 0.0
    asked = False
    watched = selectors.DefaultSelector()
    watched.register(notes, selectors.EVENT_READ)
    watched.register(woken, selectors.EVENT_READ)
    while True:
        waiting = max(0.0, until - time.monotonic()) if came else None
        ready = [key.fd for key, _ in watched.select(waiting)]
        if notes in ready:
            text = os.read(notes, 1 << 16)
            if not text:
                break
            *lines, rest = (rest + text).split(b"\n")
            _take_notes(lines, seen, answer, came=bool(came), asked=asked)
        if woken in ready:
            came += [number for number in os.read(woken, 64) if number in heeded]
            until = until or time.monotonic() + PATIENCE
        if came and TIDY_UP is not None and seen.owed and not asked:
            asked = True
            until = _send_signal(child, TIDY_UP, TIDYING)
        elif came and (not (seen.moving or asked) or len(came) > 1 or time.monotonic() >= until):
            until = _send_signal(child, signal.SIGKILL, PATIENCE)
    return _end(child, seen, came, asked)


def _send_signal(child: int, number: int, seconds: float) -> float:
    """Send a signal to the work, and return until when it has time to end."""
    until = time.monotonic() + seconds
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)
    return until


def _take_notes(notes: Sequence[bytes], seen: Journal, answer: int, *, came: bool, asked: bool) -> None:
    """Take notes of the work, and answer whether it may begin to move files: not once an interrupt `came`."""
    for note in notes:
        what, value = json.loads(note)
        seen.take(what, value)
        if what == "moving" and value:
            seen.moving = not came
            if asked or not came:
                with contextlib.suppress(BrokenPipeError):
                    os.write(answer, TOO_LATE if came else b".")


def _end(child: int, seen: Journal, came: Sequence[int], asked: bool) -> int:
    """Return the exit code of work that has ended, and tidy up what it could not."""
    try:
        _, status = os.waitpid(child, 0)
    except ChildProcessError:  # somebody else has waited for it
        told = f"written: {', '.join(seen.written)}" if seen.written else "nothing was written"
        report_error(f"how the work has ended is not known; {told}", "Unknown", 1)
        return 1
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return 128 + came[0] if asked and code == 128 + signal.SIGINT else code
    _tidy(seen)
    if came:
        report_error(seen.describe_interrupt(), "Interrupted", 128 + came[0])
        return 128 + came[0]
    return _report_system_end(-code)


def _report_system_end(number: int) -> int:
    name = signal.Signals(number).name
    if number == signal.SIGBUS:
        report_error(
            "a file was shortened while it was being read, or the disk failed; nothing was written. Run it again "
            "when the file is complete",
            "Unreadable",
            3,
        )
        return 3
    if number in (signal.SIGKILL, signal.SIGABRT):
        out_of_memory(f"the system ended the work ({name}), most likely for lack of memory")
        return 1
    report_error(
        f"the work ended unexpectedly ({name}); no file was left half written. If there was enough memory, it is a "
        "mistake of Shoal or of a library: please report it",
        name,
        70,
    )
    return 70


def _tidy(seen: Journal) -> None:
    """Remove what the work has left, and give the terminal back."""
    for folder in seen.lent:
        shutil.rmtree(folder, ignore_errors=True)
    for folder in reversed(seen.made):
        with contextlib.suppress(OSError):  # only if it is empty
            os.rmdir(folder)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K\x1b[?25h")  # without the progress bar, with the cursor
        sys.stderr.flush()
