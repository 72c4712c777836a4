"""The command ``shoal assess``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.apps.cli import command_options, source_options
from shoal.apps.cli.command_options import PATH, PolicyOptions
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import Data

if TYPE_CHECKING:
    from shoal.pipeline.assess import Assessment

TOLD = 10
"""So many sets of columns are shown."""


@click.command()
@command_options.policy
@source_options.data()
@command_options.policy_file
@command_options.settings
@click.option("--size", type=click.IntRange(1), default=4, show_default=True,
              help="How many columns a set may have that singles people out.")  # fmt: skip
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Write the risk of each row here (CSV, readable by you alone). Keep it with DATA.",
)
@command_options.force
@command_options.as_json
def assess(
    policy: PolicyOptions,
    data: Data,
    size: int,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Say how risky DATA is as it is, before anything is done to it.

    How many rows are unique in the population, individual risk by survey weights, which few columns single people out.
    """
    asked = policy.read()
    source = data.find(asked)
    source_options.check_readable(source)

    from shoal import io
    from shoal.pipeline.assess import assess as assessed
    from shoal.policy.sources import inputs_of

    if output is not None:
        own = {source: "the data", policy.path: "the policy"}
        io.check_apart(inputs_of(asked) | own, [(output, "the risk of each row")])
        io.check_writable(output, force=force, table=False)
    found = assessed(source, asked, size=size)
    if output is not None:
        with io.Outbox(force=force) as box:
            box.write_text(output, found.by_row.write_csv())
    if as_json:
        say(json.dumps({"output": None if output is None else str(output), **found.summary()}, indent=2))
    else:
        _show(found)
        if output is not None:
            say(f"wrote {output}: the risk of each row. It is about single people: keep it with the data")


def _show(found: Assessment) -> None:
    from rich.markup import escape
    from rich.table import Table

    from shoal.apps.cli.terminal import plain_console
    from shoal.support.wording import percent, printable

    console = plain_console()
    rows = len(found.class_sizes)
    unique = int((found.class_sizes == 1).sum())
    console.print(
        f"{unique:,} of {rows:,} rows ({percent(unique / max(rows, 1))}) are unique by all quasi-identifiers"
    )
    estimates = found.estimates
    if estimates is None:
        console.print(escape(f"unique in the population: not estimated, it {found.not_estimated}"))
    else:
        low, high = estimates.range
        console.print(
            f"unique in the population of {estimates.people:,}: {percent(low)} to {percent(high)} of rows, by estimate"
            if estimates.proven is None
            else f"unique in the population of {estimates.people:,}: {percent(high)} of rows: {estimates.proven}"
        )
        lines = Table(box=None, pad_edge=False)
        for column in ("estimator", "share", "assumes"):
            lines.add_column(column)
        for one in (*estimates.all, estimates.rule):
            share = percent(one.share) if one.refused is None else escape(one.refused)
            lines.add_row(one.name, share, escape(one.assumes))
        console.print(lines)
    if found.individual is not None:
        console.print(
            f"individual risk by survey weights: at most {percent(found.individual.highest)} per row, "
            f"{percent(found.individual.mean)} on average, {found.individual.expected:,.1f} re-identifications expected"
        )
    if found.few_known is not None:
        known = found.few_known
        said = "holds" if known.holds else "does not hold" if known.holds is False else "is unknown"
        console.print(
            escape(f"{printable(known.model)} {said} in the table as it is: {printable(known.detail)}")
        )
    own = found.singled_out
    share = percent(own.people / max(own.of, 1))
    console.print(
        f"{own.people:,} of {own.of:,} people ({share}) are singled out by at most {own.largest} columns"
    )
    for few in sorted(own.sets, key=lambda few: -few.people)[:TOLD]:
        names = " + ".join(printable(found.columns[column]) for column in few.columns)
        console.print(escape(f"  {few.people:>{len(f'{rows:,}')},} by {names}"))
    if own.sets:
        parts = sorted(zip(found.columns, own.contribution.tolist(), strict=True), key=lambda one: -one[1])
        words = "   ".join(f"{printable(name)} {percent(part)}" for name, part in parts)
        console.print(escape(f"columns by their share of all SUDA scores: {words}"))
