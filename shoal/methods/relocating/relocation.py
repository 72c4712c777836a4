"""What methods that relocate share: variants, the budget, and the private account of it.

A relocated row shows a region that does not cover all of its own values. Nothing records which rows were relocated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import measures_that_steer
from shoal.judging.models.hybrid_k import (
    count_expected_rows,
    exact_tests,
    false_shares,
    size_test_levels,
    too_few,
    without_false_cells,
)
from shoal.judging.models.k_type import KType
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import FalseCells, Method, Parts
from shoal.release import Release
from shoal.support.arrays import IntMatrix, IntVector, LongVector

TESTED = ("statistical", "rstat")
"""Variants whose class sizes must pass the chi-squared test."""
DRAWN = ("randomized", "rstat")
"""Variants that draw at random, so that an adversary cannot repeat them."""
STRICTER = (0.2, 0.5, 0.9)
"""Significance levels of Pearson's test to try in turn where the exact test rejects a release."""
VARIANTS = ("deterministic", "randomized", "statistical", "rstat")


def check_options(
    variant: str, budget: float, alpha: float, measure: str = "", kinds: tuple[str, ...] = ()
) -> None:
    """Raise PolicyError with everything that is wrong with the options of a method that relocates."""
    from shoal.judging.measures import MEASURES

    problems = []
    if measure and measure not in MEASURES:
        problems.append(
            Problem("method.measure", f"there is no measure '{measure}'", did_you_mean(measure, MEASURES))
        )
    elif measure and MEASURES[measure].steers not in kinds:
        message = f"'{measure}' cannot steer this method"
        problems.append(
            Problem("method.measure", message, f"use one of {', '.join(measures_that_steer(kinds))}")
        )
    if variant not in VARIANTS:
        problems.append(Problem("method.variant", f"'{variant}' is unknown", did_you_mean(variant, VARIANTS)))
    if not 0 <= budget <= 1:
        hint = "0.01 allows one false cell in a hundred"
        problems.append(Problem("method.budget", f"must be a share of cells from 0 to 1, not {budget}", hint))
    if not 0 < alpha < 1:
        hint = "0.05 is a usual significance level"
        problems.append(Problem("method.alpha", f"must lie between 0 and 1, not {alpha}", hint))
    if problems:
        raise PolicyError(problems)


@dataclass(frozen=True, kw_only=True)
class Falsifying(Method):
    """A method that makes some cells false: they do not hold their owner's value."""

    @property
    def _unverifiable(self) -> str:
        return (
            f"{self.name} {self.false_cells.how}, which then match people who do not own them, so Shoal cannot verify "
            "who can be linked"
        )

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """Return a problem for each notion of k that counts matching people, which false cells would mislead."""
        return [
            Problem(
                "privacy.notion",
                f"{self._unverifiable}, and {model.name} asks for it",
                "ask for k without a notion or an adversary, or take another method",
            )
            for model in requirements.models
            if isinstance(model, KType)
        ]

    @property
    def cannot_stop(self) -> Mapping[str, Problem]:
        """False cells match people who do not own them."""
        hint = "ask for k and relocation without naming {0}, or take another method"
        return {
            name: Problem("method.name", self._unverifiable, hint.format(name))
            for name in ("knows-some", "knows-members", "knows-algorithm")
        }


@dataclass(frozen=True, kw_only=True)
class Relocating(Falsifying):
    """A method that may change cells within a budget."""

    false_cells: ClassVar[FalseCells] = FalseCells(
        how="relocates cells",
        moves_rows=True,
        single_values="as it is, but some cells do not hold the value of the person whose row it is",
    )
    parts: ClassVar[Parts | str] = "where false cells may go, and how many, is decided among all rows"

    variant: str = "deterministic"
    """``deterministic``: rows move to the closest group; ``randomized``: to a random one, against adversaries who know
    the algorithm; ``statistical``: as deterministic, but group sizes must pass a chi-squared test, against adversaries
    who know the true distribution; ``rstat``: both."""
    budget: float = 0.01
    """Largest share of quasi-identifier cells that may be changed."""
    alpha: float = 0.05
    """Significance level of the chi-squared test in the statistical variants."""

    def allowance(self, table: CodedTable, requirements: Requirements) -> Allowance:
        """Return how far relocation may go: as far as the options and the policy allow, whichever is less."""
        budgets = false_shares(requirements.models)
        levels = size_test_levels(requirements.models)
        return Allowance.of(table, self.variant, min([self.budget, *budgets]), max([self.alpha, *levels]))

    def make_tested(
        self, table: CodedTable, requirements: Requirements, make: Callable[[Allowance], Release]
    ) -> Release:
        """Return what `make` proposes. In the statistical variants it must pass the test that the policy asks for, and
        says if its groups are too small for it.

        Searches know only the chi-squared distribution. If the policy asks for the exact test and that rejects, they
        repeat with a stricter level, and in the end without relocation.
        """
        allowance = self.allowance(table, requirements)
        release = make(allowance)
        if allowance.alpha is None:
            return release
        exact = exact_tests(requirements.models)
        for level in (*STRICTER, None) if exact else ():
            evidence = Evidence.of_release(table, release)
            if all(model.verify(evidence).holds for model in exact):
                return release
            stricter = max(allowance.alpha, level or 1)
            release = make(replace(allowance, alpha=stricter) if level else replace(allowance, cells=0))
        few = "" if exact else too_few(count_expected_rows(Evidence.of_release(table, release)))
        notes = [note for note in (release.facts.get("note"), few) if note]
        return replace(release, facts={**release.facts, "note": "; ".join(notes)}) if few else release


