"""Where a release goes: to frames of the kind that was given, or to files that have no name before it is verified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.io import Frame
from shoal.io.databases import DatabaseTable
from shoal.io.sheet import Sheet
from shoal.policy import Policy
from shoal.release.two_tables import second_path


class Destination(Protocol):
    """How a release reaches its readers."""

    def check(self, table: CodedTable, policy: Policy, *, exact: bool) -> None:
        """Raise OutputError, before the work, if values that will be published cannot be. `exact`: also those of the
        quasi-identifiers will be.
        """

    def publish(self, rows: Sheet, frame: Frame, *, second: bool = False) -> Sheet:
        """Publish a table, and return what its readers see, or raise OutputError."""


class ToFrames:
    """Gives frames of the kind that was given."""

    def __init__(self) -> None:
        self.given: list[Any] = [None, None]

    def check(self, table: CodedTable, policy: Policy, *, exact: bool) -> None:
        """Frames hold whatever came in a frame."""

    def publish(self, rows: Sheet, frame: Frame, *, second: bool = False) -> Sheet:
        """Convert a table, and return what was converted."""
        self.given[second], seen = io.converted(frame, rows.whole())
        return Sheet.of(seen)


@dataclass(frozen=True)
class ToFiles:
    """Writes files that do not have their names yet."""

    box: io.Outbox
    output: Path | DatabaseTable
    policy: Policy

    def check(self, table: CodedTable, policy: Policy, *, exact: bool) -> None:
        """Refuse values that the format cannot hold. Generalized values are text, so they do not count."""
        shown = {
            name: column if isinstance(column, pl.Series) else column.values
            for name, column in table.kept.columns.items()
        }
        if exact:
            for index, attribute in enumerate(table.attributes):
                there = np.flatnonzero(table.value_counts[index])
                shown[attribute.name] = attribute.hierarchy.values(there.astype(np.int32))
        io.check_holds(
            self.output,
            [pl.DataFrame({name: shown[name]}) for name in table.columns if name in shown],
            sensitive=[attribute.name for attribute in table.sensitive],
            columns=table.shown_columns,
            rows=max(1, table.rows - int(policy.utility.suppression * table.rows)),
        )

    def publish(self, rows: Sheet, frame: Frame, *, second: bool = False) -> Sheet:
        """Write a table, and return it as it is read from the disk."""
        path = second_path(self.output) if second else self.output
        options = replace(frame.options, escape_formulas=self.policy.release.escape_formulas)
        return self.box.publish_sheet(rows, path, options=options)
