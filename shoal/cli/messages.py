"""How errors are told on the terminal, and with ``--json`` to programs."""

from __future__ import annotations

import errno
import json
import sys

import click

from shoal.memory import address_advice

ADVICE = (
    "no file was left half written. Use a machine with more memory, Parquet instead of CSV, or fewer columns "
    '(`other_columns = "drop"` in [data])'
)
_SIGNS = ("Cannot allocate memory", "failed to map segment", "can't start new thread", "cannot allocate")
"""What libraries and the system say when they cannot even be loaded."""


def out_of_memory(what: str) -> None:
    """Say that memory is lacking, and what to do."""
    limit = address_advice()
    report_error(f"{what}; {ADVICE}{limit and f'. {limit}'}", "OutOfMemory", 1)


def is_lack_of_memory(error: BaseException | None) -> bool:
    """Whether lack of memory is behind an error."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if isinstance(error, OSError | ImportError | RuntimeError) and any(
            sign in str(error) for sign in _SIGNS
        ):
            return True
        error = error.__cause__ or error.__context__
    return False


def report_error(message: str, kind: str, code: int) -> None:
    """Print an error, with ``--json`` also as JSON."""
    if "--json" in sys.argv:
        print_json(message, kind, code)
    click.secho("error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(message, err=True)


def print_json(message: str, kind: str, code: int) -> None:
    """Print an error as JSON."""
    click.echo(json.dumps({"error": {"kind": kind, "message": message, "exit_code": code}}, indent=2))
