"""The demo: a hospital's table becomes a release, in the folder ``demo-out``."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from shoal.apps.cli import main
from shoal.apps.cli.messages import say
from shoal.apps.cli.supervisor import supervise
from shoal.errors import OutputError

FOLDER = Path("demo-out")

STEPS = (
    ("A hospital's table of admissions: invented people, with a policy and hierarchies.",
     "sample patients --rows 2000 -o {0}/patients.csv --force"),
    ("Turn it into a release. Nothing is written unless every requirement of the policy holds.",
     "anonymize {0}/patients.csv -p {0}/patients.toml -o {0}/release.csv "
     "--record {0}/record.json --card {0}/card.md "
     "--codebook {0}/codebook.md --force"),
    ("Anyone can check it: the audit reads the published rows, and the original for the losses.",
     "audit {0}/release.csv -p {0}/patients.toml --original {0}/patients.csv"),
    ("A page for the people who decide: guarantees, attacks, losses. Open it in a browser.",
     "report {0}/release.csv --original {0}/patients.csv -p {0}/patients.toml --record {0}/record.json "
     "-o {0}/report.html --force"),
    ("Everything that defends the release in one folder, with a digest of every file.",
     "evidence {0}/release.csv --original {0}/patients.csv -p {0}/patients.toml --record {0}/record.json "
     "-o {0}/pack --force"),
)  # fmt: skip


def run() -> None:
    """Run each step as a user would type it, and show a few rows of the release."""
    _make_folder()
    for words, command in STEPS:
        line = command.format(FOLDER)
        say(f"\n# {words}", fg="cyan")
        say(f"$ shoal {line}", bold=True)
        main(shlex.split(line), standalone_mode=False)
        if line.startswith("anonymize"):
            _first_lines(FOLDER / "release.csv")
    say(
        f"\nThe release, its card, codebook and report for the public, its private record and its evidence pack are in "
        f"{FOLDER}/.",
        fg="cyan",
    )


def _make_folder() -> None:
    """Make the folder of the demo. One that exists must be the user's own: the demo replaces files in it, and links
    that somebody else put there would lead to other files.
    """
    FOLDER.mkdir(exist_ok=True)
    known = FOLDER.lstat()
    own = not hasattr(os, "geteuid") or (known.st_uid == os.geteuid() and not known.st_mode & 0o002)
    if FOLDER.is_symlink() or not own:
        raise OutputError(
            f"{FOLDER} is a link, or others can write to it: start the demo in a folder of your own"
        )


def _first_lines(path: Path) -> None:
    with path.open(encoding="utf-8") as lines:
        for _, line in zip(range(6), lines, strict=False):
            say(f"  {line.rstrip()}")


if __name__ == "__main__":
    supervise()
    run()
