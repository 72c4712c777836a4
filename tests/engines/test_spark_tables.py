"""Tables of the catalog: read, written under a temporary name, verified there, renamed; nothing else is left."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.engines.spark import catalog_tables as tables
from shoal.engines.spark import make_release as making
from shoal.errors import DataError, EngineError, OutputError, ViolationError
from shoal.io.drafts import draft_number
from shoal.pipeline.anonymize import anonymize_file
from tests.engines.test_spark_releases import locally, people, place, policy, rows_of

__all__ = ["people", "place"]


class Database:
    """A database of the session, with the table `people` and its folder."""

    def __init__(self, spark, name: str) -> None:
        self.spark, self.name = spark, name
        located = spark.sql(f"DESCRIBE DATABASE {name}").filter("info_name = 'Location'").collect()
        self.folder = Path(located[0][1].removeprefix("file:"))

    @property
    def tables(self) -> list[str]:
        """What the catalog lists and what is on disk, which must be the same."""
        listed = sorted(row.tableName for row in self.spark.sql(f"SHOW TABLES IN {self.name}").collect())
        there = sorted(os.listdir(self.folder)) if self.folder.exists() else []
        assert [one for one in listed if one != "seen"] == there
        return listed

    def rows(self, table: str) -> pl.DataFrame:
        return rows_of(self.spark.table(f"{self.name}.{table}"))


@pytest.fixture
def database(spark, place: Path):
    name = f"clinic_{secrets.token_hex(4)}"
    spark.sql(f"CREATE DATABASE {name}")
    spark.read.parquet(str(place)).write.saveAsTable(f"{name}.people")
    yield Database(spark, name)
    spark.sql(f"DROP DATABASE {name} CASCADE")


CHOSEN = policy("full-domain", suppression=0.1)


def test_a_table_becomes_a_table(spark, database: Database, people: pl.DataFrame, tmp_path: Path):
    """The only row with the plague is suppressed, and the original has comments, properties and statistics."""
    anna = {"name": "Anna", "age": 59, "zip": "999", "sex": "x", "disease": "plague", "stay": 8}
    place = tmp_path / "with_anna.parquet"
    pl.concat([people, pl.DataFrame([anna], schema=people.schema)]).write_parquet(place)
    spark.read.parquet(str(place)).write.mode("overwrite").saveAsTable(f"{database.name}.people")
    spark.sql(f"COMMENT ON TABLE {database.name}.people IS 'of the ward'")
    spark.sql(f"ALTER TABLE {database.name}.people ALTER COLUMN stay COMMENT 'longest: Anna'")
    spark.sql(f"ALTER TABLE {database.name}.people SET TBLPROPERTIES ('author' = 'Anna')")
    spark.sql(f"ANALYZE TABLE {database.name}.people COMPUTE STATISTICS FOR ALL COLUMNS")
    source, target = f"catalog://{database.name}.people", f"catalog://{database.name}.people_safe"
    record = tmp_path / "record.json"
    result = anonymize_file(source, CHOSEN, target, record=record)
    assert result.holds
    assert result.suppressed > 0
    assert "plague" not in database.rows("people_safe")["disease"].to_list()
    assert not [note for note in result.notes if "killed" in note]
    assert record.exists()
    assert database.tables == ["people", "people_safe"]
    here = shoal.anonymize(place, locally(CHOSEN))
    assert database.rows("people_safe").equals(rows_of(here.table))
    told = spark.sql(f"DESCRIBE TABLE EXTENDED {database.name}.people_safe").collect()
    told = {row.col_name: (row.data_type, row.comment) for row in told}
    assert all(not told[name][1] for name in ("age", "zip", "sex", "disease", "stay"))
    assert not {"Comment", "Table Properties", "Statistics"} & told.keys()
    files = [file for file in (database.folder / "people_safe").rglob("*") if file.is_file()]
    assert not [file for file in files if b"Anna" in file.read_bytes() or b"plague" in file.read_bytes()]
    audit = shoal.audit(target, CHOSEN, original=source)
    assert audit.holds
    assert (
        audit.verdicts
        == shoal.audit(spark.table(f"{database.name}.people_safe"), CHOSEN, original=source).verdicts
    )
    assert not shoal.audit(source, CHOSEN.override(["columns.name=drop"])).holds


def test_a_table_that_exists_is_kept_unless_forced(spark, database: Database, tmp_path: Path):
    source, target = f"catalog://{database.name}.people", f"catalog://{database.name}.safe"
    spark.sql(f"CREATE TABLE {database.name}.safe AS SELECT 1 AS mine")
    with pytest.raises(OutputError, match="exists already"):
        anonymize_file(source, CHOSEN, target)
    assert spark.table(f"{database.name}.safe").columns == ["mine"]
    anonymize_file(source, CHOSEN, target, force=True)
    assert database.tables == ["people", "safe"]
    assert "age" in spark.table(f"{database.name}.safe").columns
    spark.sql(
        f"CREATE VIEW {database.name}.seen AS SELECT age, zip, sex, disease, stay, name FROM {database.name}.people"
    )
    for refused, why in (
        (f"catalog://{database.name}.seen", "VIEW"),
        (f"catalog://{database.name}.PEOPLE", "would replace the data"),
        ("catalog://nowhere.safe", "there is no database"),
        (f"catalog://{database.name}.{tables._DRAFT}{draft_number()}", "drafts of Shoal"),
        (f"catalog:{database.name}.safe", "write a table of the catalog as"),
        ("catalog://a b", "not the name of a table"),
    ):
        with pytest.raises((OutputError, DataError), match=why):
            anonymize_file(source, CHOSEN, refused, force=True)
    # By another name, or by its files, it is the same data.
    for other in (f"catalog://{database.name}.seen", database.folder / "people"):
        with pytest.raises(OutputError, match="would replace the data"):
            anonymize_file(other, CHOSEN, f"catalog://{database.name}.people", force=True)
    with pytest.raises(OutputError, match="would replace the data"):
        anonymize_file(source, CHOSEN, str(database.folder / "people"), force=True)
    with pytest.raises(DataError, match="there is no such table"):
        anonymize_file(f"catalog://{database.name}.nobody", CHOSEN, target, force=True)
    assert database.tables == ["people", "safe", "seen"]
    assert spark.table(f"{database.name}.people").count() == 600


def wrong(*_given, **_more):
    raise EngineError("no")


@pytest.mark.parametrize("fault", ["interrupt", "violation", "changed", "rename"])
def test_what_goes_wrong_leaves_no_table(spark, database: Database, monkeypatch, fault: str):
    """While it is written, the release has its temporary name; what was there is there afterwards."""
    spark.sql(f"CREATE TABLE {database.name}.safe AS SELECT 1 AS mine")
    real, seen = tables.Table.read, []

    def read(self, name, columns):
        seen.append([one for one in database.tables if one not in ("people", "safe")])
        back = real(self, name, columns)
        return back.withColumn("f0", back.f1.cast(back.schema["f0"].dataType)) if fault == "changed" else back

    monkeypatch.setattr(tables.Table, "read", read)
    if fault == "violation":
        monkeypatch.setattr(making.ClusterCase, "failing", property(lambda self: self.verdicts))
    if fault == "rename":
        renamed = tables.Table._rename

        def rename(self, now, name):
            if tables._DRAFT in now:
                raise RuntimeError
            renamed(self, now, name)

        monkeypatch.setattr(tables.Table, "_rename", rename)

    def progress(name: str, _share: float) -> None:
        if fault == "interrupt" and name == "verify":
            raise KeyboardInterrupt

    wanted = {"interrupt": KeyboardInterrupt, "violation": ViolationError}.get(fault, OutputError)
    with pytest.raises(wanted):
        anonymize_file(
            f"catalog://{database.name}.people",
            CHOSEN,
            f"catalog://{database.name}.safe",
            force=True,
            progress=progress,
        )
    assert len(seen) == 1
    assert len(seen[0]) == 1
    assert seen[0][0].startswith(tables._DRAFT)
    assert database.tables == ["people", "safe"]
    assert spark.table(f"{database.name}.safe").columns == ["mine"]


def test_tables_of_dead_runs_are_named_and_stay(spark, database: Database):
    """Nobody can tell whether their runs are alive."""
    left = f"{tables._DRAFT}{draft_number()}"
    spark.sql(f"CREATE TABLE {database.name}.{left} AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {database.name}.{tables._DRAFT}of_mine AS SELECT 1 AS a")
    result = anonymize_file(f"catalog://{database.name}.people", CHOSEN, f"catalog://{database.name}.safe")
    named = f"spark_catalog.{database.name}.{left}"
    assert [note for note in result.notes if "DROP TABLE" in note] == [
        f"the table {named} is from a run that was killed, or that still writes, and holds rows that were not "
        f"verified: if no run writes there, DROP TABLE {named} PURGE"
    ]
    assert database.tables == ["people", "safe", left, f"{tables._DRAFT}of_mine"]
