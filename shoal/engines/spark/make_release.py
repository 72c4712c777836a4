"""From a table and a policy to a verified release, on Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.coding.column_plan import bound_names
from shoal.coding.columns import Columns
from shoal.engines.spark import is_spark_frame
from shoal.engines.spark.catalog_tables import Table
from shoal.engines.spark.count_boxes import block_keys, cut_into_boxes, limited_columns
from shoal.engines.spark.driver_tables import ClusterCase, Counted, Weighted, empty_codes, no_rows
from shoal.engines.spark.encode_columns import Coded, coded, lone_rows
from shoal.engines.spark.finish_boxes import Part, finished, in_boxes, joined, mapped
from shoal.engines.spark.mappings import Combinations, DistantJudge
from shoal.engines.spark.output_folder import Folder, fingerprint, place_of
from shoal.engines.spark.render_rows import Shown, checked_rows, rendered, shuffled, summed_up
from shoal.engines.spark.session import cancelled_with, check_workers, session_for, session_of, translated
from shoal.engines.spark.spark_sources import Source, read
from shoal.engines.spark.tasks import codes_of
from shoal.engines.spark.unsupported import check_possible
from shoal.engines.spark.verify_release import Reading, verified
from shoal.errors import DataError, EngineError, LimitError, OutputError
from shoal.io import Frame
from shoal.io.sheet import Sheet
from shoal.judging.linking.origins import MadeHere
from shoal.judging.measures import MEASURES, CellMeasure
from shoal.judging.models.feasibility import left_out
from shoal.methods.full_domain.lattice import MOST_MAPPINGS, mappings_of
from shoal.methods.full_domain.mapping_judge import SearchesMappings
from shoal.methods.method import BoxCuts
from shoal.pipeline.plan import Plan
from shoal.policy import Policy
from shoal.release import Release
from shoal.release.received.read_buckets import NO_OTHERS
from shoal.release.results import Clock
from shoal.release.verdict import refuse_violations
from shoal.support.brief import Brief
from shoal.support.run import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PART_ROWS = 1_000_000
"""Rows of a part, if the policy does not say: some hundred MB in a task."""
MOST_COMBINATIONS = 20_000_000
"""Distinct combinations that the driver holds; of mappings with more, tasks count what a search needs to know."""
MOST_BLOCKS = 100_000
ROWS_PER_FILE = 2_000_000
LEAST_ROWS = 100_000
"""A file with fewer rows is not worth a task."""


@dataclass(frozen=True, eq=False, repr=False)
class Made(Brief):
    """A verified release."""

    case: ClusterCase
    frame: Frame
    """The source, as the rest of Shoal knows sources: without its rows."""
    table: DataFrame
    """The published rows."""
    unserved: str
    notes: tuple[str, ...] = ()
    """What was found where the release goes."""
    appeared: Callable[[], DataFrame] | None = None
    """Reads the rows from where they are once the block has ended; None if they have no place."""


@contextlib.contextmanager
def made(
    source: Any,
    policy: Policy,
    output: Any,
    run: Run,
    clock: Clock,
    *,
    force: bool = False,
) -> Iterator[Made]:
    """Make a release, verify it, and yield it. A folder `output` gets its name when the block ends well, and is gone
    otherwise, and so does a table of the catalog; without it, the release is a frame of Spark."""
    plan = Plan(policy, check_possible(policy), policy.requirements())
    run.progress("start", 0.0)
    with clock("start"):
        session = session_of(source) if is_spark_frame(source) else session_for(policy.engine)
        check_workers(session)
    with contextlib.ExitStack() as held, cancelled_with(session):
        folder = None if output is None else place_of(session, output, force=force)
        run.progress("read", 0.02)
        with clock("read"):
            given = read(session, policy.source(source), policy.read_options())
            if folder is not None:
                folder.check_apart(policy.source(source), given.frame)
        run.progress("encode", 0.05)
        with clock("encode"):
            table = coded(session, given, policy.plans(given.columns))
            table = replace(table, frame=_kept(held, table.frame))
            table = _with_blocks(session, table)
        work = _Work(session, table, plan.on(table.table), run, clock)
        release, ranged = work.proposed(held)
        parts = _files(session, work.shown.rows)
        run.progress("write", 0.8)
        as_text = folder is not None and folder.is_text
        if isinstance(folder, Folder) and as_text:
            folder.delimiter = folder.kind().delimiter(given.options)
        with clock("write"):
            rows = rendered(session, ranged, table, work.shown, release.levels, as_text=as_text)
            rows = shuffled(rows, parts, run.random)
            columns = table.table.shown_columns
            if folder is None:
                with translated("making the release"):
                    back = rows.localCheckpoint(eager=True)
                place = None
            else:
                place = held.enter_context(folder.draft())
                back = _written(folder, rows, columns, place)
        run.progress("verify", 0.85)
        with clock("verify"):
            case = work.judged(back, columns, release)
        refuse_violations(case.failing)
        unserved = left_out(work.table, case.requirements) if plan.method.heeds_limits else ""
        run.progress("measure", 0.95)
        with clock("measure"):
            _ = case.measures, case.losses
        if folder is None or place is None:
            yield Made(case, _frame(given, table), back.toDF(*columns), unserved)
            return
        final = partial(folder.read, folder.place, columns)
        yield Made(
            case,
            _frame(given, table),
            back.toDF(*columns),
            unserved,
            tuple(folder.notes),
            lambda: final().toDF(*columns),
        )
        folder.appear(place)


def _files(session: SparkSession, rows: int) -> int:
    """Return how many files to write: one per core, if there are rows for it, and none with too many."""
    return max(1, min(session.sparkContext.defaultParallelism, rows // LEAST_ROWS), -(-rows // ROWS_PER_FILE))


def _kept(held: contextlib.ExitStack, frame: DataFrame) -> DataFrame:
    """Keep a frame on the disks of the cluster until the work is done."""
    from pyspark import StorageLevel

    kept = frame.persist(StorageLevel.DISK_ONLY)

    def forget() -> None:
        with contextlib.suppress(Exception):
            kept.unpersist()

    held.callback(forget)
    return kept


def _written(folder: Folder | Table, rows: DataFrame, columns: tuple[str, ...], place: str) -> DataFrame:
    """Write rows, and return them as they are read from there. Raises OutputError if a cell comes back changed."""
    from pyspark.sql import Observation

    noted = Observation()
    folder.write(rows.observe(noted, *fingerprint(rows)), columns, place)
    back = folder.read(place, columns)
    with translated("reading the release back"):
        found = back.agg(*fingerprint(back)).collect()[0].asDict()
        wanted = noted.get
    if found != wanted:
        what = "the number of rows" if found["rows"] != wanted["rows"] else "some cells"
        raise OutputError(f"{folder.target}: {what} did not come back as written, so nothing was published")
    return back


def _with_blocks(session: SparkSession, table: Coded) -> Coded:
    """Count the blocks of a table with generalization limits."""
    own = table.table
    limited = limited_columns(own)
    if not limited:
        return table
    from pyspark.sql import functions as F

    tops = [F.element_at(F.array(*[F.lit(int(top)) for top in numbers]), F.col(f"c{j}") + 1).alias(f"c{j}")
            for j, numbers, _ in limited]  # fmt: skip
    secrets = [f"s{s}" for s in range(len(own.sensitive))]
    keyed = table.frame.select(*tops, *secrets)
    names = [f"c{j}" for j, _, _ in limited]
    with translated("counting blocks"):
        found = keyed.groupBy(*names).count().limit(MOST_BLOCKS + 1).toArrow()
        if found.num_rows > MOST_BLOCKS:
            raise DataError(
                f"generalization limits split the table into more than {MOST_BLOCKS:,} blocks: loosen them"
            )
        spread = [keyed.groupBy(*names, s).count().toArrow() for s in secrets]
    codes = np.zeros((found.num_rows, len(own.attributes)), np.int32, order="F")
    for j, _, _ in limited:
        starts = own.attributes[j].hierarchy.levels[-1].starts
        codes[:, j] = starts[found.column(f"c{j}").to_numpy()]
    keys = block_keys(limited, codes)
    order = np.argsort(keys)
    histograms = []
    for s, counted in enumerate(spread):
        tuples = np.zeros((counted.num_rows, len(own.attributes)), np.int32)
        for j, _, _ in limited:
            tuples[:, j] = own.attributes[j].hierarchy.levels[-1].starts[counted.column(f"c{j}").to_numpy()]
        at = np.searchsorted(keys[order], block_keys(limited, tuples))
        own_counts = np.zeros((len(keys), own.sensitive[s].hierarchy.size), np.int64)
        own_counts[at, counted.column(f"s{s}").to_numpy()] = counted.column("count").to_numpy()
        histograms.append(own_counts)
    sizes = found.column("count").to_numpy().astype(np.int64)[order]
    with_codes = replace(
        own, quasi=Columns.of(own.attributes, np.asfortranarray(codes[order]), own.value_counts)
    )
    groups = with_codes.as_groups(sizes, histograms)
    return replace(table, table=replace(with_codes, block_groups=groups))


class _Work:
    """One run: what each step needs."""

    def __init__(
        self,
        session: SparkSession,
        coded: Coded,
        plan: Plan,
        run: Run,
        clock: Clock,
    ) -> None:
        self.session, self.coded, self.plan, self.run, self.clock = session, coded, plan, run, clock
        self.policy, self.method, self.requirements = plan.policy, plan.method, plan.requirements
        self.table: Counted = coded.table
        self.lone = 0
        self.shown: Shown

    def proposed(self, held: contextlib.ExitStack) -> tuple[Release, DataFrame]:
        """Let the method decide what each row shows; return its levels and facts, and the rows with their ranges."""
        by_mapping = self.method.can.search_mappings
        if by_mapping:
            self._bring_combinations()
        self.plan.check_feasible(self.table, self.run)
        self.run.progress("anonymize", 0.2)
        with self.plan.advising(self.table), self.clock("anonymize"):
            release, frame = self._by_mapping(held) if by_mapping else self._by_parts(held)
        allowed = self.requirements.suppressible(self.table.rows)
        checked_rows(self.shown, allowed, self.table.rows)
        self.lone += self.shown.lone
        return release, frame

    def _combinations(self) -> DataFrame:
        """Count how many rows have each combination of codes, with sensitive ones if models need them."""
        needed = len(self.table.sensitive) if not self.requirements.only_k else 0
        names = [f"c{j}" for j in range(len(self.table.attributes))] + [f"s{s}" for s in range(needed)]
        return self.coded.frame.groupBy(*names).count().withColumnRenamed("count", "many")

    def _bring_combinations(self) -> None:
        """Bring the distinct combinations to the driver, if it can hold them."""
        with translated("counting combinations"):
            found = self._combinations().limit(MOST_COMBINATIONS + 1).toArrow()
        if found.num_rows > MOST_COMBINATIONS:
            self.lone = lone_rows(self.coded.frame)
            return
        many = found.column("many").to_numpy().astype(np.int64)
        secrets = codes_of(found, "s")
        if not secrets.shape[1]:
            secrets = np.zeros((len(many), len(self.table.sensitive)), np.int32)
        own = self.table
        self.table = Weighted(
            **{one.name: getattr(own, one.name) for one in fields(Counted) if one.name not in _REPLACED},
            quasi=Columns.of(own.attributes, np.asfortranarray(codes_of(found, "c")), own.value_counts),
            secrets=Columns.of(own.sensitive, np.asfortranarray(secrets), own.sensitive_counts),
            many=many,
        )
        self.lone = self.table.unique

    def _by_mapping(self, held: contextlib.ExitStack) -> tuple[Release, DataFrame]:
        assert isinstance(self.method, SearchesMappings)
        if isinstance(self.table, Weighted):
            release = self.method.anonymize(self.table, self.requirements, self.run)
            return release, self._summed(held, mapped(self.session, self.coded.frame, self.table, release))
        if mappings_of(self.table) > MOST_MAPPINGS:
            raise LimitError(
                f"the table has {mappings_of(self.table):,} mappings and more than {MOST_COMBINATIONS:,} different "
                f"combinations; over so many combinations, {self.method.name} searches {MOST_MAPPINGS:,} mappings at "
                "most",
                "Use mondrian, hierarchies with fewer levels, or generalization limits",
            )
        frame = _kept(held, self._combinations())
        there = Combinations(self.session, frame, self.table, self.requirements, MOST_COMBINATIONS)
        release = self.method.search(self.table, DistantJudge(self.table, self.requirements, there), self.run)
        shown = mapped(self.session, self.coded.frame, self.table, release)
        if self.requirements.suppressible(self.table.rows):
            failing = there.failing(np.array(release.levels, np.int64))
            shown = shown.join(failing, on=failing.columns, how="left_anti").select(*shown.columns)
        return release, self._summed(held, shown)

    def _summed(self, held: contextlib.ExitStack, frame: DataFrame) -> DataFrame:
        """Keep the rows that will be published, and sum them up."""
        frame = _kept(held, frame)
        self.shown = summed_up(self.session, frame, self.table)
        return frame

    def _by_parts(self, held: contextlib.ExitStack) -> tuple[Release, DataFrame]:
        how = self.method.divides
        most = self.policy.engine.part_rows or (PART_ROWS if isinstance(how, str) else how.rows or PART_ROWS)
        own = self.method.box_cuts
        frame, asked = self.coded.frame, self.requirements
        if not isinstance(MEASURES[asked.measure](), CellMeasure):
            asked = replace(asked, measure=MEASURES.default)  # cuts lower the loss of cells
        boxes = cut_into_boxes(self.session, frame, self.table, asked, own or BoxCuts(), most, self.run)
        if boxes.closed and own is None:
            self._check_alike(boxes.closed, boxes.sizes, most)
        if boxes.closed:
            self.lone += self._lone_in(boxes)
        parts: list[Part] = [(box,) for box in boxes.open]
        asked_of = self.method, self.requirements, self.run
        done = self._summed(held, finished(self.session, frame, self.table, boxes, parts, *asked_of))
        while self.shown.failed:
            before = set(parts)
            parts, new = joined(parts, self.shown.failed, boxes.sizes, most)
            gone = [part[0] for part in before.difference(parts)]
            more = finished(self.session, frame, self.table, boxes, new, *asked_of, closed=False)
            done = done.filter(~done.part.isin(*gone)).unionAll(_kept(held, more))
            self.shown = summed_up(self.session, done, self.table)
        published = sum(boxes.sizes.values())
        count = len(parts) + len(boxes.closed)
        facts = {"parts": count, "rounds": boxes.rounds, "suppressed": self.table.rows - published}
        ends = empty_codes(len(self.table.attributes))
        return Release(np.empty(0, np.int32), ends, ends, facts=facts), done

    def _check_alike(self, closed: Any, sizes: dict[int, int], most: int) -> None:
        """Refuse a part that does not fit and holds different rows: only mondrian publishes such a box as it is."""
        for box, (low, high) in closed.items():
            if low != high:
                raise LimitError(
                    f"a part of {sizes[box]:,} rows cannot be cut, and a part may have {most:,}",
                    f"set engine.part_rows to {sizes[box]:,} or more, if a task has the memory, or use mondrian",
                )

    def _lone_in(self, boxes: Any) -> int:
        return lone_rows(in_boxes(self.session, self.coded.frame, boxes))

    def judged(self, back: DataFrame, columns: tuple[str, ...], release: Release) -> ClusterCase:
        """Verify the rows as they were read back, and return the case with its figures."""
        table = self.coded.table
        reading = Reading(
            columns,
            table.attributes,
            table.sensitive,
            table.sensitive_counts,
            self.requirements.judged,
            {a.name: bound_names(a.name) for a in table.attributes if a.bounds is not None},
        )
        parts = max(
            1, -(-self.shown.rows // ROWS_PER_FILE), min(8, self.session.sparkContext.defaultParallelism)
        )
        found = verified(self.session, back, reading, self.requirements, table.rows, parts)
        if found.published.rows != self.shown.rows:
            raise EngineError(
                f"{self.shown.rows:,} rows were to be published, but {found.published.rows:,} came back: Spark lost or "
                "doubled rows, so nothing was published"
            )
        return ClusterCase(
            published=found.published,
            table=self.table,
            k=self.requirements.k,
            policy=self.policy,
            requirements=self.requirements,
            sheet=Sheet.of(no_rows(list(columns))),
            origin=MadeHere(release, owner=None),
            notes=(),
            other_readings=NO_OTHERS,
            judged=found.verdicts,
            unique_before=self.lone / max(table.rows, 1),
        )


_REPLACED = ("quasi", "secrets")


def _frame(source: Source, table: Coded) -> Frame:
    """Return the source as the rest of Shoal knows sources, without its rows."""
    return Frame(
        "spark", table.types, table.table.rows, source.options, None, None, pl.LazyFrame(schema=table.types)
    )
