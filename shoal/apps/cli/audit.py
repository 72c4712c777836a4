"""The command ``shoal audit``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from shoal.apps.cli import command_options, source_options
from shoal.apps.cli.command_options import PATH, PolicyOptions, names_of
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import ReceivedOptions
from shoal.coding.roles import PERSON, QUASI, SENSITIVE


@click.command()
@command_options.policy
@click.option("-p", "--policy", "policy_file", type=PATH, help="The policy to check it against.")
@source_options.add_release_options()
@command_options.settings
@command_options.role_options(QUASI, SENSITIVE, PERSON)
@click.option("--k", type=int, help="The smallest allowed equivalence class.")
@click.option("--measure", "measures", multiple=True, shell_complete=names_of("measures"),
              help="Compute this measure too (see `shoal measures`).")  # fmt: skip
@command_options.codebooks
@command_options.engine
@command_options.force
@command_options.as_json
def audit(
    policy: PolicyOptions,
    received: ReceivedOptions,
    measures: tuple[str, ...],
    codebooks: tuple[Path, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Check a RELEASE, made by Shoal or by any other tool, from its rows.

    Exit code 5 if it violates its policy, 9 if something could not be checked.
    """
    asked = policy.read()
    subject = received.find(asked, with_original=False)
    if not asked.engine.on_cluster:
        subject.check_readable()

    from dataclasses import replace

    from shoal.apps.cli import terminal
    from shoal.documents.codebook.describe import check_codebooks, write_codebooks
    from shoal.documents.evidence.manifest import publication_notes
    from shoal.pipeline.audit import audit as judge
    from shoal.policy.sources import inputs_of
    from shoal.release.received.read_record import read_record

    others = (*subject.inputs[1:], policy.path, *inputs_of(asked))
    check_codebooks(codebooks, subject.release, others, force=force)
    with terminal.progress(quiet=as_json) as progress:
        report = judge(subject.release, asked, measures=measures, progress=progress, **subject.keywords)
    own = publication_notes(read_record(subject.record))
    report = replace(report, notes=(*own, *report.notes))
    write_codebooks(
        codebooks, subject.release, asked, second=subject.second, for_publication=not own, force=force
    )
    if as_json:
        say(json.dumps(report.summary(), indent=2))
    else:
        terminal.audit(report, subject.release)
    terminal.exit_unless(report.holds)
