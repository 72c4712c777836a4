"""Draws the pictures of the documentation from real runs: ``python docs/pictures.py`` (needs the dev environment)."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from shoal.cli import main, show

IMAGES = Path(__file__).parent / "images"

COMMANDS = (
    "sample patients --rows 2000 -o patients.csv",
    "anonymize patients.csv -p patients.toml -o release.csv --record record.json --card card.md",
)


def terminal(name: str, title: str, commands: tuple[str, ...]) -> None:
    """Run commands in an empty folder and keep what a terminal of 100 columns would show."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=100, highlight=False, file=nowhere, force_terminal=True)
        show._console = lambda: console  # the one place where the terminal's output is made
        echo, click.echo = click.echo, lambda text="", **_: console.print(Text(str(text)))
        try:
            for command in commands:
                console.print(f"[bold green]$[/] shoal {command}")
                main(shlex.split(command), standalone_mode=False)
                console.print()
        finally:
            click.echo = echo
        drawing = console.export_svg(title=title)
    # No web fonts: the picture must look the same without a network.
    drawing = re.sub(r"@font-face \{.*?\}", "", drawing, flags=re.DOTALL)
    (IMAGES / name).write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        terminal("anonymize.svg", "from a table to a release", COMMANDS)
