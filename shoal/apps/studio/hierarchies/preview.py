"""What a hierarchy does to one column by itself: its levels, its groups, what they lose, and values without a place.

Everything is counted on the distinct values of a column, so that a million rows take no longer than a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.apps.studio.hierarchies.edited_tree import MOST, Branches
from shoal.coding import Attribute
from shoal.coding.hierarchy import Hierarchy
from shoal.coding.hierarchy.distinct_values import text_of
from shoal.coding.hierarchy.kinds import Kind, Spec, parse_hierarchy
from shoal.coding.hierarchy.kinds.file import File
from shoal.coding.hierarchy.kinds.tree_kind import Tree
from shoal.coding.hierarchy.labels import Ends
from shoal.coding.hierarchy.nested_trees import tree_rows
from shoal.coding.hierarchy.tree_files import level_names, read_rows, read_text
from shoal.coding.hierarchy.tree_rows import from_rows, leaf_of
from shoal.errors import HierarchyError, ShoalError
from shoal.io import Frame, factorize
from shoal.judging.measures import MEASURES
from shoal.judging.measures.measure import CellMeasure
from shoal.policy.suggestions.column_loss import loss_alone
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.wording import format_count as told_count

SAMPLE = 20_000
"""Of columns with more values than a tree may have, so many are tried: hierarchies of a million take seconds."""
EXAMPLES = 7
"""How many values show what levels look like."""
NO_VALUE = "(no value)"


@dataclass(frozen=True, eq=False, repr=False)
class Counted(Brief):
    """The distinct values of a column, and how many rows have each."""

    name: str
    values: pl.Series
    """Distinct, null included, in the type of the column."""
    counts: LongVector
    rows: int

    @property
    def many(self) -> bool:
        """Whether there are too many values for a tree, so that hierarchies are tried on some of them."""
        return len(self.values) > MOST

    @cached_property
    def some(self) -> Counted:
        """The column with some of its values, taken at random: always the same ones."""
        if not self.many:
            return self
        at = np.sort(np.random.default_rng(0).choice(len(self.values), SAMPLE, replace=False))
        counts = self.counts[at]
        return Counted(self.name, self.values.gather(at), counts, int(counts.sum()))

    @cached_property
    def plain(self) -> pl.Series:
        """The values with categories as text."""
        odd = isinstance(self.values.dtype, pl.Categorical | pl.Enum | pl.Null)
        return self.values.cast(pl.String) if odd else self.values

    @property
    def empty_rows(self) -> int:
        """Rows without a value."""
        return int(self.counts[self.values.is_null().to_numpy()].sum())

    @property
    def distinct(self) -> int:
        """How many values there are, null not included."""
        return len(self.values) - self.values.null_count()


def count(frame: Frame, name: str) -> Counted:
    """Count the values of a column. O(rows)."""
    column = frame.column(name)
    try:
        codes, values = factorize(column)
    except pl.exceptions.PolarsError:
        raise HierarchyError("values of this type cannot be generalized") from None
    return Counted(name, values, np.bincount(codes, minlength=len(values)).astype(np.int64), len(column))


@dataclass(frozen=True)
class LevelFacts:
    """What one level does to the column."""

    level: int
    groups: int
    """Nodes that some row has."""
    smallest: int
    """Rows of the smallest of them."""
    below: int
    """Rows in groups of fewer than k."""
    loss: float
    """What the column loses if all of it is published at this level, 0 to 1."""


@dataclass(frozen=True, eq=False, repr=False)
class Tried(Brief):
    """What a hierarchy does to a column."""

    kind: Kind | None
    """None if it is misspelled."""
    hierarchy: Hierarchy | None = None
    """Without the values that have no place; None if there is none."""
    problem: str = ""
    homeless: tuple[tuple[str, int], ...] = ()
    """Values without a place, with their rows, the most frequent first."""
    levels: tuple[LevelFacts, ...] = ()
    alone: float = 0.0
    """What it loses by itself, if every published cell must be that of k rows."""
    counts: LongVector = field(default_factory=lambda: np.zeros(0, np.int64))
    """Rows per code."""

    @property
    def fits(self) -> bool:
        """Whether every value has a place."""
        return self.hierarchy is not None and not self.homeless and not self.problem


def with_base(spec: Spec, base: Path) -> Kind:
    """Return the hierarchy that a policy spells, with its file in the folder of the policy."""
    kind = parse_hierarchy(spec)
    return File(base / kind.path) if isinstance(kind, File) else kind


def attempt(found: Counted, spec: Spec, base: Path, k: int) -> Tried:
    """Try a hierarchy on a column, and say what it does."""
    if not found.distinct:
        return Tried(None, problem="the column has no values: drop it, or publish it as it is")
    try:
        kind = with_base(spec, base)
    except HierarchyError as error:
        return Tried(None, problem=str(error))
    homeless: tuple[tuple[str, int], ...] = ()
    values, counts = found.values, found.counts
    try:
        hierarchy = kind.build(values)
    except ShoalError as error:
        if not kind.knows_domain:
            return Tried(kind, problem=str(error))
        try:
            rows = rows_of(kind, found.plain)
            where = leaf_of(found.plain, pl.Series([row[0] for row in rows], dtype=pl.String))
            homeless = _homeless(found.plain, counts, where)
            if not homeless:
                return Tried(kind, problem=str(error))
            kept = (where >= 0) | _odd(values)
            values, counts = values.filter(pl.Series(kept)), counts[kept]
            hierarchy = from_rows(values, rows, "the tree")
        except ShoalError as worse:
            return Tried(kind, problem=str(worse))
    per_code = np.zeros(hierarchy.size, np.int64)
    per_code[hierarchy.locate(values)] = counts
    levels = tuple(_facts(hierarchy, per_code, k))
    alone = loss_alone(hierarchy, per_code.astype(np.float64), k)
    return Tried(kind, hierarchy, "", homeless, levels, alone, per_code)


def _odd(values: pl.Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which values are null or NaN: they need no place, because they get a node of their own."""
    odd = values.is_null()
    if values.dtype.is_float():
        odd = odd | values.is_nan().fill_null(False)
    return odd.to_numpy()


