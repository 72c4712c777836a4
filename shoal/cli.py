"""The command line. Everything heavy is imported inside the commands, so that ``--help`` answers at once."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal import __version__, cli_options
from shoal.cli_attack import attack
from shoal.cli_compare import compare
from shoal.cli_network import network
from shoal.cli_options import PATH
from shoal.cli_report import explain, report
from shoal.errors import DataError, OutputError, PolicyError, Problem, ShoalBug, ShoalError

if TYPE_CHECKING:
    from shoal.policy import Policy

EXIT_CODES = """\b
Exit codes:
  0  done, and every requirement holds
  1  something else went wrong       4  no release can satisfy the requirements
  2  the policy or a command is off  5  a release violates its policy
  3  the data cannot be used         6  the output cannot be written
  70  Shoal made a mistake of its own; please report it
  130  interrupted; nothing was written"""


class Group(click.Group):
    """Turns every error into a message without a stack trace, and its class into the exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        for stream in (sys.stdout, sys.stderr):
            # A terminal that cannot show a sign must not end the work.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        if threading.current_thread() is threading.main_thread():
            # Ended from outside, as by a scheduler: leave as after an interrupt, without half a file.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            return super().invoke(ctx)
        except ShoalError as error:
            self._fail(str(error), type(error).__name__, error.exit_code)
        except KeyboardInterrupt:
            self._fail("interrupted; nothing was written", "Interrupted", 130)
        except click.ClickException as error:
            if "--json" in sys.argv:
                self._print_json(error.format_message(), type(error).__name__, error.exit_code)
            raise
        except (click.exceptions.Exit, click.Abort, SystemExit, BrokenPipeError):
            raise  # click knows what to do; a pipe breaks when its reader has seen enough
        except BaseException as error:  # a panic in a library is no Exception
            if os.environ.get("SHOAL_DEBUG"):
                raise
            # A traceback may show values of the data, so it is printed only on request.
            kind = type(error).__name__
            self._fail(
                f"Shoal made a mistake of its own ({kind}); no file was left half written. "
                "SHOAL_DEBUG=1 shows where, and may show values of your data.",
                kind,
                70,
            )

    @staticmethod
    def _fail(message: str, kind: str, code: int) -> None:
        if "--json" in sys.argv:
            Group._print_json(message, kind, code)
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        click.echo(message, err=True)
        raise click.exceptions.Exit(code)

    @staticmethod
    def _print_json(message: str, kind: str, code: int) -> None:
        click.echo(json.dumps({"error": {"kind": kind, "message": message, "exit_code": code}}, indent=2))


