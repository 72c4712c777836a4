"""One trial from beginning to end: make a release, read it back, verify, attack, measure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.comparing.portfolio import Attempt, in_words
from shoal.comparing.trial import Outcome, Trial
from shoal.errors import PolicyError, ShoalError
from shoal.linking.evidence import Evidence
from shoal.policy import Policy
from shoal.release import Release
from shoal.release.results import plain
from shoal.release.verdict import Verdict
from shoal.run import Run
from shoal.table import CodedTable


@dataclass(frozen=True)
class Task:
    """What a worker needs to know of a trial, besides the table."""

    policy: Policy
    """With the method, the options and the k of the trial."""
    attempts: tuple[Attempt, ...]
    seed: int | None = None
    keep: bool = False
    """Give the release back, too."""

    @property
    def trial(self) -> Trial:
        """The trial before anything is known of it."""
        method = self.policy.method
        return Trial(method=method.name, options=method.options(), k=self.policy.privacy.k)


def run_trial(table: CodedTable, task: Task) -> tuple[Trial, Release | None]:
    """Run one trial. Whatever goes wrong with it is told in its status and reason; nothing is raised."""
    trial = replace(task.trial, rows=table.rows)
    start = time.perf_counter()
    try:
        return _tried(table, task, trial)
    except ShoalError as error:
        reason = in_words(error) if isinstance(error, PolicyError) else " ".join(str(error).split())
        taken = time.perf_counter() - start
        told = isinstance(error, PolicyError)
        return replace(trial, status="refused", reason=reason, reason_is_public=told, seconds=taken), None
    except Exception as error:
        # Only its kind: a message of a library may hold values of the data.
        reason = f"Shoal made a mistake of its own ({type(error).__name__})"
        taken = time.perf_counter() - start
        return replace(trial, status="failed", reason=reason, reason_is_public=True, seconds=taken), None


def _tried(table: CodedTable, task: Task, trial: Trial) -> tuple[Trial, Release | None]:
    from shoal.auditing import measure, verify

    policy = task.policy
    requirements = policy.requirements([attribute.name for attribute in table.sensitive])
    run = Run.start(task.seed)
    start = time.perf_counter()
    release = policy.build_method().anonymize(table, requirements, run)
    trial = replace(trial, seconds=time.perf_counter() - start)
    try:
        evidence = Evidence.of_release(table, release, requirements.k)
        published, verdicts = evidence.published, verify(evidence, requirements)
    except ShoalError as error:
        # Shuffled rows may fit nobody, and rules about whom rows fit cannot judge them then.
        reason = f"what it publishes cannot be judged: {str(error).partition(';')[0]}"
        return replace(trial, status="failed", reason=reason), None
    trial = replace(
        trial,
        verdicts=tuple(_plain(verdict) for verdict in verdicts),
        suppressed=published.suppressed,
        classes=published.classes,
    )
    failing = [verdict for verdict in verdicts if not verdict.holds]
    if failing:
        return replace(trial, status="failed", reason=_violation(failing)), None
    outcomes, reason = _attacked(evidence, task, run)
    extra = [requirements.measure]
    measured = measure(evidence, requirements, extra)
    trial = replace(
        trial,
        attacks=outcomes,
        measures={name: float(value) for name, value in measured["measures"].items()},
        losses={name: float(value) for name, value in measured["losses"].items()},
    )
    if reason:
        return replace(trial, status="failed", reason=reason), None
    return trial, release if task.keep else None


def _attacked(evidence: Evidence, task: Task, run: Run) -> tuple[tuple[Outcome, ...], str]:
    """Try the attacks; a deciding one that cannot be tried is a reason not to choose the release."""
    from shoal.attacking import attempt

    outcomes: list[Outcome] = []
    for planned in task.attempts:
        try:
            found = attempt(evidence, task.policy, planned.attack, planned.options, run)
        except ShoalError as error:
            if planned.decides:
                return tuple(outcomes), f"the attack {planned.attack} cannot be tried on it: {error}"
            continue
        outcomes.append(
            Outcome(
                attack=found.attack,
                adversary=found.adversary,
                success=plain(float(found.success)),
                baseline=plain(float(found.baseline)),
                at_risk=int(found.at_risk),
                people=len(found.chances),
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
