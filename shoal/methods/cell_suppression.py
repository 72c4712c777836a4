"""Local suppression: a row that its class would lose is published with the top of some columns, mostly `*`, instead."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import LimitError, PolicyError, Problem
from shoal.judging.measures.measure import CellMeasure, ClassMeasure
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import Method
from shoal.methods.parts import release_in_parts
from shoal.release import Release
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run
from shoal.support.wording import format_count

BUDGETS = (0.02, 0.1, 0.3, 1.0)
"""Shares of rows that a method may put aside for this, next to the share that the policy lets it suppress."""
TOGETHER = 2
"""So many columns at a time are tried in all combinations; more columns are added one by one."""


def cells_problems(method: Method, requirements: Requirements) -> list[Problem]:
    """Return why single cells cannot be suppressed with this method or for these models."""
    problems = []
    if method.shows.notions or method.shows.buckets or method.false_cells.how or method.can.presence_only:
        message = (
            f'"cells" needs a method that makes equivalence classes of true cells, and {method.name} does not'
        )
        problems.append(Problem("utility.suppress", message, 'use "rows"'))
    if requirements.uniform:
        message = '"cells" puts `*` beside narrower labels, and utility.levels = "uniform" forbids that'
        problems.append(Problem("utility.suppress", message, "leave one of them out"))
    odd = [model.title for model in requirements.models if not model.about_classes]
    if odd:
        message = f'"cells" needs models that judge each class by itself, unlike {", ".join(odd)}'
        problems.append(Problem("utility.suppress", message, 'use "rows"'))
    return problems


def release_with_cells(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Let a method make a release; if the policy says so, suppress cells instead of rows.

    Methods that can suppress single classes run several times, each time with a higher suppression limit; the
    suppressed rows are then published with some columns at ``*``. Returns the release with the least loss.
    """
    if requirements.suppress == "rows":
        return release_in_parts(method, table, requirements, run)
    problems = cells_problems(method, requirements)
    if problems:
        raise PolicyError(problems)
    shares = [requirements.suppression]
    if method.can.search_mappings:
        shares += [share for share in BUDGETS if share > requirements.suppression]
    found: list[tuple[float, Release]] = []
    errors = []
    for share in shares:
        try:
            made = release_in_parts(method, table, replace(requirements, suppression=share), run)
        except LimitError as error:
            errors.append(error)
            continue
        for starred in (Starring(table, requirements, made).release(), made):
            few = int((starred.region_of < 0).sum()) <= requirements.suppressible(table.rows)
            if few and (starred is made or reads_well(table, requirements, starred)):
                found.append((loss_of(table, requirements, starred), starred))
                break
    if not found:
        raise (
            errors[0]
            if errors
            else LimitError("no share of rows that a method may put aside gives a release")
        )
    return min(found, key=lambda pair: pair[0])[1]


@dataclass(eq=False, repr=False)
class _Class(Brief):
    """Rows that show the same, and the columns in which they show the top."""

    rows: LongVector
    columns: tuple[int, ...]


