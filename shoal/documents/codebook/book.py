"""`Codebook`: every column of a release, and every label in it with its meaning.

A codebook is made of the published rows and the policy, never of the original. So it tells nothing about suppressed
rows or removed columns, whoever makes it and whenever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from shoal import __version__
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.hierarchy.distinct_values import text_of
from shoal.coding.hierarchy.kinds import Kind, TableKind, parse_hierarchy
from shoal.coding.hierarchy.meanings import MISSING, Bound, Meaning, number_label, value
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.io.type_inference import guess_numbers_and_dates
from shoal.methods import METHODS
from shoal.policy import Policy
from shoal.release.bounds import bounds_among, label_texts, meanings_of
from shoal.release.perturbing import Perturbation
from shoal.release.record import PUBLISHED_AS
from shoal.release.render import bucket_name
from shoal.release.two_tables import COUNT, choose_name
from shoal.support.brief import Brief

LISTED = 100
"""A column that is published as it is lists its values if there are at most so many."""


@dataclass(frozen=True)
class Label:
    """A label that occurs in a column: its text as the release shows it, its meaning, and how many rows show it."""

    text: str | None
    meaning: Meaning
    rows: int

    def summary(self, name: str) -> dict[str, Any]:
        """Return plain data."""
        return {
            "label": self.text,
            **self.meaning.summary(),
            "means": self.meaning.words(name),
            "rows": self.rows,
        }


@dataclass(frozen=True)
class Column:
    """A column of a release, and what its cells mean."""

    name: str
    type: str
    """The type of its cells in the release."""
    values: str
    """The type of the values that the cells stand for."""
    role: str
    published: str
    """What was done to it, in words."""
    distinct: int
    """How many different cells it has, missing ones not counted."""
    missing: int
    """How many cells are empty."""
    labels: tuple[Label, ...] = ()
    """In the order of the values. Empty if the column shows too many values as they are to list them."""
    low: Bound | None = None
    """The smallest value of a column that is published as it is and does not list its values."""
    high: Bound | None = None
    """The largest value of such a column."""
    transitions: tuple[tuple[float, ...], ...] = ()
    """How likely each value became each other one before publication, in the order of the labels without the empty one;
    empty if values were not drawn so, or are too many to list."""
    title: str = ""
    """What it is about, in the words of a file of a statistical package."""

    def summary(self) -> dict[str, Any]:
        """Return plain data."""
        out: dict[str, Any] = {
            "name": self.name,
            "type": self.type,
            "values": self.values,
            "role": self.role,
            "published": self.published,
            "distinct": self.distinct,
            "missing": self.missing,
        }
        if self.title:
            out["title"] = self.title
        if self.low is not None:
            out |= {"low": self.low, "high": self.high}
        if self.transitions:
            out["transitions"] = [list(row) for row in self.transitions]
        return out | {"labels": [label.summary(self.name) for label in self.labels]}

    @property
    def value_labels(self) -> dict[str, str]:
        """The meaning in words of each label that is not a value itself: for formats that hold labels of values."""
        return {
            label.text: label.meaning.words(self.name)
            for label in self.labels
            if label.text is not None and label.meaning.kind != "value"
        }


@dataclass(frozen=True, repr=False)
class Codebook(Brief):
    """What the columns of a release mean. `second` are those of its second table, if it has two."""

    rows: int
    columns: tuple[Column, ...]
    second: tuple[Column, ...] = ()
    second_rows: int = 0
    made_with: str = field(default=f"Shoal {__version__}")
    delimiter: str | None = None
    """Between the cells of a file of text, if it is known."""

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns by their names, those of the second table too."""
        return {column.name: column for column in (*self.second, *self.columns)}

    def titled(self, titles: Mapping[str, str]) -> Codebook:
        """Return the codebook with what its columns are about, by their names."""
        own = [
            tuple(replace(one, title=titles.get(one.name, "")) for one in part)
            for part in (self.columns, self.second)
        ]
        return replace(self, columns=own[0], second=own[1])

    def summary(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        out: dict[str, Any] = {
            "made_with": self.made_with,
            "rows": self.rows,
            "columns": [column.summary() for column in self.columns],
        }
        if self.second:
            out["second_table"] = {
                "rows": self.second_rows,
                "columns": [column.summary() for column in self.second],
            }
        return out


def codebook_of(
    rows: pl.DataFrame, policy: Policy, second: pl.DataFrame | None = None, *, most: int | None = None
) -> Codebook:
    """Describe the rows of a release. O(rows x columns), and time for each distinct label. Columns with more than
    `most` labels list none.
    """
    known = {plan.name: plan for plan in policy.plans(_all_names(rows, second), of_release=True)}
    bucket = bucket_name(policy.columns)
    if second is None:
        return Codebook(len(rows), _columns(rows, policy, known, bucket, "", most))
    count = choose_name(COUNT, (bucket, *policy.names(SENSITIVE)))
    return Codebook(
        len(rows),
        _columns(rows, policy, known, bucket, "", most),
        _columns(second, policy, known, bucket, count, most),
        len(second),
    )


def _all_names(rows: pl.DataFrame, second: pl.DataFrame | None) -> list[str]:
    return list(dict.fromkeys([*rows.columns, *(second.columns if second is not None else ())]))


def _columns(
    rows: pl.DataFrame,
    policy: Policy,
    known: dict[str, ColumnPlan],
    bucket: str,
    count: str,
    most: int | None,
) -> tuple[Column, ...]:
    out = []
    ends = {
        one: (name, side)
        for name in policy.names(QUASI)
        for side, one in enumerate(bounds_among(rows.columns, name, policy.columns))
        if one is not None
    }
    method, ways = policy.method.name, policy.perturbations
    single = METHODS[method].false_cells.single_values if method in METHODS else "as it is"
    for name in rows.columns:
        if name in ends:
            out.append(_bound(rows[name], *ends[name]))
        elif name in (bucket, count) and name not in policy.columns:
            words = "number of the bucket: columns were shuffled within it against each other"
            if name == count:
                words = "how many rows of the bucket have these values"
            out.append(_numbers(rows[name], "bucket" if name == bucket else "count", words))
        else:
            described = _column(rows[name], known[name], most, single)
            out.append(_describe_perturbed(described, ways[name]) if name in ways else described)
    return tuple(out)


def _describe_perturbed(column: Column, way: Perturbation) -> Column:
    """Say how the values of a column were changed, and what an analyst needs in order to correct for it."""
    words = f"perturbed: {way.title}. For analysts: {way.for_analysts}"
    counts = [label.rows for label in column.labels if label.text is not None]
    matrix = way.transitions(counts) if counts else None
    return replace(column, published=words, transitions=tuple(map(tuple, matrix or ())))


def _bound(column: pl.Series, of: str, side: int) -> Column:
    """Describe a column with the ends of another's cells."""
    words = f"the {'upper' if side else 'lower'} end of each cell of {of}; empty if it has none"
    if side:
        words += ". An interval [a, b) does not include its upper end, all others do"
    texts = label_texts(column).drop_nulls()
    own = cell_type(column.dtype) if column.dtype != pl.String else _type_of_texts(texts.unique())
    return Column(column.name, own, own, "bounds", words, texts.n_unique(), int(column.null_count()))


def _numbers(column: pl.Series, role: str, words: str) -> Column:
    """Describe a column that Shoal added."""
    return Column(column.name, "integer", "integer", role, words, column.n_unique(), int(column.null_count()))


def _column(column: pl.Series, plan: ColumnPlan, most: int | None, single: str) -> Column:
    texts = label_texts(column).to_frame("text").group_by("text").len(name="rows")
    counts: dict[str | None, int] = dict(zip(texts["text"].to_list(), texts["rows"].to_list(), strict=True))
    present = [text for text in counts if text is not None]
    own = (
        cell_type(column.dtype)
        if column.dtype != pl.String
        else _type_of_texts(pl.Series(present, dtype=pl.String))
    )
    plain = Column(column.name, own, own, plan.role, "as it is", len(present), counts.get(None, 0))
    if not plan.role.generalized:
        if "publish" in plan.role.settings:
            return _describe_names(plain, plan)
        words = plain.published if plan.role.removed else PUBLISHED_AS[plan.role]
        return _list_values(replace(plain, published=words), column, counts)
    kind = parse_hierarchy(plan.hierarchy)
    wide = replace(plain, published=f"generalized: {_way(kind)}")
    if most is not None and len(present) > most:
        return wide
    known = meanings_of(kind, present, plan.limit)
    labels = _in_order(
        [Label(text, MISSING if text is None else known[text], rows) for text, rows in counts.items()]
    )
    if all(label.meaning.kind in ("value", "missing") for label in labels):
        return replace(plain, published=single, labels=labels)
    values = _value_type([label.meaning for label in labels])
    return replace(wide, type=own if own == "array" else "string", values=values, labels=labels)


def _describe_names(plain: Column, plan: ColumnPlan) -> Column:
    """Describe a column that names people, or holds pseudonyms: none of its cells is listed."""
    if plan.publish is None:
        return plain
    words = f"{PUBLISHED_AS[plan.publish]}: rows with the same one belong to the same person"
    return replace(plain, published=words, type="string", values="string")


def _in_order(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Sort labels by the values that they stand for, wide ones before narrow ones."""
    last_first = sorted(labels, key=lambda label: (label.meaning.ends[1], label.text or ""), reverse=True)
    return tuple(sorted(last_first, key=lambda label: label.meaning.ends[0]))


def _way(kind: Kind) -> str:
    """Say how a kind of hierarchy generalizes, with its settings if they are short."""
    words = kind.describe(free=True)
    if not isinstance(kind, TableKind) or kind.knows_domain or kind.by_calendar:
        return words
    settings = ", ".join(f"{name} {_plain(setting)}" for name, setting in kind.settings().items())
    return f"{words} ({settings})"


def _plain(setting: Any) -> str:
    if isinstance(setting, tuple):
        nested = any(isinstance(part, tuple) for part in setting)
        return ("; " if nested else ", ").join(map(_plain, setting))
    return str(setting)


def _list_values(plain: Column, column: pl.Series, counts: Mapping[str | None, int]) -> Column:
    """Describe a column whose cells are values: all of them if they are few, else the first and the last."""
    numeric = plain.type in ("integer", "number")
    if plain.distinct <= LISTED:
        meanings = {text: MISSING if text is None else _single(text, numeric) for text in counts}
        labels = [Label(text, meanings[text], rows) for text, rows in counts.items()]
        return replace(plain, labels=_in_order(labels))
    if plain.type in ("string", "array", "boolean", "any"):
        return plain
    typed = guess_numbers_and_dates(column) if column.dtype == pl.String else column
    ends = pl.Series([typed.min(), typed.max()], dtype=typed.dtype)
    low, high = (_single(text, numeric).values[0] for text in text_of(ends))
    return replace(plain, low=low, high=high)


def _single(text: str, numeric: bool) -> Meaning:
    return (number_label(text, loose=True) or value(text)) if numeric else value(text)


_TYPES: tuple[tuple[Any, str], ...] = (
    (pl.Boolean, "boolean"),
    (pl.Date, "date"),
    (pl.Datetime, "datetime"),
    (pl.Time, "time"),
    (pl.Duration, "duration"),
    (pl.List, "array"),
    (pl.Array, "array"),
    ((pl.String, pl.Categorical, pl.Enum, pl.Null), "string"),
)


def cell_type(dtype: pl.DataType) -> str:
    """Return the word for a type of cells, as Frictionless tables name it."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    return next((word for kinds, word in _TYPES if isinstance(dtype, kinds)), "any")


def _type_of_texts(distinct: pl.Series) -> str:
    """Return the type of texts by the published ones alone: the type of the original could tell on other rows."""
    return cell_type(guess_numbers_and_dates(distinct).dtype)


def _value_type(meanings: Sequence[Meaning]) -> str:
    """Return the type of the values that labels stand for."""
    ends = [
        end
        for meaning in meanings
        for end in (*meaning.values, meaning.low, meaning.high, meaning.text or None)
        if end is not None and end not in ("inf", "-inf")
    ]
    kinds = {type(end) for end in ends}
    if kinds <= {str}:
        return _type_of_texts(pl.Series(ends, dtype=pl.String).unique())
    if kinds <= {int, bool} and all(meaning.high_included or meaning.low is None for meaning in meanings):
        return "integer"
    return "number" if kinds <= {int, bool, float} else "string"
