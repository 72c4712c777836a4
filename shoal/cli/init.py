"""The command ``shoal init``."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import click

from shoal.cli import options
from shoal.cli.options import PATH, SOURCE


@click.command()
@click.argument("data", type=SOURCE)
@options.table
@options.query
@click.option("-o", "--output", type=PATH, help="Where the policy goes [DATA's name.toml].")
@click.option("--set", "settings", multiple=True, metavar="PATH=VALUE",
              help="How to read DATA: data.encoding=latin-1.")  # fmt: skip
@options.force
@options.as_json
def init(
    data: Any,
    table: str | None,
    query: str | None,
    output: Path | None,
    settings: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Look at DATA and write a starter policy, with the reason for each guess."""
    from shoal import frames
    from shoal.cli import show
    from shoal.policy import reading_options
    from shoal.suggesting import look_at

    data = options.chosen_source(data, table, query)
    options.check_readable(data)
    # A policy about a source that is not a file goes into the current folder.
    output = output or (data if isinstance(data, Path) else Path(_named(table))).with_suffix(".toml")
    frames.check_apart({data: "the data"}, [(output, "the policy")])
    frames.check_writable(output, force=force, table=False)
    suggestion = look_at(frames.read(data, reading_options(settings)))
    if "source" in suggestion.data:
        named = {"source": _from(output, suggestion.data["source"])}
        suggestion = dataclasses.replace(suggestion, data={**suggestion.data, **named})
    frames.write_text(output, suggestion.to_toml(), force=force)
    if as_json:
        click.echo(json.dumps({"policy": str(output), **suggestion.summary()}, indent=2))
    else:
        show.suggestion(suggestion, data, output)


def _named(table: str | None) -> str:
    """Return a name for the file of a policy about a table in a database."""
    kept = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in table or "query")
    return kept or "table"


def _from(output: Path, source: str) -> str:
    """Return the address of a database as a policy needs it: paths in a policy are relative to its folder."""
    from shoal.frames.databases.stored import database_at

    database = database_at(source)
    if database is None or not database.in_file or database.address(source).path.is_absolute():
        return source
    return database.address(source).beside(Path(os.path.relpath(".", output.parent)))
