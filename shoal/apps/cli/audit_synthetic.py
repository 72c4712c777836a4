"""The command ``shoal audit-synthetic``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.apps.cli import command_options, source_options
from shoal.apps.cli.command_options import PATH, split_names
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import SOURCE

if TYPE_CHECKING:
    from shoal.synthetic.audit_synthetic import SyntheticAudit


def _pair(
    _context: click.Context, _parameter: click.Parameter, given: tuple[tuple[str, str], ...]
) -> list[tuple[list[str], list[str]]]:
    return [
        (split_names(_context, _parameter, one), split_names(_context, _parameter, other))
        for one, other in given
    ]


@click.command("audit-synthetic")
@click.argument("synthetic", type=SOURCE)
@click.option(
    "--original", type=SOURCE, required=True, help="The table that the synthetic one was trained on."
)
@click.option(
    "--holdout",
    type=SOURCE,
    help="People of the same population on whom it was not trained. Without them, the risk cannot be known.",
)
@click.option(
    "--columns", callback=split_names, metavar="A,B,..", help="Audit these columns [all of SYNTHETIC]."
)
@click.option(
    "--category", "categories", callback=split_names, metavar="A,B,..", help="Compare these columns as text."
)
@click.option(
    "--sensitive", callback=split_names, metavar="A,B,..", help="Infer these columns [all that are audited]."
)
@click.option(
    "--link",
    "link_columns",
    nargs=2,
    multiple=True,
    callback=_pair,
    metavar="A,B C,D",
    help="Link these two sets of columns; may be repeated [three random halves of all columns].",
)
@click.option("--regression", metavar="FORMULA", help="Compare this regression: 'income ~ age + sex'.")
@click.option("--workload", type=PATH, help="Compare the answers to the queries in this file.")
@click.option(
    "--predict", metavar="COLUMN", help="Compare how well a learner predicts this column of the holdout."
)
@click.option(
    "--targets",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="Attack this many people of each table.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0, 1),
    help="The largest residual risk that is allowed [any leak beyond chance is too much].",
)
@click.option(
    "--seed", type=click.IntRange(0), help="Make the random choices, and so the figures, repeatable."
)
@click.option("--report", type=PATH, help="Write the public report (HTML) here: nothing about single people.")
@click.option("--private-report", type=PATH, help="Write the private report (HTML) here, with row numbers.")
@command_options.force
@command_options.as_json
def audit_synthetic(
    synthetic: Any,
    original: Any,
    holdout: Any,
    report: Path | None,
    private_report: Path | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Attack a SYNTHETIC table that any tool made: singling out, linkability, inference, copies, membership.

    Each attack is tried on people who were trained on and on a holdout. Exit code 5 if training rows leak, 9 if that
    cannot be known, as without a holdout.
    """
    from shoal import io

    source_options.check_readable(synthetic, original, holdout)
    inputs = {one: str(one) for one in (synthetic, original, holdout, given["workload"]) if one is not None}
    outputs = [(report, "the report"), (private_report, "the private report")]
    io.check_apart(inputs, outputs)
    for target, _ in outputs:
        if target is not None:
            io.check_writable(target, force=force, table=False)

    from shoal.apps.cli import terminal
    from shoal.synthetic.audit_synthetic import audit_synthetic as attack

    with terminal.progress(quiet=as_json) as progress:
        found = attack(synthetic, original, holdout, progress=progress, **given)
    with io.Outbox(force=force) as box:
        if report is not None:
            box.write_text(report, found.report("public"), private=False)
        if private_report is not None:
            box.write_text(private_report, found.report("private"), private=True)
    if as_json:
        say(json.dumps(found.summary(), indent=2))
    else:
        _show(found, synthetic)
    terminal.exit_unless(found.holds)


def _show(found: SyntheticAudit, place: object) -> None:
    from rich.markup import escape
    from rich.table import Table

    from shoal.apps.cli import terminal
    from shoal.support.wording import number
    from shoal.synthetic.synthetic_report import ATTACK_HEAD, attack_rows, describe_outcome

    console = terminal.plain_console()
    state, headline, text = describe_outcome(found)
    colour = {"bad": "red", "warn": "yellow"}.get(state, "default")
    console.print(f"[bold]{escape(str(place))}[/]: [bold {colour}]{escape(headline)}[/]")
    console.print(escape(text))
    table = Table(*ATTACK_HEAD, box=None, pad_edge=False)
    for row in attack_rows(found):
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)
    nearer, members = found.closest.nearer, found.membership
    if nearer is not None and members is not None:
        console.print(
            f"closest records: {nearer.share:.1%} of synthetic rows are nearer to a training row than to a holdout row "
            f"(50% expected)   membership: area {members.area:.3f} (0.5 says nothing)"
        )
    useful = [
        (one.name, one.synthetic, one.reference)
        for one in found.usefulness.figures
        if one.synthetic is not None
    ]
    if useful:
        told = "   ".join(
            f"{name} {number(value)}" + ("" if other is None else f" (holdout {number(other)})")
            for name, value, other in useful
        )
        console.print(escape(f"usefulness: {told}"))
    for note in found.notes:
        console.print(escape(f"note: {note}"))
