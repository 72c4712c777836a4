"""One trial from beginning to end: make a release, read it back, verify, attack, measure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.coding import CodedTable
from shoal.errors import PolicyError, ShoalError
from shoal.judging.case import Case
from shoal.judging.measures import MEASURES
from shoal.methods.wrappers import propose_release
from shoal.pipeline.attack import attack_case
from shoal.pipeline.comparison.portfolio import PlannedAttack, in_words
from shoal.pipeline.comparison.trial import Outcome, Trial
from shoal.pipeline.plan import Plan
from shoal.policy import Policy
from shoal.release import Release
from shoal.release.results import plain
from shoal.release.verdict import Verdict
from shoal.support.run import Run
from shoal.support.wording import Advice


@dataclass(frozen=True)
class Task:
    """What a worker needs to know about a trial, besides the table."""

    policy: Policy
    """With the method, the options and the k of the trial."""
    attacks: tuple[PlannedAttack, ...]
    seed: int | None = None
    measure: str = MEASURES.default
    """The measure that ranks releases; it steers the method if it can."""
    keep: bool = False
    """Return the release, too."""

    @property
    def trial(self) -> Trial:
        """The trial before it runs."""
        method = self.policy.method
        return Trial(method=method.name, options=method.options(), k=self.policy.privacy.k)


def run_trial(table: CodedTable, task: Task) -> tuple[Trial, Release | None]:
    """Run one trial. Its status and reason report all failures; nothing is raised."""
    trial = replace(task.trial, rows=table.rows)
    start = time.perf_counter()
    try:
        return _try_method(table, task, trial)
    except ShoalError as error:
        words = str(error)
        reason = in_words(error) if isinstance(error, PolicyError) else Advice(" ".join(words.split()), words)
        taken = time.perf_counter() - start
        told = isinstance(error, PolicyError)
        return replace(trial, status="refused", reason=reason, reason_is_public=told, seconds=taken), None
    except Exception as error:
        # Only its kind: a message of a library may hold values of the data.
        reason = f"this is a bug in Shoal ({type(error).__name__})"
        taken = time.perf_counter() - start
        return replace(trial, status="failed", reason=reason, reason_is_public=True, seconds=taken), None


def _try_method(table: CodedTable, task: Task, trial: Trial) -> tuple[Trial, Release | None]:
    policy = task.policy
    run = Run.start(task.seed, division=policy.engine.division)
    start = time.perf_counter()
    plan = Plan.without_checks(policy).on(table)
    release = propose_release(plan.method, table, plan.requirements, run)
    trial = replace(trial, seconds=time.perf_counter() - start)
    try:
        case = plan.judge(table, release)
        verdicts = case.verdicts
    except ShoalError as error:
        # Shuffled rows may match nobody; models that count matching people cannot judge them then.
        reason = f"its release cannot be judged: {str(error).partition(';')[0]}"
        return replace(trial, status="failed", reason=reason), None
    trial = replace(
        trial,
        verdicts=tuple(_plain(verdict) for verdict in verdicts),
        suppressed=case.published.suppressed,
        classes=len(case.published.part_sizes),
    )
    if case.failing:
        return replace(trial, status="failed", reason=_violation(case.failing)), None
    outcomes, reason = _run_attacks(case, task, run)
    trial = replace(
        trial,
        attacks=outcomes,
        measures={
            **{name: float(value) for name, value in case.measure_with([task.measure]).items()},
            task.measure: float(MEASURES[task.measure]().value_for_comparison(case)),
        },
        losses={name: float(value) for name, value in case.losses.items()},
    )
    if reason:
        return replace(trial, status="failed", reason=reason), None
    return trial, release if task.keep else None


def _run_attacks(case: Case, task: Task, run: Run) -> tuple[tuple[Outcome, ...], str]:
    """Run the attacks; if a deciding one cannot run, that is a reason not to choose the release."""
    outcomes: list[Outcome] = []
    for planned in task.attacks:
        try:
            found = attack_case(case, planned.attack, planned.options, run)
        except ShoalError as error:
            if planned.decides:
                return tuple(outcomes), f"the attack {planned.attack} cannot run on it: {error}"
            continue
        outcomes.append(
            Outcome(
                attack=found.attack,
                adversary=found.adversary,
                success=plain(float(found.success)),
                baseline=plain(float(found.baseline)),
                at_risk=int(found.at_risk),
                people=len(found.chances),
                named=planned.named,
                decides=planned.decides,
                note="; ".join(found.notes),
            )
        )
    return tuple(outcomes), ""


def _plain(verdict: Verdict) -> Verdict:
    """A verdict as it reads back from a file."""
    values: dict[str, Any] = {name: plain(value) for name, value in vars(verdict).items()}
    return Verdict(**values)


def _violation(failing: Sequence[Verdict]) -> str:
    said = [f"{verdict.model} is not reached" + (f": {verdict.detail}" if verdict.detail else "")
            for verdict in failing]  # fmt: skip
    return "; ".join(said)
