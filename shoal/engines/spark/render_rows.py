"""From codes to published rows: names on the driver, look-ups in tasks, and an order that tells nothing."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from shoal.coding.column_plan import bound_names
from shoal.coding.hierarchy.label_parser import locate
from shoal.engines.spark.encode_columns import distinct_values
from shoal.engines.spark.session import translate_errors
from shoal.engines.spark.tasks import Tally, codes_of, pieces, without_values
from shoal.errors import DataError, EngineError, LimitError
from shoal.release.bounds import bound_columns
from shoal.release.render import cells_of
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from numpy.random import Generator
    from pyspark.sql import DataFrame, SparkSession

    from shoal.engines.spark.encode_columns import Coded


@dataclass(frozen=True, eq=False, repr=False)
class Shown(Brief):
    """What tasks have summed up about the rows that will be published."""

    rows: int
    lone: int
    """Rows that are alone with their quasi-identifiers in the original."""
    ranges: tuple[tuple[IntVector, IntVector, LongVector], ...]
    """Per quasi-identifier: first code, last code, and how many rows show it."""
    seen: tuple[LongVector, ...]
    """Per quasi-identifier, how many of these rows have each code."""
    failed: dict[int, str]
    """Parts that the method finds no release of, and why."""


def sum_rows(session: SparkSession, frame: DataFrame, table: Any) -> Shown:
    """Count the ranges and codes of the rows that will be published. Raises the error of a method in a part, unless it
    is that the part has no release."""
    sizes = tuple(attribute.hierarchy.size for attribute in table.attributes)
    shared = session.sparkContext.broadcast(sizes)
    summed = frame.mapInArrow(lambda batches: _sum(batches, shared.value), "part binary")
    with translate_errors("finishing the boxes"):
        parts = [pickle.loads(row["part"]) for row in summed.collect()]
    failed = {}
    for part, error in sorted(one for found in parts for one in found["errors"]):
        kind, _, message = error.partition(": ")
        if kind != LimitError.__name__:
            raise DataError(message)
        failed[part] = message
    ranges = []
    for j, size in enumerate(sizes):
        index, place = np.unique(np.concatenate([p["ranges"][j][0] for p in parts]), return_inverse=True)
        rows = np.bincount(place, np.concatenate([p["ranges"][j][1] for p in parts]), len(index))
        ranges.append(
            ((index // size).astype(np.int32), (index % size).astype(np.int32), rows.astype(np.int64))
        )
    seen = tuple(np.sum([part["seen"][j] for part in parts], axis=0) for j in range(len(sizes)))
    return Shown(sum(p["rows"] for p in parts), sum(p["lone"] for p in parts), tuple(ranges), seen, failed)


@without_values("counting ranges")
def _sum(batches: Iterator[pa.RecordBatch], sizes: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
    ranges = [Tally(size * size) for size in sizes]
    seen = [np.zeros(size, np.int64) for size in sizes]
    rows = lone = 0
    errors: list[tuple[int, str]] = []
    for piece in pieces(batches):
        error = piece.column("error")
        if error.null_count < len(error):
            failed = piece.filter(error.is_valid())
            errors += zip(failed.column("part").to_pylist(), failed.column("error").to_pylist(), strict=True)
            piece = piece.filter(error.is_null())
        rows += piece.num_rows
        lone += int(np.count_nonzero(piece.column("lone").to_numpy()))
        codes, low, high = (codes_of(piece, letter) for letter in "clh")
        for j, size in enumerate(sizes):
            ranges[j].add(low[:, j].astype(np.int64) * size + high[:, j])
            seen[j] += np.bincount(codes[:, j], minlength=size)
    found = {
        "rows": rows,
        "lone": lone,
        "errors": errors,
        "ranges": [own.occurrences() for own in ranges],
        "seen": seen,
    }
    yield pa.RecordBatch.from_pydict({"part": pa.array([pickle.dumps(found)], pa.binary())})


@dataclass(frozen=True, eq=False, repr=False)
class Names(Brief):
    """What each range of a column shows."""

    keys: LongVector
    size: int
    texts: tuple[pl.Series, ...]
    """One per published column: the name, and its bounds if they are shown."""


def render_frame(
    session: SparkSession,
    frame: DataFrame,
    coded: Coded,
    shown: Shown,
    levels: tuple[int, ...] | None,
    *,
    as_text: bool,
) -> DataFrame:
    """Return the rows that are published, with columns f0, f1, .. in the order of `CodedTable.release_columns`."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StringType, StructField, StructType

    table = coded.table
    looked: dict[str, tuple[int, int, Any]] = {}
    all_rows = shown.rows == table.rows
    names = []
    for j, attribute in enumerate(table.attributes):
        hierarchy, (low, high, _) = attribute.hierarchy, shown.ranges[j]
        seen = (table.value_counts[j] if all_rows else shown.seen[j]) > 0
        level = levels[j] if levels is not None else None
        among = None if seen.all() else seen
        cells = cells_of(hierarchy, low, high, level, among).alias(attribute.name)
        texts = [cells]
        if attribute.bounds is not None:
            texts += bound_columns(cells, attribute.bounds, hierarchy, among)
        texts = [_plain(coded.narrow_values(text, attribute.name), as_text=as_text) for text in texts]
        names.append(Names(low.astype(np.int64) * hierarchy.size + high, hierarchy.size, tuple(texts)))
        own = [attribute.name, *(bound_names(attribute.name) if attribute.bounds is not None else ())]
        for at, name in enumerate(own):
            looked[name] = (j, at, texts[at])
    order: list[Any] = []
    fields = []
    narrow = _narrow_columns(frame, coded)
    for i, name in enumerate(table.release_columns):
        if name in looked:
            j, at, text = looked[name]
            order.append((j, at))
            kind = from_arrow_type(_arrow(text).type)
        else:
            kept = f"k{coded.kept.index(name)}"
            order.append(kept)
            kind = StringType() if as_text else frame.schema[kept].dataType
            if kept in narrow and not as_text:
                kind = from_arrow_type(_arrow(narrow[kept][1]).type)
        fields.append(StructField(f"f{i}", kind))
    shared = session.sparkContext.broadcast((names, order, narrow, as_text))
    return frame.mapInArrow(lambda batches: _render(batches, shared.value), StructType(fields))


