"""From a table of Spark to codes: one aggregation per column, our own rules for types and hierarchies on the driver,
and look-ups in tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from shoal.coding import Attribute
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.columns import Columns, Kept
from shoal.coding.counting import ByRows
from shoal.coding.encode import check_bounds
from shoal.coding.hierarchy import Hierarchy, build
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.hierarchy.label_parser import locate
from shoal.engines.spark.driver_tables import Counted, no_rows
from shoal.engines.spark.session import translate_errors
from shoal.engines.spark.spark_sources import Source
from shoal.engines.spark.tasks import pieces, series, without_values
from shoal.errors import DataError, HierarchyError, ShoalError
from shoal.io import ReadOptions, factorize
from shoal.io.frame import Frame, Origin, build_frame
from shoal.io.narrow_types import Guessed, parse_texts
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_VALUES = 5_000_000
"""A coded column may have this many different values: they have to fit the driver, and every task."""


class _TooMany(DataError):
    """A column has more values than the driver holds."""


@dataclass(frozen=True, eq=False, repr=False)
class Lookup(Brief):
    """How one column is read: its values as Spark gives them, and what each becomes."""

    place: int
    """Which column of the source."""
    raw: pl.Series
    codes: IntVector | None
    """Raw value -> code; None for plain columns."""
    typed: pl.Series | None
    """Raw value -> published value; None if it is published as Spark gives it."""
    guessed: bool
    """Its type follows from its values."""

    def find(self, values: pl.Series) -> IntVector:
        """Return the number of each value; every one is known."""
        return locate(self.raw, values)


Found = tuple[Lookup, Hierarchy | None, LongVector | None]
"""How a column is read, its hierarchy, and the count of each code; the last two are None for plain columns."""


@dataclass(frozen=True)
class _Places:
    """Which columns of the source become the columns c, s and k of a coded table."""

    quasi: list[int]
    sensitive: list[int]
    kept: list[int]

    @classmethod
    def of(cls, plans: Sequence[ColumnPlan]) -> _Places:
        """Sort columns by their roles."""
        roles = list(enumerate(plan.role for plan in plans))
        return cls(
            [i for i, role in roles if role.generalized],
            [i for i, role in roles if role.protected],
            [i for i, role in roles if role.is_shown_unchanged],
        )

    def to_code(self, *, text: bool) -> list[int]:
        """Return the columns whose values have to be known: those with codes, and of text all that are shown."""
        plain = [i for i in self.kept if i not in self.sensitive] if text else []
        return [*self.quasi, *self.sensitive, *plain]


@dataclass(frozen=True, eq=False, repr=False)
class Coded(Brief):
    """A coded table: a frame with the columns c0, c1, .. (quasi-identifiers), s0, .. (sensitive ones), and k0, ..
    (published as they are), and what the driver knows about it."""

    frame: DataFrame
    table: Counted
    kept: tuple[str, ...]
    """Names of the columns k0, k1, .."""
    types: pl.Schema
    """Types of all columns of the source, as they were inferred."""
    options: ReadOptions
    guessed: Guessed
    """The columns whose types follow from their values. A release has the types of its own values there."""

    def narrow_values(self, values: pl.Series, name: str) -> pl.Series:
        """Return all values that a release shows of a column, in the type that follows from them alone."""
        return self.guessed.narrow_values(values, name, np.empty(0, np.int32), self.options)


def code_table(session: SparkSession, source: Source, plans: Sequence[ColumnPlan]) -> Coded:
    """Code a table. Raises all problems of all columns together."""
    by_name = {plan.name: plan for plan in plans}
    in_order = [by_name[name] for name in source.columns]
    places = _Places.of(in_order)
    found = _code_columns(source, in_order, places.to_code(text=source.text))
    lookups = {i: own for i, (own, _, _) in found.items()}
    table = _count_table(in_order, places, found)
    shared = session.sparkContext.broadcast(
        (
            [lookups[i] for i in places.quasi],
            [lookups[i] for i in places.sensitive],
            [lookups.get(i, i) for i in places.kept],
        )
    )
    frame = source.frame.mapInArrow(
        lambda batches: _code(batches, shared.value), _schema(source, lookups, places)
    )
    typed = {source.columns[i]: own.typed.dtype for i, own in lookups.items() if own.typed is not None}
    types = pl.Schema({name: typed.get(name, pl.String()) for name in source.columns})
    guessed = dict.fromkeys(source.columns[i] for i, own in lookups.items() if own.guessed)
    kept = tuple(source.columns[i] for i in places.kept)
    return Coded(frame, table, kept, types, source.options, Guessed(guessed))


def _code_columns(source: Source, plans: Sequence[ColumnPlan], places: Sequence[int]) -> dict[int, Found]:
    """Code columns one by one. Plain columns with too many values are left out: they stay the text that they are."""
    from shoal.coding.encode import raise_together

    found: dict[int, Found] = {}
    counted = distinct_values(source.frame, [f"f{place}" for place in places])
    problems: list[tuple[str, ShoalError]] = []
    for place in places:
        plan = plans[place]
        try:
            found[place] = code_column(source, place, plan, counted.get(f"f{place}"))
        except (DataError, HierarchyError) as error:
            if plan.role.has_codes or not isinstance(error, _TooMany):
                problems.append((plan.name, error))
    if problems:
        raise_together(problems)
    return found


def _count_table(plans: Sequence[ColumnPlan], places: _Places, found: Mapping[int, Found]) -> Counted:
    """Return what the driver knows about a coded table: how often each code occurs."""
    quasi, sensitive = (
        _columns_of_counts([_attribute(found[i], plans[i]) for i in own])
        for own in (places.quasi, places.sensitive)
    )
    whole = int(quasi.counts[0].sum()) if places.quasi else 0
    return Counted(
        quasi,
        sensitive,
        Kept.of(no_rows([plans[i].name for i in places.kept])),
        tuple(plan.name for plan in plans if not plan.is_removed),
        (ByRows(sensitive, whole),),
        dropped=tuple(plan.name for plan in plans if plan.is_removed),
        total=whole,
    )


def lone_rows(frame: DataFrame) -> int:
    """Return how many rows of a coded frame are alone with their quasi-identifiers."""
    names = [name for name in frame.columns if name[0] == "c"]
    with translate_errors("counting unique rows"):
        return int(frame.groupBy(*names).count().filter("count = 1").count())


def _attribute(found: Found, plan: ColumnPlan) -> tuple[Attribute, LongVector]:
    _, hierarchy, counts = found
    assert hierarchy is not None
    assert counts is not None
    bounds = parse_hierarchy(plan.hierarchy) if plan.show is not None else None
    return Attribute(plan.name, hierarchy, plan.weight, bounds), counts


def _columns_of_counts(found: Sequence[tuple[Attribute, LongVector]]) -> Columns:
    """Return columns with a placeholder row and the count of each code."""
    attributes, counts = tuple(own for own, _ in found), tuple(own for _, own in found)
    return Columns.of(attributes, np.zeros((1, len(found)), np.int32, order="F"), counts)


def code_column(
    source: Source, place: int, plan: ColumnPlan, counted: tuple[pl.Series, LongVector] | None = None
) -> Found:
    """Code one column. `counted` holds its distinct values and their counts, if they are known."""
    raw, rows = _distinct(source.frame, place, plan) if counted is None else counted
    frame = infer_types(raw.alias(plan.name), source.options, text=source.text)
    values, guessed = frame.data.to_series(), plan.name in frame.guessed.columns
    changed = None if values.dtype == raw.dtype and values.null_count() == raw.null_count() else values
    if not plan.role.has_codes:
        return Lookup(place, raw, None, changed, guessed), None, None
    if values.null_count() == len(values):
        raise DataError(f"all values are null: drop the column, or make it plain instead of {plan.role}")
    numbers, distinct = factorize(values)
    hierarchy = build(distinct, plan.hierarchy)
    if plan.limit is not None and plan.role.generalized:
        hierarchy = hierarchy.with_limit(plan.limit)
    if plan.show is not None:
        check_bounds(hierarchy)
    codes: IntVector = hierarchy.locate(distinct)[numbers]
    counts = np.bincount(codes, weights=rows, minlength=hierarchy.size).astype(np.int64)
    return Lookup(place, raw, codes, changed, guessed), hierarchy, counts


def distinct_values(frame: DataFrame, names: Sequence[str]) -> dict[str, tuple[pl.Series, LongVector]]:
    """Return the different values of columns and their counts, in one job; empty if they are too many for it."""
    from pyspark.sql import functions as F

    if not 0 < len(names) < 60:  # a number of 64 bits says which columns a row is about
        return {}
    with translate_errors("counting the values of the columns"):
        sets = frame.groupingSets([[frame[name]] for name in names], *[frame[name] for name in names])
        found = (
            sets.agg(F.grouping_id().alias("set"), F.count(F.lit(1)).alias("rows"))
            .limit(MOST_VALUES + 1)
            .toArrow()
        )
    if not found.num_rows:
        raise DataError("the table has no rows")
    if found.num_rows > MOST_VALUES:
        return {}
    every = (1 << len(names)) - 1
    of_set, rows = found.column("set").to_numpy(), found.column("rows").to_numpy()
    together = {}
    for at, name in enumerate(names):
        own = np.flatnonzero(of_set == every - (1 << (len(names) - 1 - at)))
        together[name] = (series(found.column(at)).gather(own), rows[own])
    return together


def _distinct(frame: DataFrame, place: int, plan: ColumnPlan) -> tuple[pl.Series, LongVector]:
    """Return the different values of a column and their counts, or refuse a column with too many."""
    from pyspark.sql import functions as F

    most = MOST_VALUES
    with translate_errors(f"counting the values of column '{plan.name}'"):
        counted = frame.groupBy(f"f{place}").agg(F.count(F.lit(1)).alias("rows")).limit(most + 1).toArrow()
    if counted.num_rows > most:
        hint = "round its values or cut them off in the data, or drop the column"
        raise _TooMany(f"has more than {most:,} different values, which is the limit on Spark: {hint}")
    if not counted.num_rows:
        raise DataError("the table has no rows")
    return series(counted.column(0)), counted.column("rows").to_numpy()


def infer_types(raw: pl.Series, options: ReadOptions, *, text: bool) -> Frame:
    """Return the different values of a column in the type that all of them have, with codes for missing as null.

    The rules depend on the set of values alone, so they say the same as for the whole column."""
    if text:
        nulls = raw.replace(dict.fromkeys(options.null_values)) if options.null_values else raw
        raw = parse_texts(nulls, options)
    guessed = Guessed({raw.name: None} if text and options.guess_types else {})
    query = raw.to_frame().lazy()
    return build_frame("spark", query, options, Origin(where="the table"), nulls_done=text, guessed=guessed)


def _schema(source: Source, lookups: Mapping[int, Lookup], places: _Places) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import IntegerType, StructField, StructType

    fields = [StructField(f"c{j}", IntegerType()) for j in range(len(places.quasi))]
    fields += [StructField(f"s{j}", IntegerType()) for j in range(len(places.sensitive))]
    for j, i in enumerate(places.kept):
        own = lookups.get(i)
        if own is None or own.typed is None:
            dtype = source.frame.schema.fields[i].dataType
        else:
            dtype = from_arrow_type(own.typed.to_arrow(compat_level=pl.CompatLevel.oldest()).type)
        fields.append(StructField(f"k{j}", dtype))
    return StructType(fields)


@without_values("coding a part of the table")
def _code(batches: Iterator[pa.RecordBatch], lookups: Any) -> Iterator[pa.RecordBatch]:
    quasi, sensitive, kept = lookups
    for piece in pieces(batches):
        columns: list[Any] = []
        names: list[str] = []
        places: dict[int, IntVector] = {}
        for letter, group in (("c", quasi), ("s", sensitive)):
            for j, own in enumerate(group):
                places[own.place] = own.find(series(piece.column(own.place)))
                columns.append(pa.array(own.codes[places[own.place]], pa.int32()))
                names.append(f"{letter}{j}")
        for j, one in enumerate(kept):
            names.append(f"k{j}")
            if isinstance(one, int):
                columns.append(piece.column(one))
            elif one.typed is None:
                columns.append(piece.column(one.place))
            else:
                at = places[one.place] if one.place in places else one.find(series(piece.column(one.place)))
                columns.append(one.typed.gather(at).to_arrow(compat_level=pl.CompatLevel.oldest()))
        yield from pa.table(columns, names=names).to_batches()
