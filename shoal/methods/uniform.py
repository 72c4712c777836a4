"""`levels = "uniform"`: one set of labels per column, none of which covers another, instead of labels for each class.

Labels of a method that overlap are joined, which joins classes. Then single labels are split again, for all rows that
show them, as long as every class still satisfies the requirements; the split that lowers the loss most comes first.
The same is tried from the best levels of whole columns, and the better result counts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.hierarchy import Hierarchy
from shoal.errors import InfeasibleError, LimitError
from shoal.judging.measures import MEASURES, CellMeasure
from shoal.judging.models.over_time import KeepsOpen
from shoal.judging.models.requirements import Requirements
from shoal.methods.overall_rules import in_reach
from shoal.release import Release
from shoal.support.arrays import IntVector, LongVector
from shoal.support.run import Run

Range = tuple[int, int]
SHARES = (0.5, 0.25, 0.75, 0.125, 0.375, 0.625, 0.875)
"""Where a free range may be split: after these shares of its rows."""
MOST_MAPPINGS = 100_000
"""Labels of one level per column are tried if there are at most so many choices of levels."""
UNIFORM = "uniform"


def uniform(table: CodedTable, release: Release, requirements: Requirements, run: Run) -> Release:
    """Return a release whose labels are one set per column. O(rows x columns) for each split that is tried.

    Raises LimitError if joined classes do not satisfy the requirements.
    """
    if release.levels is not None or UNIFORM in release.facts:
        return release  # one level per column, or done already
    if not (release.region_of >= 0).any():
        return release
    found = []
    for start in (_of_method(table, release), _of_levels(table, requirements, run)):
        labels = None if start is None else _Labels(table, start[0], requirements)
        if start is None or labels is None or not labels.begin(start[1]):
            continue
        labels.split(run)
        found.append(labels)
    if not found:
        raise LimitError(
            "with one set of labels per column, joined classes do not satisfy the requirements",
            'leave out levels = "uniform"',
        )
    labels = min(found, key=lambda one: one.loss(one.release()))
    made = labels.release()
    told = {
        "measure": labels.measure.name,
        "loss": labels.loss(made),
        "loss_without": labels.loss(release),
        "labels": _count_labels(made),
        "labels_without": _count_labels(release),
        "suppressed": int((made.region_of < 0).sum()),
        "suppressed_without": int((release.region_of < 0).sum()),
    }
    facts = {**release.facts, **({"suppressed": told["suppressed"]} if "suppressed" in release.facts else {})}
    return replace(made, facts={**facts, UNIFORM: told})


def cost_in_words(facts: Mapping[str, Any]) -> str:
    """Say what one set of labels per column costs."""
    told = facts[UNIFORM]
    shares = MEASURES[told["measure"]].reported.percent

    def number(value: float) -> str:
        return f"{value:.1%}" if shares else f"{value:,.4g}"

    more = told["suppressed"] - told["suppressed_without"]
    rows = (
        f"; {told['suppressed']:,} rows suppressed instead of {told['suppressed_without']:,}" if more else ""
    )
    return (
        f'one set of labels per column (levels = "uniform"): {told["labels"]:,} labels instead of '
        f"{told['labels_without']:,}; {told['measure']} {number(told['loss'])} instead of "
        f"{number(told['loss_without'])}{rows}"
    )


Start = tuple[LongVector, list[list[Range]]]
"""The rows that are published, and the labels of each column to begin with."""


def _of_method(table: CodedTable, release: Release) -> Start:
    """Return the labels of a release, those that overlap joined."""
    rows = np.flatnonzero(release.region_of >= 0)
    used = np.unique(release.region_of[rows])
    return rows, [
        _join_ranges(attribute.hierarchy, release.low[used, j], release.high[used, j])
        for j, attribute in enumerate(table.attributes)
    ]


def _of_levels(table: CodedTable, requirements: Requirements, run: Run) -> Start | None:
    """Return the labels of the best release with one level per column, so that no result is worse than it; None if
    there is none, or finding it may take long, or a rule asks for the rows of each class, which this search does not
    have. It may suppress other rows than the method does."""
    from shoal.methods.full_domain.full_domain import FullDomain

    method = FullDomain()
    if math.prod(attribute.hierarchy.height + 1 for attribute in table.attributes) > MOST_MAPPINGS:
        return None
    if any(isinstance(model, KeepsOpen) for model in requirements.models):
        return None
    try:
        made = method.anonymize(table, in_reach(method, requirements), run)
    except (InfeasibleError, LimitError):
        return None
    assert made.levels is not None
    rows = np.flatnonzero(made.region_of >= 0)
    out = []
    for j, (attribute, level) in enumerate(zip(table.attributes, made.levels, strict=True)):
        tree = attribute.hierarchy
        firsts = np.unique(tree.low[level, table.quasi.wide[rows, j]])
        out.append([(int(first), int(tree.high[level, first])) for first in firsts])
    return rows, out


def _join_ranges(tree: Hierarchy, low: IntVector, high: IntVector) -> list[Range]:
    """Return the smallest publishable ranges, apart from each other, that cover all given ones."""
    ranges = sorted(set(zip(low.tolist(), high.tolist(), strict=True)))
    while True:
        out: list[Range] = []
        for first, last in ranges:
            if out and first <= out[-1][1]:
                out[-1] = (out[-1][0], max(last, out[-1][1]))
            else:
                out.append((first, last))
        ends = np.array(out, np.int32)
        lifted = tree.lift(ends[:, 0], ends[:, 1])
        found = sorted(set(zip(lifted[0].tolist(), lifted[1].tolist(), strict=True)))
        if found == out:
            return out
        ranges = found


class _Labels:
    """The labels of each column, which rows show them, and the classes that follow."""

    def __init__(self, table: CodedTable, rows: LongVector, requirements: Requirements) -> None:
        self.table, self.rows, self.requirements = table, rows, requirements
        measure = MEASURES[requirements.measure]()
        self.measure = measure if isinstance(measure, CellMeasure) else _default()
        self.shown = np.zeros((len(rows), len(table.attributes)), np.int32)
        """Which label of its column each row shows."""
        self.ranges: list[list[Range]] = [[] for _ in table.attributes]
        """The labels of each column; those that were split stay in the list, but no row shows them."""
        self.class_of = np.zeros(len(rows), np.int32)
        self.classes = 0

    def begin(self, ranges: list[list[Range]]) -> bool:
        """Begin with some labels, and return whether their classes satisfy the requirements."""
        from shoal.kernels.grouping import distinct

        for j, own in enumerate(ranges):
            self._start(j, own)
        self.class_of, first = distinct(np.asfortranarray(self.shown))
        self.classes = len(first)
        return self.classes_hold()

    def _start(self, j: int, ranges: list[Range]) -> None:
        """Give each row the label that covers its value."""
        codes = self.table.quasi.wide[self.rows, j]
        starts = np.array([first for first, _ in ranges])
        self.shown[:, j] = np.searchsorted(starts, codes, side="right") - 1
        self.ranges[j] = [self._tight(j, codes[self.shown[:, j] == at]) for at in range(len(ranges))]

    def _tight(self, j: int, codes: IntVector) -> Range:
        """Return the smallest publishable range over some codes."""
        tree = self.table.attributes[j].hierarchy
        low, high = tree.lift(np.array([codes.min()], np.int32), np.array([codes.max()], np.int32))
        return int(low[0]), int(high[0])

    def classes_hold(
        self, rows: LongVector | None = None, number: IntVector | None = None, size: int = 0
    ) -> bool:
        """Whether all classes satisfy the requirements, or, if given, the groups `number` of some rows."""
        places = self.rows if rows is None else self.rows[rows]
        groups = self.class_of if number is None else number
        found = self.table.group_rows(groups, self.classes if number is None else size, places)
        return bool(self.requirements.holds_in(found).all())

    # --- splitting ----------------------------------------------------------------------------------------

    def split(self, run: Run) -> None:
        """Split labels, the best first, as long as all classes satisfy the requirements."""
        waiting: list[tuple[float, int, int, int, list[Range]]] = []
        order = count()
        for j, ranges in enumerate(self.ranges):
            for at in range(len(ranges)):
                self._offer(waiting, order, j, at)
        done: set[tuple[int, int]] = set()
        while waiting:
            _, turn, j, at, parts = heapq.heappop(waiting)
            run.progress("uniform", turn / (turn + len(waiting) + 1))
            if (j, at) in done:
                continue
            for child in self._try_split(j, at, parts):
                done.add((j, at))
                self._offer(waiting, order, j, child)

    def _offer(
        self, waiting: list[tuple[float, int, int, int, list[Range]]], order: Iterator[int], j: int, at: int
    ) -> None:
        codes = self.table.quasi.wide[self.rows[self.shown[:, j] == at], j]
        often = np.bincount(codes, minlength=self.table.attributes[j].hierarchy.size)
        for parts in self._parts(j, self.ranges[j][at], often):
            gain = self._gain(j, self.ranges[j][at], parts, often)
            if gain > 0:
                heapq.heappush(waiting, (-gain, next(order), j, at, parts))

    def _parts(self, j: int, label: Range, often: LongVector) -> Iterator[list[Range]]:
        """Yield the ways to split a label: a node into the nodes below it, a range in two at some of its values."""
        tree = self.table.attributes[j].hierarchy
        codes = np.flatnonzero(often)
        if len(codes) < 2:
            return
        if not tree.free:
            ends = np.array(label, np.int32)
            level = int(tree.level_of(ends[:1], ends[1:])[0])
            while level > 0:
                level -= 1
                firsts = np.unique(tree.low[level, codes])
                if len(firsts) > 1:
                    yield [(int(first), int(tree.high[level, first])) for first in firsts]
                    return
            return
        regular = codes[codes < tree.ordered]
        apart = [(int(code), int(code)) for code in codes[codes >= tree.ordered]]
        if apart:
            yield [*([(int(regular[0]), int(regular[-1]))] if len(regular) else []), *apart]
            return
        sums = np.cumsum(often[codes])
        seen = set()
        for share in SHARES:
            cut = int(np.searchsorted(sums, share * sums[-1], side="left"))
            cut = min(cut, len(codes) - 2)
            if cut not in seen:
                seen.add(cut)
                yield [(int(codes[0]), int(codes[cut])), (int(codes[cut + 1]), int(codes[-1]))]

    def _gain(self, j: int, label: Range, parts: list[Range], often: LongVector) -> float:
        """Return how much the loss of the rows that show a label becomes less."""
        ranges = np.array([label, *parts], np.int32)
        low, high = np.ascontiguousarray(ranges[:, 0]), np.ascontiguousarray(ranges[:, 1])
        attribute = self.table.attributes[j]
        lost = self.measure.loss(attribute, self.table.value_counts[j], low, high)
        sums = np.concatenate([[0], np.cumsum(often)])
        rows = sums[high[1:].astype(np.int64) + 1] - sums[low[1:]]
        return float((rows * (lost[0] - lost[1:])).sum() * attribute.weight)

    def _try_split(self, j: int, at: int, parts: list[Range]) -> list[int]:
        """Split a label if all classes still satisfy the requirements; return the new labels, or an empty list."""
        from shoal.kernels.grouping import distinct

        places = np.flatnonzero(self.shown[:, j] == at)
        codes = self.table.quasi.wide[self.rows[places], j]
        child = np.searchsorted(np.array([first for first, _ in parts]), codes, side="right") - 1
        pairs = np.stack([self.class_of[places], child.astype(np.int32)], axis=1)
        number, first = distinct(np.asfortranarray(pairs))
        if not self.classes_hold(places, number, len(first)):
            return []
        born = [len(self.ranges[j]) + place for place in range(len(parts))]
        self.ranges[j] += [self._tight(j, codes[child == place]) for place in range(len(parts))]
        self.shown[places, j] = np.array(born, np.int32)[child]
        self.class_of[places] = number + np.int32(self.classes)
        self.classes += len(first)
        return born

    # --- the result ---------------------------------------------------------------------------------------

    def release(self) -> Release:
        """Return what the labels publish."""
        from shoal.kernels.grouping import distinct

        region, first = distinct(np.asfortranarray(self.shown))
        region_of = np.full(self.table.rows, -1, np.int32)
        region_of[self.rows] = region
        ends = [np.array(ranges, np.int32)[self.shown[first, j]] for j, ranges in enumerate(self.ranges)]
        low, high = (np.stack([own[:, side] for own in ends], axis=1) for side in (0, 1))
        return Release(region_of, low, high)

    def loss(self, release: Release) -> float:
        """Return the mean loss of all rows by the measure that steers; suppressed ones lose everything."""
        shown = release.region_of[release.region_of >= 0]
        often = np.append(np.bincount(shown, minlength=len(release.low)), self.table.rows - len(shown))
        whole = sum(attribute.weight for attribute in self.table.attributes) or 1.0
        lost = 0.0
        for j, attribute in enumerate(self.table.attributes):
            low = np.append(release.low[:, j], np.int32(0))
            high = np.append(release.high[:, j], np.int32(attribute.hierarchy.size - 1))
            own = self.measure.loss(attribute, self.table.value_counts[j], low, high)
            lost += float((own * often).sum()) * attribute.weight / whole
        return lost / self.table.rows


def _count_labels(release: Release) -> int:
    """Return how many labels all columns show together."""
    used = np.unique(release.region_of[release.region_of >= 0])
    return sum(
        len(np.unique(np.stack([release.low[used, j], release.high[used, j]], axis=1), axis=0))
        for j in range(release.low.shape[1])
    )


def _default() -> CellMeasure:
    measure = MEASURES[MEASURES.default]()
    assert isinstance(measure, CellMeasure)
    return measure
