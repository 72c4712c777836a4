"""Microaggregation: groups of at least k close rows, each of which shows the group's mean, median or mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import LimitError, PolicyError, Problem, did_you_mean
from shoal.judging.models.delta_presence import presence_models
from shoal.judging.models.hybrid_k import false_shares, size_test_levels
from shoal.judging.models.requirements import Requirements
from shoal.methods.aggregating.row_coordinates import Coordinates, coordinates, find_numbers, is_number
from shoal.methods.clustering.cluster_classes import join_failing_clusters, number_clusters, select_rows
from shoal.methods.clustering.clusters import collapse
from shoal.methods.method import CLASSES_OF_PARTS, FalseCells, Parts
from shoal.methods.relocating.relocation import Falsifying, count_false_cells, group_rules
from shoal.release import Release
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.run import Run
from shoal.support.wording import format_setting

GROUPINGS = ("auto", "mdav", "projection")
SHOWN = ("mean", "median")


@dataclass(frozen=True, kw_only=True)
class Microaggregation(Falsifying):
    """Groups of k to 2k - 1 close rows; all rows of a group show the same values, so classes have k rows.

    A number shows the value of the column that is closest to the group's mean, or the group's median; a category shows
    the group's most frequent one. So every cell shows a value of some published row, and columns keep their types.
    """

    name: ClassVar[str] = "microaggregation"
    summary: ClassVar[str] = (
        "shows the mean of k close rows instead of a range: numbers stay numbers, but most cells are false"
    )
    paper: ClassVar[str] = (
        "Domingo-Ferrer and Torra: Ordinal, Continuous and Heterogeneous k-Anonymity through Microaggregation, "
        "DMKD 2005; Hansen and Mukherjee: A Polynomial Algorithm for Optimal Univariate Microaggregation, TKDE 2003"
    )
    false_cells: ClassVar[FalseCells] = FalseCells(
        how="shows means of groups in place of values",
        share=1.0,
        single_values="as the mean, median or most frequent value of a group of close rows",
    )
    parts: ClassVar[Parts | str] = Parts(
        why=CLASSES_OF_PARTS,
        whole=60_000,
        rows=20_000,
        memory=400,
        sums=("suppressed", "clusters", "false_cells"),
        same=("published_as", "budget_share"),
    )

    grouping: str = "auto"
    """``mdav``: rows far from the centre take their nearest; ``projection``: the best groups along the line on which
    rows differ most, which is the optimum for one column of numbers; ``auto``: that for one column, else MDAV."""
    aggregate: str = "mean"
    """What a number shows: ``mean``, the value of the column closest to it, or ``median``."""

    def __post_init__(self) -> None:
        problems = [
            Problem(f"method.{option}", f"'{chosen}' is unknown", did_you_mean(str(chosen), names))
            for option, chosen, names in [
                ("grouping", self.grouping, GROUPINGS),
                ("aggregate", self.aggregate, SHOWN),
            ]
            if chosen not in names
        ]
        if problems:
            raise PolicyError(problems)

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """Return what does not go together with cells that are mostly false."""
        found = super().problems_with(requirements, sensitive)
        models = requirements.models
        if not false_shares(models):
            permit = format_setting("privacy.relocation.budget", 1.0)
            message = f"{self.name} {self.false_cells.how}, and the policy allows no false cells"
            found.append(Problem("privacy.relocation.budget", message, "to allow any share: " + permit))
        if size_test_levels(models):
            message = (
                f"{self.name} gives every class one combination of values, so no test of sizes accepts it"
            )
            found.append(Problem("privacy.relocation.alpha", message, "leave it out, or take another method"))
        if presence_models(models):
            message = f"{self.name} {self.false_cells.how}, and presence is judged by cells that are true"
            found.append(Problem("privacy.presence", message, "leave it out, or take another method"))
        found += [
            Problem(
                f"privacy.{model.key.name}",
                f"{self.name} {self.false_cells.how}, and {model.name} counts the people of a population who match "
                "them",
                "leave it out, or take another method",
            )
            for model in models
            if model.by_cells and model.needs_population()
        ]
        return found

    @property
    def divides(self) -> Parts | str:
        """The best groups along a line are those of the whole table, and take little time."""
        return (
            "the best groups along a line are found at once" if self.grouping == "projection" else self.parts
        )

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Group, let the models judge, and aggregate. A group that fails a model joins its nearest neighbours.

        O(rows^2 / k x columns) by MDAV, O(rows x (k + log rows)) along a line.
        """
        rules = group_rules(requirements)
        k = rules.k
        kept, dropped = select_rows(table, rules)
        placed = coordinates(table)
        group_of = np.full(table.rows, -1, np.int32)
        groups, blocks = 0, table.block_of[kept]
        for block in np.unique(blocks):
            rows = kept[blocks == block]
            run.progress("group", float(groups * k) / max(len(kept), 1))
            own = self._groups(placed.of(rows), min(k, len(rows)))
            group_of[rows] = own + groups
            groups += int(own.max()) + 1
        if not rules.plain_k(table):
            group_of = join_failing_clusters(table, collapse(table, rules.measure), group_of, rules)
        region_of, count = number_clusters(group_of)
        shown = aggregates(table, region_of, count, self.aggregate)
        changed = count_false_cells(table.quasi.wide, region_of, shown, shown)[0]
        false, cells = int(changed.sum()), table.rows * len(table.attributes)
        self._check_budget(table, requirements, false)
        facts: dict[str, Any] = {
            "suppressed": dropped,
            "clusters": count,
            "false_cells": false,
            "false_share": false / max(cells, 1),
            "changed_by_column": {a.name: int(c) for a, c in zip(table.attributes, changed, strict=True)},
            "budget_share": _budget(requirements),
            "published_as": {"quasi": self.false_cells.single_values},
            "variance_lost": variance_lost(placed, region_of, count),
        }
        return Release(region_of, shown, shown.copy(), relocated=True, facts=facts)

    def _groups(self, placed: Coordinates, k: int) -> IntVector:
        """Return the group of each row."""
        from shoal.kernels.microaggregation import best_cuts, mdav

        if k <= 1:
            return np.arange(len(placed), dtype=np.int32)
        numbers = len(placed.labels) == 0 and placed.in_order == len(placed.points)
        if self.grouping == "projection" and not numbers:
            raise LimitError(
                "grouping = projection needs numbers or dates without empty cells in all quasi-identifiers",
                "Take grouping = mdav",
            )
        if self.grouping == "mdav" or not numbers or (self.grouping == "auto" and len(placed.points) > 1):
            found: IntVector = mdav(placed.points, placed.labels, placed.weights, placed.starts, k)
            return found
        line = placed.project_to_line()
        order = np.argsort(line, kind="stable")
        starts = best_cuts(line[order], k)
        out = np.empty(len(line), np.int32)
        out[order] = np.searchsorted(starts, np.arange(len(line)), side="right") - 1
        return out

    def _check_budget(self, table: CodedTable, requirements: Requirements, false: int) -> None:
        """Refuse before anything is written; a part does not know how many cells of other parts are false."""
        budget = _budget(requirements)
        share = false / max(table.rows * len(table.attributes), 1)
        enough = float(np.ceil(100 * share) / 100)
        if table.counting.whole is None and share > budget + 1e-9:
            raise LimitError(
                f"{false:,} cells would be false, {100 * share:.4g} % of all, and the policy allows "
                f"{100 * budget:.4g} %",
                "Allow more: "
                + format_setting("privacy.relocation.budget", enough)
                + "; or take another method",
            )


