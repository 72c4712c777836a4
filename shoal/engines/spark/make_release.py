"""`Spark`: the engine for tables that a cluster holds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.coding import CodedTable
from shoal.coding.column_plan import bound_names
from shoal.coding.columns import Columns
from shoal.coding.counting import ByRows
from shoal.engines.engine import Engine
from shoal.engines.spark import is_spark_frame
from shoal.engines.spark.catalog_tables import Table
from shoal.engines.spark.count_boxes import block_keys, cut_into_boxes, find_limited_columns
from shoal.engines.spark.driver_tables import ClusterCase, Counted, Weighted, empty_codes, no_rows
from shoal.engines.spark.encode_columns import Coded, code_table, lone_rows
from shoal.engines.spark.finish_boxes import (
    Part,
    Work,
    apply_mapping,
    finish_parts,
    in_boxes,
    join_failed_parts,
    publish_closed,
)
from shoal.engines.spark.mappings import Combinations, DistantJudge
from shoal.engines.spark.output_folder import Folder, fingerprint, place_of
from shoal.engines.spark.render_rows import Shown, check_rows, render_frame, shuffle_rows, sum_rows
from shoal.engines.spark.session import cancel_with, check_workers, session_for, session_of, translate_errors
from shoal.engines.spark.spark_sources import Source, read
from shoal.engines.spark.tasks import codes_of
from shoal.engines.spark.unsupported import check_possible, refuse_population
from shoal.engines.spark.verify_release import Reading, verify_rows
from shoal.errors import DataError, EngineError, LimitError, OutputError
from shoal.io import Frame, Outbox
from shoal.io.sheet import Sheet
from shoal.judging.case import Case
from shoal.judging.linking.origins import MadeHere
from shoal.judging.measures import MEASURES, CellMeasure
from shoal.judging.read_case import Received
from shoal.methods.full_domain.mapping_judge import SearchesMappings
from shoal.methods.full_domain.mapping_lattice import MOST_MAPPINGS, mappings_of
from shoal.methods.method import BoxCuts
from shoal.pipeline.plan import Plan
from shoal.policy import Policy
from shoal.release import Release
from shoal.release.received.read_buckets import NO_OTHERS
from shoal.release.results import Clock
from shoal.support.run import Progress
from shoal.support.wording import either

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


@dataclass(eq=False, repr=False)
class Spark(Engine):
    """A cluster has the rows, and the driver knows counts. A folder gets its name when the run ends well, and is gone
    otherwise, and so does a table of the catalog; without an output, the release is a frame of Spark."""

    session: SparkSession = field(init=False)
    coded: Coded = field(init=False)
    table: Counted = field(init=False)
    """What the driver knows of the source."""
    lone: int = field(init=False, default=0)
    """Rows that are alone with their quasi-identifiers in the source."""
    shown: Shown = field(init=False)
    _held: contextlib.ExitStack = field(init=False)
    _folder: Folder | Table | None = field(init=False, default=None)
    _place: str | None = field(init=False, default=None)
    """The temporary name of the release; None before it was written."""
    _given: Source = field(init=False)
    _ranged: DataFrame = field(init=False)
    """The rows that will be published, with their ranges."""
    _back: DataFrame = field(init=False)
    """The published rows, as they were read back."""

    def plan(self) -> Plan:
        """Resolve the policy. Raises PolicyError with everything in it that Spark cannot do."""
        refuse_population(self.population)
        return Plan(self.policy, check_possible(self.policy), self.policy.requirements())

    def check_outputs(self, places: Sequence[Any], codebooks: Sequence[Path], keys: Path | None) -> None:
        """Refuse codebooks, which need the rows. `open` checks the places: they need a session."""
        if codebooks:
            raise OutputError(
                f"{codebooks[0]}: Spark writes no codebook; make it afterwards from the folder of the release, with "
                + either(command="`shoal audit FOLDER --codebook FILE`", python="`shoal.codebook`")
            )

    @property
    def notes(self) -> Sequence[str]:
        """What was found where the release goes."""
        return () if self._folder is None else self._folder.notes

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Find or start a session. The papers appear when the block ends well, and then the release."""
        self.progress("start", 0.0)
        with self.clock("start"):
            source = self.source
            self.session = session_of(source) if is_spark_frame(source) else session_for(self.policy.engine)
            check_workers(self.session)
        with contextlib.ExitStack() as self._held, cancel_with(self.session):
            if self.output is not None:
                self._folder = place_of(self.session, self.output, force=self.force)
            with Outbox(force=self.force) as self.papers:
                yield
            if self._folder is not None and self._place is not None:
                self._folder.appear(self._place)
                self._back = self._folder.read(self._folder.place, self.table.release_columns)

    def read(self) -> None:
        """Find out how the source is read, and that the release would not replace it."""
        source = self.policy.source(self.source)
        self._given = read(self.session, source, self.policy.read_options())
        if self._folder is not None:
            self._folder.check_apart(source, self._given.frame)

    def encode(self, plan: Plan) -> Counted:
        """Code the source where it is, and return what the driver knows of it."""
        found = code_table(self.session, self._given, self.policy.plans(self._given.columns))
        found = replace(found, frame=_persist(self._held, found.frame))
        self.coded = _with_blocks(self.session, found)
        self.table = self.coded.table
        types, query = found.types, pl.LazyFrame(schema=found.types)
        self.frame = Frame("spark", types, self.table.rows, self._given.options, query)
        return self.table

    def propose(self, plan: Plan, table: CodedTable) -> Release:
        """Let the method decide what each row shows; return its levels and facts."""
        by_mapping = plan.method.can.search_mappings
        if by_mapping:
            self._fetch_combinations(plan)
        plan.check_feasible(self.table, self.run)
        self.progress("anonymize", 0.2)
        with plan.advise(self.table), self.clock("anonymize"):
            release, rows = self._by_mapping(plan) if by_mapping else self._by_parts(plan)
        self._ranged = rows
        check_rows(self.shown, plan.requirements.suppressible(self.table.rows), self.table.rows)
        self.lone += self.shown.lone
        return release

    def publish(self, plan: Plan, table: CodedTable, release: Release) -> DataFrame:
        """Render the rows, shuffle them, write them under a temporary name, and return them as they are read back."""
        folder = self._folder
        as_text = folder is not None and folder.is_text
        if isinstance(folder, Folder) and as_text:
            folder.delimiter = folder.kind().delimiter(self._given.options)
        rows = render_frame(
            self.session, self._ranged, self.coded, self.shown, release.levels, as_text=as_text
        )
        rows = shuffle_rows(rows, _files(self.session, self.shown.rows), self.run.random)
        if folder is None:
            with translate_errors("making the release"):
                self._back = rows.localCheckpoint(eager=True)
        else:
            self._place = self._held.enter_context(folder.draft())
            self._back = _written(folder, rows, table.release_columns, self._place)
        return self._back

    def tables(self, case: Case) -> tuple[DataFrame, None]:
        """Return the published rows as a frame: read from where they are in the end, once they are there."""
        return self._back.toDF(*self.table.release_columns), None

    @classmethod
    def read_release(cls, received: Received, policy: Policy, clock: Clock, progress: Progress) -> Case:
        """Return the case of a release that Spark reads."""
        from shoal.engines.spark.audit_release import read_release

        return read_release(received, policy, clock, progress)

    def judge(self, plan: Plan, table: CodedTable, release: Release, shown: DataFrame) -> ClusterCase:
        """Verify the rows as they were read back, and return the case with its figures."""
        own = self.coded.table
        bounds = {a.name: bound_names(a.name) for a in own.attributes if a.bounds is not None}
        reading = Reading(
            own.release_columns,
            own.attributes,
            own.sensitive,
            own.sensitive_counts,
            plan.requirements.all_models,
            bounds,
        )
        found = verify_rows(self.session, shown, reading, plan.requirements, own.rows, self.shown.rows)
        if found.published.rows != self.shown.rows:
            raise EngineError(
                f"{self.shown.rows:,} rows were to be published, but {found.published.rows:,} came back: Spark lost or "
                "doubled rows, so nothing was published"
            )
        return ClusterCase(
            published=found.published,
            table=self.table,
            k=plan.requirements.k,
            policy=self.policy,
            requirements=plan.requirements,
            sheet=Sheet.of(no_rows(list(own.release_columns))),
            origin=MadeHere(release, owner=None),
            notes=(),
            other_readings=NO_OTHERS,
            judged=found.verdicts,
            unique_before=self.lone / max(own.rows, 1),
        )

    def _combinations(self, plan: Plan) -> DataFrame:
        """Count how many rows have each combination of codes, with sensitive ones if models need them."""
        needed = len(self.table.sensitive) if not plan.requirements.only_k else 0
        names = [f"c{j}" for j in range(len(self.table.attributes))] + [f"s{s}" for s in range(needed)]
        return self.coded.frame.groupBy(*names).count().withColumnRenamed("count", "many")

    def _fetch_combinations(self, plan: Plan) -> None:
        """Bring the distinct combinations to the driver, if it can hold them."""
        with translate_errors("counting combinations"):
            found = self._combinations(plan).limit(MOST_COMBINATIONS + 1).toArrow()
        if found.num_rows > MOST_COMBINATIONS:
            self.lone = lone_rows(self.coded.frame)
            return
        many = found.column("many").to_numpy().astype(np.int64)
        secrets = codes_of(found, "s")
        if not secrets.shape[1]:
            secrets = np.zeros((len(many), len(self.table.sensitive)), np.int32)
        own = self.table
        values = Columns.of(own.sensitive, np.asfortranarray(secrets), own.sensitive_counts)
        self.table = Weighted(
            **{one.name: getattr(own, one.name) for one in fields(Counted) if one.name not in _REPLACED},
            quasi=Columns.of(own.attributes, np.asfortranarray(codes_of(found, "c")), own.value_counts),
            secrets=values,
            countings=(ByRows(values, own.rows),),
            many=many,
        )
        self.lone = self.table.unique

    def _by_mapping(self, plan: Plan) -> tuple[Release, DataFrame]:
        assert isinstance(plan.method, SearchesMappings)
        if isinstance(self.table, Weighted):
            release = plan.method.anonymize(self.table, plan.requirements, self.run)
            return release, self._sum_rows(apply_mapping(self.session, self.coded.frame, self.table, release))
        if mappings_of(self.table) > MOST_MAPPINGS:
            raise LimitError(
                f"the table has {mappings_of(self.table):,} mappings and more than {MOST_COMBINATIONS:,} different "
                f"combinations; over so many combinations, {plan.method.name} searches {MOST_MAPPINGS:,} mappings at "
                "most",
                "Use mondrian, hierarchies with fewer levels, or generalization limits",
            )
        frame = _persist(self._held, self._combinations(plan))
        there = Combinations(self.session, frame, self.table, plan.requirements, MOST_COMBINATIONS)
        release = plan.method.search(self.table, DistantJudge(self.table, plan.requirements, there), self.run)
        shown = apply_mapping(self.session, self.coded.frame, self.table, release)
        if plan.requirements.suppressible(self.table.rows):
            failing = there.find_failing(np.array(release.levels, np.int64))
            shown = shown.join(failing, on=failing.columns, how="left_anti").select(*shown.columns)
        return release, self._sum_rows(shown)

    def _sum_rows(self, frame: DataFrame) -> DataFrame:
        """Keep the rows that will be published, and sum them up."""
        frame = _persist(self._held, frame)
        self.shown = sum_rows(self.session, frame, self.table)
        return frame

    def _by_parts(self, plan: Plan) -> tuple[Release, DataFrame]:
        how = plan.method.divides
        most = self.policy.engine.part_rows or (PART_ROWS if isinstance(how, str) else how.rows or PART_ROWS)
        own = plan.method.box_cuts
        frame, asked = self.coded.frame, plan.requirements
        if not isinstance(MEASURES[asked.measure](), CellMeasure):
            asked = replace(asked, measure=MEASURES.default)  # cuts lower the loss of cells
        boxes = cut_into_boxes(frame, self.table, asked, own or BoxCuts(), most, self.run)
        if boxes.closed and own is None:
            self._check_alike(boxes.closed, boxes.sizes, most)
        if boxes.closed:
            self.lone += lone_rows(in_boxes(self.coded.frame, boxes))
        parts: list[Part] = [(box,) for box in boxes.open]
        asked_of = self.table, boxes, plan.method, plan.requirements, self.run
        done = finish_parts(frame, boxes.router, parts, Work.of(*asked_of))
        if boxes.closed:
            done = done.unionAll(publish_closed(frame, boxes, len(self.table.attributes)))
        done = self._sum_rows(done)
        while self.shown.failed:
            before = set(parts)
            parts, new = join_failed_parts(parts, self.shown.failed, boxes.sizes, most)
            gone = [part[0] for part in before.difference(parts)]
            more = finish_parts(frame, boxes.router, new, Work.of(*asked_of))
            done = done.filter(~done.part.isin(*gone)).unionAll(_persist(self._held, more))
            self.shown = sum_rows(self.session, done, self.table)
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


