"""The command ``shoal attack``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from shoal.attacks import Exposure


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
    "--adversary",
    type=click.Choice(["some", "members"]),
    default="members",
    show_default=True,
    help="Knows some people's quasi-identifiers, or exactly who is in the table.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Change the policy: privacy.k=10."
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    help="Write the private record (JSON) here: the most exposed, by row number.",
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def attack(
    release: Path,
    original: Path,
    policy_file: Path,
    adversary: str,
    settings: tuple[str, ...],
    record: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Try to link people to the rows of a RELEASE, made by Shoal or by any other tool.

    Exit code 5 if somebody is left with fewer candidates than the policy's k.
    """
    from shoal import frames, show
    from shoal.attacking import attack as attempt
    from shoal.policy import Policy

    if record is not None:
        frames.check_writable(record, force=force, table=False)
    policy = Policy.read(policy_file)
    if settings:
        policy = policy.override(settings)
    with show.progress(quiet=as_json) as progress:
        found = attempt(release, policy, original=original, adversary=adversary, progress=progress)
    if record is not None:
        frames.write_text(record, json.dumps(found.record(), indent=2) + "\n", force=force)
    click.echo(json.dumps(found.summary(), indent=2) if as_json else _words(found))
    if not found.holds:
        raise click.exceptions.Exit(5)


def _words(found: Exposure) -> str:
    k, people = found.figures["k"], len(found.chances)
    lines = [
        f"The adversary {found.adversary}.",
        _line("rows that fit each person", found.figures["candidates"], k),
    ]
    if "candidates_after_pruning" in found.figures:
        lines.append(_line("left after pruning", found.figures["candidates_after_pruning"], k))
    lines.append(
        f"a guess finds the right row for {found.success:.3%} of people; without the release {found.baseline:.3%}"
    )
    lines.append(
        f"{found.at_risk:,} of {people:,} people are left with fewer than {k} candidates"
        if found.at_risk
        else f"nobody is left with fewer than {k} candidates"
    )
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines)


def _line(label: str, counts: dict[str, Any], k: int) -> str:
    if counts["least"] is None:
        return f"{label}: nobody fits any row"
    return (
        f"{label}: at least {counts['least']:,}, {counts['mean']:,.1f} on average; "
        f"{counts['below_k']:,} people ({counts['share_below_k']:.2%}) below {k}, {counts['single']:,} with one"
    )
