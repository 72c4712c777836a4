"""How errors are told on the terminal, and with ``--json`` to programs."""

from __future__ import annotations

import json
import sys

import click

LACK_OF_MEMORY = (
    "nothing was written. Close other programs or use a machine with more memory, or publish fewer columns; "
    "Parquet needs less memory than CSV, and the methods mondrian, hilbert and lexicographic need the least"
)


def report_error(message: str, kind: str, code: int) -> None:
    """Print an error, with ``--json`` also as JSON."""
    if "--json" in sys.argv:
        print_json(message, kind, code)
    click.secho("error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(message, err=True)


def print_json(message: str, kind: str, code: int) -> None:
    """Print an error as JSON."""
    click.echo(json.dumps({"error": {"kind": kind, "message": message, "exit_code": code}}, indent=2))
