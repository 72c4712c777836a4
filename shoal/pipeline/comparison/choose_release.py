"""The choice of `auto`: the release with the best value of the policy's measure that withstands its adversaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from shoal.coding import CodedTable
from shoal.errors import LimitError
from shoal.judging.measures import MEASURES
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.auto import Auto, check_methods
from shoal.pipeline.comparison.compare import Scope, compare_coded
from shoal.pipeline.comparison.comparison import Comparison
from shoal.pipeline.comparison.watch import Watch
from shoal.pipeline.plan import Plan
from shoal.policy import Policy
from shoal.release import Release
from shoal.support.run import Run
from shoal.support.wording import either

if TYPE_CHECKING:
    from shoal.pipeline.comparison.trial import Trial


def with_choice(plan: Plan) -> Plan:
    """Return the plan with a method that can run: `auto` chooses under the policy, others are as they are."""
    auto = plan.method
    if not isinstance(auto, Auto):
        return plan
    own = {entry.name: getattr(auto, entry.name) for entry in fields(auto)}
    return replace(plan, method=_AutoUnder(plan.policy, **own))


@dataclass(frozen=True)
class _AutoUnder(Auto):
    """`auto` with the policy under which it chooses."""

    policy: Policy

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Deliver the best release."""
        return _choose(self.policy, self, table, run)


def _choose(policy: Policy, auto: Auto, table: CodedTable, run: Run) -> Release:
    """Run all trials and return the best release. Takes as long as all of them together, divided by `jobs`."""
    # `auto` writes one file, so it does not try methods that publish two tables.
    asked = check_methods(auto.methods)
    wanted = [name for name in asked if not METHODS[name].shows.two_tables]
    best = _Best(policy)
    scope = Scope(wanted, auto.sets, auto.jobs, auto.seconds)
    compared = compare_coded(table, [policy], scope, run, watch=best)
    if best.trial is None or best.release is None:
        explain = either(command="`shoal explain`", python="`shoal.explain`")
        advice = (
            f"Ask for less: {explain} with the method that comes closest says what each requirement costs"
        )
        raise LimitError(_none(compared), advice)
    untried = [name for name in asked if name not in wanted]
    return replace(best.release, facts={**best.release.facts, **_choice(compared, best.trial, untried)})


class _Best(Watch):
    """The best trial so far, with its release; the others need not be kept."""

    keeps = True

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self._measure = policy.utility.measure
        self._lower = MEASURES[self._measure].lower_is_better
        self._place = -1
        self.trial: Trial | None = None
        self.release: Release | None = None

    def on_end(self, place: int, trial: Trial, release: Release | None) -> None:
        """Keep a trial if it is better than the best so far, or equally good and earlier in the plan."""
        held = () if self.trial is None else (self.trial,)
        both = (trial, *held) if place < self._place else (*held, trial)
        pair = Comparison(trials=both, adversaries=(), measure=self._measure, lower_is_better=self._lower)
        if release is not None and pair.best() is trial:
            self.trial, self.release, self._place = trial, release, place


def _choice(compared: Comparison, trial: Trial, untried: Sequence[str]) -> dict[str, Any]:
    """Return what the record says about the choice."""
    withstand = len(compared.candidates())
    value = trial.measures[compared.measure]
    others = len(compared.trials) - withstand
    words = (
        f"auto chose {trial.label}: {compared.measure} {value:.4g}, the best of {withstand} releases that satisfy the "
        "policy and withstand its adversaries"
        + (f"; {others} other trials gave no such release" if others else "")
        + "".join(f"; {reason}" for reason in _explain_passed_over(compared, trial, untried))
    )
    return {"method": trial.method, "options": dict(trial.options), "choice": words}


def _explain_passed_over(compared: Comparison, chosen: Trial, untried: Sequence[str]) -> Iterator[str]:
    """Explain why releases with less loss were not chosen."""
    least = compared.loss(chosen)
    for trial in compared.trials:
        if trial.holds and not trial.withstands and compared.loss(trial) < least:
            stronger = [one.attack for one in trial.attacks if one.decides and not one.holds]
            value = trial.measures[compared.measure]
            yield f"{trial.label} has {compared.measure} {value:.4g}, but does not withstand {', '.join(stronger)}"
    late = [trial.label for trial in compared.trials if trial.status == "timeout"]
    if late:
        yield f"stopped by the time limit: {', '.join(late)}"
    if untried:
        yield f"not tried, because it writes two tables: {', '.join(untried)}"


def _none(compared: Comparison) -> str:
    lines = ["no method made a release that satisfies the policy and withstands its adversaries"]
    for trial in compared.trials:
        exposed = [f"{o.at_risk:,} people are exposed to {o.attack}" for o in trial.attacks if not o.holds]
        lines.append(f"  {trial.label}: {trial.reason or '; '.join(exposed)}")
    return "\n".join(lines)
