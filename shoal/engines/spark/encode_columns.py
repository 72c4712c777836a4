"""From a table of Spark to codes: one aggregation per column, our own rules for types and hierarchies on the driver,
and look-ups in tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from shoal.io.frame import Frame, build_frame
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
    roles = [by_name[name].role for name in source.columns]
    quasi = [i for i, role in enumerate(roles) if role.generalized]
    sensitive = [i for i, role in enumerate(roles) if role.protected]
    kept = [i for i, role in enumerate(roles) if role.is_shown_unchanged]
    wanted = [*quasi, *sensitive, *([i for i in kept if i not in sensitive] if source.text else [])]
    found: dict[int, tuple[Lookup, Hierarchy | None, LongVector | None]] = {}
    counted = distinct_values(source.frame, [f"f{place}" for place in wanted])
    problems: list[tuple[str, ShoalError]] = []
    for place in wanted:
        plan = by_name[source.columns[place]]
        try:
            found[place] = code_column(source, place, plan, counted.get(f"f{place}"))
        except _TooMany as error:
            if plan.role.has_codes:  # otherwise it stays the text that it is
                problems.append((plan.name, error))
        except (DataError, HierarchyError) as error:
            problems.append((plan.name, error))
    if problems:
        from shoal.coding.encode import raise_together

        raise_together(problems)
    attributes = [_attribute(found[i], by_name[source.columns[i]]) for i in quasi]
    secrets = [_attribute(found[i], by_name[source.columns[i]]) for i in sensitive]
    columns = tuple(name for name in source.columns if not by_name[name].is_removed)
    whole = int(found[quasi[0]][2].sum()) if quasi else 0  # type: ignore[union-attr]
    kept_names = tuple(source.columns[i] for i in kept)
    values = _columns_of_counts(secrets)
    table = Counted(
        _columns_of_counts(attributes),
        values,
        Kept.of(no_rows(list(kept_names))),
        columns,
        (ByRows(values, whole),),
        dropped=tuple(name for name in source.columns if name not in columns),
        total=whole,
    )
    shared = session.sparkContext.broadcast(
        (
            [found[i][0] for i in quasi],
            [found[i][0] for i in sensitive],
            [found[i][0] if i in found else i for i in kept],
        )
    )
    frame = source.frame.mapInArrow(
        lambda batches: _code(batches, shared.value), _schema(source, found, quasi, sensitive, kept)
    )
    types = pl.Schema(
        {
            name: found[i][0].typed.dtype if i in found and found[i][0].typed is not None else pl.String()  # type: ignore[union-attr]
            for i, name in enumerate(source.columns)
        }
    )
    guessed = [source.columns[i] for i, (own, _, _) in found.items() if own.guessed]
    return Coded(frame, table, kept_names, types, source.options, Guessed(dict.fromkeys(guessed)))


def lone_rows(frame: DataFrame) -> int:
    """Return how many rows of a coded frame are alone with their quasi-identifiers."""
    names = [name for name in frame.columns if name[0] == "c"]
    with translate_errors("counting unique rows"):
        return int(frame.groupBy(*names).count().filter("count = 1").count())


def _attribute(
    found: tuple[Lookup, Hierarchy | None, LongVector | None], plan: ColumnPlan
) -> tuple[Attribute, LongVector]:
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
) -> tuple[Lookup, Hierarchy | None, LongVector | None]:
    """Return the lookup of one column, its hierarchy, and the count of each code; the last two are None for plain
    columns. `counted` holds its distinct values and their counts, if they are known.
    """
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
    return build_frame("spark", query, options, nulls_done=text, where="the table", guessed=guessed)


def _schema(
    source: Source, found: dict[int, Any], quasi: list[int], sensitive: list[int], kept: list[int]
) -> Any:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import IntegerType, StructField, StructType

    fields = [StructField(f"c{j}", IntegerType()) for j in range(len(quasi))]
    fields += [StructField(f"s{j}", IntegerType()) for j in range(len(sensitive))]
    for j, i in enumerate(kept):
        own = found.get(i)
        if own is None or own[0].typed is None:
            fields.append(StructField(f"k{j}", source.frame.schema.fields[i].dataType))
        else:
            fields.append(
                StructField(
                    f"k{j}", from_arrow_type(own[0].typed.to_arrow(compat_level=pl.CompatLevel.oldest()).type)
                )
            )
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
