"""The command ``shoal audit``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from shoal.cli import options
from shoal.cli.options import PATH, SOURCE, chosen_policy, listed, names_of


@click.command()
@click.argument("release", type=SOURCE)
@click.option("-p", "--policy", "policy_file", type=PATH, help="The policy to check it against.")
@click.option("--original", type=PATH, help="The data that the release was made from.")
@options.second
@options.suppressed_as
@options.record
@options.settings
@click.option("--quasi", callback=listed, metavar="A,B,..", help="Without a policy: the quasi-identifiers.")
@click.option(
    "--sensitive", callback=listed, metavar="A,B,..", help="Without a policy: the sensitive columns."
)
@click.option("--k", type=int, help="The smallest allowed equivalence class.")
@click.option("--measure", "measures", multiple=True, shell_complete=names_of("measures"),
              help="Compute this measure too (see `shoal measures`).")  # fmt: skip
@options.codebooks
@options.force
@options.as_json
def audit(
    release: Path | str,
    policy_file: Path | None,
    original: Path | str | None,
    second: Path | str | None,
    suppressed_as: str | None,
    record: Path | None,
    settings: tuple[str, ...],
    quasi: list[str],
    sensitive: list[str],
    k: int | None,
    measures: tuple[str, ...],
    codebooks: tuple[Path, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Check a RELEASE, made by Shoal or by any other tool, from its rows. Exit code 5 if it violates its policy."""
    policy = chosen_policy(policy_file, settings, None, k, quasi, sensitive, [], [], [])
    options.check_readable(release, original, second)

    from shoal.auditing import audit as judge
    from shoal.cli import show
    from shoal.codebooks.codebook import check_codebooks, write_codebooks

    check_codebooks(codebooks, release, (original, second, policy_file, record), force=force)
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
    write_codebooks(codebooks, release, policy, second=second, force=force)
    if as_json:
        click.echo(json.dumps(report.summary(), indent=2))
    else:
        show.audit(report, release)
    if not report.holds:
        raise click.exceptions.Exit(5)
