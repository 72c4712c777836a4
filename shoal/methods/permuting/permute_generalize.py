"""permute-generalize: shuffled columns, generalized bucket by bucket only as far as presence requires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.columns import Columns
from shoal.coding.population import population_of
from shoal.errors import LimitError, Problem
from shoal.judging.models.delta_presence import SLACK, DeltaPresence, require_presence, without_presence
from shoal.judging.models.model import Model
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import Shows
from shoal.methods.permuting.shuffled_buckets import Permuting, each_column, facts_of, own_cells
from shoal.methods.presence.bucket_mappings import BucketMappings
from shoal.methods.presence.mpalm import MPALM
from shoal.release import Release
from shoal.release.layout import Buckets, ProposedBuckets
from shoal.release.published import Boxes, Published
from shoal.support.arrays import IntMatrix, LongVector
from shoal.support.run import Run
from shoal.support.wording import format_setting

BOXES, PEOPLE = "boxes", "people"
MOST_STATES = 50_000
"""Many mappings are tried; most that need more states than this would not be chosen in the end either."""


@dataclass(frozen=True, kw_only=True)
class PermuteGeneralize(Permuting):
    """Shuffles every column within buckets, and generalizes each bucket only as far as presence requires.

    For each bucket it tries the mappings from the least to the most general, by the sum of their levels. It takes the
    first under which everybody who could be in the bucket has a probability within the bounds.
    """

    name: ClassVar[str] = "permute-generalize"
    summary: ClassVar[str] = (
        "shuffles columns within buckets and generalizes only as far as presence requires"
    )
    paper: ClassVar[str] = "Toth: Data Anonymization, IT University of Copenhagen 2015"
    shows: ClassVar[Shows] = Shows(buckets=True)
    least_k: ClassVar[int] = 1
    own_partitioners: ClassVar[tuple[str, ...]] = (BOXES, PEOPLE)

    partitioner: str = BOXES
    """``boxes`` splits along the hierarchies into boxes of at least k rows that never overlap, so that everybody
    matches at most one bucket; ``people`` splits into boxes of at least k people of the population, however few are
    in the table; or the method whose classes become buckets. If presence requires it, buckets that match the same
    person are joined."""
    limit: int = MOST_STATES
    """How many states counting may use per mapping; a mapping that needs more is skipped."""

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """It needs bounds on presence."""
        return [
            *super().problems_with(requirements, sensitive),
            *without_presence(requirements.models, self.name),
        ]

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Choose mappings bucket by bucket; then check people who match several buckets, join these, and repeat."""
        model = require_presence(requirements.models, self.name)
        work = _Buckets(table, self._first_buckets(table, requirements, model, run), model, self.limit)
        while True:
            work.choose(run)
            if not work.join(run):
                break
        return Release(
            own_cells(work.bucket_of),
            work.low,
            work.high,
            layout=ProposedBuckets(work.bucket_of, each_column(table, work.bucket_of, run)),
            facts=facts_of(
                work.bucket_of,
                quasi="shuffled within buckets, and generalized where needed",
                sensitive="as it is, shuffled within buckets",
                mappings_tried=work.tried,
                mappings_counted=work.counted,
                buckets_joined=work.joined,
            ),
        )

    def _first_buckets(
        self, table: CodedTable, requirements: Requirements, model: DeltaPresence, run: Run
    ) -> Release:
        if self.partitioner == PEOPLE:
            return _boxes_of_people(table, self.sizes, run)
        if self.partitioner != BOXES:
            made = self.buckets(table, requirements, run)
            numbers, bucket_of = np.unique(made.region_of, return_inverse=True)
            bucket_of = (bucket_of - (numbers[0] < 0)).astype(np.int32)
            used = numbers[numbers >= 0]
            # The boxes of the method itself: one that is wider than its rows may be so for the sake of presence.
            # Between the ends of a value set there may be no publishable range, such as from a number to null.
            low, high = made.low[used], made.high[used]
            for j, attribute in enumerate(table.attributes):
                low[:, j], high[:, j] = attribute.hierarchy.lift(low[:, j], high[:, j])
            return Release(bucket_of, low, high)
        # A box with too few people of the table is useless; whether it has too many is checked later.
        anybody = DeltaPresence(low=model.low, high=1.0)
        wanted = Requirements(models=(anybody, *self.sizes, *requirements.group_models))
        return MPALM().anonymize(table, wanted, run)


