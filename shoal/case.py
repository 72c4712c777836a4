"""`Case`: what is judged: a release with its policy and its original; each part is computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from shoal import frames
from shoal.errors import DataError
from shoal.hierarchy import ROOT, Hierarchy, Level, build
from shoal.hierarchy.kinds import parsed
from shoal.linking.evidence import Evidence
from shoal.measures import MEASURES
from shoal.measures.evaluate import measure_all, per_column
from shoal.methods import METHODS
from shoal.models.requirements import Requirements
from shoal.policy import Policy
from shoal.policy.encoding import encode_with_population
from shoal.release import Release
from shoal.release.published import Published
from shoal.release.reading import read_back, read_published, sensitive_codes
from shoal.release.render import bucket_name, render
from shoal.release.results import Clock, Result
from shoal.release.two_tables import joined, second_beside
from shoal.release.verdict import Verdict
from shoal.run import Progress, silent
from shoal.table import Attribute, CodedTable
from shoal.table.encode import encode
from shoal.table.plan import ColumnPlan


@dataclass(frozen=True, eq=False, kw_only=True)
class Case(Evidence):
    """A release, the policy that it is judged by and, if known, its original. Makers: `made` and `read`."""

    policy: Policy
    requirements: Requirements
    """Of the policy, resolved against the sensitive columns of the release."""
    rows: pl.DataFrame
    """The published rows. In a file, rows that count as suppressed are among them."""
    second: pl.DataFrame | None = None
    """The sensitive values by bucket, if a method publishes them as a separate table."""
    release: Release | None = None
    """What the method proposed, if the release was made in this process."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how the rows were read."""
    digest: str | None = None
    """SHA-256 of the original, if it was read from a file."""

    @classmethod
    def made(cls, policy: Policy, table: CodedTable, release: Release, **more: Any) -> Self:
        """Render the release of a method and read the rows back. Verdicts are those of the rows. O(rows x columns)."""
        requirements = policy.requirements(table.sensitive)
        rendered = render(table, release)
        return cls(
            published=read_back(table, release, rendered),
            table=table,
            owner=rendered.owner,
            k=requirements.k,
            policy=policy,
            requirements=requirements,
            rows=rendered.rows,
            second=rendered.second,
            release=release,
            **more,
        )

    @classmethod
    def read(
        cls,
        source: Any,
        policy: Policy,
        *,
        original: Any = None,
        second: Any = None,
        population: Any = None,
        clock: Clock | None = None,
        progress: Progress = silent,
        **more: Any,
    ) -> Self:
        """Read a release, made by any tool, and its original: paths or frames.

        `source` may also be a `Result` of this original, which knows the owner of each row.
        """
        clock = Clock() if clock is None else clock
        progress("read", 0.0)
        with clock("read"):
            rows = None if isinstance(source, Result) else read_release(source, second, policy)
            before = None if original is None else frames.read(original, policy.read_options())
        progress("encode", 0.1)
        with clock("encode"):
            table = None if before is None else encode_with_population(before, policy, population)
            more["digest"] = None if before is None else before.digest
            if rows is None:
                return cls._own(source, policy, table, **more)
            return cls.of_rows(rows[0], policy, table, in_buckets=rows[1], **more)

    @classmethod
    def _own(cls, result: Result, policy: Policy, table: CodedTable | None, **more: Any) -> Self:
        if table is None:
            raise DataError("give the table that the result was made from, too")
        if len(result.release.region_of) != table.rows:
            raise DataError(
                f"the result was made from {len(result.release.region_of):,} rows, but the original has "
                f"{table.rows:,}: give the table that it was made from"
            )
        return cls.made(policy, table, result.release, **more)

    @classmethod
    def of_rows(
        cls,
        rows: pl.DataFrame,
        policy: Policy,
        table: CodedTable | None,
        *,
        in_buckets: bool = False,
        **more: Any,
    ) -> Self:
        """Read rows as a release; see `as_published`."""
        published, notes = as_published(rows, policy, table, in_buckets=in_buckets)
        requirements = policy.requirements(published.sensitive)
        return cls(
            published=published,
            table=table,
            k=requirements.k,
            policy=policy,
            requirements=requirements,
            rows=rows,
            notes=tuple(notes),
            **more,
        )

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What every model of the policy says, and whether suppression stays within its limit."""
        published, limit = self.published, self.requirements.suppression
        verdicts = [model.verify(self) for model in self.requirements.models]
        rows = published.rows + published.suppressed
        if limit or published.suppressed:
            share = published.suppressed / rows if rows else 0.0
            holds = published.suppressed <= self.requirements.suppressible(rows)
            detail = f"{published.suppressed:,} of {rows:,} rows"
            verdicts.append(Verdict("suppression", limit, share, holds, detail, public=True))
        return tuple(verdicts)

    @property
    def failing(self) -> list[Verdict]:
        """The verdicts that do not hold."""
        return [verdict for verdict in self.verdicts if not verdict.holds]

    @property
    def identifiers_removed(self) -> tuple[Verdict, ...]:
        """Whether the columns that name people are removed, if the policy names any."""
        identifiers = self.policy.names("identifier")
        left = [name for name in identifiers if name in self.rows.columns]
        verdict = Verdict("identifiers removed", 0, len(left), not left, ", ".join(left), public=True)
        return (verdict,) if identifiers else ()

    @property
    def classes_tell(self) -> bool:
        """Whether the size of an equivalence class says who can be found; not if rows are generalized separately, nor
        if columns were shuffled.
        """
        small = self.published.rows > 0 and self.published.sizes.min() < self.requirements.k
        return super().classes_tell and not (self.requirements.without_classes and small)

    @cached_property
    def measures(self) -> Mapping[str, float]:
        """The default measures that this release has."""
        return measure_all(self)

    def measured(self, extra: Sequence[str] = ()) -> dict[str, float]:
        """Return the default measures and those asked for by name."""
        return {**self.measures, **measure_all(self, extra)}

    @cached_property
    def losses(self) -> Mapping[str, float]:
        """The information loss (LM) of each quasi-identifier."""
        return per_column(MEASURES.default, self)


def read_release(source: Any, second: Any, policy: Policy) -> tuple[pl.DataFrame, bool]:
    """Read the rows of a release, and return whether it is in two tables: then sensitive values are assigned to the
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
    """Read a file as a release: with the hierarchies of the original, or those that the policy alone defines.

    `in_buckets` says that its column of that name numbers buckets; with the original this is known anyway.
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
            f"the release has {len(rows):,} rows, more than the {whole:,} of its original: check that it "
            "is the right one"
        )
    bucket = _bucket(rows, policy, table, in_buckets)
    published, unknown = read_published(
        rows, attributes, sensitive, codes, suppressed=whole - len(rows), bucket=bucket
    )
    if bucket is not None and table is not None:
        method = policy.build_method()
        if not method.shows_buckets:
            from shoal.methods.permuting.anatomy import Anatomy

            # Two tables that another tool made: assume that quasi-identifiers stay in their rows.
            method = Anatomy()
        together, sensitive_in = method.shuffled_together(table)
        published = replace(published, together=together, sensitive_in=sensitive_in)
        notes.append(
            f"'{bucket}' numbers buckets; Shoal assumes that values were shuffled within them as {policy.method.name} "
            "does, because the policy says so, and no file can show it"
        )
    if table is None and any(not _has_domain(plan) for plan in plans if plan.role == "quasi"):
        # Without a domain no cell has a loss, not even one that shows *.
        published = replace(published, low=None, high=None)
    if unknown and table is not None:
        notes.append(
            f"cells of {', '.join(unknown)} are not in the policy's hierarchies, so losses cannot be computed; "
            "classes are rows with identical quasi-identifiers"
        )
    return published, notes


def _bucket(rows: pl.DataFrame, policy: Policy, table: CodedTable | None, in_two: bool) -> str | None:
    """Return the column that numbers buckets, if there is one: `render` names it, after the columns of the original.

    Only methods that shuffle within buckets have it. Elsewhere a column of that name says nothing about shuffling,
    and rows show their own values.
    """
    name = bucket_name(policy.columns if table is None else table.columns)
    if name not in rows.columns:
        return None
    shuffling = policy.method.name in METHODS and METHODS[policy.method.name].shows_buckets
    return name if in_two or (table is not None and shuffling) else None


def _has_domain(plan: ColumnPlan) -> bool:
    """Return whether the policy alone defines the domain of a column: files and trees do, others need the original."""
    return parsed(plan.hierarchy).knows_domain


def _attribute(plan: ColumnPlan) -> Attribute:
    """Return what the policy alone says about a quasi-identifier."""
    if _has_domain(plan):
        return Attribute(plan.name, build(pl.Series([], dtype=pl.String), plan.hierarchy), plan.weight)
    names = pl.Series([ROOT])
    return Attribute(plan.name, Hierarchy(names, (Level(np.zeros(1, np.int32), names),)), plan.weight)


def _starred(rows: pl.DataFrame, attributes: tuple[Attribute, ...]) -> pl.Series:
    """Return the rows that show * in every quasi-identifier."""
    columns = [rows[attribute.name] for attribute in attributes]
    if not all(isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum) for column in columns):
        return pl.repeat(False, len(rows), eager=True)
    starred = pl.repeat(True, len(rows), eager=True)
    for column in columns:
        starred &= column.cast(pl.String).eq_missing(ROOT)
    return starred
