"""`auto`: the best release by the policy's measure among those that withstand the adversaries of the policy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import InfeasibleError, PolicyError, Problem, ShoalBug
from shoal.methods.base import Method
from shoal.models.requirements import Requirements
from shoal.release import Release
from shoal.run import Run
from shoal.table import CodedTable

if TYPE_CHECKING:
    from shoal.comparing.comparison import Comparison
    from shoal.comparing.trial import Trial
    from shoal.policy import Policy


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """Tries every method that applies, and takes the release that loses least of those that withstand.

    The very release that was verified, attacked and measured is delivered; nothing is drawn again.
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "tries every method that applies, and takes the best release that withstands"
    paper: ClassVar[str] = "none: a choice among the others"

    methods: tuple[str, ...] = ()
    """Which methods to try; none named: all."""
    sets: bool = False
    """Try releases whose cells list values instead of naming nodes of the hierarchies, too."""
    seconds: float = 120.0
    """A method that takes longer is stopped, and not chosen."""
    jobs: int = 1
    """How many methods run at a time."""
    policy: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from shoal.comparing.portfolio import check_methods

        object.__setattr__(self, "methods", tuple(self.methods))
        problems = []
        if not self.seconds > 0:
            problems.append(Problem("method.seconds", f"must be more than 0, not {self.seconds}"))
        if self.jobs < 1:
            problems.append(Problem("method.jobs", f"must be at least 1, not {self.jobs}"))
        try:
            check_methods(self.methods)
        except PolicyError as error:
            problems += [Problem("method.methods", p.message, p.hint) for p in error.problems]
        if problems:
            raise PolicyError(problems)

    def under(self, policy: Policy) -> Auto:
        """Return the method with the policy whose adversaries and measure decide."""
        bound = replace(self)
        object.__setattr__(bound, "policy", policy)
        return bound

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Run all trials and deliver the best release. As long as all of them together, over `jobs`."""
        from shoal.comparing.compare import compare_coded
        from shoal.comparing.portfolio import check_methods
        from shoal.methods import METHODS

        if self.policy is None:
            raise ShoalBug("auto was not told the policy")
        # Whoever asked for one file gets one.
        wanted = [name for name in check_methods(self.methods) if not METHODS[name].two_tables]
        best = _Best(self.policy)
        compared = compare_coded(
            table,
            [self.policy],
            wanted,
            sets=self.sets,
            jobs=self.jobs,
            seconds=self.seconds,
            seed=run.seed,
            keep=best.offer,
            progress=run.progress,
        )
        if best.trial is None or best.release is None:
            raise InfeasibleError(_none(compared))
        return replace(best.release, facts={**best.release.facts, **_choice(compared, best.trial)})


class _Best:
    """The best trial so far, with its release; the others need not be kept."""

    def __init__(self, policy: Policy) -> None:
        from shoal.measures import MEASURES

        self._measure = policy.utility.measure
        self._lower = MEASURES[self._measure].lower_is_better
        self.trial: Trial | None = None
        self.release: Release | None = None

    def offer(self, trial: Trial, release: Release | None) -> None:
        """Keep a trial if it is better than what there is."""
        from shoal.comparing.comparison import Comparison

        held = () if self.trial is None else (self.trial,)
        pair = Comparison(
            trials=(*held, trial), adversaries=(), measure=self._measure, lower_is_better=self._lower
        )
        if release is not None and pair.best() is trial:
            self.trial, self.release = trial, release


def _choice(compared: Comparison, trial: Trial) -> dict[str, Any]:
    """What the record says of the choice."""
    withstand = len(compared.candidates())
    value = trial.measures[compared.measure]
    others = len(compared.trials) - withstand
    words = (
        f"auto took {trial.label}: {compared.measure} {value:.4g}, the best of {withstand} releases that satisfy the "
        "policy and withstand its adversaries" + (f"; {others} other trials gave none" if others else "")
    )
    return {"method": trial.method, "options": dict(trial.options), "choice": words}


def _none(compared: Comparison) -> str:
    lines = ["no method made a release that satisfies the policy and withstands its adversaries"]
    for trial in compared.trials:
        exposed = [f"{o.at_risk:,} people are exposed to {o.attack}" for o in trial.attacks if not o.holds]
        lines.append(f"  {trial.label}: {trial.reason or '; '.join(exposed)}")
    return "\n".join(lines)
