"""Where the table of a Studio comes from, and how commands and Python name it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.io.databases import DatabaseTable


@dataclass(frozen=True)
class Source:
    """Where the table comes from."""

    place: str | Path | DatabaseTable
    """A path, or a table in a database."""
    name: str
    """What people call it: the name of the file that they dropped, or its path."""
    kept: bool = False
    """It lies in Studio's own folder, so the commands that Studio shows name a file of that name instead."""

    @property
    def command_name(self) -> str:
        """The name to write in a shell command."""
        return self.name if self.kept else str(self.place)

    def words(self, option: str = "") -> str:
        """The words of a command that name it; `option` is the one that takes it, such as ``--original``."""
        place = self.place
        if isinstance(place, str | Path):
            return f"{option} {shlex.quote(self.command_name)}".strip()
        kind = "table" if place.table is not None else "query"
        named = f"--{option.removeprefix('--')}-{kind}" if option else f"--{kind}"
        value = place.table if place.table is not None else place.query or ""
        return f"{option} {shlex.quote(str(place.source))} {named} {shlex.quote(value)}".strip()

    @property
    def expression(self) -> str:
        """The Python that names it."""
        place = self.place
        if isinstance(place, str | Path):
            return repr(self.command_name)
        kind, value = ("table", place.table) if place.table is not None else ("query", place.query)
        return f"shoal.DatabaseTable({place.source!r}, {kind}={value!r})"

    def stamp(self) -> tuple[int, ...]:
        """What changes with the content of a file; nothing is known about databases, and a lost file has none."""
        if not isinstance(self.place, str | Path):
            return ()
        try:
            found = os.stat(self.place)
        except (OSError, ValueError):
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns
