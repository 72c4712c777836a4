"""Files on Spark: folders in and out, verified where they were written; audits by both engines; bad input."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.spark import encode_columns as coding
from shoal.engines.spark import make_release as making
from shoal.engines.spark import session, tasks
from shoal.errors import DataError, EngineError, LimitError, OutputError, PolicyError
from shoal.io.draft_folders import DraftFolder
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from shoal.support.machine import memory
from tests.engines.test_spark_commands import command
from tests.engines.test_spark_releases import locally, people, place, policy, rows_of

__all__ = ["people", "place"]


def left_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_frame_in_and_a_frame_out(spark, place: Path):
    frame = spark.read.parquet(str(place))
    result = shoal.anonymize(
        frame, quasi=["age", "zip", "sex"], sensitive=["disease"], identifier=["name"], plain=["stay"], k=5
    )
    assert result.holds
    assert result.table.columns == ["age", "zip", "sex", "disease", "stay"]
    assert result.table.count() == 600
    assert result.table.groupBy("age", "zip", "sex").count().agg({"count": "min"}).collect()[0][0] >= 5
    assert shoal.audit(result.table, quasi=["age", "zip", "sex"], k=5).holds
    assert "person" not in repr(result)


def test_a_folder_is_written_and_audited_by_both_engines(spark, place: Path, tmp_path: Path):
    chosen = policy("mondrian", l=2)
    out, record, card = tmp_path / "out.parquet", tmp_path / "record.json", tmp_path / "card.md"
    result = anonymize_file(place, chosen, out, record=record, cards=[card])
    assert result.holds
    assert left_in(tmp_path) == ["card.md", "out.parquet", "record.json"]
    assert (out / "_SUCCESS").exists()
    assert result.table.count() == 600
    here = shoal.anonymize(place, locally(chosen))
    assert rows_of(pl.read_parquet(out / "part-*.parquet")).equals(rows_of(here.table))
    local = shoal.audit(out, locally(chosen), original=place)
    there = shoal.audit(out, chosen, original=place)
    assert local.holds
    assert there.holds
    assert [v for v in local.verdicts if v.model != "truthful"] == list(there.verdicts)
    assert there.measures == pytest.approx(local.measures)
    assert any("truthful" in note for note in there.notes)
    alone, alone_here = shoal.audit(out, chosen), shoal.audit(out, locally(chosen))
    assert alone.verdicts == alone_here.verdicts
    assert alone.measures == pytest.approx(alone_here.measures)
    strict = chosen.override(["privacy.k=30"])
    failed, failed_here = shoal.audit(out, strict), shoal.audit(out, locally(strict))
    assert not failed.holds
    assert failed.verdicts == failed_here.verdicts


def test_the_order_of_rows_follows_from_no_input(spark, place: Path, tmp_path: Path):
    chosen = policy("full-domain")
    orders = []
    for name in ("a", "b"):
        anonymize_file(place, chosen, tmp_path / name)
        orders.append(pl.read_parquet(tmp_path / name / "part-*.parquet"))
    assert rows_of(orders[0]).equals(rows_of(orders[1]))
    assert not orders[0].equals(orders[1])


TEXT = '''code,zip,remark,disease
007,"10,1",,flu
7,"10,1","",cold
007,"10,2","two
lines",flu
7,"10,2","says ""hi""",cold
'''


def test_text_is_read_and_written_by_our_rules(spark, tmp_path: Path):
    source = tmp_path / "in.csv"
    source.write_text(TEXT + "".join(TEXT.partition("\n")[2] for _ in range(3)))
    made = Policy.from_keywords(quasi=["code", "zip"], sensitive=["disease"], plain=["remark"], k=2)
    chosen = made.override(["engine.name=spark"])
    anonymize_file(source, chosen, tmp_path / "there.csv")
    anonymize_file(source, locally(chosen), tmp_path / "here.csv")
    there = pl.concat(
        [pl.read_csv(file, infer_schema=False) for file in (tmp_path / "there.csv").glob("part-*.csv")]
    )
    here = pl.read_csv(tmp_path / "here.csv", infer_schema=False)
    assert there.sort(there.columns).equals(here.sort(here.columns))
    assert "007" in there["code"].to_list() or not set(there["code"]) & {"7"}
    audit = shoal.audit(tmp_path / "there.csv", locally(chosen), original=source)
    assert audit.holds
    assert audit.measures == pytest.approx(
        shoal.audit(tmp_path / "here.csv", locally(chosen), original=source).measures
    )


def test_types_are_those_of_published_rows(spark, tmp_path: Path):
    """A suppressed row has a fraction, a word and a far date; the same files result without it."""
    rows = [f"n,{age},{10 * age},{age % 3},2001-02-{age:02}" for age in (21, 22, 23, 24, 25, 26)]
    columns = {
        "block": {"role": "quasi", "limit": 0},
        "age": {"role": "quasi", "hierarchy": {"widths": [10]}},
        "pay": {"role": "sensitive"},
        "stay": {"role": "plain"},
        "day": {"role": "plain"},
    }
    chosen = Policy.from_dict(
        {
            "columns": columns,
            "privacy": {"k": 3},
            "utility": {"suppression": 0.2},
            "method": {"name": "full-domain"},
            "engine": {"name": "spark"},
        }
    )
    for ending in ("csv", "parquet"):
        found = []
        for name, more in (("with", ["r,30.5,1.25,unknown,soon"]), ("without", [])):
            source, out = tmp_path / f"{name}.csv", tmp_path / f"{name}-{ending}.{ending}"
            source.write_text("\n".join(["block,age,pay,stay,day", *rows, *more]))
            made = anonymize_file(source, chosen, out, seed=1)
            assert made.holds
            # Which task hands its rows over first is not decided by the seed, so rows are compared in any order.
            if ending == "csv":
                files = out.glob("part-*.csv")
                found.append(sorted(line for file in files for line in file.read_text().splitlines()))
            else:
                types = {"pay": pl.Int64, "stay": pl.Int64, "day": pl.Date}
                written = pl.read_parquet(out / "part-*.parquet")
                assert {column: written.schema[column] for column in types} == types
                found.append((written.schema, sorted(written.rows())))
        assert found[0] == found[1]


def test_an_output_that_exists_is_kept_unless_forced(spark, place: Path, tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "part-0.parquet").write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        anonymize_file(place, policy("full-domain"), out)
    assert left_in(out) == ["part-0.parquet"]
    anonymize_file(place, policy("full-domain"), out, force=True)
    assert pl.read_parquet(out / "part-*.parquet").height == 600
    assert left_in(tmp_path) == ["out"]


def test_rows_that_are_lost_are_noticed(spark, place: Path, tmp_path: Path, monkeypatch):
    real = making.render_frame

    def broken(*given, **more):
        return real(*given, **more).limit(598)

    monkeypatch.setattr(making, "render_frame", broken)
    with pytest.raises(EngineError, match=r"600 rows were to be published, but 598 came back"):
        anonymize_file(place, policy("mondrian"), tmp_path / "out")
    assert left_in(tmp_path) == []


def test_what_violates_the_policy_is_not_written(spark, place: Path, tmp_path: Path, monkeypatch):
    """A method that goes wrong in a task: every row shows its own values."""
    real = making.finish_parts

    def broken(*given):
        frame = real(*given)
        for j in range(3):
            frame = frame.withColumn(f"l{j}", frame[f"c{j}"]).withColumn(f"h{j}", frame[f"c{j}"])
        return frame

    monkeypatch.setattr(making, "finish_parts", broken)
    with pytest.raises(shoal.ViolationError, match=r"3-anonymity: required 3, reached 1"):
        anonymize_file(place, policy("mondrian"), tmp_path / "out")
    assert left_in(tmp_path) == []


# --- faults -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["encode", "cut", "anonymize", "write", "verify"])
def test_a_worker_that_is_killed_changes_nothing(spark, cluster, place: Path, tmp_path: Path, stage: str):
    chosen = policy("mondrian", l=2)
    killed: list[bool] = []

    def progress(name: str, _share: float) -> None:
        if name == stage and not killed:
            killed.append(True)
            threading.Timer(0.3, lambda: killed.append(cluster.kill(len(killed) % 2))).start()

    result = anonymize_file(place, chosen, tmp_path / "out", progress=progress)
    assert killed
    assert result.holds
    here = shoal.anonymize(place, locally(chosen))
    assert rows_of(pl.read_parquet(tmp_path / "out" / "part-*.parquet")).equals(rows_of(here.table))
    assert left_in(tmp_path) == ["out"]


def test_an_interrupted_driver_leaves_nothing(spark, place: Path, tmp_path: Path):
    def progress(name: str, _share: float) -> None:
        if name == "verify":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize_file(
            place, policy("mondrian"), tmp_path / "out", record=tmp_path / "r.json", progress=progress
        )
    assert left_in(tmp_path) == []
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()


def test_a_task_without_memory_is_told_and_nothing_is_written(
    spark, place: Path, tmp_path: Path, monkeypatch
):
    real = making.render_frame

    def greedy(*given, **more):
        frame = real(*given, **more)
        return frame.mapInArrow(_out_of_memory, frame.schema)

    monkeypatch.setattr(making, "render_frame", greedy)
    with pytest.raises(EngineError, match=r"memory.*part_rows"):
        anonymize_file(place, policy("full-domain"), tmp_path / "out")
    assert left_in(tmp_path) == []


def _out_of_memory(batches):
    raise MemoryError
    yield from batches


def test_a_killed_driver_leaves_a_folder_that_the_next_run_removes(spark, place: Path, tmp_path: Path):
    """That of a run which is alive stays, and so does what only looks like one."""
    (tmp_path / "policy.toml").write_text(policy("full-domain").to_toml())
    given = [
        "engine.master=local[1]",
        *(f'engine.settings."{name}"={value}' for name, value in SMALL.items()),
    ]
    sets = [word for one in given for word in ("--set", one)]
    run = command(tmp_path, "anonymize", str(place), "-p", "policy.toml", "-o", "out", *sets)
    until = time.monotonic() + 300
    while not list(tmp_path.glob(".shoal-*/rows/part-*")):  # written, and not verified yet
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    run.kill()
    run.communicate()
    while _working_in(tmp_path):  # Java ends when it notices that its driver is gone
        assert time.monotonic() < until
        time.sleep(0.05)
    (left,) = tmp_path.glob(".shoal-*")
    assert list(left.rglob("part-*"))
    alive = DraftFolder(tmp_path / "other")
    alive.create()
    mine = tmp_path / f".shoal-{'0' * 24}.out"  # without the right checksum
    mine.mkdir()
    result = anonymize_file(place, policy("full-domain"), tmp_path / "out")
    assert left_in(tmp_path) == sorted([mine.name, alive.path.name, "out", "policy.toml"])
    assert not [note for note in result.notes if "killed" in note]
    alive.close()
    assert not alive.path.exists()


def test_where_nothing_can_be_locked_leftovers_are_named_and_stay(spark, place: Path, tmp_path: Path):
    """A file system of Hadoop's other than the local one stands for HDFS and object stores."""
    shelf, kept = tmp_path / "shelf", DraftFolder(tmp_path / "shelf" / "out")
    kept.path.mkdir(parents=True)
    (kept.path / "part-0.parquet").write_text("x")
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.mounttable.tests.link./shelf", shelf.as_uri())
    result = anonymize_file(place, policy("full-domain"), "viewfs://tests/shelf/out")
    (note,) = [note for note in result.notes if "killed" in note]
    assert note.startswith(
        f"viewfs://tests/shelf/{kept.path.name} is from a run that was killed, or that still writes"
    )
    assert left_in(shelf) == sorted([kept.path.name, "out"])
    assert result.table.count() == pl.read_parquet(shelf / "out" / "part-*.parquet").height == 600
    anonymize_file(place, policy("full-domain"), "viewfs://tests/shelf/out", force=True)
    with pytest.raises(KeyboardInterrupt):
        anonymize_file(place, policy("full-domain"), "viewfs://tests/shelf/other", progress=_interrupting)
    assert left_in(shelf) == sorted([kept.path.name, "out"])


def _interrupting(name: str, _share: float) -> None:
    if name == "verify":
        raise KeyboardInterrupt


SMALL = {
    "spark.driver.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": 1,
}


def _working_in(folder: Path) -> list[str]:
    """The processes whose working folder is this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").resolve() == folder:
                found.append(process.name)
    return found


# --- bad input ----------------------------------------------------------------------------------------------


def test_another_python_on_the_workers(spark, place: Path, tmp_path: Path, monkeypatch):
    """Workers compare their version with the one that the driver tells them."""
    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.8")
    monkeypatch.setattr(session, "_checked", set())
    with pytest.raises(EngineError, match=r"another version of Python than the driver.*PYSPARK_PYTHON"):
        anonymize_file(place, policy("mondrian"), tmp_path / "out")
    assert left_in(tmp_path) == []


def test_workers_that_may_not_even_load_libraries(spark, place: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tasks, "versions", _cramped)
    monkeypatch.setattr(session, "_checked", set())
    with pytest.raises(
        EngineError, match=r"may reserve 1000\.0 GB.*reserve 2000\.0 GB.*leave that setting out"
    ):
        anonymize_file(place, policy("mondrian"), tmp_path / "out")
    assert left_in(tmp_path) == []


def _cramped(batches):
    """Limit this worker for the time of the question, to so much that nothing fails."""
    import resource

    tasks.addresses_needed = lambda: 2000.0
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (10**12, before[1]))
    try:
        yield from tasks.versions(batches)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        tasks.addresses_needed = memory.addresses_needed


@pytest.mark.parametrize("name", ["pyspark.sql.connect.dataframe", "databricks.connect.dataframe"])
def test_a_frame_of_spark_connect_is_refused_with_a_way(place: Path, name: str):
    """Known by its module, so that no server and no grpc are needed; a vendor may have a class of its own."""
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    frame = type("DataFrame", (kind,), {"__module__": name})()
    with pytest.raises(EngineError, match=r"Spark Connect.*sparkContext.*run Shoal where the driver is"):
        shoal.anonymize(frame, quasi=["age"], k=2)
    with pytest.raises(EngineError, match="Spark Connect"):
        shoal.audit(frame, quasi=["age"], k=2)
    with pytest.raises(EngineError, match="Spark Connect"):
        shoal.audit(place, policy("mondrian"), original=frame)


def test_a_session_of_spark_connect_is_refused(place: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    with pytest.raises(EngineError, match=r"Spark Connect.*without SPARK_REMOTE"):
        anonymize_file(place, policy("mondrian"), tmp_path / "out")
    assert left_in(tmp_path) == []


def test_a_column_with_too_many_values(spark, place: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(coding, "MOST_VALUES", 39)
    with pytest.raises(
        DataError, match=r"column 'zip'.* has more than 39 different values.*drop the column"
    ) as error:
        anonymize_file(place, policy("mondrian"), tmp_path / "out")
    assert "'age'" in str(error.value)
    assert left_in(tmp_path) == []


def test_a_part_that_does_not_fit(spark, tmp_path: Path):
    random = np.random.default_rng(5)
    rows = pl.DataFrame(
        {"sex": ["f", "m"] * 200, "age": random.integers(0, 4, 400), "ill": ["a"] * 399 + ["b"]}
    )
    rows.write_parquet(tmp_path / "in.parquet")
    made = Policy.from_keywords(quasi=["sex", "age"], sensitive=["ill"], k=2, l=2, method="agglomerative")
    chosen = made.override(["engine.name=spark", "engine.part_rows=100"])
    with pytest.raises(LimitError, match=r"400 rows cannot be cut.*engine.part_rows to 400"):
        anonymize_file(tmp_path / "in.parquet", chosen, tmp_path / "out")
    assert left_in(tmp_path) == ["in.parquet"]
    assert shoal.anonymize(
        spark.read.parquet(str(tmp_path / "in.parquet")), chosen.with_method("mondrian")
    ).holds


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_columns_that_change_between_files(spark, tmp_path: Path, ending: str):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, columns in (
        ("a", {"age": [1, 2], "zip": ["x", "y"]}),
        ("b", {"age": [1, 2], "zap": ["x", "y"]}),
    ):
        getattr(pl.DataFrame(columns), f"write_{ending}")(folder / f"{name}.{ending}")
    chosen = Policy.from_keywords(quasi=["age", "zip"], k=2).override(["engine.name=spark"])
    with pytest.raises(DataError, match=rf"b\.{ending} has other columns.*'zip' is missing"):
        anonymize_file(folder, chosen, tmp_path / "out")
    assert left_in(tmp_path) == ["in"]


def test_what_spark_cannot_do_is_refused_with_a_way_before_it_starts(tmp_path: Path):
    base = {
        "quasi": ["age", "zip", "sex"],
        "sensitive": ["disease"],
        "identifier": ["name"],
        "plain": ["stay"],
    }
    for asked, path, says in (
        ({"k": 3, "method": {"name": "mondrian", "strict": False}}, "method.strict", "order of rows"),
        ({"k": 3, "method": "ring"}, "method.name", "equivalence classes"),
        ({"k": 3, "method": "auto"}, "method.name", "sample"),
        ({"k": 3, "notion": "k-k", "method": "k-k"}, "privacy.k", "matching"),
        ({"k": 3, "method": "hilbert"}, "method.show", "value sets"),
        ({"k": 3, "levels": "uniform"}, "utility.levels", "full-domain"),
        ({"k": 3, "publish": {"name": "pseudonym"}}, "columns.name.publish", "one machine"),
        ({"k": 3, "identifier": [], "person": ["name"]}, "columns", "whose each row is"),
    ):
        made = Policy.from_keywords(**{**base, **asked}).override(["engine.name=spark"])
        with pytest.raises(PolicyError) as error:
            anonymize_file(tmp_path / "in.parquet", made, tmp_path / "out")
        assert any(problem.path == path and says in str(problem) for problem in error.value.problems), (
            error.value
        )
        assert "local" in str(error.value) or "sample" in str(error.value)