@click.group(cls=Group, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shoal")
def main() -> None:
    """Shoal turns personal data into releases that are safe to publish.

    Start with `shoal init data.csv`, read the policy that it writes, then `shoal anonymize`.
    """


def names_of(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Complete the names of a registry."""

    def complete(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        names = [*_registry(kind), "auto"] if kind == "methods" else _registry(kind)
        return [name for name in names if name.startswith(typed)]

    return complete


def _registry(kind: str) -> Any:
    if kind == "methods":
        from shoal.methods import METHODS

        return METHODS
    if kind == "models":
        from shoal.models import MODELS

        return MODELS
    if kind == "attacks":
        from shoal.attacks import ATTACKS

        return ATTACKS
    from shoal.measures import MEASURES

    return MEASURES


@main.command()
@click.argument("data", type=PATH)
@click.option("-o", "--output", type=PATH, help="Where the policy goes [DATA's name.toml].")
@click.option("--set", "settings", multiple=True, metavar="PATH=VALUE",
              help="How to read DATA: data.encoding=latin-1.")  # fmt: skip
@cli_options.force
@cli_options.as_json
def init(data: Path, output: Path | None, settings: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Look at DATA and write a starter policy, with the reason for each guess beside it."""
    from shoal import frames, show
    from shoal.policy import reading_options
    from shoal.suggest import suggest

    if data.is_dir():
        raise DataError(f"{data} is a folder; name a file in it")
    output = output or data.with_suffix(".toml")
    frames.check_writable(output, force=force, table=False)
    if os.path.realpath(output) == os.path.realpath(data):
        raise OutputError(f"{output} would replace the data; choose another name")
    suggestion = suggest(frames.read(data, reading_options(settings)))
    frames.write_text(output, suggestion.to_toml(), force=force)
    if as_json:
        click.echo(json.dumps({"policy": str(output), **suggestion.summary()}, indent=2))
    else:
        show.suggestion(suggestion, data, output)


def _listed(_context: click.Context, _parameter: click.Parameter, text: str | None) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


@main.command()
@click.argument("data", type=PATH)
@click.option("-p", "--policy", "policy_file", type=PATH, help="The policy, a TOML file.")
@click.option("-o", "--output", type=PATH, required=True, help="Where the release goes.")
@click.option(
    "--method",
    shell_complete=names_of("methods"),
    help="Use this method instead of the policy's; auto: the best of all.",
)
@cli_options.settings
@click.option("--quasi", callback=_listed, metavar="A,B,..", help="Without a policy: the quasi-identifiers.")
@click.option(
    "--sensitive", callback=_listed, metavar="A,B,..", help="Without a policy: the sensitive columns."
)
@click.option("--identifier", callback=_listed, metavar="A,B,..", help="Without a policy: columns to remove.")
@click.option(
    "--plain", callback=_listed, metavar="A,B,..", help="Without a policy: columns to keep as they are."
)
@click.option("--k", type=int, help="Every person gets at least k-1 lookalikes.")
@click.option("--record", type=PATH, help="Write the private run record (JSON) here.")
@click.option("--card", "cards", multiple=True, type=PATH,
              help="Write the public release card here (.md or .json; may be given twice).")  # fmt: skip
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Make the random choices repeatable. Such a release is not for publication.",
)
@cli_options.force
@cli_options.as_json
def anonymize(
    data: Path,
    policy_file: Path | None,
    output: Path,
    method: str | None,
    settings: tuple[str, ...],
    quasi: list[str],
    sensitive: list[str],
    identifier: list[str],
    plain: list[str],
    k: int | None,
    record: Path | None,
    cards: tuple[Path, ...],
    seed: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Turn DATA into a release that satisfies its policy, verify it, and write it.

    Without a policy file: shoal anonymize data.csv -o out.csv --quasi age,zip --sensitive disease --k 5
    """
    from shoal import show
    from shoal.pipeline import anonymize_file

    policy = _policy(policy_file, settings, method, k, quasi, sensitive, identifier, plain)
    with show.progress(quiet=as_json) as progress:
        result = anonymize_file(
            data, policy, output, record=record, cards=cards, spare=[policy_file] if policy_file else [],
            seed=seed, force=force, progress=progress,
        )  # fmt: skip
    if as_json:
        click.echo(json.dumps({"output": str(output), **result.summary()}, indent=2))
    else:
        show.result(result, output)


def _policy(
    path: Path | None,
    settings: tuple[str, ...],
    method: str | None,
    k: int | None,
    quasi: list[str],
    sensitive: list[str],
    identifier: list[str],
    plain: list[str],
) -> Policy:
    """The policy of a command: from a file or from roles on the command line, with what is set beside it."""
    from shoal.policy import Policy

    roles = {"--quasi": quasi, "--sensitive": sensitive, "--identifier": identifier, "--plain": plain}
    if path is not None:
        given = [name for name, columns in roles.items() if columns]
        if given:
            raise PolicyError(
                [Problem(name, "goes without a policy file", "give one or the other") for name in given]
            )
        policy = Policy.read(path)
    elif not quasi:
        raise PolicyError(
            [Problem("policy", "is missing", "give -p POLICY, or --quasi with --k; `shoal init` writes one")]
        )
    else:
        policy = Policy.from_keywords(
            quasi=quasi, sensitive=sensitive, identifier=identifier, plain=plain, k=5 if k is None else k
        )
    changes = list(settings)
    if method is not None:
        policy = policy.with_method(method)
    if k is not None:
        changes.append(f"privacy.k={k}")
    return policy.override(changes) if changes else policy


@main.command()
@click.argument("release", type=PATH)
@click.option("-p", "--policy", "policy_file", type=PATH, help="The policy to hold it against.")
@click.option("--original", type=PATH, help="The data that it was made from.")
@cli_options.second
@cli_options.settings
@click.option("--quasi", callback=_listed, metavar="A,B,..", help="Without a policy: the quasi-identifiers.")
@click.option(
    "--sensitive", callback=_listed, metavar="A,B,..", help="Without a policy: the sensitive columns."
)
@click.option("--k", type=int, help="Every person gets at least k-1 lookalikes.")
@click.option("--measure", "measures", multiple=True, shell_complete=names_of("measures"),
              help="Compute this measure too (see `shoal measures`).")  # fmt: skip
@cli_options.as_json
def audit(
    release: Path,
    policy_file: Path | None,
    original: Path | None,
    second: Path | None,
    settings: tuple[str, ...],
    quasi: list[str],
    sensitive: list[str],
    k: int | None,
    measures: tuple[str, ...],
    as_json: bool,
) -> None:
    """Judge a RELEASE, made by Shoal or by any other tool, from its rows. Exit code 5 if it violates its policy."""
    from shoal import show
    from shoal.auditing import audit as judge

    policy = _policy(policy_file, settings, None, k, quasi, sensitive, [], [])
    with show.progress(quiet=as_json) as progress:
        report = judge(
            release, policy, original=original, second=second, measures=measures, progress=progress
        )
    if as_json:
        click.echo(json.dumps(report.summary(), indent=2))
    else:
        show.audit(report, release)
    if not report.holds:
        raise click.exceptions.Exit(5)


def _listing(kind: str) -> click.Command:
    @main.command(kind, help=f"List the {kind}, one line each.")
    @cli_options.as_json
    def command(as_json: bool) -> None:
        lines = {name: entry.summary for name, entry in _registry(kind).items()}
        if as_json:
            click.echo(json.dumps(lines, indent=2, ensure_ascii=False))
        else:
            width = max(len(name) for name in lines)
            for name, summary in lines.items():
                click.echo(f"{name:<{width}}  {summary}")

    return command


for _kind in ("methods", "models", "measures", "attacks"):
    _listing(_kind)


@main.command()
@click.argument("name", type=click.Choice(["census", "patients"]))
@click.option("--rows", type=click.IntRange(1), default=1000, show_default=True)
@click.option("-o", "--output", type=PATH, required=True, help="Where the table goes.")
@click.option("--seed", type=click.IntRange(0), help="Another seed gives other people.")
@cli_options.force
@cli_options.as_json
def sample(name: str, rows: int, output: Path, seed: int | None, force: bool, as_json: bool) -> None:
    """Write synthetic data: census (eight public columns and a salary) or patients (a hospital's table)."""
    from shoal.samples import write_sample

    written = write_sample(name, rows, output, seed=seed, force=force)
    if as_json:
        click.echo(json.dumps({"rows": rows, "written": [str(path) for path in written]}, indent=2))
    else:
        for path in written:
            click.echo(f"wrote {path}")


@main.command()
@cli_options.as_json
def schema(as_json: bool) -> None:
    """Print the JSON schema of the policy file, for editors."""
    from shoal.policy import json_schema

    click.echo(json.dumps(json_schema(), indent=2))


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@cli_options.as_json
def completion(shell: str, as_json: bool) -> None:
    """Print the completion script for a shell: eval "$(shoal completion bash)"."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise ShoalBug(f"click knows no completion for {shell}")
    script = found(main, {}, "shoal", "_SHOAL_COMPLETE").source()
    click.echo(json.dumps({"shell": shell, "script": script}) if as_json else script)


main.add_command(attack)
main.add_command(compare)
main.add_command(network)
main.add_command(report)
main.add_command(explain)

if __name__ == "__main__":
    main()
