"""The command ``shoal evidence``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shoal.cli import options
from shoal.cli.messages import say
from shoal.cli.options import PATH, SOURCE


@click.command()
@click.argument("release", type=PATH, required=False)
@click.option("-p", "--policy", "policy_file", type=PATH, help="The policy of the release.")
@click.option("--original", type=SOURCE, help="The data that the release was made from.")
@options.original_table
@options.original_query
@options.second
@options.suppressed_as
@options.record
@click.option(
    "-o", "--output", type=PATH, help="The folder of the pack; a zip of the same name lies beside it."
)
@click.option("--comparison", type=PATH, help="The folder that `shoal compare` wrote.")
@click.option("--owner", default="", help="Who owns the data. What is not given is a line to write on.")
@click.option("--purpose", default="", help="What the release is for.")
@click.option("--recipient", default="", help="Who gets the release.")
@click.option("--date", default="", help="The date of the sign-off, as you write it.")
@click.option("--signed-by", default="", help="Who approves the release. The signature is written by hand.")
@click.option("--sign", type=PATH, metavar="KEY", help="Sign the pack with this private key of OpenSSH.")
@click.option(
    "--check",
    type=PATH,
    metavar="PACK",
    help="Check a pack, a folder or zip: every file, the signature, and the release once more.",
)
@click.option(
    "--signers", type=PATH, help="With --check: whose signatures count (`allowed_signers` of OpenSSH)."
)
@click.option("--population", type=SOURCE, help="With --check: the population file that the policy names.")
@click.option(
    "--earlier",
    type=PATH,
    metavar="FOLDER",
    help="With --check: the folder of the earlier releases that the policy names, with their originals and records.",
)
@options.settings
@options.force
@options.as_json
def evidence(
    release: Path | None,
    policy_file: Path | None,
    original: Any,
    original_table: str | None,
    original_query: str | None,
    second: Any,
    suppressed_as: str | None,
    record: Path | None,
    output: Path | None,
    comparison: Path | None,
    owner: str,
    purpose: str,
    recipient: str,
    date: str,
    signed_by: str,
    sign: Path | None,
    check: Path | None,
    signers: Path | None,
    population: Any,
    earlier: Path | None,
    settings: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Pack a RELEASE with everything that defends it: reports, card, codebook, record, policy, attacks, digests.

    Or check such a pack with --check. Exit code 5 if the release violates its policy, or if the
    pack was changed; 9 if something could not be checked.
    """
    if check is not None:
        if release is not None or output is not None or sign is not None or policy_file is not None:
            raise click.UsageError("--check takes a pack alone: leave out RELEASE, -p, -o and --sign")
        _check(check, original, population, earlier, signers, as_json)
        return
    missing = [
        name
        for name, given in (("RELEASE", release), ("-p POLICY", policy_file), ("-o FOLDER", output))
        if given is None
    ]
    if missing or release is None or policy_file is None or output is None:
        raise click.UsageError(f"give {', '.join(missing)}; or --check PACK to check one")
    if population is not None:
        raise click.UsageError("--population goes with --check; for a new pack, the policy names it")
    if earlier is not None:
        raise click.UsageError("--earlier goes with --check; for a new pack, the policy names them")
    if signers is not None:
        raise click.UsageError("--signers goes with --check; to sign a pack, give --sign KEY")
    policy = options.policy_of(policy_file, settings)
    original = options.chosen_original(policy, original, original_table, original_query, release)
    options.check_readable(release, original, second)

    from shoal.cli import show
    from shoal.packs.pack import evidence as write
    from shoal.release.verdict import exit_code, in_words

    with show.progress(quiet=as_json) as progress:
        made = write(
            release,
            policy,
            original=original,
            output=output,
            record=record,
            second=second,
            suppressed_as=suppressed_as,
            comparison=comparison,
            sign=sign,
            owner=owner,
            purpose=purpose,
            recipient=recipient,
            date=date,
            signed_by=signed_by,
            force=force,
            progress=progress,
        )
    if as_json:
        found = {
            "folder": str(made.folder), "zip": str(made.zip), "files": list(made.files), "holds": made.holds,
            "withstands": made.withstands, "signed": made.signed, "notes": list(made.notes),
        }  # fmt: skip
        say(json.dumps(found, indent=2))
    else:
        attacks = "withstands" if made.withstands else "does not withstand"
        say(
            f"wrote {made.folder}/ and {made.zip}{', signed' if made.signed else ''}: the release "
            f"{in_words(made.holds)} and {attacks} the attacks that were tried"
        )
        for note in made.notes:
            say(f"note: {note}")
        say(f"to check it: shoal evidence --check {made.folder}")
    if not made.holds:
        raise click.exceptions.Exit(exit_code(made.holds))


def _check(
    pack: Path,
    original: Any,
    population: Any,
    earlier: Path | None,
    signers: Path | None,
    as_json: bool,
) -> None:
    from shoal.cli import show
    from shoal.packs.checking import check_evidence
    from shoal.release.verdict import exit_code, in_words

    with show.progress(quiet=as_json) as progress:
        found = check_evidence(
            pack,
            original=original,
            population=population,
            earlier=earlier,
            signers=signers,
            progress=progress,
        )
    if as_json:
        told = {
            "right": found.right, "problems": list(found.problems), "signed_by": found.signed_by or None,
            "signer_known": found.known, "holds": found.holds, "with_original": found.with_original,
            "notes": list(found.notes),
        }  # fmt: skip
        say(json.dumps(told, indent=2))
    else:
        for problem in found.problems:
            say(f"changed: {problem}", fg="red")
        if not found.problems:
            say("every file is as it was when the pack was made")
        if found.known:
            say(f"signed by {found.signed_by}")
        elif found.signed_by:
            say(
                f"signed with the key {found.signed_by}; compare it with the one that you know, or give --signers"
            )
        elif not found.problems:
            say("not signed: someone who changed a file could also have updated the checksums")
        if found.audited:
            say(f"audited again: the release {in_words(found.holds)}")
        for note in found.notes:
            say(f"note: {note}")
    if not found.right:
        unsure = not found.problems and found.holds is None
        raise click.exceptions.Exit(exit_code(None if unsure else False))
