"""The command ``shoal anonymize``."""

from __future__ import annotations

import json
from typing import Any

import click

from shoal.apps.cli import command_options, source_options
from shoal.apps.cli.command_options import PATH, PolicyOptions, names_of
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import TARGET, Data
from shoal.coding.roles import DROP, IDENTIFIER, PERSON, PLAIN, QUASI, SENSITIVE, WEIGHT


@click.command()
@command_options.policy
@click.option("-p", "--policy", "policy_file", type=PATH, help="The policy, a TOML file.")
@click.option(
    "-o", "--output", type=TARGET, required=True, help="Where the release goes: a file or a database."
)
@click.option("--output-table", metavar="NAME", help="The table to write, if --output is a database.")
@click.option(
    "--method",
    shell_complete=names_of("methods"),
    help="Use this method instead of the policy's; auto: try all, and take the best.",
)
@source_options.data()
@command_options.settings
@command_options.role_options(QUASI, SENSITIVE, IDENTIFIER, PERSON, PLAIN, DROP, WEIGHT)
@click.option("--k", type=int, help="The smallest allowed equivalence class.")
@click.option("--record", type=PATH, help="Write the private run record (JSON) here.")
@click.option("--card", "cards", multiple=True, type=PATH,
              help="Write the public release card here (.md or .json; may be given twice).")  # fmt: skip
@command_options.codebooks
@click.option(
    "--keys",
    type=PATH,
    help="Write the private key table of pseudonyms here (CSV, readable by you alone).",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Make the random choices repeatable. Such a release is not for publication.",
)
@command_options.engine
@command_options.force
@command_options.as_json
def anonymize(
    policy: PolicyOptions,
    data: Data,
    output: Any,
    output_table: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Turn DATA into a release that satisfies its policy, verify it, and write it.

    DATA is a file, or a database with --table or --query; without it, the policy names it (`[data] source`).

    Without a policy file: shoal anonymize data.csv -o out.csv --quasi age,zip --sensitive disease --k 5
    """
    asked = policy.read()
    source = data.find(asked)
    if not asked.engine.on_cluster:
        source_options.check_readable(source)
        output = source_options.chosen_output(output, output_table)

    from shoal.apps.cli import terminal
    from shoal.pipeline.anonymize import anonymize_file

    with terminal.progress(quiet=as_json) as progress:
        result = anonymize_file(source, asked, output, spare=policy.files, progress=progress, **given)
    if as_json:
        say(json.dumps({"output": str(output), **result.summary()}, indent=2))
    else:
        terminal.result(result, output)
