"""The files of a masked network: its tables and its graph in a folder, and its card, record and report elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import io
from shoal.errors import OutputError
from shoal.network.masked import GRAPH, TABLE_FORMATS, NetworkOutbox, make_folder
from shoal.release.record import card_text

if TYPE_CHECKING:
    from shoal.network.anonymize_network import NetworkResult


@dataclass(frozen=True, kw_only=True)
class NetworkFiles:
    """Where a masked network is written."""

    folder: Path
    kind: str = "csv"
    """The format of the tables."""
    record: Path | None = None
    report: Path | None = None
    cards: Sequence[Path] = ()
    force: bool = False

    def table(self, name: str) -> Path:
        """Return where a table is written: nodes, members or edges."""
        return self.folder / f"{name}.{self.kind}"

    @property
    def tables(self) -> list[Path]:
        """All files of tables that there may be."""
        return [self.table(name) for name in ("nodes", "members", "edges")]

    def check(self, inputs: Mapping[Any, str]) -> None:
        """Raise OutputError if they cannot be written, or would replace an input. Call this before long work."""
        papers = [
            (self.record, "the record"),
            (self.report, "the report"),
            *((path, "a card") for path in self.cards),
        ]
        release = [(path, "the release") for path in (*self.tables, self.folder / GRAPH)]
        io.check_apart(inputs, [*release, *papers])
        for path, _ in papers:
            if path is not None:
                io.check_writable(path, force=self.force, table=False)
        self._check_folder()

    def _check_folder(self) -> None:
        folder = self.folder
        if self.kind not in TABLE_FORMATS:
            raise OutputError(f"unknown table format '{self.kind}'; known are {', '.join(TABLE_FORMATS)}")
        if not folder.exists():
            if not folder.absolute().parent.is_dir():
                raise OutputError(f"{folder}: the folder {folder.parent} does not exist; create it first")
            return
        if not folder.is_dir():
            raise OutputError(f"{folder} is a file; name a folder")
        for path in self.tables:
            io.check_writable(path, force=self.force)
        io.check_writable(folder / GRAPH, force=self.force, table=False)

    def write(self, result: NetworkResult) -> list[Path]:
        """Write a masked network with its card, record and report, all or none."""
        self._check_folder()
        created = make_folder(self.folder)
        try:
            box = NetworkOutbox(force=self.force)
            with box:
                written = result.masked.put_into(box, self.folder, self.kind)
                if self.record is not None:
                    written.append(box.write_text(self.record, json.dumps(result.record, indent=2) + "\n"))
                if self.report is not None:
                    from shoal.network.network_report import report_html

                    written.append(box.write_text(self.report, report_html(result)))
                for path in self.cards:
                    written.append(box.write_text(path, card_text(result.card, path), private=False))
        except BaseException:
            if created and not any(self.folder.iterdir()):
                self.folder.rmdir()
            raise
        return written
