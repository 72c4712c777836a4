"""Slicing: correlated columns stay together, and each group of columns is shuffled within buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.coding import Attribute, CodedTable
from shoal.coding.columns import Columns
from shoal.coding.groups import Groups, Histograms
from shoal.coding.hierarchy import Hierarchy, Level
from shoal.errors import DataError, LimitError, PolicyError, Problem, did_you_mean
from shoal.judging.models.model import GroupModel, Monotone
from shoal.judging.models.requirements import Requirements
from shoal.judging.models.whole_table import one_class
from shoal.methods.permuting.column_groups import CORRELATIONS, cluster_columns, correlations
from shoal.methods.permuting.shuffled_buckets import SHUFFLED, Permuting, facts_of, own_cells, shuffle_within
from shoal.release import Release
from shoal.release.layout import ProposedBuckets, Shuffling
from shoal.release.published import Published
from shoal.support.arrays import BoolVector, FloatVector, IntVector
from shoal.support.brief import Brief
from shoal.support.run import Run
from shoal.support.wording import format_setting


@dataclass(frozen=True, kw_only=True)
class Slicing(Permuting):
    """Groups columns by correlation and shuffles each group as a unit within buckets."""

    name: ClassVar[str] = "slicing"
    summary: ClassVar[str] = "shuffles groups of columns within buckets; correlated columns stay together"
    paper: ClassVar[str] = "Li, Li, Zhang, Molloy: Slicing, TKDE 2012"

    groups: tuple[tuple[str, ...], ...] | None = None
    """Columns that stay together, by name. Columns that are not named stay alone. Without it, groups are computed."""
    columns: int | None = None
    """How many groups to compute; by default about half the number of columns."""
    correlation: str = "contingency"
    """How to measure that columns belong together: the mean-square ``contingency`` of binned values, or ``pearson``:
    the square of Pearson's coefficient for pairs of numbers or dates, and the contingency for other pairs."""
    with_sensitive: bool = False
    """Whether computed groups may contain sensitive columns. This keeps correlations with them, but an adversary who
    knows another column of the group learns more about the sensitive value."""

    def __post_init__(self) -> None:
        super().__post_init__()
        problems = []
        if self.columns is not None and self.columns < 1:
            problems.append(Problem("method.columns", f"must be at least 1, not {self.columns}"))
        computing = self.columns is not None or self.with_sensitive or self.correlation != CORRELATIONS[0]
        if self.groups is not None and computing:
            message = "cannot be combined with columns, correlation and with_sensitive, which say how to compute groups"
            problems.append(Problem("method.groups", message))
        if self.correlation not in CORRELATIONS:
            hint = did_you_mean(self.correlation, CORRELATIONS)
            problems.append(Problem("method.correlation", f"'{self.correlation}' is unknown", hint))
        named = [name for group in self.groups or () for name in group]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            problems.append(Problem("method.groups", f"names {', '.join(twice)} more than once"))
        if problems:
            raise PolicyError(problems)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Group columns, make buckets, shuffle. O(rows x columns^2), plus the cost of the partitioner."""
        self.check_suited(requirements, [attribute.name for attribute in table.sensitive])
        self.refuse_k(table, requirements)
        groups = self._groups(table)
        bucket_of = self._buckets(table, requirements, run, _with_sensitive(groups, len(table.attributes)))
        shown_from = np.empty((table.rows, len(table.attributes) + len(table.sensitive)), np.int32)
        for group in groups:
            shown_from[:, group] = shuffle_within(bucket_of, run.random)[:, None]
        names = [attribute.name for attribute in (*table.attributes, *table.sensitive)]
        return Release(
            own_cells(bucket_of),
            table.quasi.wide,
            table.quasi.wide,
            layout=ProposedBuckets(bucket_of, shown_from, _build_shuffling(groups, len(table.attributes))),
            facts=facts_of(
                bucket_of,
                quasi=SHUFFLED,
                sensitive=SHUFFLED,
                groups=[[names[j] for j in group] for group in groups],
            ),
        )

    def find_shuffling(self, table: CodedTable | Published) -> Shuffling:
        """Groups follow from the table and the options alone."""
        return _build_shuffling(self._groups(table), len(table.attributes))

    def _groups(self, table: CodedTable | Published) -> list[list[int]]:
        """Return groups of columns, quasi-identifiers first, each column in one group."""
        names = [attribute.name for attribute in (*table.attributes, *table.sensitive)]
        quasi = len(table.attributes)
        if self.groups is not None:
            problems = [
                Problem(
                    "method.groups",
                    f"'{name}' is neither a quasi-identifier nor sensitive",
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
            if not isinstance(table, CodedTable):
                raise DataError(
                    "slicing groups columns by the values of the original: give it, or name the groups"
                )
            inside = len(names) if self.with_sensitive else quasi
            wanted = -(-inside // 2) if self.columns is None else self.columns
            found = cluster_columns(correlations(table, self.correlation)[:inside, :inside], wanted)
        alone = set(range(len(names))) - {j for group in found for j in group}
        return sorted([*found, *([j] for j in alone)])

    def _buckets(
        self, table: CodedTable, requirements: Requirements, run: Run, linked: list[int]
    ) -> IntVector:
        """Make buckets. If quasi-identifiers share a group with sensitive columns, each of their values must satisfy
        the models.
        """
        if not linked or not requirements.group_models:
            return self.buckets(table, requirements, run).region_of
        extended, rules = _by_linked_values(table, requirements, linked)
        whole = one_class(extended)
        for rule in rules:
            if not rule.holds_in(whole).all() and requirements.suppressible(table.rows) == 0:
                names = " and ".join(table.attributes[j].name for j in linked)
                raise LimitError(
                    f"even one bucket of all rows does not satisfy {rule.title} for each value of {names}, which "
                    "shares a group with sensitive columns",
                    f"Take it out of their group ({format_setting('method.groups', ...)}), or ask for less",
                )
        return self.buckets(extended, requirements, run, rules).region_of


def _build_shuffling(groups: list[list[int]], quasi: int) -> Shuffling:
    together = [tuple(j for j in group if j < quasi) for group in groups]
    kept = [group for group in together if group]
    place = {
        j: kept.index(own) if own else -1 for own, group in zip(together, groups, strict=True) for j in group
    }
    sensitive = sorted(j for j in place if j >= quasi)
    return Shuffling(tuple(kept), tuple(place[j] for j in sensitive) if sensitive else None)


def _with_sensitive(groups: list[list[int]], quasi: int) -> list[int]:
    """Return the quasi-identifiers that share a group with a sensitive column."""
    return sorted(j for group in groups if max(group) >= quasi for j in group if j < quasi)


# --- models that must hold for each value that shares a group with a sensitive one ---------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PerLinkedValue(Brief, GroupModel):
    """Holds in a bucket if another model holds for the rows of each linked value: a combination of values in the
    quasi-identifiers that share a group with a sensitive column.
    """

    name: ClassVar[str] = "per-linked-value"
    summary: ClassVar[str] = (
        "a model holds for the rows of each value that shares a group with sensitive ones"
    )
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS

    rule: GroupModel
    """A monotone model."""
    pairs: tuple[int, ...]
    """Per sensitive column, the position of the column of pairs of linked and sensitive values."""
    part_of: tuple[IntVector, ...]
    """Per sensitive column: pair -> linked value, ascending."""
    value_of: tuple[IntVector, ...]
    """Per sensitive column: pair -> sensitive value."""

    @property
    def threshold(self) -> float:
        """What the model requires."""
        return self.rule.threshold

    @property
    def title(self) -> str:
        """Name the model."""
        return self.rule.title

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return what the worst subgroup of each group reaches."""
        subgroups, owner = self._subgroups(groups)
        reached = self.rule.score_groups(subgroups)
        higher = self.rule.higher_is_safer
        worst = np.full(len(groups), np.inf if higher else -np.inf)
        (np.minimum if higher else np.maximum).at(worst, owner, reached)
        return worst

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return the groups whose subgroups all satisfy the model; an empty group does not."""
        subgroups, owner = self._subgroups(groups)
        failing = np.bincount(owner, ~self.rule.holds_in(subgroups), len(groups))
        return np.asarray((failing == 0) & (groups.size > 0))

    def _subgroups(self, groups: Groups) -> tuple[Groups, IntVector]:
        """Split each group by linked value, and return the group of each subgroup. O(values that occur)."""
        columns, sizes, owner = [], np.zeros(0, np.int64), np.zeros(0, np.int32)
        for own, part_of, value_of in zip(self.pairs, self.part_of, self.value_of, strict=True):
            pairs = groups.sensitive[own]
            group_of = np.repeat(np.arange(len(groups), dtype=np.int32), np.diff(pairs.start))
            part = part_of[pairs.value]
            new = np.ones(len(part), np.bool_)
            new[1:] = (np.diff(part) != 0) | (np.diff(group_of) != 0)
            first = np.flatnonzero(new)
            start = np.append(first, len(part)).astype(np.int64)
            # Subgroups are the same for every sensitive column: all columns have the same rows.
            sizes, owner = np.add.reduceat(pairs.count, first) if len(first) else sizes, group_of[first]
            columns.append(Histograms(start, value_of[pairs.value], pairs.count))
        plain = len(self.pairs)
        return Groups(sizes, tuple(columns), groups.totals[:plain], groups.attributes[:plain]), owner


def _by_linked_values(
    table: CodedTable, requirements: Requirements, linked: list[int]
) -> tuple[CodedTable, tuple[GroupModel, ...]]:
    """Add columns with pairs of linked and sensitive values to a table, and return models that read them."""
    from shoal.kernels.grouping import distinct

    part = distinct(np.asfortranarray(table.quasi.wide[:, linked]))[0].astype(np.int64)
    attributes, codes, part_of, value_of = [], [], [], []
    for j, attribute in enumerate(table.sensitive):
        size = attribute.hierarchy.size
        pairs, number = np.unique(part * size + table.secrets.wide[:, j], return_inverse=True)
        attributes.append(Attribute(f"{attribute.name} linked", _build_nameless(len(pairs))))
        codes.append(number.astype(np.int32))
        part_of.append((pairs // size).astype(np.int32))
        value_of.append((pairs % size).astype(np.int32))
    plain = len(table.sensitive)
    extended = table.with_secrets(
        Columns((*table.sensitive, *attributes), (*table.secrets.narrow, *codes), table.rows)
    )
    pairs_at = tuple(range(plain, 2 * plain))
    rules = tuple(
        PerLinkedValue(rule=rule, pairs=pairs_at, part_of=tuple(part_of), value_of=tuple(value_of))
        for rule in requirements.group_models
    )
    return extended, rules


def _build_nameless(size: int) -> Hierarchy:
    """Return a domain of numbers that are never shown."""
    import polars as pl

    leaves = pl.Series(range(size), dtype=pl.Int32)
    return Hierarchy(leaves, (Level(np.arange(size, dtype=np.int32), leaves.cast(pl.String)),))
