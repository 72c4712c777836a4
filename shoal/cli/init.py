"""The command ``shoal init``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from shoal.cli import options
from shoal.cli.options import PATH, SOURCE


@click.command()
@click.argument("data", type=SOURCE)
@click.option("-o", "--output", type=PATH, help="Where the policy goes [DATA's name.toml].")
@click.option("--set", "settings", multiple=True, metavar="PATH=VALUE",
              help="How to read DATA: data.encoding=latin-1.")  # fmt: skip
@options.force
@options.as_json
def init(
    data: Path | str, output: Path | None, settings: tuple[str, ...], force: bool, as_json: bool
) -> None:
    """Look at DATA and write a starter policy, with the reason for each guess."""
    from shoal import frames
    from shoal.cli import show
    from shoal.policy import reading_options
    from shoal.suggesting import look_at

    options.check_readable(data)
    # A policy about a source that is not a file goes into the current folder.
    output = output or Path(data if isinstance(data, Path) else Path(data).name).with_suffix(".toml")
    frames.check_apart({data: "the data"}, [(output, "the policy")])
    frames.check_writable(output, force=force, table=False)
    suggestion = look_at(frames.read(data, reading_options(settings)))
    frames.write_text(output, suggestion.to_toml(), force=force)
    if as_json:
        click.echo(json.dumps({"policy": str(output), **suggestion.summary()}, indent=2))
    else:
        show.suggestion(suggestion, data, output)