def _boxes_of_people(table: CodedTable, sizes: tuple[Model, ...], run: Run) -> Release:
    """Split the population into boxes of at least k people, and assign the rows of the table to them.

    Models for sensitive values are left to verification: nobody outside the table has sensitive values.
    """
    from shoal.kernels.grouping import distinct

    people = population_of(table)
    none = Columns((), (), len(people))
    everyone = replace(table.with_secrets(none), quasi=Columns.of(table.attributes, people))
    anybody = Requirements(models=(DeltaPresence(low=0.0, high=1.0), *sizes))
    made = MPALM().anonymize(everyone, anybody, run)
    number, first = distinct(np.asfortranarray(np.concatenate([people, table.quasi.wide])))
    box_of = np.empty(len(first), np.int32)
    box_of[number[: len(people)]] = made.region_of
    used, region_of = np.unique(box_of[number[len(people) :]], return_inverse=True)
    return Release(region_of.astype(np.int32), made.low[used], made.high[used])


class _Buckets:
    """All buckets, what they show, and who matches them."""

    def __init__(self, table: CodedTable, made: Release, model: DeltaPresence, limit: int) -> None:
        from shoal.kernels.grouping import distinct

        self.table, self.model, self.limit = table, model, limit
        self.bucket_of = made.region_of.copy()
        self.box_low, self.box_high = made.low.copy(), made.high.copy()
        self.people = population_of(table)
        number, first = distinct(self.people)
        self.tuples = np.ascontiguousarray(self.people[first])
        self.many = np.bincount(number, minlength=len(first)).astype(np.int64)
        self.low, self.high = table.quasi.wide.copy(), table.quasi.wide.copy()
        self.open = set(range(len(made.low)))
        self.tried = self.counted = self.joined = 0

    def choose(self, run: Run) -> None:
        """Find a mapping for each bucket without one."""
        numbers = sorted(self.open)
        for place, bucket in enumerate(numbers):
            run.progress("generalize", place / len(numbers))
            rows = np.flatnonzero(self.bucket_of == bucket)
            low, high = self.box_low[bucket], self.box_high[bucket]
            people = self.people[((self.people >= low) & (self.people <= high)).all(axis=1)]
            mappings = BucketMappings(self.table, self.table.quasi.wide[rows], people, low, high, self.model)
            found = mappings.first_allowed(self.limit)
            self.tried += mappings.tried
            self.counted += mappings.counted
            if found is None:
                raise LimitError(
                    f"a bucket of {len(rows):,} rows among {len(people):,} people cannot satisfy {self.model.title} "
                    "even if it is fully generalized",
                    f"Choose a larger {format_setting('method.k', ...)}, looser bounds, or the method mpalm",
                )
            for j, level in enumerate(found):
                self.low[rows, j], self.high[rows, j] = mappings.cells(
                    self.table.quasi.wide[rows, j], j, level
                )
        self.open.clear()

    def join(self, run: Run) -> bool:
        """Join buckets that make people too certain because these match several; return whether there were any.

        Each bucket by itself is within the bounds, so only buckets that share people are checked, in the union. A
        person who matches one of them alone may be outside the bounds because others match several.
        """
        fitting = self._find_matching_buckets(run)
        if self.model.low > 0 and len(fitting) < len(self.tuples):
            lost = int(self.many.sum() - self.many[list(fitting)].sum())
            raise LimitError(
                f"{lost:,} people of the population match no bucket, so they are certainly not in the table, which "
                f"{self.model.title} forbids",
                "Choose " + format_setting("method.partitioner", BOXES),
            )
        several = [t for t, buckets in fitting.items() if len(buckets) > 1]
        if not several:
            return False
        places = sorted({bucket for t in several for bucket in fitting[t]})
        rows = np.flatnonzero(np.isin(self.bucket_of, places))
        near = sorted(t for t, buckets in fitting.items() if not set(buckets).isdisjoint(places))
        outside = self._outside(rows, np.array(near), run)
        if not outside:
            return False
        uncertain = [t for t in outside if len(fitting[t]) > 1]
        if not uncertain:
            around = {bucket for t in outside for bucket in fitting[t]}
            uncertain = [t for t in several if not around.isdisjoint(fitting[t])]
        self._merge([fitting[t] for t in uncertain])
        self._lift_open()
        return True

    def _merge(self, together: list[list[int]]) -> None:
        """Join the buckets of each list, and lists that share a bucket."""
        parent = {bucket: bucket for buckets in together for bucket in buckets}

        def root(bucket: int) -> int:
            while parent[bucket] != bucket:
                bucket = parent[bucket]
            return bucket

        for first, *others in together:
            for bucket in others:
                parent[root(bucket)] = root(first)
        for bucket in sorted(parent):
            whole = root(bucket)
            if whole != bucket:
                self.bucket_of[self.bucket_of == bucket] = whole
                self.box_low[whole] = np.minimum(self.box_low[whole], self.box_low[bucket])
                self.box_high[whole] = np.maximum(self.box_high[whole], self.box_high[bucket])
                self.open.add(whole)
                self.joined += 1

    def _lift_open(self) -> None:
        """Widen the boxes of the buckets without a mapping to nodes of the hierarchies."""
        for bucket in self.open:
            for j, attribute in enumerate(self.table.attributes):
                ends = self.box_low[bucket : bucket + 1, j], self.box_high[bucket : bucket + 1, j]
                lifted = attribute.hierarchy.lift(*ends)
                self.box_low[bucket, j], self.box_high[bucket, j] = lifted[0][0], lifted[1][0]

    def _find_matching_buckets(self, run: Run) -> dict[int, list[int]]:
        """Return the buckets that match each distinct person, by what the buckets show."""
        found: dict[int, list[int]] = {}
        numbers = np.unique(self.bucket_of[self.bucket_of >= 0]).tolist()
        for place, bucket in enumerate(numbers):
            run.progress("overlap", place / len(numbers))
            rows = self.bucket_of == bucket
            left = np.arange(len(self.tuples))
            for j in range(self.tuples.shape[1]):
                cells = np.unique(np.stack([self.low[rows, j], self.high[rows, j]], axis=1), axis=0)
                value = self.tuples[left, j][:, None]
                left = left[((cells[:, 0] <= value) & (value <= cells[:, 1])).any(axis=1)]
            for t in left.tolist():
                found.setdefault(t, []).append(bucket)
        return found

    def _outside(self, rows: LongVector, near: LongVector, run: Run) -> list[int]:
        """Return the people near some rows whose probability is, or may be, outside the bounds."""
        from shoal.judging.membership.presence_chances import presence

        people: IntMatrix = np.repeat(self.tuples[near], self.many[near], axis=0)
        published = Published(
            self.table.attributes,
            (),
            np.arange(len(rows), dtype=np.int32),
            np.zeros((len(rows), 0), np.int32),
            Boxes(self.low[rows], self.high[rows]),
            layout=Buckets(np.unique(self.bucket_of[rows], return_inverse=True)[1].astype(np.int32)),
        )
        found = presence(
            published, people, limit=self.limit, seconds=0.0, progress=lambda s: run.progress("union", s)
        )
        at = np.cumsum(self.many[near]) - self.many[near]
        low, high = found.low[at], found.high[at]
        bad = (low < self.model.low - SLACK) | (high > self.model.high + SLACK)
        return sorted(near[bad].tolist())
