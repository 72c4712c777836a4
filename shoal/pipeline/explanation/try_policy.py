"""One policy tried on a coded table: the loss of the release, or why there is none. Its rows are not kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import ShoalError
from shoal.judging.measures import MEASURES, CellMeasure
from shoal.judging.measures.evaluate import measure_analyses
from shoal.judging.measures.measure import SizeMeasure
from shoal.pipeline.plan import Plan
from shoal.pipeline.steps import propose
from shoal.policy import Policy
from shoal.support.run import Progress, Run


class TimeIsUpError(Exception):
    """Raised inside a method, where it is safe to stop, when no time is left."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """The result of one policy."""

    loss: float | None
    """By the measure that is explained; None if there is no release."""
    reason: str = ""
    """Why there is none."""
    losses: Mapping[str, float] = field(default_factory=dict)
    """Per quasi-identifier, by LM."""
    analyses: Mapping[str, float] = field(default_factory=dict)
    """The measures of analyses that the policy names, as far as people are shown them."""
    suppressed: int = 0
    classes: int | None = 0
    buckets: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def measure_of_costs(policy: Policy) -> str:
    """Return the measure of the costs: the policy's if it is about cells or classes, else LM."""
    name = policy.utility.measure
    known = issubclass(MEASURES[name], CellMeasure | SizeMeasure)
    return name if known else MEASURES.default


def try_policy(table: CodedTable, policy: Policy, measure: str, run: Run, *, whole_weight: float) -> Tried:
    """Make a release, verify it, and measure it. Takes as long as the method.

    `whole_weight` is the weight of all quasi-identifiers of the policy that is explained: a column that is published as
    it is loses nothing, but it still counts in the mean.
    """
    try:
        plan = Plan.of(policy).on(table)
        release = propose(plan, table, run)
        run.progress("verify", 0.8)
        case = plan.judge(table, release)
        failing = case.failing
    except ShoalError as error:
        return Tried(loss=None, reason=str(error))
    if failing:
        return Tried(loss=None, reason=f"{failing[0].model} was not reached")
    kind = MEASURES[measure]()
    value = kind.value(case)
    if isinstance(kind, CellMeasure) and not kind.total:
        value *= sum(attribute.weight for attribute in table.attributes) / whole_weight
    if not np.isfinite(value):
        return Tried(loss=None, reason=f"{measure} cannot be measured on this release")
    return Tried(
        loss=float(value),
        losses=case.losses,
        analyses=measure_analyses(case),
        suppressed=case.published.suppressed,
        classes=case.published.public_classes,
        buckets=case.published.buckets,
        facts=release.facts,
    )


def without_column(table: CodedTable, name: str) -> CodedTable:
    """Return the table as if nobody could know this quasi-identifier."""
    kept = [j for j, attribute in enumerate(table.attributes) if attribute.name != name]
    population = table.context.population
    if population is not None:
        table = table.with_context(population=np.asfortranarray(population[:, kept]))
    columns = tuple(column for column in table.columns if column != name)
    return replace(table, quasi=table.quasi.select(kept), columns=columns)


def until(deadline: float, progress: Progress, begin: float, end: float) -> Progress:
    """Show the progress of one attempt as a share of the whole, and stop it when no time is left."""

    def step(stage: str, share: float) -> None:
        if time.monotonic() > deadline:
            raise TimeIsUpError
        progress(stage, begin + (end - begin) * min(max(share, 0.0), 1.0))

    return step
