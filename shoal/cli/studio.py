"""The command ``shoal studio``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli import options
from shoal.cli.options import PATH, SOURCE
from shoal.errors import ShoalError


@click.command()
@click.argument("data", type=SOURCE, required=False)
@options.table
@options.query
@click.option("-p", "--policy", "policy_file", type=PATH, help="Open the table with this policy.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Use this port [a free one].")
@click.option("--no-browser", is_flag=True, help="Print the link, and open no browser.")
def studio(
    data: Any, table: str | None, query: str | None, policy_file: Path | None, port: int, no_browser: bool
) -> None:
    """Open Shoal in the browser, on this machine alone; with DATA, open this table.

    The link works once, in one browser. Ctrl-C ends Studio with its jobs and temporary files.
    """
    data = options.chosen_source(data, table, query)
    options.check_readable(data)
    if policy_file is not None and data is None:
        raise click.UsageError("give the table, too: shoal studio DATA -p POLICY")
    try:
        from shoal.studio.server import Studio
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] in ("starlette", "uvicorn"):
            raise ShoalError(
                f"Studio needs the package {error.name}, which is not installed: pip install 'shoal[studio]'"
            ) from None
        raise
    from shoal.machine.ending import journal

    opened = Studio(port)
    opened.open(data, policy_file)
    journal.keep("Studio has ended with its jobs; its temporary files are removed")

    def ready() -> None:
        click.echo(f"Shoal Studio: {opened.link}")
        click.echo("The link works once, in one browser. Ctrl-C ends Studio.")
        if not no_browser:
            import webbrowser

            webbrowser.open(opened.link)

    opened.run(ready)
