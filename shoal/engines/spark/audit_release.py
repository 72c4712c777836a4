"""`shoal.audit` on Spark: judging a release from its rows, where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.coding import Attribute
from shoal.coding.hierarchy import ROOT
from shoal.coding.roles import DROP
from shoal.engines.spark import is_spark_frame
from shoal.engines.spark.driver_tables import ClusterCase, Counted, no_rows
from shoal.engines.spark.encode_columns import code_column, code_table, lone_rows
from shoal.engines.spark.session import cancel_with, check_workers, session_for, session_of, translate_errors
from shoal.engines.spark.spark_sources import Source, read
from shoal.engines.spark.unsupported import LOCAL, check_judging
from shoal.engines.spark.verify_release import Reading, verify_rows
from shoal.errors import DataError, PolicyError, Problem
from shoal.io.sheet import Sheet
from shoal.judging.read_case import Received
from shoal.policy import Policy
from shoal.release.bounds import bounds_among
from shoal.release.received.cell_reader import attribute_of, has_domain, without_domains
from shoal.release.received.read_buckets import NO_OTHERS
from shoal.release.render import bucket_name
from shoal.release.results import Clock
from shoal.support.run import Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_release(received: Received, policy: Policy, clock: Clock, progress: Progress) -> ClusterCase:
    """Return the case of a release that Spark reads, and of its original, if that is given. Whether the release is true
    of it is not judged, because that takes a matching of all rows."""
    source, original = received.release, received.original
    problems = check_judging(policy)
    for name in ("second", "population", "record"):
        if getattr(received, name) is not None:
            problems.append(Problem(name, "is compared row by row, which Spark does not do", LOCAL))
    if problems:
        raise PolicyError(problems)
    progress("start", 0.0)
    with clock("start"):
        frames = [one for one in (source, original) if is_spark_frame(one)]
        session = session_of(*frames) if frames else session_for(policy.engine)
        check_workers(session)
    with cancel_with(session):
        progress("read", 0.05)
        with clock("read"):
            before = (
                None if original is None else read(session, policy.source(original), policy.read_options())
            )
            likely = None if before is None else before.options.delimiter
            release = read(session, source, policy.release_options(likely))
        progress("encode", 0.1)
        with clock("encode"):
            whole = None if before is None else code_table(session, before, policy.plans(before.columns))
            table = None if whole is None else whole.table
            lone = float("nan") if whole is None else lone_rows(whole.frame) / max(whole.table.rows, 1)
        progress("verify", 0.4)
        with clock("verify"):
            case = _case(session, release, policy, table, received.suppressed_as)
            return replace(case, unique_before=lone)


def _case(
    session: SparkSession, given: Source, policy: Policy, table: Counted | None, suppressed_as: str | None
) -> ClusterCase:
    columns = given.columns
    plans = policy.plans(columns, of_release=True)
    bucket = bucket_name(policy.columns if table is None else table.taken)
    if bucket in columns:
        raise DataError(
            f"column '{bucket}' may number buckets, and buckets are judged by the local engine alone"
        )
    quasi = [plan for plan in plans if plan.role.generalized]
    places = [columns.index(plan.name) for plan in quasi]
    frame, rows, stars = _count_rows(given.frame, places, suppressed_as)
    whole = None if table is None else table.rows
    if whole is not None and rows > whole:
        raise DataError(
            f"the release has {rows:,} rows, more than the {whole:,} of its original: is it the right one?"
        )
    attributes, sensitive, totals = _attributes(replace(given, frame=frame), policy, table)
    own = () if table is None else (*table.columns, *table.dropped)
    pairs = {a.name: bounds_among(columns, a.name, (*policy.columns, *own)) for a in attributes}
    bounds = {name: pair for name, pair in pairs.items() if any(pair)}
    requirements = policy.requirements(sensitive)
    reading = Reading(tuple(columns), attributes, sensitive, totals, requirements.all_models, bounds)
    found = verify_rows(session, frame, reading, requirements, whole, rows)
    known = [table is not None or has_domain(plan) for plan in quasi]
    if not all(known):
        found = replace(found, published=without_domains(found.published, known, rows))
    left = [name for name in policy.names(DROP) if name in columns]
    return ClusterCase(
        published=found.published,
        table=table,
        k=requirements.k,
        policy=policy,
        requirements=requirements,
        sheet=Sheet.of(no_rows(columns)),
        notes=_notes(stars, left, () if table is None else found.unknown),
        other_readings=NO_OTHERS,
        judged=found.verdicts,
    )


def _count_rows(
    frame: DataFrame, quasi: Sequence[int], suppressed_as: str | None
) -> tuple[DataFrame, int, int]:
    """Return the rows to judge, how many they are, and how many of them show * in every quasi-identifier. Rows that
    show `suppressed_as` there are suppressed, and not among them."""
    from pyspark.sql import functions as F

    marked = F.lit(True)
    for place in quasi:
        marked = marked & (F.col(f"f{place}").cast("string") == (suppressed_as or ROOT))
    if suppressed_as is not None:
        frame = frame.filter(~F.coalesce(marked, F.lit(False)))
    with translate_errors("counting the rows of the release"):
        rows, stars = frame.agg(F.count(F.lit(1)), F.count_if(marked)).collect()[0]
    return frame, int(rows or 0), int(stars or 0) if suppressed_as is None else 0


def _notes(stars: int, dropped: Sequence[str], unknown: Sequence[str]) -> tuple[str, ...]:
    """Return what a reader of the verdicts should know."""
    notes = (
        (stars, f"{stars:,} rows show {ROOT} in every quasi-identifier; they count as rows of the release"),
        (
            dropped,
            f"the policy drops columns that the release has, so they were not judged: {', '.join(dropped)}",
        ),
        (
            unknown,
            f"cells of {', '.join(unknown)} are not in the policy's hierarchies: losses are not known",
        ),
    )
    return tuple(note for applies, note in notes if applies)


def _attributes(
    given: Source, policy: Policy, table: Counted | None
) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...], tuple[Any, ...]]:
    """Return the quasi-identifiers and the sensitive columns, by the original or by what the policy and the release
    say, and how often each sensitive value occurs."""
    if table is not None:
        return table.attributes, table.sensitive, table.sensitive_counts
    plans = {plan.name: plan for plan in policy.plans(given.columns, of_release=True)}
    attributes = tuple(attribute_of(plan) for plan in plans.values() if plan.role.generalized)
    secrets = []
    for place, name in enumerate(given.columns):
        plan = plans[name]
        if plan.role.protected:
            own = replace(given, options=replace(given.options, guess_types=not has_domain(plan)))
            secrets.append((plan, *code_column(own, place, plan)[1:]))
    sensitive = tuple(
        Attribute(plan.name, tree, plan.weight) for plan, tree, _ in secrets if tree is not None
    )
    return attributes, sensitive, tuple(counts for _, _, counts in secrets)
