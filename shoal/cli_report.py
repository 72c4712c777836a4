"""The commands ``shoal report`` and ``shoal explain``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from shoal.errors import OutputError


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--original",
    type=click.Path(path_type=Path),
    required=True,
    help="The data that it was made from.",
)
@click.option(
    "-p", "--policy", "policy_file", type=click.Path(path_type=Path), required=True, help="The policy."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Where the page goes (.html)."
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    help="The private record of the run that made it: tells method and options.",
)
@click.option(
    "--comparison",
    type=click.Path(path_type=Path),
    help="The folder that `shoal compare` wrote: adds the frontier between risk and loss.",
)
@click.option(
    "--public", "edition", flag_value="public", help="Tell nothing about single people. This is the default."
)
@click.option(
    "--private",
    "edition",
    flag_value="private",
    help="Name the rows that are most exposed, and tell of the run.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Change the policy: privacy.k=10."
)
@click.option("--force", is_flag=True, help="Replace a page that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def report(
    release: Path,
    original: Path,
    policy_file: Path,
    output: Path,
    record: Path | None,
    comparison: Path | None,
    edition: str | None,
    settings: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Report on a RELEASE as one HTML page: guarantees, attacks, risk, use. Exit code 5 if it violates its policy."""
    from shoal import frames, show
    from shoal.policy import Policy
    from shoal.reporting import report as write

    frames.check_writable(output, force=force, table=False)
    _all_different(output, release, original, policy_file, record)
    policy = Policy.read(policy_file)
    policy = policy.override(settings) if settings else policy
    with show.progress(quiet=as_json) as progress:
        made = write(
            release,
            policy,
            original=original,
            record=record,
            comparison=comparison,
            edition="private" if edition == "private" else "public",
            progress=progress,
        )
    made.write(output, force=force)
    found = {
        "output": str(output),
        "edition": made.edition,
        "holds": made.holds,
        "withstands": made.withstands,
    }
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        word = "satisfies" if made.holds else "violates"
        attacks = "withstands" if made.withstands else "does not withstand"
        click.echo(
            f"wrote {output}, the {made.edition} edition: the release {word} its policy and {attacks} the attacks "
            "that were tried"
        )
    if not made.holds:
        raise click.exceptions.Exit(5)


def _all_different(output: Path, *others: Path | None) -> None:
    """--force replaces a page, never what it is about."""
    import os

    for other in others:
        if other is not None and os.path.realpath(output) == os.path.realpath(other):
            raise OutputError(f"{output} would replace {other}; choose another name")
