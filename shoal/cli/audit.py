"""The command ``shoal audit``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shoal.cli import options
from shoal.cli.messages import say
from shoal.cli.options import LOCAL, PATH, SOURCE, chosen_policy, names_of


@click.command()
@click.argument("release", type=SOURCE)
@click.option("-p", "--policy", "policy_file", type=PATH, help="The policy to check it against.")
@options.release_table
@options.release_query
@click.option("--original", type=SOURCE, help="The data that the release was made from.")
@options.original_table
@options.original_query
@options.second
@options.second_table
@options.suppressed_as
@options.record
@options.settings
@options.quasi
@options.sensitive
@options.person
@options.groups
@click.option("--k", type=int, help="The smallest allowed equivalence class.")
@click.option("--measure", "measures", multiple=True, shell_complete=names_of("measures"),
              help="Compute this measure too (see `shoal measures`).")  # fmt: skip
@options.codebooks
@options.engine
@options.force
@options.as_json
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
    policy = chosen_policy(policy_file, options.with_engine(settings, engine), None, k, roles)
    release, original, second = options.chosen_tables(policy, release, given, original=False)
    if policy.engine.name == LOCAL:
        options.check_readable(release, original, second)

    from dataclasses import replace

    from shoal.auditing import audit as judge
    from shoal.cli import show
    from shoal.codebooks.codebook import check_codebooks, write_codebooks
    from shoal.packs.manifest import publication_notes
    from shoal.policy.sources import inputs_of
    from shoal.received.recorded import read_record
    from shoal.release.verdict import exit_code

    others = (original, second, policy_file, record, *inputs_of(policy))
    check_codebooks(codebooks, release, others, force=force)
    with show.progress(quiet=as_json) as progress:
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
        show.audit(report, release)
    if not report.holds:
        raise click.exceptions.Exit(exit_code(report.holds))
