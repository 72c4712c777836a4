"""The command ``shoal attack``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.apps.cli import command_options, source_options
from shoal.apps.cli.command_options import PATH, PolicyOptions
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import Earlier, ReceivedOptions
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.judging.attacks import Exposure


@click.command()
@command_options.policy
@command_options.policy_file
@source_options.add_release_options(default_original=" [that of the policy]")
@source_options.earlier
@click.option(
    "--attack",
    "--name",
    "name",
    help="Which attack; `shoal attacks` lists them [linkage; with --earlier, the one that intersects].",
)
@click.option(
    "--adversary",
    help="What they know: `some` people's quasi-identifiers, or all `members` [members; with --earlier, some].",
)
@click.option(
    "--population",
    type=PATH,
    help="Membership: the table of everybody who could be in the data [the policy's].",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    help="Membership: states that exact counting may use per bucket; with more, Shoal estimates [4000000].",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    help="Membership: seconds per bucket for what Shoal cannot count exactly [1].",
)
@click.option(
    "--knows",
    help="Statistical: `counts` of people with each combination of values, or only their `distribution` [counts].",
)
@click.option(
    "--known",
    type=click.IntRange(1),
    metavar="M",
    help="Few-known: how many other people of the table they know [as many as the policy says, else 10].",
)
@click.option(
    "--group",
    metavar="KIND",
    help="Count groups of people instead, such as household, if the policy names any.",
)
@command_options.settings
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Write the private result (JSON) here, with the row numbers of the people most exposed.",
)
@command_options.force
@command_options.as_json
def attack(
    policy: PolicyOptions,
    received: ReceivedOptions,
    earlier: Earlier,
    output: Path | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Attack a RELEASE, made by Shoal or by any other tool, and count the people who are exposed.

    Exit code 5 if anyone is exposed more than the policy allows; in a linkage attack, if anyone has fewer than k
    candidates. With --earlier, it intersects what several releases leave open about people who are in all of them.
    """
    from shoal import io
    from shoal.policy.sources import inputs_of

    asked = policy.read()
    subject = received.find(asked)
    subject.check_readable()
    source_options.check_readable(given["population"])
    before = earlier.find()
    if output is not None:
        others = (*subject.inputs, given["population"], policy.path, *earlier.inputs)
        io.check_apart(
            inputs_of(asked) | {other: str(other) for other in others if other is not None},
            [(output, "the result")],
        )
        io.check_writable(output, force=force, table=False)

    from shoal.apps.cli import terminal
    from shoal.pipeline.attack import attack as attempt

    of_attack = {option: given.pop(option) for option in ("limit", "seconds", "knows", "known", "group")}
    with terminal.progress(quiet=as_json) as progress:
        found = attempt(
            subject.release,
            asked,
            earlier=before or None,
            options={option: value for option, value in of_attack.items() if value is not None},
            progress=progress,
            **subject.keywords,
            **given,
        )
    if output is not None:
        io.write_text(output, json.dumps(found.record(), indent=2) + "\n", force=force)
    say(json.dumps(found.summary(), indent=2) if as_json else _words(found))
    if not found.holds:
        raise click.exceptions.Exit(5)


def _words(found: Exposure) -> str:
    lines = [f"The adversary {found.adversary}."]
    for name, value in found.figures.items():
        label = name.replace("_", " ")
        if isinstance(value, list):
            lines += [f"{label}: {_counts(one)}" for one in value]
            continue
        lines.append(f"{label}: {_counts(value) if isinstance(value, dict) else number(value)}")
    if found.success == found.success:
        lines.append(
            f"success: {found.success:.3%} of {found.counted or found.whom}, without the release {found.baseline:.3%}"
        )
    people = len(found.chances)
    at_risk = f"{found.at_risk:,} of {people:,} {found.whom} are" if found.at_risk else "nobody is"
    lines.append(f"{at_risk} exposed more than the policy allows")
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines)


def _counts(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {f'({_counts(value)})' if isinstance(value, dict) else number(value)}"
        for name, value in values.items()
    )
