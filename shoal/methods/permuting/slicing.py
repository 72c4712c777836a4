"""Slicing: columns that tell of each other stay together, and each group of them is shuffled within buckets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.arrays import BoolVector, FloatVector, IntVector
from shoal.errors import InfeasibleError, PolicyError, Problem, did_you_mean
from shoal.hierarchy import Hierarchy, Level
from shoal.methods.base import Shuffled
from shoal.methods.permuting.column_groups import clustered, correlations
from shoal.methods.permuting.permuting import SHUFFLED, Permuting, facts_of, own_cells, shuffled_within
from shoal.models.base import GroupModel, one_class
from shoal.models.requirements import Requirements
from shoal.release import Release
from shoal.release.groups import Groups, Histograms
from shoal.run import Run
from shoal.table import Attribute, CodedTable


@dataclass(frozen=True, kw_only=True)
class Slicing(Permuting):
    """Groups columns by correlation and shuffles each group as a unit within buckets."""

    name: ClassVar[str] = "slicing"
    summary: ClassVar[str] = (
        "shuffles groups of columns within buckets; columns that tell of each other stay together"
    )
    paper: ClassVar[str] = "Li, Li, Zhang, Molloy: Slicing, TKDE 2012"

    groups: tuple[tuple[str, ...], ...] | None = None
    """Columns that stay together, by name; a column that is not named stands alone. Without it, groups are found."""
    columns: int | None = None
    """How many groups to find; about half as many as there are columns unless given."""
    with_sensitive: bool = False
    """Whether sensitive columns are grouped with others when groups are found: relations to them are kept, and whoever
    knows the column beside a sensitive value knows more of it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        problems = []
        if self.columns is not None and self.columns < 1:
            problems.append(Problem("method.columns", f"must be at least 1, not {self.columns}"))
        if self.groups is not None and (self.columns is not None or self.with_sensitive):
            message = "goes without columns and with_sensitive, which say how groups are found"
            problems.append(Problem("method.groups", message))
        named = [name for group in self.groups or () for name in group]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            problems.append(Problem("method.groups", f"names {', '.join(twice)} more than once"))
        if problems:
            raise PolicyError(problems)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Group columns, make buckets, shuffle. O(rows x columns^2), and what the partitioner costs."""
        self.refuse_k(table, requirements)
        groups = self._groups(table)
        together, sensitive_in = _as_told(groups, len(table.attributes))
        bucket_of = self._buckets(table, requirements, run, _beside(groups, len(table.attributes)))
        shown_from = np.empty((table.rows, len(table.attributes) + len(table.sensitive)), np.int32)
        for group in groups:
            shown_from[:, group] = shuffled_within(bucket_of, run.random)[:, None]
        names = [attribute.name for attribute in (*table.attributes, *table.sensitive)]
        return Release(
            own_cells(bucket_of),
            table.codes,
            table.codes,
            bucket_of=bucket_of,
            shown_from=shown_from,
            together=together,
            sensitive_in=sensitive_in,
            facts=facts_of(
                bucket_of,
                quasi=SHUFFLED,
                sensitive=SHUFFLED,
                groups=[[names[j] for j in group] for group in groups],
            ),
        )

    def shuffled_together(self, table: CodedTable) -> Shuffled:
        """Groups follow from the table and the options, without chance."""
        return _as_told(self._groups(table), len(table.attributes))

    def _groups(self, table: CodedTable) -> list[list[int]]:
        """Return groups of columns, quasi-identifiers first, each column in one group."""
        names = [attribute.name for attribute in (*table.attributes, *table.sensitive)]
        quasi = len(table.attributes)
        if self.groups is not None:
            problems = [
                Problem(
                    "method.groups",
                    f"'{name}' is no quasi-identifier and not sensitive",
                    did_you_mean(name, names),
                )
                for group in self.groups
                for name in group
                if name not in names
            ]
            if problems:
                raise PolicyError(problems)
            found = [sorted(names.index(name) for name in group) for group in self.groups if group]
        else:
            inside = len(names) if self.with_sensitive else quasi
            wanted = -(-inside // 2) if self.columns is None else self.columns
            found = clustered(correlations(table)[:inside, :inside], wanted)
        alone = set(range(len(names))) - {j for group in found for j in group}
        return sorted([*found, *([j] for j in alone)])

    def _buckets(
        self, table: CodedTable, requirements: Requirements, run: Run, beside: list[int]
    ) -> IntVector:
        """Make buckets; where quasi-identifiers stand beside sensitive values, each of their values obeys the rules."""
        if not beside or not requirements.group_models:
            return self.buckets(table, requirements, run).region_of
        parted, rules = _by_values_beside(table, requirements, beside)
        whole = one_class(parted)
        for rule in rules:
            if not rule.satisfied(whole).all() and requirements.suppressible(table.rows) == 0:
                names = " and ".join(table.attributes[j].name for j in beside)
                raise InfeasibleError(
                    f"even one bucket of all rows does not reach {rule.title} for each value of {names}, which stands "
                    "beside sensitive values: take it out of their group, or ask for less"
                )
        return self.buckets(parted, requirements, run, rules).region_of


def _as_told(groups: list[list[int]], quasi: int) -> Shuffled:
    together = [tuple(j for j in group if j < quasi) for group in groups]
    kept = [group for group in together if group]
    place = {
        j: kept.index(own) if own else -1 for own, group in zip(together, groups, strict=True) for j in group
    }
    sensitive = sorted(j for j in place if j >= quasi)
    return tuple(kept), tuple(place[j] for j in sensitive) if sensitive else None


def _beside(groups: list[list[int]], quasi: int) -> list[int]:
    """Return the quasi-identifiers that share a group with a sensitive column."""
    return sorted(j for group in groups if max(group) >= quasi for j in group if j < quasi)


# --- rules for each value that stands beside a sensitive one ------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Beside(GroupModel):
    """A rule about classes that holds in a bucket if it does for the rows of each value that stands beside."""

    name: ClassVar[str] = "beside"
    summary: ClassVar[str] = "a rule holds for the rows of each value that stands beside sensitive ones"
    monotone: ClassVar[bool] = True

    rule: GroupModel
    """A monotone rule."""
    pairs: tuple[int, ...]
    """Per sensitive column, where the column of pairs, of the value beside and the sensitive one, is."""
    part_of: tuple[IntVector, ...]
    """Per sensitive column: pair -> value beside it, ascending."""
    value_of: tuple[IntVector, ...]
    """Per sensitive column: pair -> sensitive value."""

    @property
    def required(self) -> float:
        """What the rule requires."""
        return self.rule.required

    @property
    def title(self) -> str:
        """Name the rule."""
        return self.rule.title

    def reached(self, groups: Groups) -> FloatVector:
        """Return what the worst part of each group reaches."""
        parts, owner = self._parts(groups)
        reached = self.rule.reached(parts)
        higher = self.rule.higher_is_safer
        worst = np.full(len(groups), np.inf if higher else -np.inf)
        (np.minimum if higher else np.maximum).at(worst, owner, reached)
        return worst

    def satisfied(self, groups: Groups) -> BoolVector:
        """Return the groups of which every part satisfies the rule; an empty one does not."""
        parts, owner = self._parts(groups)
        failing = np.bincount(owner, ~self.rule.satisfied(parts), len(groups))
        return np.asarray((failing == 0) & (groups.size > 0))

    def _parts(self, groups: Groups) -> tuple[Groups, IntVector]:
        """Part each group by the value beside, and say whose each part is. O(values that occur)."""
        columns, sizes, owner = [], np.zeros(0, np.int64), np.zeros(0, np.int32)
        for own, part_of, value_of in zip(self.pairs, self.part_of, self.value_of, strict=True):
            pairs = groups.sensitive[own]
            group_of = np.repeat(np.arange(len(groups), dtype=np.int32), np.diff(pairs.start))
            part = part_of[pairs.value]
            new = np.ones(len(part), np.bool_)
            new[1:] = (np.diff(part) != 0) | (np.diff(group_of) != 0)
            first = np.flatnonzero(new)
            start = np.append(first, len(part)).astype(np.int64)
            # Parts are the same for every sensitive column: all of them see the same rows.
            sizes, owner = np.add.reduceat(pairs.count, first) if len(first) else sizes, group_of[first]
            columns.append(Histograms(start, value_of[pairs.value], pairs.count))
        plain = len(self.pairs)
        return Groups(sizes, tuple(columns), groups.totals[:plain], groups.attributes[:plain]), owner


def _by_values_beside(
    table: CodedTable, requirements: Requirements, beside: list[int]
) -> tuple[CodedTable, tuple[GroupModel, ...]]:
    """Give a table further columns, of pairs of values beside and sensitive ones, and rules that read them."""
    from shoal.kernels.grouping import distinct

    part = distinct(np.asfortranarray(table.codes[:, beside]))[0].astype(np.int64)
    attributes, codes, part_of, value_of = [], [], [], []
    for j, attribute in enumerate(table.sensitive):
        size = attribute.hierarchy.size
        pairs, number = np.unique(part * size + table.sensitive_codes[:, j], return_inverse=True)
        attributes.append(Attribute(f"{attribute.name} beside", _nameless(len(pairs))))
        codes.append(number.astype(np.int32))
        part_of.append((pairs // size).astype(np.int32))
        value_of.append((pairs % size).astype(np.int32))
    plain = len(table.sensitive)
    parted = replace(
        table,
        sensitive=(*table.sensitive, *attributes),
        sensitive_codes=np.asfortranarray(np.column_stack([table.sensitive_codes, *codes])),
    )
    pairs_at = tuple(range(plain, 2 * plain))
    rules = tuple(
        Beside(rule=rule, pairs=pairs_at, part_of=tuple(part_of), value_of=tuple(value_of))
        for rule in requirements.group_models
    )
    return parted, rules


def _nameless(size: int) -> Hierarchy:
    """A domain of numbers whose values nobody will see."""
    import polars as pl

    leaves = pl.Series(range(size), dtype=pl.Int32)
    return Hierarchy(leaves, (Level(np.arange(size, dtype=np.int32), leaves.cast(pl.String)),))
