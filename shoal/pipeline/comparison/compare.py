"""All of `shoal.compare`: plan the trials, run those that are not known yet, and compare them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal import io
from shoal.coding import CodedTable
from shoal.coding.roles import QUASI
from shoal.errors import ARGUMENTS, PolicyError, Problem
from shoal.io.output_checks import file_of
from shoal.judging.measures import MEASURES
from shoal.judging.models.feasibility import reasons_against
from shoal.methods.auto import check_methods
from shoal.pipeline.comparison.comparison import Comparison
from shoal.pipeline.comparison.portfolio import (
    Planned,
    lists_values,
    plan_attacks,
    portfolio,
    with_k,
)
from shoal.pipeline.comparison.run_trial import Task
from shoal.pipeline.comparison.trial import Trial
from shoal.pipeline.comparison.trial_folder import Folder
from shoal.pipeline.comparison.trial_processes import run_all
from shoal.pipeline.comparison.watch import Watch
from shoal.policy import Policy
from shoal.policy.adversaries import derivation, find_adversaries
from shoal.policy.sources import apart, inputs_of
from shoal.release.received.read_earlier import encode_whole
from shoal.support.run import Progress, Run, silent

COMPARISON, FRONTIER = "comparison.json", "frontier.svg"
"""The files of a comparison in its folder."""
SECONDS = 120.0
"""The default time limit of a trial."""


@dataclass(frozen=True)
class Scope:
    """Which trials a comparison runs, and for how long."""

    methods: Sequence[str]
    sets: bool
    """Releases whose cells list values are tried, too."""
    jobs: int
    """Trials at a time."""
    seconds: float
    """The time limit of a trial."""


def compare(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    population: Any = None,
    methods: Sequence[str] = (),
    ks: Sequence[int] = (),
    sets: bool = False,
    jobs: int = 1,
    seconds: float = SECONDS,
    folder: str | Path | None = None,
    seed: int | None = None,
    progress: Progress = silent,
    watch: Watch | None = None,
    **keywords: Any,
) -> Comparison:
    """Try every method that applies to a table, verify and attack each release, and measure it.

    `source`, `policy`, `population` and keywords are those of `anonymize`; the method of the policy is one of those
    tried. `ks` are tried instead of the policy's k, `methods` instead of all. Releases whose cells list values instead
    of naming nodes of the hierarchies are tried only with `sets`, or if the policy's own method makes them.

    Each trial runs in a separate process, `jobs` at a time, and is stopped after `seconds`. With a `folder`, finished
    trials are kept there and not run again, and the comparison and a plot of its frontier are written to it. A `watch`
    follows the trials, and may stop one.
    """
    if not seconds > 0:
        raise PolicyError(
            [Problem("seconds", f"must be more than 0, not {seconds}", "for example 60")], ARGUMENTS
        )
    if jobs < 1:
        raise PolicyError([Problem("jobs", f"must be at least 1, not {jobs}")], ARGUMENTS)
    population, keywords = apart(population, keywords)
    chosen = Policy.given(policy, keywords)
    wanted = check_methods(methods)
    policies = [with_k(chosen, k) for k in dict.fromkeys(ks)] or [chosen]
    if folder is not None:
        outputs = [(Path(folder) / name, "the comparison") for name in (COMPARISON, FRONTIER)]
        given = {"the data": chosen.source(source), "the population": population}
        named = {file: what for what, one in given.items() if (file := file_of(one))}  # not for a frame
        io.check_apart(inputs_of(chosen) | named, outputs)
    progress("read", 0.0)
    frame = io.read(chosen.source(source), chosen.read_options())
    table = encode_whole(frame, chosen, population)
    roles = {plan.name: plan.role for plan in chosen.plans(frame.columns)}
    kept = Folder(Path(folder), table) if folder is not None else None
    scope = Scope(wanted, sets or lists_values(chosen), jobs, seconds)
    compared = compare_coded(table, policies, scope, Run.start(seed, progress), kept, watch)
    compared = replace(compared, k=chosen.privacy.k, columns=roles)
    if kept is not None:
        from shoal.pipeline.comparison.frontier_plot import frontier_svg

        progress("write", 1.0)
        with io.Outbox(force=True) as box:
            box.write_text(kept.path / COMPARISON, json.dumps(compared.to_json(), indent=2) + "\n")
            box.write_text(kept.path / FRONTIER, frontier_svg(compared))
    return compared


def compare_coded(
    table: CodedTable,
    policies: Sequence[Policy],
    scope: Scope,
    run: Run,
    folder: Folder | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Compare methods on a table that is already coded, under policies that differ in k. A `watch` is told of each
    trial and its release.
    """
    watched = Watch() if watch is None else watch
    trials, tasks = _plan_trials(table, policies, scope, run.seed, folder, keep=watched.keeps)
    watched.on_plan(table, trials, tasks)
    start = time.perf_counter()
    run.progress("compare", 0.0)
    running = run_all(table, tasks, jobs=scope.jobs, limit=scope.seconds, watch=watched)
    for done, (place, trial, release) in enumerate(running, start=1):
        trials[place] = trial
        watched.on_end(place, trial, release)
        if folder is not None and trial.status != "stopped":
            folder.keep(tasks[place], trial, scope.seconds)
        run.progress(f"{done} of {len(tasks)}: {trial.method}", done / len(tasks))
    privacy = policies[0].privacy
    measure = policies[0].utility.measure
    return Comparison(
        trials=tuple(trials),
        adversaries=find_adversaries(privacy),
        derivation=derivation(privacy),
        measure=measure,
        lower_is_better=MEASURES[measure].lower_is_better,
        k=privacy.k,
        rows=table.rows,
        columns=dict.fromkeys((attribute.name for attribute in table.attributes), QUASI),
        seconds=time.perf_counter() - start,
    )


def _plan_trials(
    table: CodedTable,
    policies: Sequence[Policy],
    scope: Scope,
    seed: int | None,
    folder: Folder | None,
    *,
    keep: bool,
) -> tuple[list[Trial], dict[int, Task]]:
    """Return all trials, and by their places the tasks of those that have to be run: others are in the folder, or
    nothing can satisfy their policy.
    """
    trials: list[Trial] = []
    tasks: dict[int, Task] = {}
    for policy in policies:
        requirements = policy.requirements(table.sensitive).in_table(table)
        reasons = {
            heeded: " ".join(reasons_against(table, requirements, limits=heeded)) for heeded in (True, False)
        }
        for planned in portfolio(policy, scope.methods, sets=scope.sets):
            own = planned.policy
            impossible = reasons[own is None or own.build_method().heeds_limits]
            if own is None or impossible:
                trials.append(_build_refused(table, policy, planned, impossible))
                continue
            task = Task(own, tuple(plan_attacks(own)), seed, policy.utility.measure, keep)
            known = None if folder is None else folder.find_trial(task, scope.seconds)
            if known is None:
                tasks[len(trials)] = task
            trials.append(known or replace(task.trial, rows=table.rows))
    return trials, tasks


def _build_refused(table: CodedTable, policy: Policy, planned: Planned, impossible: str) -> Trial:
    return Trial(
        method=planned.method,
        options=planned.options,
        k=policy.privacy.k,
        status="refused",
        reason=planned.refusal or impossible,
        reason_is_public=bool(planned.refusal),
        rows=table.rows,
    )
