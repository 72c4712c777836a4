"""The command ``shoal compare``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.apps.cli import command_options, source_options
from shoal.apps.cli.command_options import PATH, PolicyOptions, split_names
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import Data
from shoal.errors import COMMAND_LINE, PolicyError, Problem

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.pipeline.comparison import Comparison, Trial

BAR = 20
"""Width of the longest bar of the frontier."""


def _ks(_context: click.Context, _parameter: click.Parameter, text: str | None) -> list[int]:
    found = []
    for part in split_names(_context, _parameter, text):
        if re.fullmatch("[0-9]{1,12}", part) is None or int(part) < 2:
            raise click.BadParameter(
                f"'{part}' is not a whole number of at least 2; write for example 2,5,10"
            )
        found.append(int(part))
    return found


@click.command()
@command_options.policy
@source_options.data()
@command_options.policy_file
@click.option(
    "-o", "--output", type=PATH,
    help="Keep finished trials, the comparison and its plot in this folder; a second run continues from them.",
)  # fmt: skip
@click.option("--methods", callback=split_names, metavar="A,B,..", help="Try these methods only.")
@click.option("--k", "ks", callback=_ks, metavar="2,5,..", help="Try these k instead of the policy's.")
@click.option(
    "--sets",
    is_flag=True,
    help="Also try releases whose cells list values instead of naming nodes of the hierarchies.",
)
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="How many trials run at a time."
)
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), default=120.0, show_default=True,
    help="Stop a trial after this many seconds.",
)  # fmt: skip
@command_options.settings
@command_options.as_json
def compare(
    policy: PolicyOptions, data: Data, output: Path | None, ks: list[int], as_json: bool, **given: Any
) -> None:
    """Try every method on DATA, attack and measure each release, and say which is best for the POLICY.

    Writes no release: make the best one with `shoal anonymize --method auto`, or with its name.
    """
    if ks and any(setting.partition("=")[0].strip() == "privacy.k" for setting in policy.settings):
        problem = Problem("--k", "says which k to try, and --set privacy.k sets another", "give one of them")
        raise PolicyError([problem], where=COMMAND_LINE)
    asked = policy.read()
    source = data.find(asked)
    source_options.check_readable(source)

    from shoal.apps.cli import terminal
    from shoal.pipeline.comparison.compare import compare as tried

    with terminal.progress(quiet=as_json) as progress:
        found = tried(source, asked, ks=ks, folder=output, progress=progress, **given)
    if as_json:
        say(json.dumps(found.to_json(), indent=2))
    else:
        _show(found, output)
    if not found.candidates():
        raise click.exceptions.Exit(4)


def _show(found: Comparison, output: Path | None) -> None:
    from rich.markup import escape

    from shoal.apps.cli.terminal import plain_console

    console = plain_console()
    for line in found.derivation:
        console.print(f"[dim]{escape(line)}[/]")
    for k in found.ks:
        _table(console, found, k)
    _frontier(console, found)
    _others(console, found)
    for k in found.ks or (None,):
        best, at = found.best(k), "" if k is None else f" at k = {k}"
        if best is None:
            console.print(f"[bold red]no release{at} satisfies the policy and withstands its adversaries[/]")
        else:
            console.print(f"best{at} by {found.measure}: [bold green]{escape(best.label)}[/]")
    if output is not None:
        console.print(f"wrote {escape(str(output / 'comparison.json'))} and frontier.svg next to it")
    console.print(f"[dim]seconds: {found.seconds:.1f}[/]")


def _table(console: Console, found: Comparison, k: int | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    from shoal.support.wording import number

    done = [trial for trial in found.trials if trial.k == k and trial.holds]
    done.sort(key=lambda trial: (not trial.withstands, found.loss(trial), trial.seconds))
    if not done:
        return
    yes, no = ("✓", "✗") if console.encoding.startswith("utf") else ("yes", "NO")
    table = Table(box=None, pad_edge=False, title=None if k is None else f"k = {k}", title_justify="left")
    for name in ("", "method", found.measure, "risk", "at risk", "classes", "suppressed", "seconds"):
        right = name not in ("", "method")
        table.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="fold")
    for trial in done:
        exposed = sum(outcome.at_risk for outcome in trial.attacks if outcome.decides)
        table.add_row(
            f"[green]{yes}[/]" if trial.withstands else f"[red]{no}[/]",
            escape(trial.label),
            number(float(trial.measures.get(found.measure, float("nan")))),
            "-" if trial.risk is None else f"{trial.risk:.2%}",
            number(exposed),
            number(trial.classes),
            number(trial.suppressed),
            f"{trial.seconds:.2f}",
        )
    console.print(table)
    if found.analyses:
        _analyses(console, found, done)


def _analyses(console: Console, found: Comparison, done: list[Trial]) -> None:
    """Say how well each release serves what analysts will do."""
    from rich.markup import escape
    from rich.table import Table

    from shoal.support.wording import number

    table = Table(box=None, pad_edge=False, title="what analysts will do", title_justify="left")
    for name in ("method", *found.analyses):
        table.add_column(name, justify="left" if name == "method" else "right", overflow="fold")
    for trial in done:
        values = (number(float(trial.measures.get(name, float("nan")))) for name in found.analyses)
        table.add_row(escape(trial.label), *values)
    console.print(table)


def _frontier(console: Console, found: Comparison) -> None:
    """Draw the Pareto frontier as bars: less risk costs more loss."""
    from rich.markup import escape

    line = found.frontier()
    if not line:
        return
    solid = "█" if console.encoding.startswith("utf") else "#"
    console.print("\nPareto frontier: no release here has both lower risk and lower loss")
    values = [abs(trial.measures[found.measure]) for trial in line]
    width = max(len(_name_trial(trial)) for trial in line)
    for trial, value in zip(line, values, strict=True):
        bar = solid * max(1, round(BAR * value / (max(values) or 1)))
        name = escape(_name_trial(trial).ljust(width))
        row = f"  {name}  risk {trial.risk:7.2%}  {found.measure} {value:<8.4g} {bar}"
        console.print(row, soft_wrap=True)


def _name_trial(trial: Trial) -> str:
    return trial.label if trial.k is None else f"k={trial.k} {trial.label}"


def _others(console: Console, found: Comparison) -> None:
    """Say why other methods made no release, once per reason."""
    from rich.markup import escape
    from rich.padding import Padding

    reasons: dict[tuple[str, str], list[Trial]] = {}
    for trial in found.trials:
        if trial.status != "done":
            # Methods that refuse for the same reason share a line.
            brief = f"; {trial.reason}".replace(f"; {trial.method} ", "; ").removeprefix("; ")
            reasons.setdefault((trial.status, brief), []).append(trial)
    if reasons:
        console.print("\nskipped:")
    words = {"refused": "", "failed": "failed: ", "timeout": "took too long: ", "stopped": ""}
    for (status, reason), trials in reasons.items():
        names = ", ".join(dict.fromkeys(trial.method for trial in trials))
        ks = {trial.k for trial in trials}
        at = "" if len(ks) == len(found.ks) else f" at k = {', '.join(str(k) for k in sorted(ks, key=str))}"
        text = f"[bold]{escape(names)}[/]{at}: {words[status]}{escape(reason)}"
        console.print(Padding(text, (0, 0, 0, 2)))
    console.print()