def _homeless(values: pl.Series, counts: LongVector, where: IntVector) -> tuple[tuple[str, int], ...]:
    lost = (where < 0) & ~_odd(values)
    texts = text_of(values.filter(pl.Series(lost))).to_list()
    found = zip(texts, counts[lost].tolist(), strict=True)
    return tuple(sorted(found, key=lambda each: (-each[1], each[0])))


def rows_of(kind: Kind, values: pl.Series) -> list[tuple[str, ...]]:
    """Return the rows ``value, level 1, .., top`` of a tree or a file, whether or not they fit the data."""
    if isinstance(kind, Tree):
        return tree_rows(kind.tree)
    assert isinstance(kind, File)
    return [tuple(row) for row in read_rows(values, read_text(kind.path), kind.path.name)[0]]


def branches_of(tried: Tried, found: Counted) -> Branches | None:
    """Return the tree of a hierarchy with its rows; None if there is none, or it is too large to be shown."""
    if tried.hierarchy is None or tried.kind is None or found.many or tried.hierarchy.size > MOST:
        return None
    if isinstance(tried.kind, Tree):
        rows = tree_rows(tried.kind.tree)
    elif isinstance(tried.kind, File):
        rows = rows_of(tried.kind, found.plain)
    else:
        rows = _plain_rows(tried.hierarchy)
    made = Branches.from_rows(rows)
    count_rows(made, found)
    return made


def count_rows(tree: Branches, found: Counted) -> None:
    """Set how many rows each node of a tree has."""
    values = tree.values
    where = leaf_of(found.plain, pl.Series([node.name for node in values], dtype=pl.String))
    numbers = [values[at].number if at >= 0 else -1 for at in where.tolist()]
    tree.count(dict(zip(numbers, found.counts.tolist(), strict=True)))


