"""From a file or frame, written by Shoal or by any other tool, to the rows of a release and to `Published`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal import frames
from shoal.errors import DataError
from shoal.hierarchy import ROOT, Hierarchy, Level, build
from shoal.hierarchy.kinds import parsed
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.release.published import Published
from shoal.release.reading import read_published, sensitive_codes
from shoal.release.render import bucket_name
from shoal.release.retyping import retyped_as, with_guessed_types
from shoal.release.two_tables import joined, second_beside
from shoal.table import Attribute, CodedTable
from shoal.table.encode import encode
from shoal.table.plan import ColumnPlan
from shoal.wording import either


def read_release(
    source: Any, second: Any, policy: Policy, *, delimiter: str | None = None
) -> tuple[pl.DataFrame, bool]:
    """Read the rows of a release, and return whether it is in two tables: then sensitive values are assigned to the
    rows of their bucket.

    Shoal reads a release in its own dialect, however the original was read; what another tool wrote is described by
    `[release]` of the policy. `delimiter` is the original's, if it is known. Text stays text.
    """
    options = policy.release_options(delimiter)
    rows = frames.read(source, options).data
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
    return joined(rows, frames.read(second, options).data, bucket, sensitive), True


def typed(rows: pl.DataFrame, policy: Policy, table: CodedTable | None) -> pl.DataFrame:
    """Return the rows of a release in the types of the original. Without it, only sensitive columns get types, because
    some models compare their values as numbers; a hierarchy that lists its values knows them as text.
    """
    if table is not None:
        types = {attribute.name: attribute.hierarchy.leaves.dtype for attribute in table.attributes}
        return retyped_as(rows, types | dict(table.kept.schema))
    plans = policy.plans(rows.columns, of_release=True)
    return with_guessed_types(
        rows, [plan.name for plan in plans if plan.role == "sensitive" and not _has_domain(plan)]
    )


def as_published(
    rows: pl.DataFrame,
    policy: Policy,
    table: CodedTable | None,
    *,
    in_buckets: bool = False,
    suppressed_as: str | None = None,
) -> tuple[Published, pl.DataFrame, list[str]]:
    """Read `typed` rows as a release: with the hierarchies of the original, or those that the policy alone defines.

    `in_buckets` says that its column of that name numbers buckets; with the original this is known anyway. Rows that
    are there are rows; only if `suppressed_as` is given, those that show this text in every quasi-identifier count as
    suppressed. Also returns the rows that are left, and what a reader should know.
    """
    plans = policy.plans(rows.columns, of_release=True)
    whole = table.rows if table is not None else len(rows)
    if len(rows) > whole:
        raise DataError(
            f"the release has {len(rows):,} rows, more than the {whole:,} of its original: check that it "
            "is the right one"
        )
    notes = []
    marked = _showing(rows, policy.names("quasi"), ROOT if suppressed_as is None else suppressed_as)
    if suppressed_as is not None:
        rows = rows.filter(~marked)
    elif marked.any():
        notes.append(
            f"{marked.sum():,} rows show {ROOT} in every quasi-identifier; they count as rows of the release. If they "
            f"stand for suppressed rows, say so: "
            + either(command=f"--suppressed-as '{ROOT}'", python=f'suppressed_as="{ROOT}"')
        )
    if table is not None:
        attributes, sensitive = table.attributes, table.sensitive
        codes = sensitive_codes(rows, sensitive)
    else:
        attributes = tuple(_attribute(plan) for plan in plans if plan.role == "quasi")
        shown = encode(rows, [plan for plan in plans if plan.role == "sensitive"])
        sensitive, codes = shown.sensitive, shown.sensitive_codes
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
        # Without a domain no cell has a loss, not even one that shows *, and nobody knows what is above a limit.
        known = [_has_domain(plan) for plan in plans if plan.role == "quasi"]
        beyond = [
            own if there else (0, len(rows))
            for own, there in zip(published.beyond_limits, known, strict=True)
        ]
        published = replace(published, low=None, high=None, beyond_limits=tuple(beyond))
    if unknown and table is not None:
        notes.append(
            f"cells of {', '.join(unknown)} are not in the policy's hierarchies, or above their limits, so losses "
            "cannot be computed; classes are rows with identical quasi-identifiers"
        )
    return published, rows, notes


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
        hierarchy = build(pl.Series([], dtype=pl.String), plan.hierarchy)
        limited = hierarchy if plan.limit is None else hierarchy.limited(plan.limit)
        return Attribute(plan.name, limited, plan.weight)
    names = pl.Series([ROOT])
    return Attribute(plan.name, Hierarchy(names, (Level(np.zeros(1, np.int32), names),)), plan.weight)


def _showing(rows: pl.DataFrame, names: tuple[str, ...], text: str) -> pl.Series:
    """Return the rows that show a text in every quasi-identifier."""
    shown = pl.repeat(True, len(rows), dtype=pl.Boolean, eager=True)
    for name in names:
        column = rows[name]
        if not isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum):
            return pl.repeat(False, len(rows), dtype=pl.Boolean, eager=True)
        shown &= column.cast(pl.String).eq_missing(text)
    return shown
