"""The command ``shoal studio``."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TextIO

import click

from shoal.apps.cli import source_options
from shoal.apps.cli.command_options import PATH
from shoal.apps.cli.messages import say
from shoal.apps.cli.source_options import Data
from shoal.errors import ShoalError


@click.command()
@source_options.data()
@click.option("-p", "--policy", "policy_file", type=PATH, help="Open the table with this policy.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Use this port [a free one].")
@click.option("--no-browser", is_flag=True, help="Print the link, and open no browser.")
def studio(data: Data, policy_file: Path | None, port: int, no_browser: bool) -> None:
    """Open Shoal in the browser, on this machine alone; with DATA, open this table.

    The link works once, in one browser. Ctrl-C ends Studio with its jobs and temporary files.
    """
    source = data.find()
    source_options.check_readable(source)
    if policy_file is not None and source is None:
        raise click.UsageError("give the table, too: shoal studio DATA -p POLICY")
    try:
        from shoal.apps.studio.server import Studio
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] in ("starlette", "uvicorn"):
            raise ShoalError(
                f"Studio needs the package {error.name}, which is not installed: pip install 'shoal[studio]'"
            ) from None
        raise
    from shoal.support.machine.shutdown import journal

    opened = Studio(port)
    opened.open(source, policy_file)
    journal.keep("Studio has ended with its jobs; its temporary files are removed")

    def ready() -> None:
        private = _is_private(sys.stdout)
        file = None if no_browser and private else opened.guard.link.write_file().as_uri()
        say(f"Shoal Studio: {opened.link if private or file is None else file}")
        say("The link works once, in one browser. Ctrl-C ends Studio.")
        if not no_browser and file is not None:
            import webbrowser

            webbrowser.open(file)

    opened.run(ready)


def _is_private(stream: TextIO) -> bool:
    """Whether only this user sees what is printed: not in a log that others may read."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stream.isatty() or stat.S_ISFIFO(mode) or (stat.S_ISREG(mode) and not mode & 0o077)
