"""All of `shoal.audit`: judging a release from its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.engines import engine_of
from shoal.judging.case import Case
from shoal.judging.identifier_columns import check_identifiers
from shoal.judging.linking.sampled import warn_of_rare_weights
from shoal.judging.measures.evaluate import explain_unmeasured
from shoal.judging.models.feasibility import had_by_all
from shoal.judging.read_case import Received
from shoal.pipeline.named_adversaries import try_adversaries
from shoal.policy import Policy
from shoal.policy.sources import apart
from shoal.release.results import Audit, Clock
from shoal.support.run import Progress, silent


def audit(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    original: Any = None,
    second: Any = None,
    population: Any = None,
    suppressed_as: str | None = None,
    record: Any = None,
    measures: Sequence[str] = (),
    progress: Progress = silent,
    **keywords: Any,
) -> Audit:
    """Judge a release, made by any tool, from its rows alone; with the original, its losses too.

    `suppressed_as` is the text that rows show in every quasi-identifier if another tool marks suppressed rows so;
    without it, all rows that are there count as rows. `record` is the private record of the run that made the release,
    or its path: it says how; without it, Shoal takes from the rows what they show, and else assumes the worst.
    `second` is the second table of a release in two, joined to the first by bucket; for a file ``out.csv`` without its
    sensitive columns, ``out-sensitive.csv`` is used unless another is given.
    """
    clock = Clock()
    population, keywords = apart(population, keywords)
    chosen = Policy.given(policy, keywords)
    received = Received(source, original, second, population, suppressed_as, record)
    case = engine_of(chosen, source).read_release(received, chosen, clock, progress)
    return audit_case(case, measures, clock, progress)


def audit_case(
    case: Case, measures: Sequence[str] = (), clock: Clock | None = None, progress: Progress = silent
) -> Audit:
    """Judge and measure a release that has been read already."""
    clock = Clock() if clock is None else clock
    progress("verify", 0.5)
    with clock("verify"):
        tried = try_adversaries(case, lambda stage, _: progress(stage, 0.6))
        own = (*case.truthfulness.verdicts, *check_identifiers(case), *tried.verdicts)
        verdicts = (*case.verdicts, *own)
    progress("measure", 0.7)
    with clock("measure"):
        found = case.measure_with(measures)
    missing = explain_unmeasured(case)
    unknown = [
        f"not measured: {', '.join(name for name in missing if missing[name] == reason)} ({reason})"
        for reason in dict.fromkeys(missing.values())
    ]
    published = case.published
    followed = case.persons.followed and not case.owners.unknown
    sure = had_by_all(case.groups, case.requirements) if followed else ()
    return Audit(
        rows=published.rows + published.suppressed,
        suppressed=case.suppressed,
        **case.people,
        classes=published.public_classes,
        buckets=published.buckets,
        verdicts=verdicts,
        measures=found,
        losses=case.losses,
        seconds=clock.seconds,
        notes=(
            *case.notes,
            *case.notes_on_following,
            *warn_of_rare_weights(case),
            *sure,
            *case.truthfulness.notes(),
            *unknown,
            *tried.notes,
        ),
    )
