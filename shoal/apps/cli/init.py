"""The command ``shoal init``."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import click

from shoal.apps.cli import command_options, source_options
from shoal.apps.cli.command_options import PATH
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import Data
from shoal.errors import COMMAND_LINE, PolicyError, Problem, did_you_mean


def _list_templates(context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    """Print the templates and exit if ``--template list`` is given; this needs no table."""
    if name == LIST and not context.resilient_parsing:
        from shoal.apps.cli import terminal
        from shoal.policy.suggestions.presets import PRESETS

        terminal.templates(PRESETS.values())
        context.exit()
    return name


LIST = "list"


@click.command()
@source_options.data(required=True)
@click.option("-o", "--output", type=PATH, help="Where the policy goes [DATA's name.toml].")
@click.option("--set", "settings", multiple=True, metavar="PATH=VALUE",
              help="How to read DATA: data.encoding=latin-1.")  # fmt: skip
@click.option(
    "--template",
    metavar="NAME",
    is_eager=True,
    callback=_list_templates,
    help="Requirements that people know by a name: safe-harbor, research, ..; list shows all.",
)
@click.option("--small-areas", type=PATH, metavar="FILE",
              help="For safe-harbor: three-digit zip areas, with or without their people.")  # fmt: skip
@command_options.force
@command_options.as_json
def init(
    data: Data,
    output: Path | None,
    settings: tuple[str, ...],
    template: str | None,
    small_areas: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Look at DATA and write a starter policy, with the reason for each guess."""
    from shoal import io
    from shoal.apps.cli import terminal
    from shoal.policy import parse_reading_options
    from shoal.policy.suggestions import look_at

    small = _template(template, small_areas)
    source = data.find()
    source_options.check_readable(source)
    # A policy about a source that is not a file goes into the current folder.
    output = output or (
        source if isinstance(source, Path) else Path(_name_policy_file(data.table))
    ).with_suffix(".toml")
    io.check_apart({source: "the data", small_areas: "the list of small areas"}, [(output, "the policy")])
    io.check_writable(output, force=force, table=False)
    suggestion = look_at(io.read(source, parse_reading_options(settings)), together=template is None)
    if template is not None:
        suggestion = suggestion.with_template(template, small)
    if "source" in suggestion.data:
        named = {"source": _from(output, suggestion.data["source"])}
        suggestion = dataclasses.replace(suggestion, data={**suggestion.data, **named})
    io.write_text(output, suggestion.to_toml(), force=force, private=False)
    left_out = _options_left_out(source)
    if left_out:
        say(
            f"note: the policy does not contain the options {', '.join(left_out)} of the address: policies may come "
            "from anyone. Give the address again in each command, or set the environment variables of libpq",
            err=True,
        )
    if as_json:
        say(json.dumps({"policy": str(output), **suggestion.summary()}, indent=2))
    else:
        terminal.suggestion(suggestion, source, output)


def _template(name: str | None, small_areas: Path | None) -> tuple[str, ...] | None:
    """Check the name of a template, and return the small areas if their list is given."""
    from shoal.policy.suggestions.presets import PRESETS

    if name is not None and name not in PRESETS:
        hint = did_you_mean(name, [*PRESETS, LIST])
        raise PolicyError([Problem("--template", f"'{name}' is unknown", hint)], where=COMMAND_LINE)
    if small_areas is None:
        return None
    if name is None or PRESETS[name].rule is None:
        using = next(one for one, preset in PRESETS.items() if preset.rule is not None)
        problem = Problem("--small-areas", "is about zip codes of one template", f"add --template {using}")
        raise PolicyError([problem], where=COMMAND_LINE)
    from shoal.policy.suggestions.harbor import small_areas as read

    return read(small_areas)


def _name_policy_file(table: str | None) -> str:
    """Return a name for the file of a policy about a table in a database."""
    kept = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in table or "query")
    return kept or "table"


def _options_left_out(data: Any) -> list[str]:
    """Return the options of the address of a server that are not written into a policy."""
    from shoal.io.databases import DatabaseTable
    from shoal.policy.file_limits import for_file

    if not isinstance(data, DatabaseTable) or data.database.in_file:
        return []
    given, kept = (data.database.address(text).options for text in (data.source, for_file(data.source)))
    return [name for name in given if name not in kept]


def _from(output: Path, source: str) -> str:
    """Return the address of a database as a policy needs it: paths in a policy are relative to its folder."""
    from shoal.io.databases.database_table import database_at

    database = database_at(source)
    if database is None or not database.in_file or database.address(source).path.is_absolute():
        return source
    return database.address(source).beside(Path(os.path.relpath(".", output.parent)))
