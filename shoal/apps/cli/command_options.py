"""Options that several commands have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.coding.roles import QUASI, ROLES, WEIGHT, Role
from shoal.engines import ENGINES
from shoal.errors import COMMAND_LINE, PolicyError, Problem

if TYPE_CHECKING:
    from shoal.policy import Policy

USUAL_K = 5
"""Without a policy file and without --k."""
PATH = click.Path(path_type=Path)
"""Files and folders. The code that uses them checks that they exist: its messages say more."""


def combine_options(*added: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return several options as one, in their order."""

    def add(command: Any) -> Any:
        for option in reversed(added):
            command = option(command)
        return command

    return add


def gather(name: str, build: Callable[..., Any], *options: str) -> Callable[[Any], Any]:
    """Return a decorator that passes some options to a command as one value, built from those that it has."""

    def add(command: Any) -> Any:
        @wraps(command)
        def call(**given: Any) -> Any:
            own = {option: given.pop(option) for option in options if option in given}
            return command(**given, **{name: build(**own)})

        return call

    return add


policy_file = click.option(
    "-p", "--policy", "policy_file", type=PATH, required=True, help="The policy, a TOML file."
)
settings = click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Change the policy: privacy.k=10."
)
codebooks = click.option(
    "--codebook",
    "codebooks",
    multiple=True,
    type=PATH,
    help="Write what each column and label means here (.md, .json, .csv, .jsonld, datapackage.json; may be given "
    "several times).",
)
sign_off = combine_options(
    click.option("--owner", default="", help="Who owns the data. What is not given is a line to write on."),
    click.option("--purpose", default="", help="What the release is for."),
    click.option("--recipient", default="", help="Who gets the release."),
    click.option("--date", default="", help="The date of the sign-off, as you write it."),
    click.option(
        "--signed-by", default="", help="Who approves the release. The signature is written by hand."
    ),
)
"""What a person says about a release."""
engine = click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    help="Where the work is done: on this machine, or on Apache Spark [that of the policy].",
)
force = click.option("--force", is_flag=True, help="Replace existing files.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def names_of(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Complete the names of a registry."""

    def complete(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        names = [*registry(kind), "auto"] if kind == "methods" else registry(kind)
        return [name for name in names if name.startswith(typed)]

    return complete


def registry(kind: str) -> Any:
    """Return the registry of a kind of thing: methods, models, measures or attacks."""
    folder = "shoal" if kind == "methods" else "shoal.judging"
    return getattr(import_module(f"{folder}.{kind}"), kind.upper())


def split_names(_context: click.Context, _parameter: click.Parameter, text: str | None) -> list[str]:
    """Split a list of names, ``a,b``."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def _groups(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, list[str]]:
    """Read groups of people, ``household=a,b``."""
    found: dict[str, list[str]] = {}
    for text in given:
        kind, sign, names = text.partition("=")
        if not kind.strip() or not sign or not split_names(_context, _parameter, names):
            raise click.BadParameter(f"{text!r} names no columns; for example household=address")
        found.setdefault(kind.strip(), []).extend(split_names(_context, _parameter, names))
    return found


groups = click.option(
    "--group",
    "groups",
    multiple=True,
    callback=_groups,
    metavar="KIND=A,B,..",
    help="Without a policy: columns that name groups of people, such as household=address; guarantees then count "
    "these as well.",
)


def role_options(*roles: Role) -> Callable[[Any], Any]:
    """Return the options for columns with these roles; with people, also the one for groups of them."""
    found = []
    for role in roles:
        flag, metavar = f"--{role.keyword.replace('_', '-')}", "A" if role == WEIGHT else "A,B,.."
        what = f"Without a policy: {role.columns}."
        found.append(click.option(flag, callback=split_names, metavar=metavar, help=what))
        if role.counted:
            found.append(groups)
    return combine_options(*found)


@dataclass(frozen=True)
class PolicyOptions:
    """The policy of a command, as the command line names it: a file or the roles of columns, and what changes it."""

    path: Path | None
    settings: tuple[str, ...]
    roles: Mapping[str, Any]

    @property
    def files(self) -> list[Path]:
        """The file, if there is one: nothing may be written over it."""
        return [] if self.path is None else [self.path]

    def read(self) -> Policy:
        """Return the policy with all settings applied."""
        from shoal.policy import Policy

        if self.path is not None:
            problems = [
                Problem(
                    f"--{name.replace('_', '-').removesuffix('s')}",
                    "cannot be combined with a policy file",
                    "give one or the other",
                )
                for name, columns in self.roles.items()
                if columns
            ]
            if problems:
                raise PolicyError(problems, where=COMMAND_LINE)
            return Policy.read(self.path, self.settings)
        if not self.roles[QUASI.keyword]:
            hint = "give -p POLICY, or --quasi with --k; `shoal init` writes one"
            raise PolicyError([Problem("policy", "is missing", hint)], where=COMMAND_LINE)
        made = Policy.from_keywords(**self.roles, k=USUAL_K)
        return made.override(self.settings) if self.settings else made


def _policy_options(
    policy_file: Path | None,
    settings: tuple[str, ...],
    engine: str | None = None,
    method: str | None = None,
    k: int | None = None,
    **roles: Any,
) -> PolicyOptions:
    # The options say the same as settings do, so two that differ are a contradiction.
    changes = [*settings]
    changes += [] if engine is None else [f"engine.name={engine}"]
    changes += [] if method is None else [f"method.name={json.dumps(method)}"]
    changes += [] if k is None else [f"privacy.k={k}"]
    return PolicyOptions(policy_file, tuple(changes), roles)


policy = gather(
    "policy",
    _policy_options,
    *("policy_file", "settings", "engine", "method", "k"),
    "groups",
    *(role.keyword for role in ROLES.values()),
)
"""Pass the policy to a command as one value, with the options that change it, or that stand for a policy."""
