"""The command ``shoal evidence``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shoal.apps.cli import command_options, source_options
from shoal.apps.cli.command_options import PATH, PolicyOptions
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import SOURCE, ReceivedOptions


@click.command()
@command_options.policy
@click.option("-p", "--policy", "policy_file", type=PATH, help="The policy of the release.")
@source_options.add_release_options(file=True)
@click.option(
    "-o", "--output", type=PATH, help="The folder of the pack; a zip of the same name lies beside it."
)
@click.option("--comparison", type=PATH, help="The folder that `shoal compare` wrote.")
@command_options.sign_off
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
@command_options.settings
@command_options.force
@command_options.as_json
def evidence(
    policy: PolicyOptions,
    received: ReceivedOptions,
    output: Path | None,
    check: Path | None,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Pack a RELEASE with everything that defends it: reports, card, codebook, record, policy, attacks, digests.

    Or check such a pack with --check. Exit code 5 if the release violates its policy, or if the
    pack was changed; 9 if something could not be checked.
    """
    of_check = {name: given.pop(name) for name in ("population", "earlier", "signers")}
    if check is not None:
        if any(one is not None for one in (received.release, output, given["sign"], policy.path)):
            raise click.UsageError("--check takes only a pack: leave out RELEASE, -p, -o and --sign")
        _check(check, as_json, original=received.original, **of_check)
        return
    needed = {"RELEASE": received.release, "-p POLICY": policy.path, "-o FOLDER": output}
    if received.release is None or policy.path is None or output is None:
        missing = ", ".join(name for name, one in needed.items() if one is None)
        raise click.UsageError(f"give {missing}; or --check PACK to check one")
    for name, instead in (
        ("population", "for a new pack, the policy names it"),
        ("earlier", "for a new pack, the policy names them"),
        ("signers", "to sign a pack, give --sign KEY"),
    ):
        if of_check[name] is not None:
            raise click.UsageError(f"--{name} goes with --check; {instead}")
    asked = policy.read()
    subject = received.find(asked)
    subject.check_readable()

    from shoal.apps.cli import terminal
    from shoal.documents.evidence.pack import evidence as write

    with terminal.progress(quiet=as_json) as progress:
        made = write(
            subject.release,
            asked,
            output=output,
            force=force,
            progress=progress,
            **subject.keywords,
            **given,
        )
    if as_json:
        found = {
            "folder": str(made.folder), "zip": str(made.zip), "files": list(made.files), "holds": made.holds,
            "conclusion": made.conclusion.to_json(), "signed": made.signed, "notes": list(made.notes),
        }  # fmt: skip
        say(json.dumps(found, indent=2))
    else:
        signed = ", signed" if made.signed else ""
        say(f"wrote {made.folder}/ and {made.zip}{signed}: {made.conclusion.sentence}")
        for note in made.notes:
            say(f"note: {note}")
        say(f"to check it: shoal evidence --check {made.folder}")
    terminal.exit_unless(made.holds)


def _check(pack: Path, as_json: bool, **given: Any) -> None:
    from shoal.apps.cli import terminal
    from shoal.documents.evidence.check_pack import check_evidence
    from shoal.release.verdict import in_words

    with terminal.progress(quiet=as_json) as progress:
        found = check_evidence(pack, progress=progress, **given)
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
    unsure = not found.right and not found.problems and found.holds is None
    terminal.exit_unless(None if unsure else found.right)
