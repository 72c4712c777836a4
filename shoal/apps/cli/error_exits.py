"""Errors become messages and exit codes; nobody sees a stack trace unless they ask for it."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from shoal.apps.cli.messages import (
    cannot_be_shown,
    forget_output,
    out_of_memory,
    print_json,
    report_error,
)
from shoal.apps.cli.supervisor import end, supervise
from shoal.errors import OutputError, ShoalError
from shoal.support.machine.files import TOO_FEW_HANDLES, explain_denial, few_handles_left
from shoal.support.machine.memory import is_lack_of_memory, too_few_to_start
from shoal.support.machine.shutdown import journal
from shoal.support.wording import speak, visible

EXIT_CODES = """\b
Exit codes:
  0  done, and every requirement holds
  1  something else went wrong       4  no release can satisfy the requirements
  2  the policy or a command is wrong  5  a release violates its policy
  3  the data cannot be used         6  the output cannot be written
  7  this method finds no release; the message names others to try
  8  Spark is missing, cannot be reached, or gave up
  9  something could not be checked; the output says what to add
  70  Shoal made a mistake of its own; please report it
  130  interrupted; no file was left half written (143: ended by the system, 129: by its terminal)"""

BROKEN_PIPE = 141
"""As if the system had ended the command, which it does with most others."""


def _check_threads() -> None:
    """Refuse numbers of threads with which libraries fail, or which they ignore with a stack trace."""
    for name in ("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"):
        given = os.environ.get(name) or "1"
        if not re.fullmatch("0*[1-9][0-9]{0,8}", given):
            raise click.UsageError(
                f"the environment has {name}={given[:20]}: set it to a whole number from 1 on, or unset it"
            )


class Group(click.Group):
    """Turns every error into a message without a stack trace, and its class into the exit code."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **keywords: Any) -> Any:
        """Run the command line; as a program of its own, under supervision."""
        supervised = False
        standalone = keywords.get("standalone_mode", others[2] if len(others) > 2 else True)
        if standalone and too_few_to_start():
            out_of_memory("there is not enough memory")
            sys.exit(1)
        if args is None and standalone and threading.current_thread() is threading.main_thread():
            try:
                supervised = supervise()
            except OSError as error:  # there are too few handles for its pipes
                report_error(explain_denial(error) or str(error), "System", 1)
                sys.exit(1)
        try:
            return super().main(args, *others, **keywords)
        except OSError as error:  # of what is told before a command begins, such as --help
            if not standalone or not cannot_be_shown(error):
                raise
            sys.exit(_report_lost_output(error))
        except SystemExit as ended:
            if supervised:
                end(ended.code)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        for stream in (sys.stdout, sys.stderr):
            # A character that the terminal cannot show must not end the work.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        journal.clear()
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        ):
            # Ended from outside, for example by a scheduler: stop as after Ctrl-C, without half a file.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        before = speak("command")
        try:
            _check_threads()
            done = super().invoke(ctx)
            if isinstance(sys.stdout, io.TextIOBase):
                sys.stdout.flush()
            return done
        except ShoalError as error:
            _fail(str(error), type(error).__name__, error.exit_code)
        except KeyboardInterrupt:
            _fail(journal.describe_interrupt(), "Interrupted", 130)
        except click.ClickException as error:
            vars(error)["message"] = visible(error.message)  # it may name a file; click declares it final
            if "--json" in sys.argv:
                print_json(error.format_message(), type(error).__name__, error.exit_code)
            raise
        except (click.exceptions.Exit, click.Abort, SystemExit):
            raise  # click knows what to do
        except BaseException as error:  # a panic in a library is not an Exception
            if os.environ.get("SHOAL_DEBUG") and not cannot_be_shown(error):
                raise
            _fail_unexpectedly(error)
        finally:
            speak(before)


def _fail_unexpectedly(error: BaseException) -> NoReturn:
    """Report what no part of Shoal expected, without a traceback: it may show values of the data."""
    if cannot_be_shown(error):
        raise click.exceptions.Exit(_report_lost_output(error)) from None
    if _is_interrupt(error):
        _fail(journal.describe_interrupt(), "Interrupted", 130)
    if is_lack_of_memory(error):
        out_of_memory("there is not enough memory")
        raise click.exceptions.Exit(1) from None
    if reason := explain_denial(error) or (few_handles_left() and TOO_FEW_HANDLES):
        _fail(f"{reason}; no file was left half written", "System", 1)
    kind = type(error).__name__
    _fail(
        f"Shoal made a mistake of its own ({kind}); no file was left half written. "
        "SHOAL_DEBUG=1 shows where, and may show values of your data.",
        kind,
        70,
    )


def _report_lost_output(error: BaseException) -> int:
    """Report that standard output was closed early, and which files were written anyway; return the exit code."""
    forget_output()
    written = f"written: {', '.join(journal.written)}" if journal.written else "no file was written"
    if isinstance(error, BrokenPipeError):  # its reader has seen enough
        if journal.written:
            report_error(f"nobody reads the output any more; {written}", "BrokenPipe", BROKEN_PIPE)
        return BROKEN_PIPE
    reason = getattr(error, "strerror", None) or "cannot be written"
    report_error(f"the output could not be shown: {reason}; {written}", "OutputError", OutputError.exit_code)
    return OutputError.exit_code


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: one that comes inside a kernel is a SystemError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _fail(message: str, kind: str, code: int) -> NoReturn:
    report_error(message, kind, code)
    raise click.exceptions.Exit(code)
