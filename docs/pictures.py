"""Draws the pictures of the documentation from real runs: ``python docs/pictures.py`` (needs the dev environment, and
Chromium for reports).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from shoal.apps.cli import main
from shoal.apps.cli import terminal as show

IMAGES = Path(__file__).parent / "images"

COMMANDS = (
    "sample patients --rows 2000 -o patients.csv",
    "anonymize patients.csv -p patients.toml -o release.csv --record record.json --card card.md",
)
REPORT = (
    "report release.csv --original patients.csv -p patients.toml --record record.json "
    "--owner 'Department of statistics' --purpose 'Research on length of stay' --recipient 'University hospital'"
)
REPORTS = {
    "report.png": (f"{REPORT} -o good.html", "threats", 1100, "light"),
    "report-violated.png": (f"{REPORT} --set privacy.k=20 -o bad.html", "threats", 1100, "light"),
    "report-phone.png": (f"{REPORT} -o phone.html", "sign-off", 400, "dark"),
}
"""Name of a picture -> the command, where the picture ends, its width, and the colours."""


def terminal(name: str, title: str, commands: tuple[str, ...]) -> None:
    """Run commands in an empty folder and keep what a terminal of 100 columns would show."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=100, highlight=False, file=nowhere, force_terminal=True)
        show.plain_console = lambda: console  # the one place where the terminal's output is made
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


def report(name: str, command: str, last: str, width: int, scheme: str) -> None:
    """Write a report, and keep its upper part as a browser shows it."""
    from playwright.sync_api import sync_playwright

    main(shlex.split(command), standalone_mode=False)
    page = Path(shlex.split(command)[-1]).absolute()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab.goto(page.as_uri())
        box = tab.locator(f"#{last}, .{last}").first.bounding_box()
        height = box["y"] + box["height"] + 24
        tab.screenshot(
            path=IMAGES / name, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height}
        )
        browser.close()


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        terminal("anonymize.svg", "from a table to a release", COMMANDS)
        for name, (command, last, width, scheme) in REPORTS.items():
            report(name, command, last, width, scheme)
