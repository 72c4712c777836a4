"""What a person sees in the terminal."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.exceptions import Exit
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table

from shoal.release.two_tables import second_path
from shoal.release.verdict import exit_code
from shoal.support.wording import format_count, format_parts, number, printable, visible

if TYPE_CHECKING:
    from shoal.policy.suggestions import Suggestion
    from shoal.policy.suggestions.presets import Preset
    from shoal.release.results import Audit, Result


def exit_unless(holds: bool | None) -> None:
    """End the command with the exit code of a release that does not hold what its policy asks for."""
    if not holds:
        raise Exit(exit_code(holds))


class _Console(Console):
    def render(self, *given: Any, **named: Any) -> Iterable[Segment]:
        """Yield what is shown, where no character of a name or a value can control the terminal."""
        for one in super().render(*given, **named):
            yield one if one.control else Segment(visible(one.text), one.style)

    def on_broken_pipe(self) -> None:
        """Leave to others what the program says when nobody reads it any more."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def plain_console() -> Console:
    """Return standard output, without colours that are not asked for."""
    return _Console(highlight=False)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Show the stages of long work on the terminal; in pipes only that it compiles; silent with ``--json``."""
    if quiet or not sys.stderr.isatty():
        told = quiet

        def tell(stage: str, _share: float) -> None:
            nonlocal told
            if not told and stage.startswith("compiling"):
                print(stage, file=sys.stderr)
                told = True

        yield tell
        return
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=1.0)

        def step(stage: str, share: float) -> None:
            bars.update(task, description=stage, completed=share)

        yield step


def result(made: Result, output: Any) -> None:
    """Show the release, its guarantees and its losses."""
    console = plain_console()
    kept = made.rows - made.suppressed
    console.print(
        f"[bold]{escape(str(output))}[/]: {kept:,} of {format_count(made.rows, 'row')} in "
        f"{format_parts(made.classes, made.buckets)}, by [bold]{made.method}[/]",
        soft_wrap=True,
    )
    if made.second is not None:
        second = escape(str(second_path(output)))
        size = format_count(len(made.second), "row")
        console.print(f"[bold]{second}[/]: {size}, the sensitive values by bucket", soft_wrap=True)
    if made.release.levels is not None:
        levels = ", ".join(
            f"{escape(printable(name))} {level}"
            for name, level in zip(made.losses, made.release.levels, strict=True)
        )
        facts = made.release.facts
        proven = "" if facts.get("exact", True) else "; not proven to be the best"
        console.print(f"levels: {levels} ({facts.get('checked', 0):,} mappings checked{proven})")
    _body(console, made)


def audit(report: Audit, path: object) -> None:
    """Show the guarantees and the losses of a release."""
    console = plain_console()
    colour = "yellow" if report.holds is None else "green" if report.holds else "red"
    word = f"[bold {colour}]{report.conclusion.headline}[/]"
    parts = format_parts(report.classes, report.buckets)
    console.print(f"[bold]{escape(str(path))}[/] {word}: {format_count(report.rows, 'row')}, {parts}")
    _body(console, report)


def _body(console: Console, report: Audit) -> None:
    for remark in report.conclusion.remarks:
        console.print(f"[yellow]remark:[/] {escape(remark)}")
    if report.whose:
        console.print(report.whose)
    yes, no = ("✓", "✗") if console.encoding.startswith("utf") else ("yes", "NO")
    verdicts = Table(box=None, pad_edge=False)
    for column in ("", "guarantee", "required", "reached", ""):
        verdicts.add_column(column)
    for verdict in report.verdicts:
        mark = (
            "[yellow]?[/]"
            if verdict.holds is None
            else f"[green]{yes}[/]"
            if verdict.holds
            else f"[red]{no}[/]"
        )
        verdicts.add_row(
            mark,
            escape(verdict.model),
            number(verdict.required),
            number(verdict.reached),
            escape(verdict.detail),
        )
    console.print(verdicts)
    for line in costs(report):
        console.print(escape(line))
    for note in report.notes:
        console.print(f"[yellow]note:[/] {escape(note)}")
    seconds = "   ".join(f"{stage} {value:.2f}" for stage, value in report.seconds.items())
    console.print(f"[dim]seconds: {seconds}[/]")


def costs(report: Audit) -> list[str]:
    """Say in words how much information was lost and which risk is left."""
    known = {name: value for name, value in report.measures.items() if value == value}
    lines = []
    from shoal.judging.measures import MEASURES, individual_risk_measures, population_uniqueness
    from shoal.judging.measures.risk_measures import ProsecutorMax, ProsecutorMean, UniqueBefore

    if MEASURES.default in known:
        columns = "   ".join(f"{printable(name)} {value:.1%}" for name, value in report.losses.items())
        lines.append(f"information loss (LM): {known[MEASURES.default]:.1%}   ({columns})")
    if ProsecutorMax.name in known:
        before = (
            f"; {known[UniqueBefore.name]:.1%} of rows were unique in the original"
            if UniqueBefore.name in known
            else ""
        )
        lines.append(
            f"re-identification risk: at most {known[ProsecutorMax.name]:.1%} per person, "
            f"{known[ProsecutorMean.name]:.1%} on average{before}"
        )
    lines += [
        *population_uniqueness.describe_estimates(known),
        *individual_risk_measures.describe_risks(known),
    ]
    spoken = (population_uniqueness.PopulationUnique, individual_risk_measures.Individual)
    shown = [
        name
        for name, kind in MEASURES.items()
        if (kind.reported.terminal or not kind.reported.default) and not issubclass(kind, spoken)
    ]
    rest = "   ".join(f"{name} {number(known[name])}" for name in shown if name in known)
    return [*lines, f"other measures: {rest}"] if rest else lines


def templates(presets: Iterable[Preset]) -> None:
    """List the templates of `shoal init --template`."""
    console = plain_console()
    for preset in presets:
        console.print(f"[bold]{preset.name}[/]  {escape(preset.title)}", soft_wrap=True)
        console.print(escape(f"  {preset.means}"), soft_wrap=True)
        console.print(escape(f"  {preset.source}"), soft_wrap=True)


def _template(console: Console, found: Suggestion) -> None:
    """Say what a template leaves to people."""
    from shoal.policy.suggestions.presets import PRESETS

    preset = PRESETS[found.template]
    console.print(f"template [bold]{preset.name}[/]: {escape(preset.means)}", soft_wrap=True)
    for left in preset.leaves:
        console.print(f"[yellow]check:[/] {escape(left)}", soft_wrap=True)


def suggestion(found: Suggestion, data: Any, output: Path) -> None:
    """Say what a table looks like to an adversary, and what to do next."""
    from shoal.io.formats import file_format_of, suffix_of
    from shoal.policy.suggestions.policy_writer import minimal_lines, write_identifying_sets

    console = plain_console()
    table = Table(box=None, pad_edge=False)
    for column in ("column", "role", "loses", "because"):
        table.add_column(column)
    known = [guess.loss for guess in found.columns if guess.loss is not None]
    together = bool(known) and all(one.together is not None for one in known)
    for guess in found.columns:
        lost = None if guess.loss is None else guess.loss.together if together else guess.loss.alone
        loss = "" if lost is None else f"{lost:.1%}"
        table.add_row(escape(printable(guess.name)), guess.role, loss, escape(guess.reason))
    console.print(table)
    basis = f"of this column alone, for k = {found.k}"
    if together:
        basis = f"in a release of all quasi-identifiers for k = {found.k} (mondrian, {known[0].rows:,} rows)"
    console.print(f"loses: information loss (LM) {basis}")
    if found.notation:
        console.print(f"[yellow]reading:[/] {escape(printable(found.notation))}", soft_wrap=True)
    for guess in found.columns:
        for why in guess.told:
            console.print(f"[yellow]reading:[/] {escape(printable(f'{guess.name}: {why}'))}", soft_wrap=True)
    for guess in found.columns:
        if guess.warning:
            warning = escape(printable(f"{guess.name}: {guess.warning}"))
            console.print(f"[yellow]warning:[/] {warning}", soft_wrap=True)
    for line in (*write_identifying_sets(found), *minimal_lines(found)):
        console.print(escape(line))
    if found.template:
        _template(console, found)
    console.print(f"\nwrote [bold]{escape(str(output))}[/]: read it, correct the roles, then")
    # A policy about a database names it.
    named = [] if "source" in found.data else [str(data)]
    ending = suffix_of(data) if named else None
    # Some formats are only read.
    written = ending if ending and file_format_of(Path(f"x{ending}")) is not None else ".csv"
    release = f"release{written}"
    words = ["shoal", "anonymize", *named, "-p", str(output), "-o", release]
    console.print(escape(f"  {shlex.join(words)}"), soft_wrap=True)
