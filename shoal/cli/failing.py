"""Errors become messages and exit codes; nobody sees a stack trace unless they ask for it."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from typing import Any

import click

from shoal.errors import ShoalError

EXIT_CODES = """\b
Exit codes:
  0  done, and every requirement holds
  1  something else went wrong       4  no release can satisfy the requirements
  2  the policy or a command is wrong  5  a release violates its policy
  3  the data cannot be used         6  the output cannot be written
  7  this method finds no release; the message names others to try
  70  Shoal made a mistake of its own; please report it
  130  interrupted; nothing was written"""


class Group(click.Group):
    """Turns every error into a message without a stack trace, and its class into the exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        for stream in (sys.stdout, sys.stderr):
            # A character that the terminal cannot show must not end the work.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        if threading.current_thread() is threading.main_thread():
            # Ended from outside, for example by a scheduler: stop as after Ctrl-C, without half a file.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            return super().invoke(ctx)
        except ShoalError as error:
            self._fail(str(error), type(error).__name__, error.exit_code)
        except KeyboardInterrupt:
            self._fail("interrupted; nothing was written", "Interrupted", 130)
        except click.ClickException as error:
            if "--json" in sys.argv:
                self._print_json(error.format_message(), type(error).__name__, error.exit_code)
            raise
        except (click.exceptions.Exit, click.Abort, SystemExit, BrokenPipeError):
            raise  # click knows what to do; a pipe breaks when its reader has seen enough
        except BaseException as error:  # a panic in a library is not an Exception
            if os.environ.get("SHOAL_DEBUG"):
                raise
            # A traceback may show values of the data, so it is printed only on request.
            kind = type(error).__name__
            self._fail(
                f"Shoal made a mistake of its own ({kind}); no file was left half written. "
                "SHOAL_DEBUG=1 shows where, and may show values of your data.",
                kind,
                70,
            )

    @staticmethod
    def _fail(message: str, kind: str, code: int) -> None:
        if "--json" in sys.argv:
            Group._print_json(message, kind, code)
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        click.echo(message, err=True)
        raise click.exceptions.Exit(code)

    @staticmethod
    def _print_json(message: str, kind: str, code: int) -> None:
        click.echo(json.dumps({"error": {"kind": kind, "message": message, "exit_code": code}}, indent=2))
