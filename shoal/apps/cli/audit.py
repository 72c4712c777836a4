"""The command ``shoal audit``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shoal.apps.cli import command_options
from shoal.apps.cli.command_options import LOCAL, PATH, SOURCE, chosen_policy, names_of
from shoal.apps.cli.messages import say


@click.command()
@click.argument("release", type=SOURCE)
@click.option("-p", "--policy", "policy_file", type=PATH, help="The policy to check it against.")
@command_options.release_table
@command_options.release_query
@click.option("--original", type=SOURCE, help="The data that the release was made from.")
@command_options.original_table
@command_options.original_query
@command_options.second
@command_options.second_table
@command_options.suppressed_as
@command_options.record
@command_options.settings
@command_options.quasi
@command_options.sensitive
@command_options.person
@command_options.groups
@click.option("--k", type=int, help="The smallest allowed equivalence class.")
@click.option("--measure", "measures", multiple=True, shell_complete=names_of("measures"),
              help="Compute this measure too (see `shoal measures`).")  # fmt: skip
@command_options.codebooks
@command_options.engine
@command_options.force
@command_options.as_json
def audit(
    release: Any,
    policy_file: Path | None,
    suppressed_as: str | None,
    record: Path | None,
    settings: tuple[str, ...],
    quasi: list[str],
    sensitive: list[str],
    person: list[str],
    groups: dict[str, list[str]],
    k: int | None,
    measures: tuple[str, ...],
    codebooks: tuple[Path, ...],
    engine: str | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Check a RELEASE, made by Shoal or by any other tool, from its rows.

    Exit code 5 if it violates its policy, 9 if something could not be checked.
    """
    roles = {"quasi": quasi, "sensitive": sensitive, "person": person, "groups": groups}
    policy = chosen_policy(policy_file, command_options.with_engine(settings, engine), None, k, roles)
    release, original, second = command_options.chosen_tables(policy, release, given, original=False)
    if policy.engine.name == LOCAL:
        command_options.check_readable(release, original, second)

    from dataclasses import replace

    from shoal.apps.cli import terminal
    from shoal.documents.codebook.describe import check_codebooks, write_codebooks
    from shoal.documents.evidence.manifest import publication_notes
    from shoal.pipeline.audit import audit as judge
    from shoal.policy.sources import inputs_of
    from shoal.release.received.read_record import read_record
    from shoal.release.verdict import exit_code

    others = (original, second, policy_file, record, *inputs_of(policy))
    check_codebooks(codebooks, release, others, force=force)
    with terminal.progress(quiet=as_json) as progress:
        report = judge(
            release,
            policy,
            original=original,
            second=second,
            suppressed_as=suppressed_as,
            record=record,
            measures=measures,
            progress=progress,
        )
    own = publication_notes(read_record(record))
    report = replace(report, notes=(*own, *report.notes))
    write_codebooks(codebooks, release, policy, second=second, for_publication=not own, force=force)
    if as_json:
        say(json.dumps(report.summary(), indent=2))
    else:
        terminal.audit(report, release)
    if not report.holds:
        raise click.exceptions.Exit(exit_code(report.holds))
