"""How errors are told on the terminal, and with ``--json`` to programs."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from typing import Any

import click

from shoal.support.machine.memory import address_advice
from shoal.support.wording import shorten, visible

ADVICE = (
    "no file was left half written. Use a machine with more memory, Parquet instead of CSV, or fewer columns "
    '(`other_columns = "drop"` in [data])'
)
_LONGEST = 10_000
"""Characters of the longest message. A value or a name in it may have millions."""
_UNSHOWN = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def say(text: str = "", **style: Any) -> None:
    """Print a text on the terminal, where no character of it can control the terminal."""
    click.secho(visible(text), **style)


def out_of_memory(what: str) -> None:
    """Say that memory is lacking, and what to do."""
    limit = address_advice()
    report_error(f"{what}; {ADVICE}{limit and f'. {limit}'}", "OutOfMemory", 1)


def report_error(message: str, kind: str, code: int) -> None:
    """Print an error, with ``--json`` also as JSON. Where it cannot be printed, the exit code has to tell it."""
    message = shorten(message, _LONGEST)
    if "--json" in sys.argv:
        print_json(message, kind, code)
    with contextlib.suppress(OSError):
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        # Later lines are indented, so that a name with a line break in it cannot imitate a line of Shoal's.
        first, *more = visible(message).splitlines() or [""]
        click.echo(
            "\n".join([first, *(line if line[:1] in ("", " ") else f"  {line}" for line in more)]), err=True
        )


def print_json(message: str, kind: str, code: int) -> None:
    """Print an error as JSON, where it can be printed."""
    try:
        click.echo(json.dumps({"error": {"kind": kind, "message": message, "exit_code": code}}, indent=2))
    except OSError:
        forget_output()


def cannot_be_shown(error: BaseException) -> bool:
    """Whether an error comes from standard output: files have names, and other mistakes of writing them."""
    return isinstance(error, OSError) and error.errno in _UNSHOWN and error.filename is None


def forget_output() -> None:
    """Drop what standard output did not take, so that nothing fails when the program ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        sys.stdout.flush()
