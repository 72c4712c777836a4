"""The command ``shoal sample``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from shoal.apps.cli import command_options
from shoal.apps.cli.command_options import PATH
from shoal.apps.cli.messages import say


@click.command()
@click.argument("name", type=click.Choice(["census", "patients", "visits"]))
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True)
@click.option("-o", "--output", type=PATH, required=True, help="Where the table goes.")
@click.option("--seed", type=click.IntRange(0), help="Another seed gives other people.")
@click.option(
    "--month", type=click.IntRange(1, 12), help="Of visits: which month; the same people come again."
)
@command_options.force
@command_options.as_json
def sample(
    name: str, rows: int, output: Path, seed: int | None, month: int | None, force: bool, as_json: bool
) -> None:
    """Write synthetic data: census (eight public columns and a salary), patients (a hospital's table), or visits
    (several rows of one person)."""
    from shoal.apps.samples import write_sample

    written = write_sample(name, rows, output, seed=seed, month=month, force=force)
    if as_json:
        say(json.dumps({"rows": rows, "written": [str(path) for path in written]}, indent=2))
    else:
        for path in written:
            say(f"wrote {path}")
