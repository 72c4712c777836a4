"""Judging a release from its rows: the second half of the pipeline, and all of `shoal.audit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal import frames
from shoal.errors import DataError
from shoal.hierarchy import ROOT, Hierarchy, Level, build
from shoal.hierarchy.kinds import parsed
from shoal.linking.evidence import Evidence
from shoal.measures import MEASURES
from shoal.measures.evaluate import measure_all, per_column, unmeasured
from shoal.methods import METHODS
from shoal.models.requirements import Requirements
from shoal.policy import Policy
from shoal.policy.encoding import encode_with_population
from shoal.release.published import Published
from shoal.release.reading import read_published, sensitive_codes
from shoal.release.render import bucket_name
from shoal.release.results import Audit, Clock
from shoal.release.two_tables import joined, second_beside
from shoal.release.verdict import Verdict
from shoal.run import Progress, silent
from shoal.table import Attribute, CodedTable
from shoal.table.encode import encode
from shoal.table.plan import ColumnPlan


def audit(
    source: Any,
    policy: Policy | str | Path | None = None,
    *,
    original: Any = None,
    second: Any = None,
    population: Any = None,
    measures: Sequence[str] = (),
    progress: Progress = silent,
    **keywords: Any,
) -> Audit:
    """Judge a release, made by any tool, from its rows alone; with the original, its losses too.

    Rows of which every quasi-identifier shows ``*`` count as suppressed where the policy permits so many.
    `second` is the second table of a release in two, joined to the first by bucket; of a file ``out.csv`` without its
    sensitive columns, ``out-sensitive.csv`` is taken unless given.
    """
    clock = Clock()
    chosen = as_policy(policy, keywords)
    progress("read", 0.0)
    with clock("read"):
        rows, in_two = read_release(source, second, chosen)
        before = frames.read(original, chosen.read_options()) if original is not None else None
    progress("encode", 0.2)
    with clock("encode"):
        table = encode_with_population(before, chosen, population) if before is not None else None
        published, notes = as_published(rows, chosen, table, in_buckets=in_two)
        requirements = chosen.requirements([attribute.name for attribute in published.sensitive])
    progress("verify", 0.5)
    with clock("verify"):
        evidence = Evidence(published, table, k=requirements.k)
        verdicts = (*verify(evidence, requirements), *_identifiers_removed(rows, chosen))
    progress("measure", 0.7)
    with clock("measure"):
        measured = measure(evidence, requirements, measures)
    missing = unmeasured(evidence)
    if missing:
        notes.append(f"not measured: {', '.join(missing)} ({next(iter(missing.values()))})")
    return Audit(
        rows=published.rows + published.suppressed,
        suppressed=published.suppressed,
        classes=published.classes,
        buckets=published.buckets,
        verdicts=verdicts,
        **measured,
        seconds=clock.seconds,
        notes=tuple(notes),
    )


def as_policy(policy: Policy | str | Path | None, keywords: dict[str, Any]) -> Policy:
    """Return the policy that was given in one of the ways in which it can be given."""
    if policy is None:
        return Policy.from_keywords(**keywords)
    if keywords:
        raise TypeError(f"give a policy or keywords, not both: {', '.join(keywords)}")
    return policy if isinstance(policy, Policy) else Policy.read(policy)


def verify(evidence: Evidence, requirements: Requirements) -> tuple[Verdict, ...]:
    """Let every model judge what is published, and hold suppression against its limit."""
    published = evidence.published
    verdicts = [model.verify(evidence) for model in requirements.models]
    limit, rows = requirements.suppression, published.rows + published.suppressed
    if limit or published.suppressed:
        share = published.suppressed / rows if rows else 0.0
        holds = published.suppressed <= requirements.suppressible(rows)
        detail = f"{published.suppressed:,} of {rows:,} rows"
        verdicts.append(Verdict("suppression", limit, share, holds, detail, public=True))
    return tuple(verdicts)


def _identifiers_removed(rows: pl.DataFrame, policy: Policy) -> list[Verdict]:
    """Judge whether the columns that name people outright are gone, where the policy names any."""
    identifiers = policy.names("identifier")
    if not identifiers:
        return []
    left = [name for name in identifiers if name in rows.columns]
    return [Verdict("identifiers removed", 0, len(left), not left, ", ".join(left), public=True)]


def measure(evidence: Evidence, requirements: Requirements, extra: Sequence[str] = ()) -> dict[str, Any]:
    """Return the default measures and those asked for, and the loss of each column."""
    published, measures = evidence.published, measure_all(evidence)
    if requirements.without_classes and published.rows and published.sizes.min() < requirements.k:
        # Rows have cells of their own here, so the size of a class says nothing about who can be found.
        measures = {name: value for name, value in measures.items() if not MEASURES[name].needs_classes}
    if extra:
        measures |= measure_all(evidence, extra)
    return {"measures": measures, "losses": per_column("lm", evidence)}


def read_release(source: Any, second: Any, policy: Policy) -> tuple[pl.DataFrame, bool]:
    """Read the rows of a release, and tell whether it is in two tables: then sensitive values are dealt out to the
    rows of their bucket.
    """
    rows = frames.read(source, policy.read_options()).data
    sensitive = policy.names("sensitive")
    if second is None:
        second = second_beside(source, rows.columns, sensitive)
    if second is None:
        return rows, False
    both = [name for name in sensitive if name in rows.columns]
    bucket = bucket_name(policy.columns)
    if both or bucket not in rows.columns:
        word = f"has the sensitive column '{both[0]}'" if both else f"has no column '{bucket}'"
        raise DataError(f"the first table {word}, so there is nothing to join a second table to")
    return joined(rows, frames.read(second, policy.read_options()).data, bucket, sensitive), True


def as_published(
    rows: pl.DataFrame, policy: Policy, table: CodedTable | None, *, in_buckets: bool = False
) -> tuple[Published, list[str]]:
    """Read a file as a release: by the hierarchies of the original, or as far as the policy alone knows them.

    `in_buckets` says that its column of that name tells buckets; with the original at hand that is known anyway.
    """
    plans = policy.plans(rows.columns, of_release=True)
    if table is not None:
        attributes, sensitive = table.attributes, table.sensitive
        codes = sensitive_codes(rows, sensitive)
    else:
        attributes = tuple(_attribute(plan) for plan in plans if plan.role == "quasi")
        shown = encode(rows, [plan for plan in plans if plan.role == "sensitive"])
        sensitive, codes = shown.sensitive, shown.sensitive_codes
    starred = _starred(rows, attributes)
    notes = []
    whole = table.rows if table is not None else len(rows)
    if starred.any() and starred.sum() + whole - len(rows) <= policy.utility.suppression * whole + 1e-9:
        notes.append(f"{starred.sum():,} rows that show * in every quasi-identifier count as suppressed")
        rows, codes = rows.filter(~starred), codes[~starred]
    if len(rows) > whole:
        raise DataError(
            f"the release has {len(rows):,} rows, more than the {whole:,} of its original: is it the right one?"
        )
    bucket = _bucket(rows, policy, table, in_buckets)
    published, unknown = read_published(
        rows, attributes, sensitive, codes, suppressed=whole - len(rows), bucket=bucket
    )
    if bucket is not None and table is not None:
        method = policy.build_method()
        if not method.shows_buckets:
            # Two tables that another tool made: quasi-identifiers stand in their rows as far as anybody knows.
            method = METHODS["anatomy"]()
        together, sensitive_in = method.shuffled_together(table)
        published = replace(published, together=together, sensitive_in=sensitive_in)
        notes.append(
            f"'{bucket}' numbers buckets; that values were shuffled within them as {policy.method.name} does is taken "
            "from the policy, and no file can show it"
        )
    if table is None and any(not _has_domain(plan) for plan in plans if plan.role == "quasi"):
        # Without its domain no cell has a loss, not even one that shows *.
        published = replace(published, low=None, high=None)
    if unknown and table is not None:
        notes.append(
            f"cells of {', '.join(unknown)} are no names of the policy's hierarchies, so losses cannot be "
            "computed; classes are rows that read alike"
        )
    return published, notes


def _bucket(rows: pl.DataFrame, policy: Policy, table: CodedTable | None, in_two: bool) -> str | None:
    """Return the column that numbers buckets, if there is one: `render` names it, after the columns of the original.

    Only methods that shuffle within buckets have it. Anywhere else a column of that name says nothing about shuffling,
    and rows are what they read.
    """
    name = bucket_name(policy.columns if table is None else table.columns)
    if name not in rows.columns:
        return None
    shuffling = policy.method.name in METHODS and METHODS[policy.method.name].shows_buckets
    return name if in_two or (table is not None and shuffling) else None


def _has_domain(plan: ColumnPlan) -> bool:
    """Whether the policy alone knows the domain of a column: files and trees do, others need the original."""
    return parsed(plan.hierarchy).knows_domain


def _attribute(plan: ColumnPlan) -> Attribute:
    """What the policy alone knows of a quasi-identifier."""
    if _has_domain(plan):
        return Attribute(plan.name, build(pl.Series([], dtype=pl.String), plan.hierarchy), plan.weight)
    names = pl.Series([ROOT])
    return Attribute(plan.name, Hierarchy(names, (Level(np.zeros(1, np.int32), names),)), plan.weight)


def _starred(rows: pl.DataFrame, attributes: tuple[Attribute, ...]) -> pl.Series:
    """Rows that show nothing: * in every quasi-identifier."""
    columns = [rows[attribute.name] for attribute in attributes]
    if not all(isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum) for column in columns):
        return pl.repeat(False, len(rows), eager=True)
    starred = pl.repeat(True, len(rows), eager=True)
    for column in columns:
        starred &= column.cast(pl.String).eq_missing(ROOT)
    return starred
