"""The commands that list what there is: methods, models, measures, attacks, and the schema of a policy."""

from __future__ import annotations

import json

import click

from shoal.apps.cli import command_options
from shoal.apps.cli.command_options import registry
from shoal.apps.cli.messages import say

LISTED = ("methods", "models", "measures", "attacks")


def build_list_command(kind: str) -> click.Command:
    """Return the command that lists a registry."""

    @click.command(kind, help=f"List the {kind}, one line each.")
    @command_options.as_json
    def command(as_json: bool) -> None:
        lines = {name: entry.summary for name, entry in registry(kind).items()}
        if as_json:
            say(json.dumps(lines, indent=2, ensure_ascii=False))
        else:
            width = max(len(name) for name in lines)
            for name, summary in lines.items():
                say(f"{name:<{width}}  {summary}")

    return command


@click.command()
@command_options.as_json
def schema(as_json: bool) -> None:
    """Print the JSON schema of the policy file, for editors."""
    from shoal.policy import json_schema

    say(json.dumps(json_schema(), indent=2))