@dataclass(frozen=True)
class Allowance:
    """How far relocation may go in one table."""

    cells: int
    """How many cells may change."""
    alpha: float | None
    """Significance level at which the chi-squared test must accept group sizes; None if only cells count."""
    randomized: bool
    """Targets and numbers of rows are random, so that an adversary who knows the algorithm cannot repeat it."""

    @classmethod
    def of(cls, table: CodedTable, variant: str, budget: float, alpha: float) -> Allowance:
        """Resolve the options of a method against a table."""
        cells = int(np.floor(budget * table.rows * len(table.attributes) + 1e-9))
        return cls(cells, alpha if variant in TESTED else None, variant in DRAWN)

    def limit(self, groups: int) -> float:
        """Return the largest chi-squared statistic allowed with this many groups."""
        return np.inf if self.alpha is None else critical(groups - 1, self.alpha)


def group_rules(requirements: Requirements, measure: str = "") -> Requirements:
    """Return the requirements that steer a search, including the k of hybrid k-anonymity.

    The budget of the method limits false cells; they are verified afterwards like everything else.
    """
    rules = without_false_cells(requirements.models)
    return replace(requirements, models=rules, measure=measure or requirements.measure)


def critical(degrees: int, alpha: float) -> float:
    """Return the value that a chi-squared statistic exceeds with probability alpha; 0 without degrees of freedom."""
    from scipy.special import chdtri

    return float(chdtri(degrees, alpha)) if degrees > 0 else 0.0


def tail(degrees: int, chi: float) -> float:
    """Return the probability of at least this chi-squared statistic by chance; 1 without degrees of freedom."""
    from scipy.special import chdtrc

    if degrees <= 0:
        return 1.0 if chi <= 0 else 0.0
    return float(chdtrc(degrees, max(chi, 0.0)))


def count_false_cells(
    codes: IntMatrix, region_of: IntVector, low: IntMatrix, high: IntMatrix
) -> tuple[LongVector, int]:
    """Count, per column, the cells whose range does not cover the row's own value, and the rows with such a cell.

    Rows of region -1 are not published, so they have no false cells. O(rows x columns).
    """
    kept = region_of >= 0
    regions = region_of[kept]
    rows = np.zeros(len(regions), np.bool_)
    counts = np.zeros(codes.shape[1], np.int64)
    for j in range(codes.shape[1]):
        own = codes[kept, j]
        outside = (own < low[regions, j]) | (own > high[regions, j])
        counts[j] = np.count_nonzero(outside)
        rows |= outside
    return counts, int(np.count_nonzero(rows))


def account(
    table: CodedTable, release: Release, allowance: Allowance, chi: float, degrees: int
) -> dict[str, Any]:
    """Return what the private record says about relocation: only counts, never which rows."""
    counts, rows = count_false_cells(table.quasi.wide, release.region_of, release.low, release.high)
    cells = int(counts.sum())
    return {
        "relocated_rows": rows,
        "changed_cells": cells,
        "changed_share": cells / max(table.rows * len(table.attributes), 1),
        "budget_cells": allowance.cells,
        "budget_used": cells / allowance.cells if allowance.cells else 0.0,
        "changed_by_column": {a.name: int(c) for a, c in zip(table.attributes, counts, strict=True)},
        "chi_squared": chi,
        "degrees_of_freedom": degrees,
        "p_value": tail(degrees, chi),
    }
