"""`Local`: the engine for tables that this machine holds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.column_plan import bound_names
from shoal.engines.engine import Engine
from shoal.io.sheet import Sheet
from shoal.judging.case import Case
from shoal.judging.read_case import Received, read_case
from shoal.pipeline.plan import Plan
from shoal.pipeline.steps import propose
from shoal.policy import Policy
from shoal.release import Release
from shoal.release.perturbed_columns import check_perturbed, perturb_columns
from shoal.release.pseudonyms import Pseudonyms
from shoal.release.received.read_earlier import encode_whole
from shoal.release.render import Rendered, render, shuffle_rows
from shoal.release.results import Clock
from shoal.release.two_tables import second_path
from shoal.support.arrays import IntVector
from shoal.support.machine.threads import Ahead
from shoal.support.run import Division, Progress

KERNELS = "shoal.kernels.preparing"
"""What imports numba."""


@dataclass(eq=False, repr=False)
class Local(Engine):
    """This machine has the rows."""

    _given: list[Any] = field(init=False, default_factory=lambda: [None, None])
    """The release and its second table as frames of the kind that was given."""

    @property
    def division(self) -> Division:
        """How methods divide the table into parts."""
        return self.policy.engine.division

    def plan(self) -> Plan:
        """Resolve the policy. Raises PolicyError if its method cannot satisfy it, whatever the data."""
        return Plan.of(self.policy)

    def check_outputs(self, places: Sequence[Any], codebooks: Sequence[Path], keys: Path | None) -> None:
        """Raise OutputError if tables cannot be written to these places."""
        for place in places:
            io.check_publishable(place, force=self.force)

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Prepare kernels, and let all files appear together."""
        Ahead(partial(import_module, KERNELS))  # the method needs them only after the table was read
        with io.Outbox(force=self.force) as self.papers:
            yield

    def read(self) -> None:
        """Read the source."""
        self.frame = io.read(self.policy.source(self.source), self.policy.read_options())

    def encode(self, plan: Plan) -> CodedTable:
        """Return the source in codes, if what will be published of it can be."""
        table = encode_whole(self.frame, self.policy, self.population)
        check_perturbed(table, self.policy.perturbations)
        if self.output is not None:
            self._check_holds(self.output, table, exact=plan.method.shows.exact)
        return table

    def _check_holds(self, output: Any, table: CodedTable, *, exact: bool) -> None:
        """Refuse values that the format cannot hold. Generalized values are text, so they do not count, unless a
        method shows the `exact` values of quasi-identifiers."""
        shown = {
            name: column if isinstance(column, pl.Series) else column.values
            for name, column in table.kept.columns.items()
        }
        if exact:
            for index, attribute in enumerate(table.attributes):
                there = np.flatnonzero(table.value_counts[index])
                shown[attribute.name] = attribute.hierarchy.values(there.astype(np.int32))
        io.check_holds(
            output,
            [pl.DataFrame({name: shown[name]}) for name in table.columns if name in shown],
            sensitive=[attribute.name for attribute in table.sensitive],
            columns=table.release_columns,
            rows=max(1, table.rows - int(self.policy.utility.suppression * table.rows)),
        )

    def propose(self, plan: Plan, table: CodedTable) -> Release:
        """Let the method make a release."""
        return propose(plan, table, self.run, self.clock)

    def publish(self, plan: Plan, table: CodedTable, release: Release) -> Rendered:
        """Render what each row shows, shuffle the rows, publish them, and return them as their readers see them."""
        random = self.run.random.spawn(1)[0]  # whatever the search has drawn
        self.pseudonyms = Pseudonyms() if self.policy.pseudonyms else None
        changed = perturb_columns(table, release, self.policy.perturbations, random, self.frame.as_shown)
        rendered = shuffle_rows(render(table, release, self.pseudonyms, changed), random)
        typed = partial(self._convert_type, table, rendered.owner)
        seen = self._put(rendered.sheet.with_values(typed))
        second = rendered.second
        if second is not None:
            second = self._put(Sheet.of(second).with_values(typed), second=True).whole()
        return Rendered(seen, rendered.owner, rendered.bucket, second)

    def _convert_type(self, table: CodedTable, owner: IntVector, values: pl.Series) -> pl.Series:
        """Return the values of a column in the type that the release gives them; pseudonyms keep their type."""
        ends = {end: own.name for own in table.attributes if own.bounds for end in bound_names(own.name)}
        if table.named is not None and values.name in table.named.columns:
            return values
        return self.frame.as_shown(values, ends.get(values.name, values.name), owner)

    def _put(self, rows: Sheet, *, second: bool = False) -> Sheet:
        """Convert a table, or write it under a temporary name, and return what its readers see."""
        if self.output is None:
            self._given[second], seen = io.convert_result(self.frame, rows.whole())
            return Sheet.of(seen)
        path = second_path(self.output) if second else self.output
        options = replace(self.frame.options, escape_formulas=self.policy.release.escape_formulas)
        return self.papers.publish_sheet(rows, path, options=options)

    def judge(self, plan: Plan, table: CodedTable, release: Release, shown: Rendered) -> Case:
        """Return the case of the rows as their readers see them."""
        return plan.judge(table, release, shown)

    def tables(self, case: Case) -> tuple[Any, Any]:
        """Return frames of the kind that was given; of files, what was read back."""
        return (self._given[0], self._given[1]) if self.output is None else (case.sheet, case.second)

    @classmethod
    def read_release(cls, received: Received, policy: Policy, clock: Clock, progress: Progress) -> Case:
        """Return the case of a release that any tool made."""
        return read_case(received, policy, clock, progress)
