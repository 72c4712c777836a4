"""From the cells of a release to `Published`, as far as the domains of columns are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import polars as pl

from shoal.coding import Attribute, CodedTable
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.hierarchy import ROOT, Hierarchy, Level, build
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.io.sheet import Sheet
from shoal.policy import Policy
from shoal.release.bounds import bounds_among
from shoal.release.published import BoxesInPart, Published
from shoal.release.read_published import PublishedColumns, read_published, sensitive_codes
from shoal.support.arrays import IntMatrix
from shoal.support.brief import Brief

Shown = TypeVar("Shown", bound=Published)


@dataclass(frozen=True, eq=False, repr=False)
class CellReader(Brief):
    """The rows of a release, and what is known about the domains of its columns."""

    rows: Sheet
    attributes: tuple[Attribute, ...]
    sensitive: tuple[Attribute, ...]
    codes: IntMatrix
    """``[rows, sensitive columns]``."""
    known: tuple[bool, ...]
    """Which quasi-identifiers have a domain that is known: with the original, all of them."""
    bounds: Mapping[str, tuple[str | None, str | None]]
    """Which columns are the ends of the cells of each quasi-identifier."""
    suppressed: int

    @classmethod
    def of(
        cls, rows: Sheet, plans: Sequence[ColumnPlan], policy: Policy, table: CodedTable | None, whole: int
    ) -> CellReader:
        """Take the domains of the original, or those that the policy alone defines. Without the original, the table
        had `whole` rows.
        """
        if table is not None:
            attributes, sensitive, whole = table.attributes, table.sensitive, table.rows
            known, others = [True] * len(attributes), (*policy.columns, *table.columns, *table.dropped)
            codes = sensitive_codes(rows, sensitive)
        else:
            quasi = [plan for plan in plans if plan.role.generalized]
            attributes = tuple(attribute_of(plan) for plan in quasi)
            known, others = [has_domain(plan) for plan in quasi], tuple(policy.columns)
            shown = encode(rows, [plan for plan in plans if plan.role.protected])
            sensitive, codes = shown.sensitive, shown.secrets.wide
        bounds = {a.name: bounds_among(rows.columns, a.name, others) for a in attributes}
        return cls(rows, attributes, sensitive, codes, tuple(known), bounds, whole - len(rows))

    def notes(self, policy: Policy) -> list[str]:
        """Say which columns are read as bounds although the policy does not say that they are."""
        told = [
            one
            for name, ends in self.bounds.items()
            for one in ends
            if one and policy.columns[name].show is None
        ]
        if not told:
            return []
        return [
            f"columns {', '.join(told)} are read as the ends of generalized cells, because of their names. If they are "
            "something else, give them a role in the policy"
        ]

    def read(self, bucket: str | None) -> tuple[Published, list[str]]:
        """Read the rows, with the column of buckets if there is one. Also returns the columns with cells that their
        hierarchy does not know.
        """
        published, unknown = read_published(
            self.rows,
            PublishedColumns(self.attributes, self.sensitive, bucket, self.bounds),
            self.codes,
            self.suppressed,
        )
        if all(self.known):
            return published, unknown
        return without_domains(published, self.known, len(self.rows)), unknown


def without_domains(published: Shown, known: Sequence[bool], rows: int) -> Shown:
    """Return the same if some columns have no domain that is known: then no cell has a loss, not even one that shows *,
    and nobody knows what is above a limit.
    """
    faults = [
        own if there else replace(own, above=0, unread=rows)
        for own, there in zip(published.faults, known, strict=True)
    ]
    cells = published.cells if isinstance(published.cells, BoxesInPart) else None
    return replace(published, cells=cells, faults=tuple(faults))


def unreadable(unknown: Sequence[str], table: CodedTable | None) -> list[str]:
    """Say which columns have cells that cannot be read, if the original is there."""
    if not unknown or table is None:
        return []
    return [
        f"cells of {', '.join(unknown)} are not in the policy's hierarchies, or above their limits, so losses "
        "cannot be computed; classes are rows with identical quasi-identifiers"
    ]


def has_domain(plan: ColumnPlan) -> bool:
    """Return whether the policy alone defines the domain of a column: files and trees do, others need the original."""
    return parse_hierarchy(plan.hierarchy).knows_domain


def attribute_of(plan: ColumnPlan) -> Attribute:
    """Return what the policy alone says about a quasi-identifier."""
    if has_domain(plan):
        hierarchy = build(pl.Series([], dtype=pl.String), plan.hierarchy)
        limited = hierarchy if plan.limit is None else hierarchy.with_limit(plan.limit)
        return Attribute(plan.name, limited, plan.weight)
    names, kind = pl.Series([ROOT]), parse_hierarchy(plan.hierarchy)
    level = Level(np.zeros(1, np.int32), names)
    hierarchy = Hierarchy(names, (level,), hiding=kind if kind.hides else None)
    return Attribute(plan.name, hierarchy, plan.weight)