_REPLACED = ("quasi", "secrets", "countings")


def _files(session: SparkSession, rows: int) -> int:
    """Return how many files to write: one per core, if there are rows for it, and none with too many."""
    return max(1, min(session.sparkContext.defaultParallelism, rows // LEAST_ROWS), -(-rows // ROWS_PER_FILE))


def _persist(held: contextlib.ExitStack, frame: DataFrame) -> DataFrame:
    """Persist a Spark frame on disk until the work is done."""
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
    with translate_errors("reading the release back"):
        found = back.agg(*fingerprint(back)).collect()[0].asDict()
        wanted = noted.get
    if found != wanted:
        what = "the number of rows" if found["rows"] != wanted["rows"] else "some cells"
        raise OutputError(f"{folder.target}: {what} did not come back as written, so nothing was published")
    return back


def _with_blocks(session: SparkSession, table: Coded) -> Coded:
    """Count the blocks of a table with generalization limits."""
    own = table.table
    limited = find_limited_columns(own)
    if not limited:
        return table
    from pyspark.sql import functions as F

    tops = [F.element_at(F.array(*[F.lit(int(top)) for top in numbers]), F.col(f"c{j}") + 1).alias(f"c{j}")
            for j, numbers, _ in limited]  # fmt: skip
    secrets = [f"s{s}" for s in range(len(own.sensitive))]
    keyed = table.frame.select(*tops, *secrets)
    names = [f"c{j}" for j, _, _ in limited]
    with translate_errors("counting blocks"):
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
