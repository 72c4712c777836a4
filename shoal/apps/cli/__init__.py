"""The command line. Everything heavy is imported inside the commands, so that ``--help`` answers at once."""

from __future__ import annotations

import shoal.apps.cli.early_interrupt  # noqa: F401  # isort: skip  # first, to heed Ctrl-C while the others are imported

import json

import click

from shoal import __version__
from shoal.apps.cli import command_options
from shoal.apps.cli.anonymize import anonymize
from shoal.apps.cli.assess import assess
from shoal.apps.cli.attack import attack
from shoal.apps.cli.audit import audit
from shoal.apps.cli.audit_synthetic import audit_synthetic
from shoal.apps.cli.compare import compare
from shoal.apps.cli.error_exits import EXIT_CODES, Group
from shoal.apps.cli.evidence import evidence
from shoal.apps.cli.init import init
from shoal.apps.cli.lists import LISTED, build_list_command, schema
from shoal.apps.cli.network import network
from shoal.apps.cli.report import explain, report
from shoal.apps.cli.sample import sample
from shoal.apps.cli.studio import studio
from shoal.errors import ShoalBug


@click.group(cls=Group, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shoal")
def main() -> None:
    """Shoal turns personal data into releases that are safe to publish.

    Start with `shoal init data.csv`, read the policy that it writes, then `shoal anonymize`.
    """


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@command_options.as_json
def completion(shell: str, as_json: bool) -> None:
    """Print the completion script for a shell: eval "$(shoal completion bash)"."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise ShoalBug(f"click knows no completion for {shell}")
    script = found(main, {}, "shoal", "_SHOAL_COMPLETE").source()
    click.echo(json.dumps({"shell": shell, "script": script}) if as_json else script)


for command in (
    studio,
    init,
    assess,
    anonymize,
    audit,
    audit_synthetic,
    attack,
    compare,
    explain,
    report,
    evidence,
    network,
    sample,
    schema,
):
    main.add_command(command)
for kind in LISTED:
    main.add_command(build_list_command(kind))
