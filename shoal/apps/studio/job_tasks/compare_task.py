"""The work of comparing methods, what ``shoal compare`` does, trial by trial; and of ``shoal explain``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.apps.studio.job_worker import Line
from shoal.coding import CodedTable
from shoal.pipeline.comparison import Comparison, Trial
from shoal.pipeline.comparison.compare import compare as compared
from shoal.pipeline.comparison.watch import Watch
from shoal.pipeline.explanation import Explanation
from shoal.pipeline.explanation.explain import explain as explained
from shoal.policy import Policy
from shoal.release import Release
from shoal.release.render import render

EXAMPLES = 8
"""Rows of the table that are shown in every release."""
COLUMNS = 40
"""Columns that examples have at most; quasi-identifiers come first."""
LONGEST = 200
"""Characters of a cell that examples show."""

Row = Sequence[str | None]


@dataclass(frozen=True)
class Planned:
    """All trials before the first begins."""

    trials: tuple[Trial, ...]
    waiting: tuple[int, ...]
    columns: tuple[str, ...]
    """The columns of the examples."""
    originals: tuple[Row, ...]


@dataclass(frozen=True)
class Began:
    """A trial has begun."""

    place: int


@dataclass(frozen=True)
class Ended:
    """A trial has ended."""

    place: int
    trial: Trial
    rows: tuple[Row | None, ...] = ()
    """What its release shows of the examples; None: it suppresses the row."""
    shuffled: bool = False
    """Its rows show values of others in their bucket."""


class _Telling(Watch):
    """Tells Studio about each trial, and hears which to stop."""

    keeps = True

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line
        self._table: CodedTable | None = None
        self._rows = np.empty(0, np.int64)
        self._names: tuple[str, ...] = ()
        line.listen(self.stop)

    def on_plan(self, table: CodedTable, trials: Sequence[Trial], waiting: Collection[int]) -> None:
        self._table = table
        self._rows = np.unique(np.linspace(0, table.rows - 1, min(EXAMPLES, table.rows)).astype(np.int64))
        quasi = {attribute.name: attribute for attribute in table.attributes}
        self._names = tuple([*quasi, *(name for name in table.columns if name not in quasi)][:COLUMNS])
        columns = [
            quasi[name].hierarchy.values(table.quasi.wide[self._rows, list(quasi).index(name)])
            if name in quasi
            else table.kept[name].gather(self._rows)
            for name in self._names
        ]
        rows = tuple(zip(*(_texts(column.to_list()) for column in columns), strict=True))
        self._line.note(Planned(tuple(trials), tuple(waiting), self._names, rows))

    def began(self, place: int) -> None:
        self._line.note(Began(place))

    def on_end(self, place: int, trial: Trial, release: Release | None) -> None:
        if release is None:
            self._line.note(Ended(place, trial))
            return
        self._line.note(Ended(place, trial, self._render_examples(release), release.layout.in_buckets))

    def _render_examples(self, release: Release) -> tuple[Row | None, ...]:
        assert self._table is not None
        rendered = render(self._table, release)
        found = np.searchsorted(rendered.owner, self._rows)
        found = np.minimum(found, max(len(rendered.owner) - 1, 0))
        there = [
            len(rendered.owner) > 0 and rendered.owner[at] == row
            for at, row in zip(found, self._rows, strict=True)
        ]
        rows = rendered.rows[found[there].tolist()]
        columns = [
            _texts(rows[name].to_list()) if name in rows.columns else [""] * len(rows) for name in self._names
        ]
        shown = iter(zip(*columns, strict=True))
        return tuple(next(shown) if here else None for here in there)


def _texts(values: Sequence[Any]) -> list[str | None]:
    return [None if value is None else str(value)[:LONGEST] for value in values]


def compare(
    line: Line, *, source: str | Path, policy: str, base: Path, options: Mapping[str, Any]
) -> Comparison:
    """Try methods, and tell about each trial when it begins and ends. Heard: the place of a trial to stop."""
    chosen = Policy.from_toml(policy, base)
    return compared(source, chosen, progress=line.progress, watch=_Telling(line), **options)


def explain(line: Line, *, source: str | Path, policy: str, base: Path, seconds: float) -> Explanation:
    """Say what each requirement costs."""
    return explained(source, Policy.from_toml(policy, base), seconds=seconds, progress=line.progress)
