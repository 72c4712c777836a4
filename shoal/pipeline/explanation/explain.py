"""`explain`: run a policy, then rerun it with one thing relaxed at a time, and say what each change would save."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal import io
from shoal.coding import CodedTable
from shoal.errors import ARGUMENTS, PolicyError, Problem
from shoal.io import Frame
from shoal.judging.measures import MEASURES
from shoal.pipeline.comparison.portfolio import with_method
from shoal.pipeline.explanation.explanation import NOT_TRIED, Cost, Explanation
from shoal.pipeline.explanation.relaxations import Relaxation, relaxations
from shoal.pipeline.explanation.try_policy import (
    TimeIsUpError,
    Tried,
    measure_of_costs,
    try_policy,
    until,
    without_column,
)
from shoal.pipeline.plan import Plan
from shoal.policy import Policy
from shoal.policy.adversaries import derivation
from shoal.policy.sources import apart
from shoal.release.received.read_earlier import encode_whole
from shoal.support.run import Progress, Run, check_seed, silent

SECONDS = 60.0
FIRST = 0.2
"""Share of the progress bar for the policy itself."""


def explain(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    population: Any = None,
    seconds: float = SECONDS,
    seed: int | None = None,
    progress: Progress = silent,
    **keywords: Any,
) -> Explanation:
    """Say why a release is as it is: what each requirement and each column costs, and what would help most.

    Makes the release of the policy, and then one more for each requirement relaxed by a step, for each
    quasi-identifier as if nobody could know it, and for another method or two; none is published. After `seconds`, the
    rest is not tried; the release of the policy itself is always made. With a seed the result is the same each time,
    unless time runs out. `str()` of the result says it in words.
    """
    if not seconds > 0:
        raise PolicyError([Problem("seconds", f"must be more than 0, not {seconds}")], where=ARGUMENTS)
    population, keywords = apart(population, keywords)
    chosen = Policy.given(policy, keywords)
    # One seed for all runs, so that they differ only by what is relaxed.
    seed = check_seed(seed)
    dice = secrets.randbits(128) if seed is None else seed
    plan = Plan.of(chosen)  # a method that cannot satisfy the policy on any data is a mistake, not a cost
    progress("read", 0.0)
    frame = io.read(chosen.source(source), chosen.read_options())
    table = encode_whole(frame, chosen, population)
    plan.on(table)  # so is a model that these columns cannot have
    measure = measure_of_costs(chosen)
    weights = {attribute.name: attribute.weight for attribute in table.attributes}
    own = until(float("inf"), progress, 0.02, FIRST)
    base = try_policy(table, chosen, measure, Run.start(dice, own), whole_weight=sum(weights.values()))
    if "choice" in base.facts:
        # The rest is about the chosen method, without choosing again.
        chosen = with_method(chosen, base.facts["method"], base.facts["options"])
    work = _Work(frame, table, population, measure, dice, progress, time.monotonic() + seconds)
    return Explanation(
        rows=table.rows,
        method=chosen.method.name,
        choice=str(base.facts.get("choice", "")),
        derivation=derivation(chosen.privacy),
        measure=measure,
        loss=base.loss,
        reasons=(base.reason,) if base.reason else (),
        losses=base.losses,
        weights=weights,
        analyses=base.analyses,
        suppressed=base.suppressed,
        classes=base.classes,
        buckets=base.buckets,
        costs=tuple(work.costs(relaxations(chosen), base)),
        seconds=seconds,
    )


@dataclass(frozen=True, eq=False)
class _Work:
    """All relaxations of one policy on one table, tried one after another."""

    frame: Frame
    table: CodedTable
    population: Any
    measure: str
    seed: int
    progress: Progress
    deadline: float

    def costs(self, found: list[Relaxation], base: Tried) -> Iterator[Cost]:
        """Try each, and compare it with the release of the policy as it is."""
        sign = 1.0 if MEASURES[self.measure].lower_is_better else -1.0
        for place, relaxed in enumerate(found):
            step = (1.0 - FIRST) / len(found)
            begin = FIRST + place * step
            won = None
            try:
                tried = self._try(relaxed, until(self.deadline, self.progress, begin, begin + step))
            except TimeIsUpError:
                tried = Tried(loss=None, reason=NOT_TRIED)
            if tried.loss is not None and base.loss is not None:
                won = sign * (base.loss - tried.loss)
            yield Cost(
                kind=relaxed.kind,
                what=relaxed.what,
                before=relaxed.before,
                after=relaxed.after,
                loss=tried.loss,
                won=won,
                reason=tried.reason,
                analyses=tried.analyses,
            )

    def _try(self, relaxed: Relaxation, progress: Progress) -> Tried:
        # The bar says "column: zip"; a trial without time left stops here.
        progress(relaxed.kind, 0.0)
        table = self.table
        if relaxed.kind == "column":
            table = without_column(table, relaxed.what)
        elif relaxed.what.startswith("limit of "):
            table = encode_whole(self.frame, relaxed.policy, self.population)
        weight = sum(attribute.weight for attribute in self.table.attributes)
        run = Run.start(self.seed, progress)
        return try_policy(table, relaxed.policy, self.measure, run, whole_weight=weight)
