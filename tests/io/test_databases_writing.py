"""Releases that are written to databases: in one transaction, verified there, or not at all."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from decimal import Decimal

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal import DatabaseTable
from shoal.apps.cli import main
from shoal.errors import DataError, OutputError
from shoal.io import Outbox, ReadOptions, databases, read
from shoal.io.databases.sql_names import quote_name
from shoal.io.drafts import is_draft
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from tests.harness.commands import HOME, start
from tests.harness.server import READER, SECRET
from tests.io.test_databases import PEOPLE, POLICY

NAMES = ["postgresql", "sqlite", "duckdb"]


@pytest.fixture
def places(server, tmp_path) -> dict[str, str]:
    """A table of people in a server, and files that do not exist yet."""
    server.load("people", PEOPLE)
    server.run(*(f"DROP TABLE IF EXISTS {quote_name(name)} CASCADE" for name in server.tables() - {"people"}))
    return {
        "postgresql": server.url,
        "sqlite": f"sqlite:///{tmp_path}/out.sqlite",
        "duckdb": f"duckdb:///{tmp_path}/out.duckdb",
    }


def tables_at(url: str) -> set[str]:
    stored = DatabaseTable(url)
    with stored.database.open_session(stored) as session:
        return {name.table for name in stored.database.tables(session)}


def published(data: pl.DataFrame, stored: DatabaseTable, *, force: bool = False) -> pl.DataFrame:
    with Outbox(force=force) as box:
        return box.publish(data, stored)


# --- in one transaction, verified -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_release_goes_from_a_database_to_a_database(places, server, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(POLICY.to_toml())
    words = [server.url, "--table", "people", "-p", "p.toml", "-o", places[name], "--output-table", "public"]
    done = CliRunner().invoke(main, ["anonymize", *words, "--record", "r.json", "--card", "c.md"])
    assert done.exit_code == 0, done.output
    assert "table public: 60 of 60 rows" in " ".join(done.output.split())
    out = DatabaseTable(places[name], "public")
    assert sorted(read(out).column("ill")) == sorted(PEOPLE["ill"])
    assert {name for name in tables_at(places[name]) if name.startswith("shoal_")} == set()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    said = CliRunner().invoke(
        main,
        ["audit", places[name], "--table", "public", "-p", "p.toml", "--original", server.url, "--original-table",
         "people", "--record", "r.json"],
    )  # fmt: skip
    assert said.exit_code == 0, said.output
    again = CliRunner().invoke(main, ["anonymize", *words])
    assert again.exit_code == OutputError.exit_code
    assert "exists already; choose another name, or replace it with --force" in again.output
    assert CliRunner().invoke(main, ["anonymize", *words, "--force"]).exit_code == 0


VALUES = pl.DataFrame(
    {
        "i8": pl.Series([1, None, -128], dtype=pl.Int8),
        "u64": pl.Series([0, None, 2**63 - 1], dtype=pl.UInt64),
        "big": pl.Series([0, None, 2**64 - 1], dtype=pl.UInt64),
        "f32": pl.Series([0.1, None, -3.25], dtype=pl.Float32),
        "f64": [0.1, None, float("inf")],
        "flag": [True, None, False],
        "text": ["", None, 'a "quoted", \N{FISH} word'],
        "cat": pl.Series(["b", None, "a"], dtype=pl.Categorical),
        "enum": pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a"])),
        "money": pl.Series([Decimal("10.50"), None, Decimal("-0.01")], dtype=pl.Decimal(38, 2)),
        "day": [dt.date(2020, 2, 29), None, dt.date(1, 1, 1)],
        "at": [dt.datetime(2020, 1, 1, 10, 0, 0, 500), None, dt.datetime(1900, 1, 1)],
        "zoned": pl.Series([dt.datetime(2020, 1, 1), None, None]).dt.replace_time_zone("Europe/Berlin"),
        "ns": pl.Series([dt.datetime(2020, 1, 1), None, None], dtype=pl.Datetime("ns")),
        "time": [dt.time(10, 30, 0, 5), None, dt.time(0)],
        "bytes": [b"\x00\xff", None, b""],
        "set": [["a", "b, c"], None, []],
        "long": [dt.timedelta(days=1, seconds=2), None, dt.timedelta(0)],
        "none": [None, None, None],
        'odd"; drop table people; --': [1, 2, 3],
    }
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("column", VALUES.columns)
def test_every_type_comes_back_from_a_database(places, name, column):
    stored = DatabaseTable(places[name], "t")
    data = VALUES.select(column)
    with Outbox() as box:
        back = box.publish(data, stored)
        if data.schema[column] not in (pl.List(pl.String), pl.Null, pl.Duration):
            assert back.cast({column: data.schema[column]}).equals(data)
    assert read(stored).columns == [column]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_database_cannot_hold_is_refused_before_it_is_written(places, name):
    wrong = {
        "records": (pl.Series("a", [{"x": 1}]), "holds Struct"),
        "lists of lists": (pl.Series("a", [[[1]]]), "holds List"),
    }
    if name != "duckdb":
        wrong["null character"] = (pl.Series("a", ["x\0y"]), r"U\+0000")
    if name == "sqlite":
        wrong["NaN"] = (pl.Series("a", [float("nan")]), "has NaN")
    if name == "postgresql":
        wrong["long name"] = (pl.Series("ä" * 32, [1]), "has 64 bytes, and PostgreSQL cuts names after 63")
    for column, said in wrong.values():
        with pytest.raises(OutputError, match=said):
            published(pl.DataFrame([column]), DatabaseTable(places[name], "t"))
    if name != "postgresql":
        with pytest.raises(OutputError, match="columns 'a' and 'A' are one"):
            published(pl.DataFrame({"a": [1], "A": [2]}), DatabaseTable(places[name], "t"))
        with pytest.raises(DataError, match="no such file"):
            tables_at(places[name])
    else:
        assert "t" not in tables_at(places[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_database_that_changes_a_cell_is_noticed(places, name, monkeypatch):
    kind = type(DatabaseTable(places[name]).database)
    real = kind.data

    def spoiled(self, session, wanted):
        data = real(self, session, wanted)
        return (
            data.with_columns(pl.col("ill").replace("flu", "gout")) if "shoal_" in str(wanted.name) else data
        )

    monkeypatch.setattr(kind, "data", spoiled)
    with pytest.raises(
        OutputError, match="does not give back the values of 'ill' as it was, so nothing was written"
    ):
        anonymize_file(
            DatabaseTable(places["postgresql"], "people"), POLICY, DatabaseTable(places[name], "r")
        )
    if name == "postgresql":
        assert tables_at(places[name]) == {"people"}


@pytest.mark.parametrize("name", NAMES)
def test_two_tables_appear_together(places, name):
    policy = Policy.from_keywords(quasi=["age", "zip"], sensitive=["ill"], l=2, method="anatomy")
    source, out = DatabaseTable(places["postgresql"], "people"), DatabaseTable(places[name], "r")
    anonymize_file(source, policy, out)
    assert {"r", "r_sensitive"} <= tables_at(places[name])
    assert shoal.audit(out, policy, original=source).holds
    with pytest.raises(OutputError, match="exists already"):
        anonymize_file(source, policy, out)


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_leaves_the_old_table(places, name, monkeypatch):
    stored = DatabaseTable(places[name], "r")
    published(pl.DataFrame({"old": [1]}), stored)
    monkeypatch.setattr(
        databases.transactions.Pending, "commit", lambda self: (_ for _ in ()).throw(OutputError("no"))
    )
    with pytest.raises(OutputError, match="no"):
        published(pl.DataFrame({"new": [1]}), stored, force=True)
    monkeypatch.undo()
    assert read(stored).columns == ["old"]
    assert {table for table in tables_at(places[name]) if table != "people"} == {"r"}


@pytest.mark.parametrize("name", NAMES)
def test_the_data_is_never_replaced(places, name, tmp_path):
    stored = DatabaseTable(places[name], "people")
    if name != "postgresql":
        published(PEOPLE, stored)
    for source in (stored, DatabaseTable(places[name], query="SELECT * FROM (SELECT * FROM people) AS p")):
        with pytest.raises(OutputError, match="would replace the data; choose another name"):
            anonymize_file(source, POLICY, stored, force=True)
    record = tmp_path / f"out.{name}" if name != "postgresql" else tmp_path / "p.toml"
    (tmp_path / "p.toml").write_text(POLICY.to_toml())
    with pytest.raises(OutputError, match="would replace"):
        anonymize_file(stored, POLICY, DatabaseTable(places[name], "r"), record=record, force=True,
                       spare=[tmp_path / "p.toml"])  # fmt: skip
    assert read(stored).data.sort("age", "zip", "ill").equals(PEOPLE.sort("age", "zip", "ill"))


def test_a_table_whose_partitions_are_read_is_not_replaced(server, places):
    server.run(
        "CREATE TABLE visits (age int, zip text, ill text) PARTITION BY RANGE (age)",
        "CREATE TABLE young PARTITION OF visits FOR VALUES FROM (0) TO (40)",
        "CREATE TABLE old PARTITION OF visits FOR VALUES FROM (40) TO (200) PARTITION BY RANGE (age)",
        "CREATE TABLE older PARTITION OF old FOR VALUES FROM (40) TO (200)",
        "INSERT INTO visits SELECT * FROM people",
    )
    queries = ("SELECT * FROM visits", "SELECT * FROM visits WHERE age > 45", "SELECT * FROM older")
    sources = [DatabaseTable(server.url, name) for name in ("visits", "older")]
    for source in [*sources, *(DatabaseTable(server.url, query=query) for query in queries)]:
        for output in ("visits", "old", "older"):
            with pytest.raises(OutputError, match="would replace the data; choose another name"):
                anonymize_file(source, POLICY, DatabaseTable(server.url, output), force=True)
    assert server.rows("SELECT count(*) FROM visits") == [(60,)]
    server.run("DROP TABLE visits")


def test_outputs_that_cannot_be(server, places, tmp_path, monkeypatch):
    source = DatabaseTable(server.url, "people")
    server.run("DROP VIEW IF EXISTS v", "CREATE VIEW v AS SELECT 1 AS a")
    for out, said in {
        DatabaseTable(server.url): "say which table to write",
        DatabaseTable(server.url, "nowhere.t"): "there is no schema 'nowhere'",
        DatabaseTable(server.url, "v"): "a view or a foreign table has this name",
        DatabaseTable(server.url, "ü" * 40): "80 bytes, and PostgreSQL cuts names after 63",
        DatabaseTable(f"sqlite:///{tmp_path}/none/x.db", "t"): "there is no directory",
        DatabaseTable("postgresql://me@127.0.0.1:1/db", "t"): "no connection",
        DatabaseTable(places["sqlite"], "sqlite_t"): "belong to SQLite",
    }.items():
        with pytest.raises(OutputError, match=said):
            anonymize_file(source, POLICY, out, force=True)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with pytest.raises(OutputError, match="no right to create tables in the schema 'public'"):
        anonymize_file(source, POLICY, DatabaseTable(server.over_network(READER), "mine"))
    server.run(f"GRANT CREATE ON SCHEMA public TO {READER}", "CREATE TABLE theirs (a int)")
    try:
        with pytest.raises(
            OutputError, match="somebody else owns the table, and only its owner can replace it"
        ):
            anonymize_file(source, POLICY, DatabaseTable(server.over_network(READER), "theirs"), force=True)
    finally:
        server.run(f"REVOKE CREATE ON SCHEMA public FROM {READER}", "DROP VIEW v")
    words = [
        "anonymize",
        server.url,
        "--table",
        "people",
        "-o",
        "x.csv",
        "--output-table",
        "t",
        "--quasi",
        "age",
    ]
    assert (
        "--output-table: goes with a database, and x.csv is a file" in CliRunner().invoke(main, words).output
    )
    words = ["anonymize", server.url, "--table", "people", "-o", server.url, "--quasi", "age,zip,ill"]
    assert "say which table to write, --output-table NAME" in CliRunner().invoke(main, words).output


@pytest.mark.parametrize("name", NAMES)
def test_a_release_without_rows_is_a_table_without_rows(places, name):
    stored = DatabaseTable(places[name], "t")
    assert published(PEOPLE.clear(), stored).columns == PEOPLE.columns
    assert read(stored, ReadOptions(section="release")).rows == 0


def test_grants_of_a_replaced_table_are_told(server, places):
    source, out = DatabaseTable(server.url, "people"), DatabaseTable(server.url, "r")
    anonymize_file(source, POLICY, out)
    server.run(f"GRANT SELECT, UPDATE ON r TO {READER}", "GRANT SELECT ON r TO PUBLIC",
               "ALTER TABLE r ENABLE ROW LEVEL SECURITY")  # fmt: skip
    notes = " ".join(anonymize_file(source, POLICY, out, force=True).notes)
    assert f'GRANT SELECT, UPDATE ON "public"."r" TO {READER}' in notes
    assert 'GRANT SELECT ON "public"."r" TO PUBLIC' in notes
    assert "row-level security" in notes
    server.run("CREATE VIEW of_r AS SELECT * FROM r")
    with pytest.raises(
        OutputError, match="other objects in the database, such as views, depend on the table"
    ):
        anonymize_file(source, POLICY, out, force=True)
    server.run("DROP VIEW of_r")


def test_rows_of_a_replaced_table_are_gone_from_a_file_or_it_is_told(places, tmp_path):
    before = pl.DataFrame({"a": [f"before{number}" for number in range(5000)]})
    for name in ("sqlite", "duckdb"):
        out = DatabaseTable(places[name], "r")
        published(before, out)
        notes = anonymize_file(DatabaseTable(places["postgresql"], "people"), POLICY, out, force=True).notes
        told = any("may still contain rows of the table that was replaced" in note for note in notes)
        gone = b"before" not in (tmp_path / f"out.{name}").read_bytes()
        assert (told, gone or told) == (name == "duckdb", True)
        with out.database.open_session(out, writing=True) as session:
            if name == "sqlite":  # not every copy of SQLite does so by itself
                assert session.rows("PRAGMA secure_delete") == [(1,)]


def test_a_table_that_others_use_is_waited_for_only_for_seconds(server, places, monkeypatch):
    out = DatabaseTable(server.url, "r")
    published(pl.DataFrame({"old": [1]}), out)
    with server.connect() as other, other.cursor() as cursor:
        cursor.execute("LOCK TABLE r IN ACCESS SHARE MODE")
        kind = type(out.database)
        real = kind.connect

        def hasty(self, address, *, writing):
            session = real(self, address, writing=writing)
            if writing:
                session.execute("SET LOCAL lock_timeout = '0.2s'")
            return session

        monkeypatch.setattr(kind, "connect", hasty)
        with pytest.raises(OutputError, match="the table is in use by somebody else; try again later"):
            published(pl.DataFrame({"new": [1]}), out, force=True)
    assert read(out).columns == ["old"]


def test_sqlite_without_adbc_writes_too(places, monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite", None)
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
    stored = DatabaseTable(places["sqlite"], "t")
    back = published(VALUES.drop("set", "long", "none"), stored)
    assert back.cast(VALUES.drop("set", "long", "none").schema).equals(VALUES.drop("set", "long", "none"))
    assert published(PEOPLE, stored, force=True).equals(PEOPLE)
    assert read(stored).data.equals(PEOPLE)


def test_an_open_file_of_duckdb_is_told(places, tmp_path):
    published(PEOPLE, DatabaseTable(places["duckdb"], "t"))
    place = str(tmp_path / "out.duckdb")
    script = f"import duckdb, time; c = duckdb.connect({place!r}); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(OutputError, match="open in another program"):
            published(PEOPLE, DatabaseTable(places["duckdb"], "u"))
        with pytest.raises(DataError, match="open in another program"):
            read(DatabaseTable(places["duckdb"], "t"))
        other.kill()


# --- interrupts and lost connections ----------------------------------------------------------------------

SLOW = """
CREATE OR REPLACE FUNCTION pause() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN IF current_setting('application_name') = 'shoal' THEN PERFORM pg_sleep(60); END IF; END $$
"""
PAUSING = "application_name = 'shoal' AND state = 'active' AND wait_event = 'PgSleep'"


@contextlib.contextmanager
def pausing(server, tag: str):
    """Let statements of a kind take a minute."""
    server.run(
        SLOW,
        f"CREATE EVENT TRIGGER pausing ON ddl_command_end WHEN TAG IN ('{tag}') EXECUTE FUNCTION pause()",
    )
    try:
        yield
    finally:
        server.run("DROP EVENT TRIGGER pausing")


def begun(server, folder, *more: str):
    (folder / "p.toml").write_text(POLICY.to_toml())
    words = [
        "anonymize",
        server.url,
        "--table",
        "people",
        "-p",
        "p.toml",
        "-o",
        server.url,
        "--output-table",
        "r",
    ]
    return start(folder, *words, "--record", "r.json", "--card", "c.md", *more)


@pytest.mark.parametrize("tag", ["CREATE TABLE", "ALTER TABLE"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_leaves_nothing(server, places, tmp_path, tag, sent):
    with pausing(server, tag):
        process = begun(server, tmp_path)
        server.waits_for(PAUSING)
        before = time.monotonic()
        process.send_signal(sent)
        _, told = process.communicate(timeout=30)
        assert time.monotonic() - before < 5
        if sent != signal.SIGKILL:
            assert "interrupted; nothing was written" in told
        # The server notices when its statement ends, or when it is asked to look.
        server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shoal'")
        until = time.monotonic() + 20
        while server.rows("SELECT 1 FROM pg_stat_activity WHERE application_name = 'shoal'"):
            assert time.monotonic() < until
            time.sleep(0.05)
    assert server.tables() == {"people"}
    # Drafts of a killed command stay until the next one.
    left = {path.name for path in tmp_path.iterdir()} - {"p.toml"}
    assert all(sent == signal.SIGKILL and is_draft(name) for name in left)


def test_a_server_that_dies_while_a_release_is_written(server, places, tmp_path):
    with pausing(server, "ALTER TABLE"):
        process = begun(server, tmp_path)
        server.waits_for(PAUSING)
        server.stop()
        _, told = process.communicate(timeout=60)
        server.start()
    assert process.returncode == OutputError.exit_code
    assert "the connection to the server was lost" in told
    assert server.tables() == {"people"}
    assert [path.name for path in tmp_path.iterdir()] == ["p.toml"]


def test_a_server_that_dies_while_a_table_is_read(server, places, tmp_path):
    query = "SELECT age, zip, CASE WHEN age > 50 THEN pg_sleep(60)::text ELSE ill END AS ill FROM people"
    (tmp_path / "p.toml").write_text(POLICY.to_toml())
    process = start(tmp_path, "anonymize", server.url, "--query", query, "-p", "p.toml", "-o", "r.csv")
    server.waits_for(PAUSING)
    server.stop()
    _, told = process.communicate(timeout=60)
    server.start()
    assert process.returncode == DataError.exit_code
    assert "the connection to the server was lost" in told
    assert [path.name for path in tmp_path.iterdir()] == ["p.toml"]


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
@pytest.mark.parametrize("there", [True, False])
def test_a_killed_command_leaves_no_table_in_a_file(places, name, there, tmp_path):
    if there:
        published(PEOPLE, DatabaseTable(places[name], "people"))
    script = (
        "import os, sys; from shoal.io.databases.transactions import Pending\n"
        "real = Pending.rename\n"
        "def rename(self): real(self); os.kill(os.getpid(), 9)\n"
        "Pending.rename = rename\n"
        "from shoal.apps.cli import main; main()"
    )
    PEOPLE.write_csv(tmp_path / "p.csv")
    words = [
        "anonymize",
        "p.csv",
        "-o",
        places[name],
        "--output-table",
        "r",
        "--quasi",
        "age,zip",
        "--plain",
        "ill",
    ]
    done = subprocess.run([sys.executable, "-P", "-c", script, *words], cwd=tmp_path, capture_output=True,
                          env={**os.environ, "PYTHONPATH": HOME}, timeout=120)  # fmt: skip
    assert done.returncode != 0
    if there:
        assert tables_at(places[name]) == {"people"}
        assert read(DatabaseTable(places[name], "people")).rows == 60
    else:
        assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


STOPPED = """
import os, pty, signal, sys, termios, time
child, terminal = pty.fork()
if child == 0:
    command = [sys.executable, "-P", "-m", "shoal", *sys.argv[1:]]
    os.execv("/bin/sh", ["sh", "-c", 'trap : INT; "$@"; stty -a', "sh", *command])
