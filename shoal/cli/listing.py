"""The commands that list what there is: methods, models, measures, attacks, and the schema of a policy."""

from __future__ import annotations

import json

import click

from shoal.cli import options
from shoal.cli.messages import say
from shoal.cli.options import registry

LISTED = ("methods", "models", "measures", "attacks")


def listing(kind: str) -> click.Command:
    """Return the command that lists a registry."""

    @click.command(kind, help=f"List the {kind}, one line each.")
    @options.as_json
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
@options.as_json
def schema(as_json: bool) -> None:
    """Print the JSON schema of the policy file, for editors."""
    from shoal.policy import json_schema

    say(json.dumps(json_schema(), indent=2))