def _budget(requirements: Requirements) -> float:
    """Return the share of cells that may be false."""
    return min(false_shares(requirements.models), default=1.0)


def aggregates(table: CodedTable, region_of: IntVector, groups: int, show: str) -> IntMatrix:
    """Return the code that each group shows in each column: one that some published row has. O(rows log rows)."""
    rows = np.flatnonzero(region_of >= 0)
    group = region_of[rows].astype(np.int64)
    out = np.empty((groups, len(table.attributes)), np.int32)
    for j, attribute in enumerate(table.attributes):
        tree, codes = attribute.hierarchy, table.quasi.narrow[j][rows].astype(np.int64)
        pairs, counts = np.unique(group * tree.size + codes, return_counts=True)
        of, code = pairs // tree.size, pairs % tree.size
        there = find_numbers(tree) if is_number(tree) else tree.leaves.is_not_null().to_numpy()
        inside = there[codes]
        sizes = np.bincount(group, minlength=groups)
        numbers = np.bincount(group[inside], minlength=groups)
        some = 2 * numbers >= sizes
        # The most frequent code of each group, the lowest among equals: a value, unless most of its cells are empty.
        fits = there[code] == some[of]
        of, code, counts = of[fits], code[fits], counts[fits]
        rank = np.lexsort((code, -counts, of))
        out[:, j] = code[rank][np.searchsorted(of[rank], np.arange(groups))]
        if not is_number(tree):
            continue
        own, values = group[inside], codes[inside]
        assert tree.positions is not None
        if show == "median":
            rank = np.lexsort((values, own))
            middle = np.cumsum(numbers) - numbers + np.maximum(numbers - 1, 0) // 2
            out[some, j] = values[rank][middle[some]] if len(values) else out[some, j]
        elif len(values):
            out[some, j] = _closest(tree.positions, values, own, numbers)[some]
    return out


def _closest(positions: FloatVector, codes: LongVector, group: LongVector, numbers: LongVector) -> LongVector:
    """Return, per group, the code whose value is closest to the mean of its own, the lower of two; some row has it, and
    it lies between the ends of the group. O(rows + groups log codes).
    """
    there = np.unique(codes)
    line = positions[there]
    # Relative to the first: sums of large numbers, such as dates, lose digits.
    line, base = line - line[0], line[0]
    mean = np.bincount(group, positions[codes] - base, len(numbers)) / np.maximum(numbers, 1)
    above = np.clip(np.searchsorted(line, mean), 0, len(line) - 1)
    below = np.maximum(above - 1, 0)
    nearer = np.where(mean - line[below] <= line[above] - mean, below, above)
    found: LongVector = there[nearer]
    return found


def variance_lost(placed: Coordinates, region_of: IntVector, groups: int) -> float:
    """Return the variance within groups as a share of all, as the literature measures it: means need not be values of
    the table. Over numbers and dates without empty cells; NaN if there are none. O(rows x columns).
    """
    inside = region_of >= 0
    points = placed.points[: placed.in_order][:, inside]
    own = region_of[inside]
    sizes = np.maximum(np.bincount(own, minlength=groups), 1)
    within = total = 0.0
    for column in points:
        mean = np.bincount(own, column, groups) / sizes
        within += float(((column - mean[own]) ** 2).sum())
        total += float(((column - column.mean()) ** 2).sum())
    return within / total if total > 0 else float("nan")
