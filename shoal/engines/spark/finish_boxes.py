"""What each row will show, as first and last codes per column: a method finishes each box in a task, or one mapping
holds for all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from shoal.coding import Attribute, CodedTable
from shoal.coding.columns import Columns, Kept
from shoal.coding.counting import ByRows, Whole
from shoal.engines.spark.count_boxes import Boxes, Router
from shoal.engines.spark.render_rows import hashable
from shoal.engines.spark.tasks import codes_of, failure, pieces, without_values
from shoal.errors import InfeasibleError, LimitError, ShoalError
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import Method
from shoal.methods.parts.on_parts import bundle_parts
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import UNDIVIDED, Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from shoal.engines.spark.driver_tables import Counted
    from shoal.release import Release


Part = tuple[int, ...]
"""The boxes of a part; its number is that of the first one."""
MOST_JOINED = 4
"""Parts that a method finds no release of are joined up to so many times the rows of a part: a task holds them."""


@dataclass(frozen=True, eq=False, repr=False)
class Work(Brief):
    """What a task needs to finish a part."""

    attributes: tuple[Attribute, ...]
    sensitive: tuple[Attribute, ...]
    counts: tuple[LongVector, ...]
    """How often each code occurs, per quasi-identifier: losses of a part compare with it."""
    whole: Whole
    """What models compare a part with."""
    method: Method
    requirements: Requirements
    suppressible: float
    """How many rows parts may suppress together, as a share of the rows that are in one."""
    seed: int
    """Drawn once: a task that runs again must decide the same."""

    @classmethod
    def of(cls, table: Counted, boxes: Boxes, method: Method, requirements: Requirements, run: Run) -> Work:
        """Return what tasks need to finish parts of a table that was cut into boxes."""
        seed = int(run.random.integers(2**62))
        compared = Whole(table.sensitive_counts, table.rows)
        kept = sum(boxes.sizes.values())
        left = max(requirements.suppressible(table.rows) - (table.rows - kept), 0) / kept
        return cls(
            table.attributes, table.sensitive, table.value_counts, compared, method, requirements, left, seed
        )


def finish_parts(frame: DataFrame, router: Router, parts: list[Part], work: Work) -> DataFrame:
    """Move the rows of each part together, and let the method finish it in a task. Returns the columns l0, h0, .. next
    to those of `frame`, and `part`, `lone` and `error`.
    """
    from pyspark.sql import functions as F

    shared = frame.sparkSession.sparkContext.broadcast(work)
    schema = _with_part(_schema(frame, len(work.attributes)))
    small = _route_rows(frame, router, parts)
    plain = [hashable(frame, name) for name in frame.columns if name[0] == "k"]
    small = small.withColumn("order", F.xxhash64(F.lit(0), *plain))
    return small.groupBy("part").applyInArrow(lambda part: _finish(part, shared.value), schema)


def publish_closed(frame: DataFrame, boxes: Boxes, columns: int) -> DataFrame:
    """Publish boxes that no cut divides as they are, in the columns of `finish_parts`."""
    shared = frame.sparkSession.sparkContext.broadcast(boxes.closed)
    schema = _with_part(_schema(frame, columns))
    return in_boxes(frame, boxes).mapInArrow(lambda batches: _publish_boxes(batches, shared.value), schema)


def in_boxes(frame: DataFrame, boxes: Boxes) -> DataFrame:
    """Return the rows of the boxes that are published as they are."""
    return _route_rows(frame, boxes.router, [(box,) for box in boxes.closed])


def join_failed_parts(
    parts: list[Part], failed: dict[int, str], sizes: dict[int, int], part_rows: int
) -> tuple[list[Part], list[Part]]:
    """Join each part that a method finds no release of with a neighbour; return all parts, and those that are new.

    Every box satisfies the requirements as one class, so any boxes are a part. Raises LimitError if no neighbour is
    left, or if a task could not hold both.
    """
    why = next(iter(failed.values()))
    if len(parts) == 1:
        raise LimitError(why)
    found: list[Part] = []
    for own in bundle_parts([part[0] not in failed for part in parts]):
        found.append(tuple(box for at in own for box in parts[at]))
        rows = sum(sizes[box] for box in found[-1])
        if len(own) > 1 and rows > MOST_JOINED * part_rows:
            raise LimitError(
                f"the method finds no release of a part ({why}), and joined with its neighbour the part has {rows:,} "
                f"rows, more than {MOST_JOINED} x {part_rows:,}",
                f"Set engine.part_rows to {-(-rows // MOST_JOINED):,} or more, if a task has the memory, or use "
                "mondrian",
            )
    known = set(parts)
    return found, [part for part in found if part not in known]


def _with_part(schema: Any) -> Any:
    from pyspark.sql.types import IntegerType, StructField, StructType

    return StructType([StructField("part", IntegerType()), *schema.fields])


def _schema(frame: DataFrame, columns: int) -> Any:
    from pyspark.sql.types import BooleanType, IntegerType, StringType, StructField, StructType

    ends = [StructField(f"{end}{j}", IntegerType()) for j in range(columns) for end in "lh"]
    more = [StructField("lone", BooleanType()), StructField("error", StringType())]
    return StructType([*frame.schema.fields, *ends, *more])


def _route_rows(frame: DataFrame, router: Router, parts: list[Part]) -> DataFrame:
    """Return the rows of some parts, with the number of their part."""
    place = np.full(int(router.starts[-1]) + 1, -1, np.int32)  # the last one is for rows in no box
    for part in parts:
        place[list(part)] = part[0]
    shared = frame.sparkSession.sparkContext.broadcast((router, place))
    return frame.mapInArrow(lambda batches: _route(batches, *shared.value), _with_part(frame.schema))


@without_values("finding the box of each row")
def _route(batches: Iterator[pa.RecordBatch], router: Router, place: IntVector) -> Iterator[pa.RecordBatch]:
    for piece in pieces(batches):
        part = place[router.box_of(codes_of(piece, "c"))]
        found = piece.add_column(0, "part", pa.array(part))
        yield from (found if (part >= 0).all() else found.filter(pa.array(part >= 0))).to_batches()


def _finish(given: pa.Table, work: Work) -> pa.Table:
    """Finish one part. An error is a row, so that Spark does not try again four times."""
    rows = given.drop_columns(["order"])
    try:
        low, high, lone, kept = _cells(given, work)
    except ShoalError as error:
        # The part alone proves nothing about the table.
        kind = LimitError if isinstance(error, LimitError | InfeasibleError) else type(error)
        return _failure(rows, len(work.attributes), f"{kind.__name__}: {error}")
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        raise failure(error, "finishing a part") from None
    return _append_ranges(rows if kept is None else rows.filter(pa.array(kept)), low, high, lone)


def _cells(rows: pa.Table, work: Work) -> tuple[IntMatrix, IntMatrix, Any, Any]:
    codes, values = codes_of(rows, "c"), codes_of(rows, "s")
    order = _stable(codes, values, rows.column("order").to_numpy())
    secrets = Columns.of(work.sensitive, np.asfortranarray(values[order]))
    part = CodedTable(
        Columns.of(work.attributes, np.asfortranarray(codes[order]), work.counts),
        secrets,
        Kept(),
        tuple(attribute.name for attribute in work.attributes),
        (ByRows(secrets, len(codes), work.whole),),
    )
    # Rows that may be suppressed are divided among parts by size, and rounded down.
    share = int(work.suppressible * len(codes) + 1e-9) / len(codes)
    run = replace(Run.start(work.seed + rows.column("part")[0].as_py()), division=UNDIVIDED)
    release = work.method.anonymize(part, replace(work.requirements, suppression=share), run)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    region = release.region_of[place]
    kept = None if (region >= 0).all() else region >= 0
    shown = region if kept is None else region[kept]
    lone = _lone(part.quasi.wide)[place]
    return release.low[shown], release.high[shown], lone if kept is None else lone[kept], kept


def _lone(codes: IntMatrix) -> BoolVector:
    """Return which rows are alone with their quasi-identifiers; equal ones are always in the same box."""
    from shoal.kernels.grouping import distinct

    number, first = distinct(codes)
    alone: BoolVector = np.bincount(number, minlength=len(first))[number] == 1
    return alone


def _stable(codes: IntMatrix, values: IntMatrix, rest: LongVector) -> LongVector:
    """Return an order of the rows that does not depend on the order in which they arrived: by what they hold. `rest` is
    a hash of the other columns. Rows that hold the same are interchangeable."""
    found: LongVector = np.lexsort([rest, *values.T[::-1], *codes.T[::-1]])
    return found


def _append_ranges(rows: pa.Table, low: IntMatrix, high: IntMatrix, lone: Any) -> pa.Table:
    for j in range(low.shape[1]):
        rows = rows.append_column(f"l{j}", pa.array(np.ascontiguousarray(low[:, j]), pa.int32()))
        rows = rows.append_column(f"h{j}", pa.array(np.ascontiguousarray(high[:, j]), pa.int32()))
    rows = rows.append_column("lone", pa.array(lone, pa.bool_()))
    return rows.append_column("error", pa.nulls(rows.num_rows, pa.string()))


def _failure(rows: pa.Table, columns: int, error: str) -> pa.Table:
    one = rows.slice(0, 1)
    ends = np.zeros((1, columns), np.int32)
    found = _append_ranges(one, ends, ends, np.zeros(1, np.bool_))
    return found.set_column(found.num_columns - 1, "error", pa.array([error], pa.string()))


@without_values("publishing boxes as they are")
def _publish_boxes(batches: Iterator[pa.RecordBatch], closed: dict[int, Any]) -> Iterator[pa.RecordBatch]:
    numbers = np.array(sorted(closed), np.int64)
    low = np.array([closed[int(number)][0] for number in numbers], np.int32)
    high = np.array([closed[int(number)][1] for number in numbers], np.int32)
    for piece in pieces(batches):
        place = np.searchsorted(numbers, piece.column("part").to_numpy())
        # More rows than a part has: none of them is alone, or nobody has counted (see `Boxes.closed`).
        yield from _append_ranges(piece, low[place], high[place], np.zeros(len(place), np.bool_)).to_batches()


def apply_mapping(session: SparkSession, frame: DataFrame, table: Counted, release: Release) -> DataFrame:
    """Apply the levels of a mapping to every row, and drop the rows of suppressed groups."""
    assert release.levels is not None
    looked = [
        (a.hierarchy.low[level], a.hierarchy.high[level])
        for a, level in zip(table.attributes, release.levels, strict=True)
    ]
    out = release.region_of < 0
    dropped = None
    if out.any():
        tuples = np.stack([low[table.quasi.wide[out, j]] for j, (low, _) in enumerate(looked)], axis=1)
        dropped = pl.DataFrame({f"l{j}": tuples[:, j] for j in range(tuples.shape[1])}).unique()
    shared = session.sparkContext.broadcast((looked, dropped))
    return frame.mapInArrow(lambda batches: _map(batches, shared.value), _schema(frame, len(looked)))


@without_values("generalizing rows")
def _map(batches: Iterator[pa.RecordBatch], shared: Any) -> Iterator[pa.RecordBatch]:
    looked, dropped = shared
    for piece in pieces(batches):
        codes = codes_of(piece, "c")
        low = np.stack([first[codes[:, j]] for j, (first, _) in enumerate(looked)], axis=1)
        high = np.stack([last[codes[:, j]] for j, (_, last) in enumerate(looked)], axis=1)
        if dropped is not None:
            own = pl.DataFrame({f"l{j}": low[:, j] for j in range(low.shape[1])})
            marked = own.join(
                dropped.with_columns(out=True), on=dropped.columns, how="left", maintain_order="left"
            )
            kept = marked["out"].is_null().to_numpy()
            piece, low, high = piece.filter(pa.array(kept)), low[kept], high[kept]
        yield from _append_ranges(piece, low, high, np.zeros(piece.num_rows, np.bool_)).to_batches()
