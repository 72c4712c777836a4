"""Any suitable method, made to keep k over each set of columns that an adversary may know (`[privacy.keys]`).

Methods that choose one level per column get the best levels for these sets, with cells or rows suppressed where that
loses less. Other methods by classes work on each group of columns whose sets overlap, and their releases are joined:
classes of k rows over all columns of a group have k rows over each set within it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import InfeasibleError, LimitError, PolicyError, Problem
from shoal.judging.linking.key_matches import Chosen
from shoal.judging.measures.measure import CellMeasure
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods.cell_suppression import loss_of
from shoal.methods.full_domain.key_levels import Answer, LevelCounts, LevelSearch
from shoal.methods.full_domain.objective import objective
from shoal.methods.key_cells import Shown
from shoal.methods.method import Method
from shoal.methods.partitioning.windows import SETS
from shoal.release import Release
from shoal.support.arrays import FloatVector, IntMatrix, LongVector
from shoal.support.run import Run
from shoal.support.wording import format_count, number

Propose = Callable[[Method, CodedTable, Requirements, Run], Release]

SPARED = (0.3, 0.2, 0.1, 0.05, 0.02, 0.005)
"""Shares of rows that may fail in each set before cells or rows are suppressed; the least loss wins."""
PARTS = (1.0, 0.3, 0.1, 0.03, 0.01)
"""The same as parts of the share of rows that may be suppressed: rows that fail in different sets add up."""
TRIAL = 0.05
"""The part of the time for the levels of each share."""
SECONDS = 60.0
"""How long levels are searched, unless the method says so."""


def keys_problems(method: Method, requirements: Requirements) -> list[Problem]:
    """Return why a method cannot serve adversaries who know few columns, each with what to do."""
    from shoal.judging.measures import MEASURES

    keys = requirements.known_sets
    if keys is None or method.can.delegate:
        return []
    problems = []
    hint = 'use "full-domain", with suppress = "cells" or "rows"'
    searches = method.can.search_mappings
    shows = method.shows
    if (
        shows.notions
        or shows.buckets
        or method.false_cells.how
        or method.can.presence_only
        or shows.two_tables
    ):
        message = f"{method.name} does not make equivalence classes of true cells, which privacy.keys needs"
        problems.append(Problem("method.name", message, hint))
    elif not searches and keys.any:
        message = f"{method.name} can only keep k over all columns together, and privacy.keys.any asks for much less"
        problems.append(
            Problem("method.name", message, f"{hint}, or name the sets, or leave out privacy.keys")
        )
    if getattr(method, "show", "") == SETS:
        message = "value sets are not joined over sets of columns"
        problems.append(Problem("method.show", message, 'use show = "ranges"'))
    if searches and not issubclass(MEASURES[requirements.measure], CellMeasure):
        message = f"{requirements.measure} is about classes, and with privacy.keys cells are counted"
        problems.append(Problem("utility.measure", message, f"use for example {MEASURES.default}"))
    if requirements.uniform:
        message = "is not available together with privacy.keys"
        problems.append(Problem("utility.levels", message, "leave one of them out"))
    return problems


def release_for_keys(
    propose: Propose, method: Method, table: CodedTable, requirements: Requirements, run: Run
) -> Release:
    """Return a release in which k holds over each set of columns."""
    problems = keys_problems(method, requirements)
    if problems:
        raise PolicyError(problems)
    keys = requirements.known_sets
    assert keys is not None
    sets = keys.among([attribute.name for attribute in table.attributes])
    if method.can.search_mappings:
        seconds = float(getattr(method, "seconds", SECONDS))
        return _Levels(table, requirements, sets, seconds, run).release()
    return _join_groups(propose, method, table, requirements, sets, run)


class _Levels:
    """The search for levels, and what is suppressed at them."""

    def __init__(
        self, table: CodedTable, requirements: Requirements, sets: Sequence[Chosen], seconds: float, run: Run
    ) -> None:
        self.table, self.requirements, self.sets, self.run = table, requirements, sets, run
        cost = objective(table, requirements)
        self.k, self.unit = requirements.k, cost.unit
        self.losses = cost.shown
        self.counts = LevelCounts(table, self.k)
        self.search, self.seconds = LevelSearch(self.counts, sets, self.losses, run), seconds
        self.prices = _prices(table, requirements)

    def release(self) -> Release:
        """Return the release with the least loss: at the levels that fail nowhere, or at lower ones with some cells or
        rows suppressed.
        """
        cells = self.requirements.suppress == "cells"
        most = self.requirements.suppressible(self.table.rows)
        shares = SPARED if cells else tuple(share * self.requirements.suppression for share in PARTS)
        answers: dict[tuple[int, ...], Answer] = {}
        for share in shares if cells or most else ():
            found = self._best_levels(int(share * self.table.rows), TRIAL)
            if found is not None:
                answers.setdefault(found.levels, found)
        exact = self._best_levels(0, TRIAL if cells else 1.0)
        best, least = None, np.inf
        if exact is not None:
            answers.pop(exact.levels, None)
            best = self._at_levels(exact, np.arange(self.table.rows), None)
            least = loss_of(self.table, self.requirements, best)
        for answer in sorted(answers.values(), key=lambda own: own.loss):
            made = self._suppressed(answer, cells, most, least)
            loss = np.inf if made is None else loss_of(self.table, self.requirements, made)
            if loss < least:
                best, least = made, loss
        if best is None:
            raise LimitError(self._explain_failure())
        return best

    def _best_levels(self, spared: int, part: float) -> Answer | None:
        """Return the best levels, searched for a part of the time; None if even the highest fail for more rows."""
        heights = self.counts.heights
        if any(self.counts.short(own, tuple(heights[j] for j in own)) > spared for own in self.sets):
            return None
        return self.search.best(spared, part * self.seconds)

    def _explain_failure(self) -> str:
        """Say what fails at the highest levels."""
        heights = self.counts.heights
        worst, own = max((self.counts.short(own, tuple(heights[j] for j in own)), own) for own in self.sets)
        columns = " and ".join(self.table.attributes[j].name for j in own)
        return (
            f"even at the highest allowed levels, {format_count(worst, 'row')} share {columns} with fewer than "
            f"{self.k:,} rows, and all rows that fail in some set are more than may be suppressed: loosen the limits "
            "of these columns"
        )

    def _suppressed(self, answer: Answer, cells: bool, most: int, least: float) -> Release | None:
        """Suppress what fails at some levels; None if too much would be."""
        nodes, spans = [], []
        for j, attribute in enumerate(self.table.attributes):
            starts = attribute.hierarchy.levels[answer.levels[j]].starts
            codes = self.table.quasi.narrow[j]
            nodes.append((np.searchsorted(starts, codes, side="right") - 1).astype(np.int32))
            spans.append(len(starts))
        shown = Shown(nodes, spans, self.sets, self.k)
        if not cells:
            return self._at_levels(answer, shown.rows, None) if shown.drop_rows(most, self.run) else None
        tops = [len(attribute.hierarchy.levels[-1].starts) for attribute in self.table.attributes]
        if max(tops) > 1:
            return None  # The tops of limited columns differ from row to row.
        prices = [own[level] for own, level in zip(self.prices, answer.levels, strict=True)]
        if not shown.star_cells(prices, self.run, least):
            return None
        return self._at_levels(answer, shown.rows, shown.stars.T)

    def _at_levels(self, answer: Answer, rows: LongVector, stars: Any) -> Release:
        """Return the release at some levels; cells with stars show the top."""
        from shoal.kernels.grouping import distinct

        table = self.table
        low: IntMatrix = np.empty((table.rows, len(table.attributes)), np.int32, order="F")
        high: IntMatrix = np.empty_like(low)
        for j, attribute in enumerate(table.attributes):
            codes, tree = table.quasi.narrow[j], attribute.hierarchy
            low[:, j], high[:, j] = tree.low[answer.levels[j], codes], tree.high[answer.levels[j], codes]
            if stars is not None:
                low[stars[:, j], j], high[stars[:, j], j] = 0, tree.size - 1
        box_of, first = distinct(np.asfortranarray(np.hstack([low, high])[rows]))
        region_of = np.full(table.rows, -1, np.int32)
        region_of[rows] = box_of
        facts: dict[str, Any] = {"checked": answer.counted, "sets of columns": len(self.sets)}
        levels: tuple[int, ...] | None = answer.levels
        if stars is not None:
            count, wiped = int(stars.sum()), int(stars.any(axis=1).sum())
            facts |= {"suppressed_cells": count, "rows_with_suppressed_cells": wiped}
            facts["base_levels"] = list(answer.levels)
            facts["note"] = (
                f"{format_count(wiped, 'row')} show `*` in {format_count(count, 'cell')}, where fewer than {self.k:,} "
                "rows were alike in some set of columns"
            )
            levels = None
        elif len(rows) == table.rows:
            facts |= {"loss": answer.loss * self.unit, "bound": answer.bound * self.unit}
            facts["exact"] = answer.bound >= answer.loss - 1e-9
            if not facts["exact"]:
                facts["note"] = (
                    "the levels are the best that Shoal found in time; none loses less than "
                    f"{number(answer.bound * self.unit)}"
                )
        chosen = rows[first]
        return Release(region_of, low[chosen].copy("C"), high[chosen].copy("C"), levels, facts=facts)


def _prices(table: CodedTable, requirements: Requirements) -> list[list[FloatVector]]:
    """Return ``[column][level][node]`` what a cell loses more if it shows the top."""
    from shoal.judging.measures import MEASURES

    measure = MEASURES[requirements.measure]()
    assert isinstance(measure, CellMeasure)
    found = []
    for counts, attribute in zip(table.value_counts, table.attributes, strict=True):
        tree = attribute.hierarchy
        seen = counts if measure.needs.original else np.ones_like(counts)
        last = tree.size - 1
        top = float(measure.loss(attribute, seen, np.zeros(1, np.int32), np.full(1, last, np.int32))[0])
        each = []
        for level, nodes in enumerate(tree.levels):
            ends = tree.low[level, nodes.starts], tree.high[level, nodes.starts]
            own = attribute.weight * (top - measure.loss(attribute, seen, *ends))
            # The last place is `*` itself, which costs nothing more.
            each.append(np.append(np.maximum(own, 0.0), 0.0))
        found.append(each)
    return found


def _groups_of_columns(sets: Sequence[Chosen]) -> list[list[int]]:
    """Return the columns of sets that overlap, directly or through others."""
    groups: list[set[int]] = []
    for own in map(set, sets):
        own = own.union(*(group for group in groups if group & own))
        groups = [group for group in groups if not group & own] + [own]
    return sorted(sorted(group) for group in groups)


def _join_groups(
    propose: Propose,
    method: Method,
    table: CodedTable,
    requirements: Requirements,
    sets: Sequence[Chosen],
    run: Run,
) -> Release:
    """Let the method work on each group of columns, and show each row what it shows in all of them. Columns in no set
    are known to nobody, so they are shown as they are.
    """
    from shoal.kernels.grouping import distinct

    low: IntMatrix = np.empty((table.rows, len(table.attributes)), np.int32, order="F")
    high: IntMatrix = np.empty_like(low)
    for j, attribute in enumerate(table.attributes):
        codes, tree = table.quasi.narrow[j], attribute.hierarchy
        low[:, j], high[:, j] = tree.low[0, codes], tree.high[0, codes]
    inner = replace(requirements, models=(KAnonymity(k=requirements.k),), suppression=0.0, suppress="rows")
    groups = _groups_of_columns(sets)
    for columns in groups:
        part = replace(table, quasi=table.quasi.select(columns))
        try:
            made = propose(method, part, inner, run)
        except InfeasibleError as error:
            raise LimitError(str(error)) from None
        low[:, columns], high[:, columns] = made.low[made.region_of], made.high[made.region_of]
    region_of, first = distinct(np.asfortranarray(np.hstack([low, high])))
    facts = {"groups of columns": len(groups)}
    return Release(region_of, low[first].copy("C"), high[first].copy("C"), facts=facts)
