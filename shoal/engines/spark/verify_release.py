"""Verification where the rows are: Spark groups the rows that were written by what they read, letter by letter, and
tasks judge whole classes by the models that judge them everywhere."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

from shoal.coding import Attribute
from shoal.coding.groups import Groups, group
from shoal.documents.codebook.label_losses import MOST_LABELS
from shoal.engines.spark.driver_tables import Tallied, empty_codes
from shoal.engines.spark.session import translate_errors
from shoal.engines.spark.tasks import failure
from shoal.errors import DataError, ShoalError
from shoal.judging.models.model import GroupModel, Model
from shoal.release.bounds import label_texts
from shoal.release.published import Boxes, CellFaults, Published
from shoal.release.read_published import PublishedColumns, read_published, sensitive_codes
from shoal.release.verdict import Verdict
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from shoal.judging.models.requirements import Requirements


ROWS_PER_TASK = 2_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Weighed(Published):
    """Rows of a release, each with how many equal ones it stands for."""

    weights: LongVector = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def rows(self) -> int:
        """Number of published rows."""
        return int(self.weights.sum())

    @cached_property
    def sizes(self) -> LongVector:
        """``[classes]`` rows in each class."""
        count = int(self.class_of.max(initial=-1)) + 1
        return np.bincount(self.class_of, self.weights, count).astype(np.int64)

    def with_totals(self, totals: Sequence[LongVector]) -> Groups:
        """Return the classes as models see them; `totals` counts the values in the whole table."""
        return group(
            self.class_of, len(self.sizes), self.sensitive_codes, self.sensitive, totals, self.weights
        )


@dataclass(frozen=True, eq=False, repr=False)
class Reading(Brief):
    """How tasks read a release."""

    columns: tuple[str, ...]
    """Names of the columns f0, f1, .."""
    attributes: tuple[Attribute, ...]
    sensitive: tuple[Attribute, ...]
    totals: tuple[LongVector, ...]
    models: tuple[Model, ...]
    bounds: Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, eq=False, repr=False)
class Judged(Brief):
    """What tasks have found."""

    published: Tallied
    verdicts: dict[int, Verdict]
    """By the place of their model."""
    unknown: tuple[str, ...]
    """Columns with cells that their hierarchy does not know."""


def verify_rows(
    session: SparkSession,
    frame: DataFrame,
    reading: Reading,
    requirements: Requirements,
    whole: int | None,
    rows: int,
) -> Judged:
    """Judge the `rows` of a frame with columns f0, f1, ... `whole` is how many rows the original has, if known."""
    from pyspark.sql import functions as F

    parts = max(1, -(-rows // ROWS_PER_TASK), min(8, session.sparkContext.defaultParallelism))
    names = list(reading.columns)
    bounds = [one for pair in reading.bounds.values() for one in pair if one is not None]
    quasi = [f"f{names.index(name)}" for name in (*(a.name for a in reading.attributes), *bounds)]
    secret = [f"f{names.index(a.name)}" for a in reading.sensitive]
    counted = frame.groupBy(*dict.fromkeys([*quasi, *secret])).agg(F.count(F.lit(1)).alias("rows"))
    shared = session.sparkContext.broadcast(reading)
    # All rows of a class have to meet in one task.
    judged = counted.repartition(parts, *quasi).mapInArrow(
        lambda batches: _judge(batches, shared.value), "part binary"
    )
    with translate_errors("verifying the rows that were written"):
        found = [pickle.loads(row["part"]) for row in judged.collect()]
    errors = [part["error"] for part in found if part.get("error")]
    if errors:
        raise DataError(errors[0])
    return _together([part for part in found if part["rows"]], reading, requirements, whole)


def _together(
    parts: list[dict[str, Any]], reading: Reading, requirements: Requirements, whole: int | None
) -> Judged:
    width = len(reading.attributes)
    unknown = tuple(dict.fromkeys(name for part in parts for name in part["unknown"]))
    rows = sum(part["rows"] for part in parts)
    sizes, place = np.unique(np.concatenate([[0], *(p["sizes"][0] for p in parts)]), return_inverse=True)
    many = np.bincount(place, np.concatenate([[0], *(p["sizes"][1] for p in parts)]), len(sizes))
    ranges = [part["ranges"] for part in parts if part["ranges"] is not None]
    codes = empty_codes(width)
    published = Tallied(
        reading.attributes,
        reading.sensitive,
        np.empty(0, np.int32),
        empty_codes(len(reading.sensitive)),
        None if unknown else Boxes(codes, codes),
        0 if whole is None else whole - rows,
        faults=tuple(_sum_faults([part["faults"][j] for part in parts]) for j in range(width)),
        published_rows=rows,
        class_sizes=np.repeat(sizes, many.astype(np.int64)).astype(np.int64),
        shown=tuple(_sum_ranges([own[j] for own in ranges]) for j in range(width)),
        labels=_labels([part["labels"] for part in parts]),
    )
    verdicts = {
        at: _verdict(model, published, [part["models"][at] for part in parts])
        for at, model in enumerate(requirements.all_models)
        if isinstance(model, GroupModel)
    }
    return Judged(published, verdicts, unknown)


def _sum_ranges(
    parts: list[tuple[IntVector, IntVector, LongVector]],
) -> tuple[IntVector, IntVector, LongVector]:
    """Return the distinct ranges of a column, and how many rows show each."""
    ends = np.concatenate([np.empty((0, 2), np.int32), *(np.column_stack(part[:2]) for part in parts)])
    pairs, at = np.unique(ends, axis=0, return_inverse=True)
    weights = np.concatenate([[], *(part[2] for part in parts)])
    shown = np.bincount(at.ravel(), weights, len(pairs)).astype(np.int64)
    return pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32), shown


def _labels(parts: list[dict[str, dict[str | None, int] | None]]) -> dict[str, dict[str | None, int]]:
    """Return how many rows show each text of each column; columns with too many texts in a part are left out."""
    found: dict[str, dict[str | None, int]] = {}
    for name in parts[0] if parts else ():
        sums: dict[str | None, int] = {}
        for part in parts:
            for text, rows in (part[name] or {}).items():
                sums[text] = sums.get(text, 0) + rows
        if all(part[name] is not None for part in parts):
            found[name] = sums
    return found


def _count_labels(column: pl.Series, weights: LongVector) -> dict[str | None, int] | None:
    """Return how many rows show each text of a column; None if there are too many to send."""
    texts = (
        pl.DataFrame({"text": label_texts(column), "rows": weights})
        .group_by("text")
        .agg(pl.col("rows").sum())
    )
    return None if len(texts) > MOST_LABELS else dict(texts.iter_rows())


def _sum_faults(parts: list[CellFaults]) -> CellFaults:
    rests: dict[tuple[int, int], int] = {}
    for low, high, rows in (rest for part in parts for rest in part.rests):
        rests[low, high] = rests.get((low, high), 0) + rows
    return CellFaults(
        above=sum(part.above for part in parts),
        unread=sum(part.unread for part in parts),
        rests=tuple((low, high, rows) for (low, high), rows in rests.items()),
        finer=sum(part.finer for part in parts),
        unclear=sum(part.unclear for part in parts),
    )


def _verdict(model: GroupModel, published: Published, told: list[tuple[float, int, int]]) -> Verdict:
    if not told:
        return model.verdict(published, None, True, "nothing is published")
    worst = (min if model.higher_is_safer else max)(reached for reached, _, _ in told)
    return model.judge_summary(published, worst, sum(one[1] for one in told), sum(one[2] for one in told))


def _judge(batches: Iterator[pa.RecordBatch], reading: Reading) -> Iterator[pa.RecordBatch]:
    """Judge the classes of a partition. Messages of ours are passed on; others may show values."""
    held = list(batches)
    try:
        found = _summarize_partition(pa.Table.from_batches(held), reading) if held else {"rows": 0}
    except ShoalError as error:
        found = {"rows": 0, "error": str(error)}
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        raise failure(error, "judging classes") from None
    yield pa.RecordBatch.from_pydict({"part": pa.array([pickle.dumps(found)], pa.binary())})


def _summarize_partition(table: pa.Table, reading: Reading) -> dict[str, Any]:
    rows = pl.DataFrame(
        {
            reading.columns[int(name[1:])]: pl.from_arrow(table.column(name))
            for name in table.column_names
            if name != "rows"
        }
    )
    if not len(rows):
        return {"rows": 0}
    weights = table.column("rows").to_numpy().astype(np.int64)
    published, unknown = read_published(
        rows,
        PublishedColumns(reading.attributes, reading.sensitive, bounds=reading.bounds),
        sensitive_codes(rows, reading.sensitive),
        weights=weights,
    )
    weighed = Weighed(
        **{one.name: getattr(published, one.name) for one in fields(Published)}, weights=weights
    )
    groups = weighed.with_totals(reading.totals)
    told: list[Any] = []
    for model in reading.models:
        if not isinstance(model, GroupModel):
            told.append(None)
            continue
        reached = model.score_groups(groups)
        worst = float(reached.min() if model.higher_is_safer else reached.max())
        told.append((worst, int((~model.holds_in(groups)).sum()), len(groups)))
    return {
        "rows": weighed.rows,
        "sizes": np.unique(weighed.sizes, return_counts=True),
        "ranges": weighed.ranges,
        "faults": weighed.faults,
        "unknown": unknown,
        "models": told,
        "labels": {a.name: _count_labels(rows[a.name], weights) for a in reading.attributes},
    }