shown = b""
while b"Password for" not in shown:
    shown += os.read(terminal, 1024)
time.sleep(0.3)
os.write(terminal, b"\\x03")
while True:
    try:
        more = os.read(terminal, 1024)
    except OSError:
        break
    if not more:
        break
    shown += more
sys.stdout.buffer.write(shown)
"""


def test_ctrl_c_at_the_question_gives_the_terminal_back(server, places, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment["PYTHONPATH"], environment["HOME"] = HOME, str(tmp_path)
    words = ["init", server.over_network(), "--table", "people"]
    done = subprocess.run([sys.executable, "-c", STOPPED, *words], cwd=tmp_path, env=environment,
                          capture_output=True, timeout=60, text=True)  # fmt: skip
    assert "interrupted; nothing was written" in done.stdout
    assert " echo " in done.stdout
    assert "-echo " not in done.stdout


def test_no_password_of_the_environment_is_written_anywhere(server, places, tmp_path):
    (tmp_path / "p.toml").write_text(POLICY.to_toml())
    url = server.over_network()
    words = ["anonymize", url, "--table", "people", "-p", "p.toml", "-o", url, "--output-table", "r"]
    process = start(
        tmp_path, *words, "--record", "r.json", "--card", "c.json", environment={"PGPASSWORD": SECRET}
    )
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert json.loads((tmp_path / "r.json").read_text())["input"]["rows"] == 60
    for text in (told, *(path.read_text() for path in tmp_path.iterdir())):
        assert SECRET not in text
    for (seen,) in server.rows("SELECT query FROM pg_stat_activity"):
        assert SECRET not in str(seen)


def test_a_file_of_sqlite_in_use_is_told(places, tmp_path, monkeypatch):
    published(PEOPLE, DatabaseTable(places["sqlite"], "people"))
    monkeypatch.setattr("shoal.io.formats.sqlite._SECONDS", 0.1)
    with contextlib.closing(sqlite3.connect(tmp_path / "out.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises((OutputError, DataError), match="in use by somebody else"):
            published(PEOPLE, DatabaseTable(places["sqlite"], "u"))
    assert tables_at(places["sqlite"]) == {"people"}


def test_the_order_of_rows_is_the_published_order(server, places):
    rows = pl.DataFrame({"a": pl.Series(range(200_000)).shuffle(1)})
    assert published(rows, DatabaseTable(server.url, "long")).equals(rows)
    with duckdb.connect() as connection:
        assert read(DatabaseTable(connection, query="SELECT 1 AS a")).rows == 1


def test_a_table_that_appears_in_the_meantime_stays(server, places, monkeypatch):
    out = DatabaseTable(server.url, "r")
    real = databases.transactions.Pending.rename

    def late(self):
        monkeypatch.setattr(type(self.database), "tables", lambda *_: [])  # looked before the other one came
        server.run("CREATE TABLE r (theirs int)", "INSERT INTO r VALUES (1)")
        real(self)

    monkeypatch.setattr(databases.transactions.Pending, "rename", late)
    with pytest.raises(
        OutputError, match="a table of this name was created in the meantime; choose another name"
    ):
        published(pl.DataFrame({"ours": [1]}), out)
    monkeypatch.undo()
    assert read(out).columns == ["theirs"]
