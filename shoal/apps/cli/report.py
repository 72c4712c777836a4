"""The commands ``shoal report`` and ``shoal explain``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shoal.apps.cli import command_options, source_options
from shoal.apps.cli.command_options import PATH, PolicyOptions
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import Data, ReceivedOptions


@click.command()
@command_options.policy
@command_options.policy_file
@source_options.add_release_options(default_original=" [that of the policy]")
@click.option("-o", "--output", type=PATH, help="Where the page goes (.html).")
@click.option(
    "--pdf", type=PATH, help="Print it to a PDF file as well, if Chromium, Chrome or Edge is installed."
)
@click.option(
    "--comparison",
    type=PATH,
    help="The folder that `shoal compare` wrote; adds the Pareto frontier of risk and loss.",
)
@click.option(
    "--public", "edition", flag_value="public", help="Say nothing about single people. This is the default."
)
@click.option(
    "--private",
    "edition",
    flag_value="private",
    help="Include the rows that are most exposed, and details of the run.",
)
@command_options.codebooks
@command_options.sign_off
@command_options.settings
@command_options.force
@command_options.as_json
def report(
    policy: PolicyOptions,
    received: ReceivedOptions,
    output: Path | None,
    pdf: Path | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Write a report on a RELEASE as one HTML page, or as PDF: verdict, guarantees, attacks, risk, utility.

    Exit code 5 if the release violates its policy, 9 if something could not be checked.
    """
    from shoal import io

    if output is None and pdf is None:
        raise click.UsageError("give -o FILE.html, --pdf FILE.pdf, or both")
    asked = policy.read()
    subject = received.find(asked)
    subject.check_readable()
    codebooks = given.pop("codebooks")

    from shoal.apps.cli import terminal
    from shoal.documents.codebook.describe import check_codebooks, write_codebooks
    from shoal.documents.pages.pdf import check_browser
    from shoal.documents.report.build_report import report as write
    from shoal.policy.sources import inputs_of
    from shoal.release.two_tables import second_path

    named = inputs_of(asked)
    others = (
        *subject.inputs,
        subject.second or second_path(subject.release),
        policy.path,
        given["comparison"],
    )
    outputs = [(output, "the report"), (pdf, "the PDF")]
    io.check_apart(named | {other: str(other) for other in others if other is not None}, outputs)
    for target, _ in outputs:
        if target is not None:
            io.check_writable(target, force=force, table=False)
    check_codebooks(codebooks, subject.release, (*others[1:], *named, output, pdf), force=force)
    if pdf is not None:
        check_browser()
    with terminal.progress(quiet=as_json) as progress:
        made = write(
            subject.release,
            asked,
            edition="private" if given.pop("edition") == "private" else "public",
            progress=progress,
            **subject.keywords,
            **given,
        )
    may = not made.subject.is_seeded
    write_codebooks(
        codebooks, subject.release, asked, second=subject.second, for_publication=may, force=force
    )
    with io.Outbox(force=force) as box:
        if output is not None:
            box.write_text(output, made.html, private=made.private)
        if pdf is not None:
            box.write_bytes(pdf, made.pdf(), private=made.private)
    found = {
        "output": None if output is None else str(output),
        "pdf": None if pdf is None else str(pdf),
        "edition": made.edition,
        "holds": made.holds,
        "conclusion": made.conclusion.to_json(),
    }
    if as_json:
        say(json.dumps(found, indent=2))
    else:
        wrote = " and ".join(str(target) for target, _ in outputs if target is not None)
        say(f"wrote {wrote}, the {made.edition} edition: {made.conclusion.sentence}")
    terminal.exit_unless(made.holds)


@click.command()
@command_options.policy
@source_options.data()
@command_options.policy_file
@command_options.settings
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Start no further trial after this many seconds.",
)
@click.option(
    "--seed", type=click.IntRange(0), help="Make the random choices, and so the answer, repeatable."
)
@command_options.as_json
def explain(policy: PolicyOptions, data: Data, seconds: float, seed: int | None, as_json: bool) -> None:
    """Say what each requirement of the POLICY costs on DATA, and which change would help most.

    Shoal makes one release after another, each with one requirement relaxed, and writes none. Exit code 4 if no
    release satisfies the policy as it is.
    """
    asked = policy.read()
    source = data.find(asked)
    source_options.check_readable(source)

    from shoal.apps.cli import terminal
    from shoal.pipeline.explanation.explain import explain as find_out

    with terminal.progress(quiet=as_json) as progress:
        found = find_out(source, asked, seconds=seconds, seed=seed, progress=progress)
    say(json.dumps(found.summary(), indent=2) if as_json else str(found))
    if not found.feasible:
        raise click.exceptions.Exit(4)
