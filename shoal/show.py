"""What a person sees in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from shoal.results import Audit, Result
    from shoal.suggest import Suggestion

SHOWN_MEASURES = ("lm", "gcp", "entropy", "dm", "avg", "risk-prosecutor-max", "risk-prosecutor-mean")


def _console() -> Console:
    return Console(highlight=False)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Show the stages of long work on the terminal; silent in pipes and with ``--json``."""
    from shoal.kernels import compiled

    if not quiet and not compiled():
        print("first run on this machine: compiling, some seconds, once", file=sys.stderr)
    if quiet or not sys.stderr.isatty():
        yield lambda _stage, _share: None
        return
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=1.0)

        def step(stage: str, share: float) -> None:
            bars.update(task, description=stage, completed=share)

        yield step


def result(made: Result, output: Path) -> None:
    """Say what was made, what it withstands and what it cost."""
    console = _console()
    kept = made.rows - made.suppressed
    console.print(
        f"[bold]{escape(str(output))}[/]: {kept:,} of {made.rows:,} rows in {made.classes:,} classes, by [bold]{made.method}[/]"
    )
    if made.release.levels is not None:
        levels = ", ".join(
            f"{escape(name)} {level}" for name, level in zip(made.losses, made.release.levels, strict=True)
        )
        console.print(f"levels: {levels} ({made.release.facts.get('checked', 0):,} mappings checked)")
    _body(console, made)


def audit(report: Audit, path: Path) -> None:
    """Say what a release withstands and what it has lost."""
    console = _console()
    word = "[bold green]satisfies its policy[/]" if report.holds else "[bold red]violates its policy[/]"
    console.print(f"[bold]{escape(str(path))}[/] {word}: {report.rows:,} rows, {report.classes:,} classes")
    _body(console, report)


def _body(console: Console, report: Audit) -> None:
    verdicts = Table(box=None, pad_edge=False)
    for column in ("", "guarantee", "required", "reached", ""):
        verdicts.add_column(column)
    for verdict in report.verdicts:
        mark = "[green]✓[/]" if verdict.holds else "[red]✗[/]"
        verdicts.add_row(
            mark,
            escape(verdict.model),
            number(verdict.required),
            number(verdict.reached),
            escape(verdict.detail),
        )
    console.print(verdicts)
    shown = {name: report.measures[name] for name in SHOWN_MEASURES if name in report.measures}
    if shown:
        console.print("cost:  " + "   ".join(f"{name} {number(value)}" for name, value in shown.items()))
    if report.losses:
        losses = "   ".join(f"{escape(name)} {value:.1%}" for name, value in report.losses.items())
        console.print(f"lost:  {losses}")
    for note in report.notes:
        console.print(f"[yellow]note:[/] {escape(note)}")
    seconds = "   ".join(f"{stage} {value:.2f}" for stage, value in report.seconds.items())
    console.print(f"[dim]seconds: {seconds}[/]")


def number(value: object) -> str:
    """Write a number as short as it can be understood."""
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def suggestion(found: Suggestion, data: Path, output: Path) -> None:
    """Say what a table looks like to an adversary, and what to do next."""
    console = _console()
    table = Table(box=None, pad_edge=False)
    for column in ("column", "role", "because"):
        table.add_column(column)
    for guess in found.columns:
        table.add_row(escape(guess.name), guess.role, escape(guess.reason))
    console.print(table)
    for line in found.identifying_lines():
        console.print(escape(line))
    console.print(f"\nwrote [bold]{escape(str(output))}[/]: read it, mend the roles, then")
    console.print(escape(f"  shoal anonymize {data} -p {output} -o release{data.suffix}"))
