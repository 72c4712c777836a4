"""A comparison while it runs: what is known of each trial, kept so that a page can be loaded again at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shoal.apps.studio.history import Tables
from shoal.apps.studio.job_tasks.compare_task import Began, Ended, Planned
from shoal.apps.studio.jobs import Job, Order
from shoal.apps.studio.project import Project
from shoal.judging.measures import MEASURES
from shoal.pipeline.comparison import Comparison, Trial
from shoal.pipeline.comparison.portfolio import with_k, with_method
from shoal.policy import Policy
from shoal.policy.adversaries import derivation, find_adversaries

KIND, EXPLAIN = "compare", "explain"
"""Kinds of jobs, and where their results are in the store of a project."""

Stage = Literal["waiting", "running", "ended"]


@dataclass
class Trials:
    """All trials of one comparison so far."""

    job: int
    policy: Policy
    """The one that was compared."""
    base: Tables
    """It as tables, without its method, to notice changes."""
    options: Mapping[str, Any]
    trials: list[Trial] = field(default_factory=list)
    moving: dict[int, Stage] = field(default_factory=dict)
    """The trials that wait or run."""
    columns: tuple[str, ...] = ()
    originals: tuple[Any, ...] = ()
    shown: dict[int, Ended] = field(default_factory=dict)
    """What releases show of the example rows."""
    pins: list[int] = field(default_factory=list)

    def take_note(self, _job: Job, note: Any) -> None:
        """Store a note that the job sent."""
        if isinstance(note, Planned):
            self.columns, self.originals = note.columns, note.originals
            self.moving = dict.fromkeys(note.waiting, "waiting")
            self.trials = list(note.trials)  # last: a page that is made meanwhile shows all of it or nothing
        elif isinstance(note, Began):
            self.moving[note.place] = "running"
        elif isinstance(note, Ended):
            self.trials[note.place] = note.trial
            if note.rows:
                self.shown[note.place] = note
            self.moving.pop(note.place, None)

    @property
    def stages(self) -> list[Stage]:
        """What becomes of each trial."""
        return [self.moving.get(place, "ended") for place in range(len(self.trials))]

    def find_ended(self, place: int) -> Trial | None:
        """Return the trial at a place, if it has ended."""
        there = 0 <= place < len(self.trials) and self.stages[place] == "ended"
        return self.trials[place] if there else None

    def place_of_release(self, place: int) -> int | None:
        """Return the place of a trial, if it has ended with a release."""
        trial = self.find_ended(place)
        return place if trial is not None and trial.holds else None

    def comparison(self) -> tuple[Comparison, list[int]]:
        """Return what has ended, and the place of each of its trials."""
        places = [place for place, stage in enumerate(self.stages) if stage == "ended"]
        privacy, measure = self.policy.privacy, self.policy.utility.measure
        compared = Comparison(
            trials=tuple(self.trials[place] for place in places),
            adversaries=find_adversaries(privacy),
            derivation=derivation(privacy),
            measure=measure,
            lower_is_better=MEASURES[measure].lower_is_better,
            k=privacy.k,
            rows=self.trials[0].rows if self.trials else 0,
        )
        return compared, places

    def stale(self, project: Project) -> bool:
        """Whether the policy has changed since, apart from its method."""
        return self.base != without_method(project.tables)


def without_method(tables: Tables) -> Tables:
    """Return what a comparison depends on."""
    return {name: part for name, part in tables.items() if name != "method"}


def start_compare(project: Project, options: Mapping[str, Any]) -> Job:
    """Begin to compare methods under the policy, or raise its problems."""
    policy = project.require_policy()
    found = Trials(0, policy, without_method(project.tables), dict(options))
    work = "shoal.apps.studio.job_tasks.compare_task:compare"
    arguments = {"options": options}
    job = project.start(
        Order(KIND, "Compare methods", work, arguments, policy.to_toml(), heed=found.take_note)
    )
    found.job = job.number
    project.store[KIND] = found
    project.mark_changed()
    return job


def start_explain(project: Project, seconds: float) -> Job:
    """Begin to find out what each requirement costs."""
    policy = project.require_policy()
    title, work = "Explain what each requirement costs", "shoal.apps.studio.job_tasks.compare_task:explain"
    job = project.start(Order(EXPLAIN, title, work, {"seconds": seconds}, policy.to_toml()))
    project.store[EXPLAIN] = (job.number, policy)
    return job


def trials_of(project: Project) -> Trials | None:
    """Return the newest comparison of this table."""
    found = project.store.get(KIND)
    return found if isinstance(found, Trials) else None


def stop(project: Project, place: int) -> None:
    """Stop one trial, if it runs or waits."""
    found = trials_of(project)
    job = None if found is None else project.jobs.find(found.job)
    if found is not None and job is not None and job.active and 0 <= place < len(found.trials):
        job.tell(place)


def choose(project: Project, place: int) -> Trial | None:
    """Make the method of a trial, its options and its k those of the policy."""
    found = trials_of(project)
    trial = None if found is None else found.find_ended(place)
    if found is None or trial is None:
        return None
    before = not found.stale(project)
    chosen = with_method(with_k(project.require_policy(), trial.k), trial.method, dict(trial.options))
    project.take(f"method: {trial.label}", chosen.to_dict())
    if before:
        found.base = without_method(project.tables)  # the choice itself does not make the comparison old
    return trial
