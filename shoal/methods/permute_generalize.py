"""permute-generalize: shuffled columns, generalized bucket by bucket just as far as presence asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import IntMatrix, IntVector, LongVector
from shoal.errors import InfeasibleError
from shoal.membership import MOST_STATES, membership
from shoal.methods.permuting import Permuting, each_column, own_cells
from shoal.models.delta_presence import SLACK, DeltaPresence, asked_presence
from shoal.population import population_of
from shoal.release import Release, closures
from shoal.requirements import Requirements
from shoal.run import Run
from shoal.table import CodedTable


@dataclass(frozen=True, kw_only=True)
class PermuteGeneralize(Permuting):
    """Shuffles every column within buckets, and generalizes each bucket just as far as presence asks for.

    For each bucket the mappings are tried from the least to the most general, by the sum of their levels, and the first
    is taken under which the chance of everybody who could be in the bucket lies within the bounds.
    """

    name: ClassVar[str] = "permute-generalize"
    summary: ClassVar[str] = (
        "shuffles columns within buckets and generalizes only as far as presence asks for"
    )
    paper: ClassVar[str] = "Toth: Data Anonymization, IT University of Copenhagen 2015"

    limit: int = MOST_STATES
    """States that counting may use per mapping; a mapping that needs more is not taken."""

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Try mappings bucket by bucket.

        A value that more (or fewer) rows of the bucket show than the bounds allow for the people who have it rules
        out its level at once: the average of their chances would be outside. What is left is counted exactly.
        """
        model = asked_presence(requirements.models, self.name)
        people = population_of(table)
        made = self.buckets(table, requirements, run)
        count = len(made.low)
        low, high = closures(table, made.region_of, count)
        cells_low, cells_high = table.codes.copy(), table.codes.copy()
        tried = 0
        for bucket in range(count):
            run.progress("generalize", bucket / count)
            rows = np.flatnonzero(made.region_of == bucket)
            could_be = people[((people >= low[bucket]) & (people <= high[bucket])).all(axis=1)]
            choice = _Bucket(table, table.codes[rows], could_be, low[bucket], high[bucket], model)
            found, more = choice.first_allowed(self.limit)
            tried += more
            if found is None:
                raise InfeasibleError(
                    f"a bucket of {len(rows):,} rows among {len(could_be):,} people cannot satisfy {model.title} even "
                    "if it shows nothing but itself: choose a larger k, looser bounds, or the method mpalm"
                )
            for j, level in enumerate(found):
                cells_low[rows, j], cells_high[rows, j] = choice.cells(table.codes[rows, j], j, level)
        return Release(
            own_cells(made.region_of),
            cells_low,
            cells_high,
            bucket_of=made.region_of,
            shown_from=each_column(table, made.region_of, run),
            facts={"buckets": count, "mappings_tried": tried},
        )


class _Bucket:
    """One bucket: its rows, who could be in it, and the mappings of its columns."""

    def __init__(
        self,
        table: CodedTable,
        rows: IntMatrix,
        people: IntMatrix,
        low: IntVector,
        high: IntVector,
        model: DeltaPresence,
    ) -> None:
        self.table, self.rows, self.people, self.model = table, rows, people, model
        self.low, self.high = low, high

    def heights(self) -> list[int]:
        """The level of the bucket's own node in each column; free ranges are exact or the whole range."""
        found = []
        for j, attribute in enumerate(self.table.attributes):
            tree = attribute.hierarchy
            level = int(tree.level_of(self.low[j : j + 1], self.high[j : j + 1])[0])
            found.append(int(self.low[j] < self.high[j]) if tree.free or level < 0 else level)
        return found

    def cells(self, codes: IntVector, j: int, level: int) -> tuple[IntVector, IntVector]:
        """What codes show at a level."""
        tree = self.table.attributes[j].hierarchy
        if not tree.free:
            return tree.low[level, codes], tree.high[level, codes]
        if level == 0:
            return codes, codes
        return np.full_like(codes, self.low[j]), np.full_like(codes, self.high[j])

    def shown(self, j: int, level: int) -> tuple[LongVector, LongVector]:
        """Number the values of people at a level, and count them among the rows."""
        own, theirs = self.cells(self.rows[:, j], j, level)[0], self.cells(self.people[:, j], j, level)[0]
        values, number = np.unique(np.concatenate([theirs, own]), return_inverse=True)
        return number[: len(theirs)], np.bincount(number[len(theirs) :], minlength=len(values)).astype(
            np.int64
        )

    def _possible(self, j: int, level: int) -> bool:
        number, rows = self.shown(j, level)
        return all(self.model.allows(int(r), int(p)) for r, p in zip(rows, np.bincount(number), strict=True))

    def mappings(self) -> Iterator[tuple[int, ...]]:
        """Mappings whose columns are possible each by itself, from the least general on."""
        levels = [[v for v in range(h + 1) if self._possible(j, v)] for j, h in enumerate(self.heights())]
        yield from sorted(product(*levels), key=lambda mapping: (sum(mapping), mapping))

    def first_allowed(self, limit: int) -> tuple[tuple[int, ...] | None, int]:
        """Return the first mapping that presence allows, and how many were tried."""
        tried = 0
        for mapping in self.mappings():
            tried += 1
            if self._allowed(mapping, limit):
                return mapping, tried
        return None, tried

    def _allowed(self, mapping: tuple[int, ...], limit: int) -> bool:
        parts: list[Any] = [self.shown(j, level) for j, level in enumerate(mapping)]
        values = np.stack([number for number, _ in parts], axis=1).astype(np.int32)
        tuples, people = np.unique(values, axis=0, return_counts=True)
        found = membership(
            tuples, people.astype(np.int64), [rows for _, rows in parts], limit=limit, seconds=0.2
        )
        # What could not be counted has the bounds 0 and 1, and passes only where these are asked for.
        return bool(
            (found.low >= self.model.low - SLACK).all() and (found.high <= self.model.high + SLACK).all()
        )
