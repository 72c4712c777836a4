"""The screen Compare: all methods as they finish, two of them side by side, and the choice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData, QueryParams

from shoal.apps.studio.compare.frontier import draw_frontier
from shoal.apps.studio.compare.trials import (
    EXPLAIN,
    choose,
    start_compare,
    start_explain,
    stop,
    trials_of,
)
from shoal.apps.studio.compare.view import detail, group_refusals, pair, rows, view_costs
from shoal.apps.studio.form_values import pick, read_count, read_field
from shoal.apps.studio.look.current_release import start_release
from shoal.apps.studio.project import Project
from shoal.apps.studio.requirements.forms import as_number, methods
from shoal.apps.studio.requirements.outlook import outlook
from shoal.apps.studio.screens import Action, State
from shoal.errors import ARGUMENTS, PolicyError, Problem
from shoal.methods import METHODS
from shoal.pipeline.comparison.compare import SECONDS
from shoal.pipeline.explanation.relaxations import relaxations
from shoal.policy.method_options import AUTO

EXPLAIN_SECONDS = 60.0
DEFAULTS: dict[str, Any] = {"methods": [], "ks": [], "sets": False, "jobs": 1, "seconds": SECONDS}
"""The options of ``shoal compare``."""


def state(project: Project) -> State:
    """Done, as soon as there is a release to choose."""
    found = trials_of(project)
    if found is None:
        return State("open")
    job = project.jobs.find(found.job)
    ended = sum(stage == "ended" for stage in found.stages)
    if job is not None and job.active:
        return State("open", f"{ended} of {len(found.trials)} methods" if found.trials else "begins")
    if job is not None and job.state == "failed":
        return State("problem", "could not be compared")
    good = sum(
        trial.withstands for trial, stage in zip(found.trials, found.stages, strict=False) if stage == "ended"
    )
    if not good:
        return State("problem", "no release to choose")
    if found.stale(project):
        return State("attention", "of an earlier policy")
    return State("done", f"{good} releases to choose from")


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return what is known so far, and the release that somebody looks at."""
    found = trials_of(project)
    job = None if found is None else project.jobs.find(found.job)
    shown: dict[str, Any] = {
        "ahead": outlook(project, 0.05),
        "trials": found,
        "job": job,
        "stale": found is not None and found.stale(project),
        "methods": [one for one in methods() if one[0] != AUTO],
        "given": DEFAULTS if found is None else found.options,
        "cores": os.cpu_count() or 1,
        "auto": AUTO,
        "explained": view_costs(project),
        "explain_seconds": f"{EXPLAIN_SECONDS:g}",
        "rows": [],
        "refused": [],
        "drawing": None,
        "detail": None,
        "pair": None,
    }
    if found is not None and found.trials:
        compared, places = found.comparison()
        best = compared.best()
        shown |= {
            "compared": compared,
            "rows": rows(found, compared),
            "refused": group_refusals(found),
            "drawing": draw_frontier(compared, places),
            "best": None if best is None else places[compared.trials.index(best)],
            "detail": detail(found, compared, found.place_of_release(read_count(query, "point"))),
            "pair": pair(found, compared) if len(found.pins) == 2 else None,
            "pins": found.pins,
        }
    return shown


# --- answers --------------------------------------------------------------------------------------------------


def _start(project: Project, form: FormData) -> None:
    """Begin, with the options of ``shoal compare``."""
    ks = []
    for text in read_field(form, "ks").replace(",", " ").split():
        if not text.isdecimal() or int(text) < 2:
            problem = Problem(
                "k", f"'{text[:40]}' is not a whole number of at least 2", "write for example 2, 5, 10"
            )
            raise PolicyError([problem], where=ARGUMENTS)
        ks.append(int(text))
    options = {
        "methods": [name for name in METHODS if name in form.getlist("method")],
        "ks": ks,
        "sets": "sets" in form,
        "jobs": int(as_number(read_field(form, "jobs") or "1", "jobs", whole=True)),
        "seconds": as_number(read_field(form, "seconds") or str(SECONDS), "seconds", whole=False),
    }
    start_compare(project, options)


def _back(form: FormData) -> str:
    point = read_count(form, "point")
    return "/compare" if point < 0 else f"/compare?point={point}"


def _stop(project: Project, form: FormData) -> str:
    stop(project, read_count(form, "trial"))
    return _back(form)


def _stop_all(project: Project, form: FormData) -> str:
    found = trials_of(project)
    if found is not None:
        project.jobs.cancel(found.job)
    return _back(form)


def _pin(project: Project, form: FormData) -> str:
    """Pin a release, or take its pin away; of three, the oldest goes."""
    found, place = trials_of(project), read_count(form, "trial")
    if found is not None and found.place_of_release(place) is not None:
        kept = [pin for pin in found.pins if pin != place]
        found.pins = kept if place in found.pins else [*kept, place][-2:]
        project.mark_changed()
    return _back(form)


def _choose(project: Project, form: FormData) -> str | None:
    if choose(project, read_count(form, "trial")) is None:
        return None
    start_release(project)
    return "/look"


def _auto(project: Project, _form: FormData) -> str:
    project.set("method.name", AUTO)
    start_release(project)
    return "/look"


def _explain(project: Project, form: FormData) -> None:
    seconds = as_number(read_field(form, "seconds") or f"{EXPLAIN_SECONDS:g}", "seconds", whole=False)
    start_explain(project, seconds)


def _apply(project: Project, form: FormData) -> None:
    """Change the policy as one of the costs says."""
    if EXPLAIN not in project.store:
        return
    at, policy = project.store[EXPLAIN]
    job = project.jobs.find(at)
    costs = () if job is None or job.result is None else job.result.costs
    if policy.to_toml() != project.toml:
        project.tell("warning", "The policy has changed since; explain it again.", "compare")
        return
    cost = pick(form, "cost", costs)
    if cost is None or cost.kind == "column":
        return  # whether a column may be published as it is, is decided under Roles, not by what it saves
    wanted = (cost.kind, cost.what, cost.before, cost.after)
    for step in relaxations(policy):
        if (step.kind, step.what, step.before, step.after) == wanted:
            project.take(step.words, step.policy.to_dict())
            return


ACTIONS: dict[str, Action] = {
    "start": _start,
    "stop": _stop,
    "stop-all": _stop_all,
    "pin": _pin,
    "choose": _choose,
    "auto": _auto,
    "explain": _explain,
    "apply": _apply,
}