def _narrow_columns(frame: DataFrame, coded: Coded) -> dict[str, tuple[pl.Series, pl.Series]]:
    """Return, for the columns that are published as they are and whose types were guessed from all rows, the values
    that published rows have, and the same in the type that these have by themselves."""
    own = {f"k{k}": name for k, name in enumerate(coded.kept) if name in coded.guessed.columns}
    there = distinct_values(frame, list(own)) if own else {}
    if len(there) < len(own):  # they are too many for one job
        there = {name: distinct_values(frame, [name])[name] for name in own}
    found = {name: (values, coded.narrow_values(values, own[name])) for name, (values, _) in there.items()}
    return {name: (old, new) for name, (old, new) in found.items() if old.dtype != new.dtype}


def _plain(column: pl.Series, *, as_text: bool) -> pl.Series:
    """Return categories as text, because Spark has none; everything, if a file of text will hold it."""
    from shoal.io.formats.delimited import Csv

    if as_text:
        return Csv().fit_column(column).cast(pl.String)
    return column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column


@without_values("rendering rows")
def _render(batches: Iterator[pa.RecordBatch], shared: Any) -> Iterator[pa.RecordBatch]:
    from shoal.engines.spark.tasks import series

    names, order, narrow, as_text = shared
    for piece in pieces(batches):
        low, high = codes_of(piece, "l"), codes_of(piece, "h")
        places = [
            np.searchsorted(own.keys, low[:, j].astype(np.int64) * own.size + high[:, j])
            for j, own in enumerate(names)
        ]
        columns = []
        for one in order:
            if isinstance(one, str):
                column = piece.column(one)
                if one in narrow:
                    values, new = narrow[one]
                    column = _arrow(new.gather(locate(values, series(column))))
                if as_text:
                    column = _arrow(_plain(series(column), as_text=True))
            else:
                j, at = one
                column = _arrow(names[j].texts[at].gather(places[j]))
            columns.append(column)
        yield from pa.table(columns, names=[f"f{i}" for i in range(len(order))]).to_batches()


def _arrow(column: pl.Series) -> Any:
    return column.to_arrow(compat_level=pl.CompatLevel.oldest())


def shuffle_rows(frame: DataFrame, parts: int, random: Generator) -> DataFrame:
    """Spread rows evenly over files, and sort each file by a keyed hash of what its rows show.

    The order follows from the published rows and from a key that nobody keeps, so it tells nothing else about the
    original; and a task that runs again puts the same rows into the same places.
    """
    from pyspark.sql import functions as F

    key = [F.lit(int(number)) for number in random.integers(-(2**63), 2**63 - 1, 2, dtype=np.int64)]
    columns = list(frame.columns)
    keyed = frame.withColumn(
        "order", F.xxhash64(key[0], *[hashable(frame, name) for name in columns], key[1])
    )
    return keyed.repartition(parts).sortWithinPartitions("order").select(*columns)


def hashable(frame: DataFrame, name: str) -> Any:
    """Return a column as something that has a hash: maps have none."""
    from pyspark.sql import functions as F

    kind = frame.schema[name].dataType.simpleString()
    return F.to_json(F.col(name)) if "map<" in kind else F.col(name)


def check_rows(shown: Shown, allowed: int, whole: int) -> None:
    """Raise EngineError if more rows are missing than may be suppressed, which means that the cluster lost them."""
    if whole - shown.rows > allowed:
        raise EngineError(
            f"{whole - shown.rows:,} of {whole:,} rows were lost or suppressed, but at most {allowed:,} may be: did "
            "the table change while Spark read it?"
        )
