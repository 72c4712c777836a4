"""What the screen Compare shows: trials as lines, one release, two of them column by column, and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.apps.studio.compare.trials import EXPLAIN, Trials
from shoal.apps.studio.project import Project
from shoal.documents.pages.look import Marked
from shoal.judging.measures import MEASURES
from shoal.methods import METHODS
from shoal.pipeline.comparison import Comparison, Trial
from shoal.pipeline.explanation import Explanation
from shoal.pipeline.explanation.explanation import NOT_TRIED, place_of
from shoal.support.wording import Advice, number


@dataclass(frozen=True)
class Line:
    """One trial in the table."""

    place: int
    label: str
    k: int | None
    state: str
    """``good``, ``bad``, ``plain`` or ``waiting``."""
    words: str
    loss: str = ""
    risk: str = ""
    classes: str = ""
    suppressed: str = ""
    seconds: str = ""
    running: bool = False
    stoppable: bool = False
    release: bool = False
    """There is one to look at."""


def rows(found: Trials, compared: Comparison) -> list[Line]:
    """Return the trials that made a release, best first, then those that run or wait."""
    lines = []
    for place, (trial, stage) in enumerate(zip(found.trials, found.stages, strict=False)):
        if stage != "ended":
            running = stage == "running"
            words = "runs" if running else "waits"
            lines.append(Line(place, trial.label, trial.k, "waiting", words, running=running, stoppable=True))
        elif trial.holds:
            state = "good" if trial.withstands else "bad"
            words = trial.conclusion.headline + ": people are exposed" * (not trial.withstands)
            lines.append(
                Line(
                    place, trial.label, trial.k, state, words, loss_of(compared, trial),
                    _share(trial.risk), f"{trial.classes:,}",
                    f"{trial.suppressed:,}", f"{trial.seconds:.2f} s", release=True,
                )
            )  # fmt: skip

    def rank(line: Line) -> tuple[Any, ...]:
        order = {"good": 0, "bad": 1, "waiting": 2}[line.state]
        trial = found.trials[line.place]
        return (
            order,
            not line.running,
            compared.loss(trial) if line.release else 0.0,
            trial.seconds,
            line.place,
        )

    return sorted(lines, key=rank)


def amount(measure: str, value: float | None) -> str:
    """Write the value of a measure with its unit."""
    if value is None or value != value:
        return "-"
    return f"{value:.1%}" if MEASURES[measure].reported.percent else f"{value:,.4g}"


def loss_of(compared: Comparison, trial: Trial) -> str:
    """Write the loss of a trial by the measure of the policy."""
    return amount(compared.measure, trial.measures.get(compared.measure))


def group_refusals(found: Trials) -> list[tuple[str, str, list[str]]]:
    """Return why the other trials made no release, once per reason, as (status, reason, methods)."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for trial, stage in zip(found.trials, found.stages, strict=False):
        if stage == "ended" and not trial.holds:
            brief = f"; {trial.reason}".replace(f"; {trial.method} ", "; ").removeprefix("; ")
            names = reasons.setdefault((trial.status, Advice(brief, trial.reason)), [])
            if trial.label not in names:
                names.append(trial.label)
    return [(status, reason, names) for (status, reason), names in reasons.items()]


def detail(found: Trials, compared: Comparison, place: int | None) -> dict[str, Any] | None:
    """Return the summary of one release."""
    if place is None:
        return None
    trial = found.trials[place]
    kind = METHODS[trial.method]
    return {
        "place": place,
        "trial": trial,
        "loss": loss_of(compared, trial),
        "analyses": [
            [name, amount(name, trial.measures.get(name)), MEASURES[name].summary]
            for name in compared.analyses
        ],
        "summary": kind.summary,
        "paper": kind.paper,
        "pinned": place in found.pins,
        "verdicts": [
            [
                one.model,
                number(one.required),
                number(one.reached),
                Marked("holds", "good") if one.holds else Marked("violated", "bad"),
            ]
            for one in trial.verdicts
        ],
        "attacks": [
            [
                one.attack,
                one.adversary,
                _share(one.success),
                _share(one.baseline),
                Marked(f"{one.at_risk:,}", "good" if one.holds else "bad")
                if one.decides
                else f"{one.at_risk:,} (for information)",
            ]
            for one in trial.attacks
        ],
        "examples": _examples(found, [place]),
    }


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def pair(found: Trials, compared: Comparison) -> dict[str, Any]:
    """Return two releases column by column, with the same rows in both."""
    one, other = (found.trials[place] for place in found.pins)
    names = list(dict.fromkeys([*one.losses, *other.losses]))
    facts = [
        ("Information lost", loss_of(compared, one), loss_of(compared, other)),
        ("Risk", _share(one.risk), _share(other.risk)),
        ("Classes", f"{one.classes:,}", f"{other.classes:,}"),
        ("Rows suppressed", f"{one.suppressed:,}", f"{other.suppressed:,}"),
        ("Seconds", f"{one.seconds:.2f}", f"{other.seconds:.2f}"),
    ]
    return {
        "places": list(found.pins),
        "labels": [_name_trial(trial, compared) for trial in (one, other)],
        "facts": facts,
        "losses": [(name, one.losses.get(name), other.losses.get(name)) for name in names],
        "examples": _examples(found, found.pins),
    }


def _name_trial(trial: Trial, compared: Comparison) -> str:
    return trial.label if trial.k is None or len(compared.ks) == 1 else f"{trial.label}, k = {trial.k}"


def _examples(found: Trials, places: list[int]) -> dict[str, Any]:
    """Return the example rows: the original, and what each of the releases shows of it."""
    known = [found.shown[place] for place in places if place in found.shown]
    return {
        "columns": found.columns,
        "rows": [
            [row, *(one.rows[at] for one in known)] for at, row in enumerate(found.originals)
        ] if len(known) == len(places) else [],
        "shuffled": any(one.shuffled for one in known),
    }  # fmt: skip


def view_costs(project: Project) -> dict[str, Any] | None:
    """Return what each requirement costs, if it was asked for."""
    if EXPLAIN not in project.store:
        return None
    place, policy = project.store[EXPLAIN]
    job = project.jobs.find(place)
    if job is None:
        return None
    found: Explanation | None = job.result
    lines = []
    share = found is not None and MEASURES[found.measure].reported.percent
    for at, cost in enumerate(() if found is None else found.costs):
        saved = "" if cost.won is None else f"{100 * cost.won:+.1f} points" if share else f"{cost.won:+,.4g}"
        why = "no time left" if cost.reason == NOT_TRIED else (cost.reason.splitlines() or [""])[0]
        lines.append((at, cost, saved, why))
    lines.sort(key=lambda one: (one[1].loss is None, place_of(one[1]), -(one[1].won or 0.0)))
    stale = policy.to_toml() != project.toml
    return {"job": job, "result": found, "lines": lines, "stale": stale, "amount": amount}