class Starring:
    """The rows that a release suppresses, on their way into classes of their own."""

    def __init__(self, table: CodedTable, requirements: Requirements, made: Release) -> None:
        self.table, self.requirements, self.made = table, requirements, made
        self.heights = [attribute.hierarchy.height for attribute in table.attributes]
        self.levels = list(made.levels) if made.levels is not None else [0] * len(self.heights)
        self.open = [j for j, height in enumerate(self.heights) if self.levels[j] < height]
        """Columns that can be raised to their top."""
        self.left: LongVector = np.flatnonzero(made.region_of < 0)
        self.classes: list[_Class] = []

    def release(self) -> Release:
        """Return the release with as many of these rows as possible, in classes that satisfy the models."""
        if not len(self.left) or not self.open or self.made.sets is not None:
            return self.made
        self._by_few()
        self._by_growing()
        self._all_together()
        return self._join_classes() if self.classes else self.made

    def _cells(self, rows: LongVector, columns: Iterable[int]) -> tuple[IntMatrix, IntMatrix]:
        """Return what rows show if some columns are at their top."""
        raised = set(columns)
        low, high = np.empty((len(rows), len(self.levels)), np.int32), None
        high = np.empty_like(low)
        for j, attribute in enumerate(self.table.attributes):
            level = self.heights[j] if j in raised else self.levels[j]
            codes = self.table.quasi.wide[rows, j]
            low[:, j], high[:, j] = (
                attribute.hierarchy.low[level, codes],
                attribute.hierarchy.high[level, codes],
            )
        return low, high

    def _group_rows(self, rows: LongVector, columns: Iterable[int]) -> tuple[IntVector, BoolVector]:
        """Group rows with identical cells; return the group of each row, and which groups satisfy the models."""
        from shoal.kernels.grouping import distinct

        number, first = distinct(np.asfortranarray(self._cells(rows, columns)[0]))
        return number, self.requirements.holds_in(self.table.group_rows(number, len(first), rows))

    def _take(self, columns: tuple[int, ...], number: IntVector, good: BoolVector) -> None:
        order = np.argsort(number, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(number, minlength=len(good)))[:-1]):
            if good[number[rows[0]]]:
                self.classes.append(_Class(self.left[rows], columns))
        self.left = self.left[~good[number]]

    def _by_few(self) -> None:
        """Raise one column, or two, of some rows; others are raised elsewhere. What publishes most cells is first."""
        for size in range(1, min(TOGETHER, len(self.open)) + 1):
            ranked = []
            for columns in itertools.combinations(self.open, size):
                number, good = self._group_rows(self.left, columns)
                ranked.append((-int(good[number].sum()) * (len(self.levels) - size), columns))
            for gained, columns in sorted(ranked):
                if gained and len(self.left):
                    self._take(columns, *self._group_rows(self.left, columns))

    def _by_growing(self) -> None:
        """Raise more and more columns of the rows that are left."""
        raised: tuple[int, ...] = ()
        while len(self.left) and len(raised) < len(self.open):
            sets = [(*raised, j) for j in self.open if j not in raised]
            counts = []
            for columns in sets:
                number, good = self._group_rows(self.left, columns)
                counts.append((-int(good[number].sum()), len(good), columns))
            raised = min(counts)[2]
            self._take(raised, *self._group_rows(self.left, raised))

    def _all_together(self) -> None:
        """Let small classes join the rows that are still left, until these satisfy the models."""
        if not len(self.left):
            return
        columns, taken = tuple(self.open), []
        # Classes that show no more than these rows read alike, so they come first.
        for one in sorted(self.classes, key=lambda own: (len(own.columns) < len(columns), len(own.rows))):
            taken.append(one)
            rows = np.sort(np.concatenate([self.left, *(own.rows for own in taken)]))
            number, good = self._group_rows(rows, columns)
            if good.all():
                self.classes = [own for own in self.classes if own not in taken]
                self.left = rows
                self._take(columns, number, good)
                return
            if len(taken) > len(self.left):
                return

    def _join_classes(self) -> Release:
        made = self.made
        region_of, low, high = made.region_of.copy(), [made.low], [made.high]
        at = len(made.low)
        for own in self.classes:
            region_of[own.rows] = at
            cells = self._cells(own.rows[:1], own.columns)
            low.append(cells[0])
            high.append(cells[1])
            at += 1
        rows = sum(len(own.rows) for own in self.classes)
        starred = sum(len(own.rows) * len(own.columns) for own in self.classes)
        facts = {**made.facts, "rows_with_suppressed_cells": rows, "suppressed_cells": starred}
        for name in ("loss", "bound", "exact"):  # they are about one level per column for all rows
            facts.pop(name, None)
        facts["note"] = (
            f"{format_count(rows, 'row')} of small classes show the top of a column, mostly *, in "
            f'{format_count(starred, "cell")}, instead of being suppressed (suppress = "cells")'
        )
        if made.levels is not None:
            facts["base_levels"] = list(made.levels)
        return replace(
            made,
            region_of=region_of,
            low=np.concatenate(low),
            high=np.concatenate(high),
            levels=None,
            facts=facts,
        )


def reads_well(table: CodedTable, requirements: Requirements, release: Release) -> bool:
    """Return whether rows that show the same satisfy the models as one class: two classes may read alike."""
    from shoal.kernels.grouping import distinct

    rows = np.flatnonzero(release.region_of >= 0)
    if release.sets is not None:
        # Methods that list values give equal lists one region.
        return bool(requirements.holds_in(table.group_rows(release.region_of, len(release.low))).all())
    cells = np.asfortranarray(
        np.hstack([release.low, release.high])[release.region_of[rows]].astype(np.int32)
    )
    number, first = distinct(cells)
    return bool(requirements.holds_in(table.group_rows(number, len(first), rows)).all())


def loss_of(table: CodedTable, requirements: Requirements, release: Release) -> float:
    """Return the loss of a release by the measure of the policy, over all rows; suppressed ones lose everything."""
    from shoal.judging.measures import MEASURES

    measure = MEASURES[requirements.measure]()
    suppressed = int((release.region_of < 0).sum())
    sizes = np.bincount(release.region_of[release.region_of >= 0], minlength=len(release.low))
    if isinstance(measure, ClassMeasure):
        return float(measure.of_sizes(sizes, suppressed, requirements.k))
    if not isinstance(measure, CellMeasure):
        return float(suppressed)
    total = 0.0
    for j, attribute in enumerate(table.attributes):
        last = attribute.hierarchy.size - 1
        seen = table.value_counts[j] if measure.needs.original else np.ones(last + 1, np.int64)
        ends = (
            np.append(release.low[:, j], 0).astype(np.int32),
            np.append(release.high[:, j], last).astype(np.int32),
        )
        total += attribute.weight * float(measure.loss(attribute, seen, *ends) @ np.append(sizes, suppressed))
    return total