def _plain_rows(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    """Return the rows of a hierarchy that no tree spells. Names that contain values of the data are replaced: in a
    tree they would be published whoever has these values."""
    names = level_names(hierarchy)
    if isinstance(hierarchy.naming, Ends):
        names = names.with_columns(
            _number_nodes(hierarchy, level).alias(f"L{level}") for level in range(1, hierarchy.height)
        )
    inner = names.columns[1:-1]
    alone = pl.all_horizontal(pl.col(name).is_null() for name in ["L0", *inner])
    return names.filter(~alone).select(pl.all().fill_null("")).rows()


def _number_nodes(hierarchy: Hierarchy, level: int) -> pl.Series:
    low, high = hierarchy.low[level], hierarchy.high[level]
    leaf = hierarchy.own_names
    _, number = np.unique(low, return_inverse=True)
    above = hierarchy.height - level
    made = pl.Series([f"Group {'ABCDEFGHIJ'[min(above, 10) - 1]}{at + 1}" for at in number.tolist()])
    return (
        pl.DataFrame({"made": made, "leaf": leaf, "single": low == high})
        .select(pl.when("single").then("leaf").otherwise("made"))
        .to_series()
    )


# --- what it loses --------------------------------------------------------------------------------------------


def measure() -> CellMeasure:
    """Return the measure with which hierarchies are compared: the one that Shoal steers by unless told otherwise."""
    made = MEASURES[MEASURES.default]()
    assert isinstance(made, CellMeasure)
    return made


def _facts(hierarchy: Hierarchy, counts: LongVector, k: int) -> Iterator[LevelFacts]:
    attribute, rule = Attribute("", hierarchy), measure()
    rows = max(int(counts.sum()), 1)
    for level, nodes in enumerate(hierarchy.levels):
        sizes = np.add.reduceat(counts, nodes.starts)
        sizes = sizes[sizes > 0]
        loss = rule.loss(attribute, counts, hierarchy.low[level], hierarchy.high[level])
        yield LevelFacts(
            level,
            len(sizes),
            int(sizes.min(initial=rows)),
            int(sizes[sizes < k].sum()),
            float(loss @ counts) / rows,
        )


# --- what levels look like ------------------------------------------------------------------------------------


def examples(tried: Tried) -> list[tuple[str, ...]]:
    """Return a few values of the column with their names at every level: frequent ones, and some across the domain."""
    hierarchy, counts = tried.hierarchy, tried.counts
    if hierarchy is None:
        return []
    there = np.flatnonzero(counts)
    if not len(there):
        return []
    spread = there[np.linspace(0, len(there) - 1, EXAMPLES - 2).round().astype(int)]
    often = there[np.argsort(-counts[there], kind="stable")[:2]]
    codes = np.unique(np.concatenate([spread, often])).astype(np.int32)
    shown = [
        hierarchy.names(hierarchy.low[level, codes], hierarchy.high[level, codes], level).fill_null(NO_VALUE)
        for level in range(len(hierarchy.levels))
    ]
    return list(zip(*(names.to_list() for names in shown), strict=True))


def describe_hierarchy(spec: Any, kind: Kind | None) -> str:
    """Describe a hierarchy in a few words, with its settings."""
    if kind is None or not isinstance(spec, dict):
        return kind.describe(free=True) if kind is not None else ""
    if isinstance(kind, Tree):
        values = tree_rows(kind.tree)
        return f"{told_count(len(values), 'value')} in {told_count(len(values[0]) - 1, 'level')}"
    parts = []
    for name, value in spec.items():
        text = (
            "; ".join(
                ", ".join(map(_short, level)) if isinstance(level, list | tuple) else _short(level)
                for level in (
                    value
                    if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple)
                    else [value]
                )
            )
            if isinstance(value, list | tuple)
            else _short(value)
        )
        parts.append(text if name == kind.name else f"{name} {text}")
    return ", ".join(parts)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
