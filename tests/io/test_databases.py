"""Tables that are read from databases: names, addresses, passwords and types."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import adbc_driver_sqlite.dbapi as adbc_sqlite
import duckdb
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal import DatabaseTable
from shoal.apps.cli import main
from shoal.errors import DataError, PolicyError
from shoal.io import read
from shoal.io.databases.address import parse_address
from shoal.io.databases.sessions import RowSession
from shoal.io.databases.sql_names import TableName, meanings, quote_name
from shoal.policy import Policy
from tests.harness.commands import HOME
from tests.harness.server import READER, SECRET

PEOPLE = pl.DataFrame(
    {
        "age": [20 + number % 40 for number in range(60)],
        "zip": [f"{number % 7:05d}" for number in range(60)],
        "ill": [("flu", "gout", "cold")[number % 3] for number in range(60)],
    }
)
POLICY = Policy.from_keywords(quasi=["age", "zip"], sensitive=["ill"], k=5)


@pytest.fixture
def files(tmp_path) -> dict[str, str]:
    """The same table in a file of SQLite and in one of DuckDB."""
    connection = sqlite3.connect(tmp_path / "p.sqlite")
    connection.execute("CREATE TABLE people (age INTEGER, zip TEXT, ill TEXT)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE.rows())
    connection.commit()
    connection.close()
    with duckdb.connect(str(tmp_path / "p.duckdb")) as other:
        other.register("given", PEOPLE.to_arrow())
        other.execute("CREATE TABLE people AS SELECT * FROM given")
    return {name: f"{name}:///{tmp_path}/p.{name}" for name in ("sqlite", "duckdb")}


@pytest.fixture
def places(server, files) -> dict[str, str]:
    """The same table in every database."""
    server.load("people", PEOPLE)
    return {"postgresql": server.url, **files}


# --- the same everywhere ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["postgresql", "sqlite", "duckdb"])
def test_a_table_and_a_query_are_read(places, name):
    frame = read(DatabaseTable(places[name], "people"))
    assert frame.data.sort("age", "zip", "ill").equals(PEOPLE.sort("age", "zip", "ill"))
    assert (frame.kind, frame.digest, frame.path) == (name, None, None)
    asked = read(DatabaseTable(places[name], query="SELECT zip, age FROM people WHERE age < 30 -- young"))
    assert asked.columns == ["zip", "age"]
    assert sorted(asked.column("age")) == sorted(age for age in PEOPLE["age"] if age < 30)


@pytest.mark.parametrize("name", ["postgresql", "sqlite", "duckdb"])
def test_a_name_is_only_a_name(places, name, server, tmp_path):
    odd = 'x"; drop table people; --'
    make = f"CREATE TABLE {quote_name(odd)} AS SELECT * FROM people"
    if name == "postgresql":
        server.run(f"DROP TABLE IF EXISTS {quote_name(odd)}", make)
    elif name == "sqlite":
        with contextlib.closing(sqlite3.connect(tmp_path / "p.sqlite")) as connection:
            connection.execute(make)
            connection.commit()
    else:
        with duckdb.connect(str(tmp_path / "p.duckdb")) as other:
            other.execute(make)
    assert read(DatabaseTable(places[name], odd)).rows == 60
    assert read(DatabaseTable(places[name], "people")).rows == 60
    with pytest.raises(DataError, match=r"there is no table 'peopel'; did you mean 'people'\?"):
        read(DatabaseTable(places[name], "peopel"))


@pytest.mark.parametrize("name", ["postgresql", "sqlite", "duckdb"])
@pytest.mark.parametrize(
    "query",
    ["SELECT 1 AS a; DROP TABLE people", "DROP TABLE people", "INSERT INTO people VALUES (1, 'a', 'b')"],
)
def test_a_query_only_reads(places, name, query):
    with pytest.raises(DataError):
        read(DatabaseTable(places[name], query=query))
    assert read(DatabaseTable(places[name], "people")).rows == 60


@pytest.mark.parametrize("name", ["postgresql", "sqlite", "duckdb"])
def test_what_cannot_be_read_is_said(places, name):
    for asked, said in {
        (None, "SELECT age FROM people WHERE age > 1000"): r"1 columns but no rows",
        (None, " ; "): r"the query is empty",
        (None, None): r"say which table, .*there are .*people",
    }.items():
        with pytest.raises(DataError, match=said):
            read(DatabaseTable(places[name], *asked))
    with pytest.raises(DataError, match="a table or a query, not both"):
        DatabaseTable(places[name], "people", "SELECT 1")


@pytest.mark.parametrize("name", ["postgresql", "sqlite", "duckdb"])
def test_commands_read_databases(places, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = places[name]
    (tmp_path / "p.toml").write_text(POLICY.to_toml())

    def run(*words: str) -> str:
        done = CliRunner().invoke(main, [*words])
        assert done.exit_code == 0, done.output
        return done.output

    run("init", url, "--table", "people", "-o", "own.toml")
    assert Policy.read("own.toml").data.table == "people"
    run("anonymize", "-p", "own.toml", "-o", "own.csv")
    run("anonymize", url, "--table", "people", "-p", "p.toml", "-o", "r.csv", "--record", "r.json")
    run("anonymize", url, "--query", "SELECT * FROM people", "-p", "p.toml", "-o", "q.csv")
    run(
        "audit",
        "r.csv",
        "--original",
        url,
        "--original-table",
        "people",
        "-p",
        "p.toml",
        "--record",
        "r.json",
    )
    run("audit", url, "--table", "people", "--quasi", "ill", "--k", "2")
    run("attack", "r.csv", "--original", url, "--original-table", "people", "-p", "p.toml")
    run("attack", "own.csv", "-p", "own.toml")
    run("compare", url, "--table", "people", "-p", "p.toml", "--methods", "mondrian")
    run("explain", url, "--table", "people", "-p", "p.toml", "--seconds", "1")
    run("report", "r.csv", "--original", url, "--original-table", "people", "-p", "p.toml", "-o", "r.html")
    run("report", "own.csv", "-p", "own.toml", "-o", "own.html")


def test_python_functions_take_connections(server, files):
    server.load("people", PEOPLE)
    lite = sqlite3.connect(files["sqlite"].removeprefix("sqlite:///"))
    connections = [
        server.connect(),
        lite,
        adbc_sqlite.connect(files["sqlite"].removeprefix("sqlite:///")),
        duckdb.connect(files["duckdb"].removeprefix("duckdb:///")),
    ]
    for connection in connections:
        for source in (
            DatabaseTable(connection, "people"),
            DatabaseTable(connection, query="SELECT * FROM people"),
        ):
            made = shoal.anonymize(source, POLICY, seed=1)
            assert isinstance(made.table, pl.DataFrame)
            assert shoal.audit(made.table, POLICY, original=source).holds
        named = POLICY.override(["data.table=people"])
        assert shoal.anonymize(connection, named).rows == 60
        assert shoal.suggest(DatabaseTable(connection, "people")).names("quasi")
        connection.cursor().close()  # still open
        connection.close()
    with pytest.raises(
        DataError, match=r"not a database that Shoal can read; it reads PostgreSQL, SQLite and DuckDB"
    ):
        DatabaseTable(object(), "people").database  # noqa: B018


class Engine:
    """What Shoal uses of an engine of SQLAlchemy."""

    def __init__(self, connection):
        self.driver_connection = connection

    def raw_connection(self):
        return self


Engine.__module__ = "sqlalchemy.engine.base"


def test_an_engine_of_sqlalchemy_is_a_source(files):
    engine = Engine(sqlite3.connect(files["sqlite"].removeprefix("sqlite:///")))
    assert shoal.anonymize(DatabaseTable(engine, "people"), POLICY).rows == 60
    assert shoal.anonymize(engine, POLICY.override(["data.table=people"])).rows == 60


def test_a_policy_names_its_table(tmp_path, files, monkeypatch):
    (tmp_path / "sub").mkdir()
    PEOPLE.write_csv(tmp_path / "sub" / "people.csv")
    own = POLICY.to_dict()
    for data in (
        {"source": "people.csv"},
        {"source": "sqlite:///../p.sqlite", "table": "people"},
        {"source": files["duckdb"], "query": "SELECT * FROM people"},
    ):
        policy = Policy.from_dict({**own, "data": data}, tmp_path / "sub")
        assert Policy.from_toml(policy.to_toml(), tmp_path / "sub") == policy
        assert shoal.anonymize(None, policy).rows == 60
        assert "source" in shoal.anonymize(None, policy).record["policy"]
    with pytest.raises(DataError, match="no data is given; give a path or a frame, or write `source` into"):
        shoal.anonymize(None, POLICY)
    with pytest.raises(PolicyError, match="has a table and a query"):
        POLICY.override(["data.table=a", "data.query=b"])
    with pytest.raises(DataError, match="a table goes with a database"):
        shoal.anonymize(None, Policy.from_dict({**own, "data": {"source": "p.csv", "table": "t"}}))
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["init", files["sqlite"].replace(f"{tmp_path}/", ""), "--table", "people",
                                     "-o", "sub/i.toml"]).exit_code == 0  # fmt: skip
    assert Policy.read("sub/i.toml").data.source == "sqlite:///../p.sqlite"
    assert shoal.anonymize(None, "sub/i.toml").rows == 60


def test_the_population_may_be_in_a_database(files, tmp_path):
    policy = Policy.from_keywords(
        quasi=["age", "zip"],
        k=2,
        other_columns="drop",
        presence=[0.0, 0.9],
        method="spalm",
        population={"file": files["sqlite"], "table": "people"},
    )
    assert shoal.anonymize(PEOPLE.head(30), policy).holds


# --- addresses and names ----------------------------------------------------------------------------------


def test_what_a_written_name_means():
    assert meanings("visits") == [TableName("visits")]
    assert meanings("health.visits") == [TableName("health.visits"), TableName("visits", "health")]
    assert meanings('"a.b"') == [TableName("a.b"), TableName('"a.b"')]
    assert meanings('"my ""own"""."a.b"') == [TableName("a.b", 'my "own"')]
    assert TableName('x"; drop table y').sql == '"x""; drop table y"'


def test_schemas(server):
    server.run('DROP SCHEMA IF EXISTS "s 1" CASCADE', 'CREATE SCHEMA "s 1"',
               'CREATE TABLE "s 1"."a.b" AS SELECT 1 AS x', 'CREATE TABLE "s 1".c AS SELECT 2 AS x')  # fmt: skip
    assert read(DatabaseTable(server.url, '"s 1"."a.b"')).column("x").to_list() == [1]
    assert read(DatabaseTable(server.url, "s 1.c")).column("x").to_list() == [2]
    server.run('DROP SCHEMA "s 1" CASCADE')


def test_the_parts_of_an_address():
    found = parse_address("postgresql://me%40x@[::1]:5433,b/db%201?sslmode=require", "")
    assert (found.user, found.hosts, found.name) == ("me@x", (("[::1]", "5433"), ("b", "")), "db 1")
    assert str(found) == "postgresql://me%40x@[::1]:5433,b/db%201"
    assert found.options == {"sslmode": "require"}


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{SECRET}@host/db",
        f"postgresql://:{SECRET}@host/db",
        f"postgresql://me:a@b/{SECRET}@host/db",
        f"postgresql://host/db?user=me&password={SECRET}",
        f"postgresql://host/db?sslpassword={SECRET}",
        f"postgresql://host/db?Pass%77ord={SECRET}",
        f"sqlite://me:{SECRET}@host/db",
        f"postgresql://me%3A{quote(SECRET)}@host/db",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(address, tmp_path):
    with pytest.raises(DataError) as caught:
        DatabaseTable(address, "t")
    assert SECRET not in str(caught.value)
    for words in (["init", address], ["anonymize", address, "-o", "x.csv", "--quasi", "a"]):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == DataError.exit_code
        assert SECRET not in done.output
    with pytest.raises(PolicyError) as refused:
        POLICY.override([f'data.source="{address}"'])
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"password = {SECRET}",
        f"postgresql:me:{SECRET}@host/db",
        f"jdbc:postgresql://host/db?user=me&password={SECRET}",
        f"Server=host;Database=db;Pwd={SECRET}",
    ],
)
def test_addresses_in_other_forms_are_not_taken_for_files(address, tmp_path):
    policy = tmp_path / "p.toml"
    policy.write_text(POLICY.to_toml())
    data = tmp_path / "people.csv"
    PEOPLE.write_csv(data)
    for words in (
        ["init", address],
        ["init", address, "--table", "people"],
        ["audit", str(data), "-p", str(policy), "--original", address],
        ["anonymize", str(data), "-p", str(policy), "-o", address],
        ["anonymize", str(data), "-p", str(policy), "-o", address, "--output-table", "people"],
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == DataError.exit_code
        assert "the address of a database in another form" in " ".join(done.output.split())
        assert SECRET not in done.output
    with pytest.raises(PolicyError, match="in another form") as refused:
        POLICY.override([f'data.source="{address}"'])
    assert SECRET not in str(refused.value)


def test_files_that_are_not_there(tmp_path):
    for address, said in {
        f"sqlite:///{tmp_path}/no.db": "there is no such file",
        f"duckdb:///{tmp_path}/no.db": "there is no such file",
        "sqlite://no.db": "names a file: sqlite:///file.db",
        "duckdb:///:memory:": "names a file: duckdb:///file.db",
    }.items():
        with pytest.raises(DataError, match=said):
            read(DatabaseTable(address, "t"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "text.db").write_text("age,zip\n1,2\n" * 1000)
    for kind in ("sqlite", "duckdb"):
        with pytest.raises(DataError, match=r"not a (valid DuckDB )?database"):
            read(DatabaseTable(f"{kind}:///{tmp_path}/text.db", "t"))


# --- the server: who may, and what if not -----------------------------------------------------------------


def test_wrong_hosts_are_told_quickly():
    for host in ("127.0.0.1:1", "nowhere.invalid"):
        with pytest.raises(DataError, match=r"no connection: .*check the host and the port"):
            read(DatabaseTable(f"postgresql://me@{host}/db", "t"))


def test_a_server_that_does_not_answer_is_given_up_within_seconds():
    import socket
    import time

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        before = time.monotonic()
        with pytest.raises(DataError, match="no connection"):
            read(DatabaseTable(f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/db", "t"))
        assert time.monotonic() - before < 10


def test_wrong_users_and_databases(server, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    for address, said in {
        server.url.replace("/clinic", "/nowhere"): 'database "nowhere" does not exist',
        server.url.replace("steward@", "nobody@"): 'role "nobody" does not exist',
        server.over_network(): "the server wants a password; leave it out. Shoal takes passwords from PGPASSWORD",
    }.items():
        with pytest.raises(DataError, match=said):
            read(DatabaseTable(address, "people"))
    monkeypatch.setenv("PGPASSWORD", f"not {SECRET}")
    with pytest.raises(DataError, match="refuses the user or the password") as caught:
        read(DatabaseTable(server.over_network(), "people"))
    assert SECRET not in str(caught.value)


def test_a_missing_right(server, monkeypatch):
    server.load("people", PEOPLE)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with pytest.raises(DataError, match="permission denied for table people; ask the owner"):
        read(DatabaseTable(server.over_network(READER), "people"))


def test_passwords_come_from_the_environment_and_from_a_file(server, tmp_path, monkeypatch):
    server.load("people", PEOPLE)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert read(DatabaseTable(server.over_network(), "people")).rows == 60
    monkeypatch.delenv("PGPASSWORD")
    (tmp_path / "pass").write_text(f"127.0.0.1:*:*:*:{SECRET}\n")
    (tmp_path / "pass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    assert read(DatabaseTable(server.over_network(), "people")).rows == 60


ASKED = """
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.executable, [sys.executable, "-P", "-m", "shoal", *sys.argv[2:]])
shown = b""
while b"Password for" not in shown:
    shown += os.read(terminal, 1024)
with open(f"/proc/{child}/cmdline", "rb") as line:
    shown += line.read()
os.write(terminal, sys.argv[1].encode() + b"\\n")
while True:
    try:
        more = os.read(terminal, 1024)
    except OSError:
        break
    if not more:
        break
    shown += more
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_password_is_asked_for_on_a_terminal_and_kept_out_of_everything(server, tmp_path):
    server.load("people", PEOPLE)
    (tmp_path / "p.toml").write_text(POLICY.to_toml())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment["PYTHONPATH"], environment["HOME"] = HOME, str(tmp_path)
    environment.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))  # compiled kernels
    words = ["anonymize", server.over_network(), "--table", "people", "-p", "p.toml", "-o", "r.csv"]
    words += ["--record", "r.json", "--card", "c.md", "--card", "c.json"]
    script = tmp_path.parent / "asked.py"
    script.write_text(ASKED)
    for password, code in ((SECRET, 0), (f"no {SECRET}", 3)):
        done = subprocess.run(
            [sys.executable, script, password, *words, "--force"],
            cwd=tmp_path, env=environment, capture_output=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == code, done.stdout
        assert b"Password for postgresql://steward@127.0.0.1" in done.stdout
        assert SECRET.encode() not in done.stdout + done.stderr
    record = json.loads((tmp_path / "r.json").read_text())["input"]
    assert (record["rows"], record["source"]) == (60, f"{server.over_network()}, table people")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
    log = (server.folder / "log").read_bytes()
    assert b"password authentication failed" in log


# --- types ------------------------------------------------------------------------------------------------


def test_types_of_postgresql(server):
    server.run(
        "DROP TABLE IF EXISTS kinds", "DROP TYPE IF EXISTS mood CASCADE", "DROP DOMAIN IF EXISTS small CASCADE",
        "CREATE TYPE mood AS ENUM ('sad', 'fine', 'glad')",
        "CREATE DOMAIN small AS numeric(6, 2) CHECK (VALUE < 1000)",
        "CREATE TABLE kinds (i int4, n numeric(10, 2), m numeric, d small, t text, c char(6), day date, "
        "at timestamp, tz timestamptz, ti time, u uuid, ip inet, net cidr, e mood, b bool, j jsonb, cash money, "
        "x bytea)",
        "INSERT INTO kinds VALUES (1, 10.50, 1e20 + 0.25, 9.5, 'a', 'b', '2020-02-29', '2020-01-01 10:00', "
        "'2020-01-01 10:00+02', '10:30', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.0.0.1', '10.1.0.0/16', 'glad', "
        "true, '{\"a\": 1}', '12.50', '\\x01')",
        "INSERT INTO kinds (i, n) VALUES (2, 9)",
    )  # fmt: skip
    frame = read(DatabaseTable(server.url, "kinds"))
    schema = dict(frame.schema)
    assert schema["n"] == schema["d"] == schema["cash"] == pl.Decimal(38, 2)
    assert schema["e"] == pl.Enum(["sad", "fine", "glad"])
    assert (schema["day"], schema["at"], schema["tz"]) == (
        pl.Date,
        pl.Datetime("us"),
        pl.Datetime("us", "UTC"),
    )
    assert frame.data.row(0, named=True) == {
        "i": 1, "n": Decimal("10.50"), "m": Decimal("100000000000000000000.25"), "d": Decimal("9.50"), "t": "a",
        "c": "b", "day": dt.date(2020, 2, 29), "at": dt.datetime(2020, 1, 1, 10),
        "tz": dt.datetime(2020, 1, 1, 8, tzinfo=dt.UTC), "ti": dt.time(10, 30),
        "u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "ip": "10.0.0.1", "net": "10.1.0.0/16", "e": "glad", "b": True,
        "j": '{"a": 1}', "cash": Decimal("12.50"), "x": b"\x01",
    }  # fmt: skip
    assert frame.column("n").sort().to_list() == [Decimal("9.00"), Decimal("10.50")]  # not as text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("ARRAY[1, 2]", "holds arrays, which have no single value to generalize; leave it out or convert it"),
        ("'1 day'::interval", "holds intervals of time"),
        ("int4range(1, 3)", "holds ranges"),
        ("ROW(1, 2)", "holds values of no fixed type|holds records"),
        ("'infinity'::date", "dates that are infinite, before the year 1 or after 9999"),
        ("'-infinity'::timestamp", "dates that are infinite"),
        ("'infinity'::timestamptz", "dates that are infinite"),
        ("'0044-03-15 BC'::date", "before the year 1"),
        ("'24:00'::time", "holds the time 24:00:00"),
        ("'NaN'::numeric", "holds NaN or infinite numbers"),
        ("1e40::numeric + 0.1", "holds numbers of 42 digits, and Shoal holds 38; round them in a query"),
        ("1 / (random() * 0)::int", "SQLSTATE 22012, often because of a value"),
        ("'x' || 1::text::int / 0", "SQLSTATE"),
        ("nowhere", 'column "nowhere" does not exist'),
    ],
)
def test_values_that_cannot_be_held(server, value, said):
    with pytest.raises(DataError, match=said) as caught:
        read(DatabaseTable(server.url, query=f"SELECT 1 AS a, {value} AS b"))
    assert caught.value.__cause__ is None


def test_drivers_that_give_python_values(server):
    """The drivers themselves are not needed: ADBC gives Python values too, if it is asked for rows."""
    server.load("people", PEOPLE)
    session, database = RowSession(server.connect()), DatabaseTable(server.url).database
    with contextlib.closing(session.connection):
        data = database.data(
            session, database.resolve_selection(session, DatabaseTable(server.url, "people"))
        )
        assert data.equals(PEOPLE)
        for value in ("'infinity'::date", "'-infinity'::timestamp"):
            asked = DatabaseTable(server.url, query=f"SELECT now() AS a, {value} AS b")
            with pytest.raises(DataError, match="column 'b' holds dates that are infinite"):
                database.data(session, database.resolve_selection(session, asked))


def test_an_error_of_the_server_shows_no_value(server):
    server.run("DROP TABLE IF EXISTS t", "CREATE TABLE t (a text)", "INSERT INTO t VALUES ('Miss Marple')")
    with pytest.raises(DataError, match="SQLSTATE 22P02") as caught:
        read(DatabaseTable(server.url, query="SELECT a::int FROM t"))
    assert "Marple" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_two_columns_of_one_name(server):
    with pytest.raises(DataError, match="more than one column has the name 'a'; rename all but one"):
        read(DatabaseTable(server.url, query="SELECT 1 AS a, 2 AS a"))


def test_reading_is_one_read_only_snapshot(server):
    asked = (
        "SELECT current_setting('transaction_isolation') AS a, current_setting('transaction_read_only') AS b"
    )
    assert read(DatabaseTable(server.url, query=asked)).data.row(0) == ("repeatable read", "on")
    server.run("DROP SEQUENCE IF EXISTS s", "CREATE SEQUENCE s")
    with pytest.raises(DataError, match=r"cannot execute nextval\(\) in a read-only transaction"):
        read(DatabaseTable(server.url, query="SELECT nextval('s') AS a"))


def test_columns_of_mixed_types_in_sqlite(tmp_path, monkeypatch):
    place = tmp_path / "m.db"
    connection = sqlite3.connect(place)
    connection.execute("CREATE TABLE m (mixed, numbers NUMERIC, late TEXT, day DATE, code TEXT)")
    rows = [(1, 1, None, "2020-01-31", "0100")] * 3000
    rows += [("x", 2.5, "y", "2021-02-28", "2020-01-31"), (0.1 + 0.2, None, None, None, None)]
    connection.executemany("INSERT INTO m VALUES (?, ?, ?, ?, ?)", rows)
    connection.commit()

    def checked(source) -> None:
        data = read(source).data
        assert data.dtypes == [pl.String, pl.Float64, pl.String, pl.Date, pl.String]
        assert data["mixed"].unique().sort().to_list() == ["0.30000000000000004", "1", "x"]
        assert data["numbers"].drop_nulls().sum() == 3002.5
        assert data["day"].max() == dt.date(2021, 2, 28)

    checked(DatabaseTable(f"sqlite:///{place}", "m"))
    checked(DatabaseTable(connection, "m"))
    with pytest.raises(DataError, match="some columns hold values of several types, which ADBC changes"):
        read(DatabaseTable(adbc_sqlite.connect(str(place)), "m"))
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite", None)
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
    checked(DatabaseTable(f"sqlite:///{place}", "m"))
    connection.execute("INSERT INTO m (mixed) VALUES (x'00ff')")
    connection.commit()
    with pytest.raises(DataError, match="column 'mixed' holds bytes next to other values"):
        read(DatabaseTable(f"sqlite:///{place}", "m"))


def test_types_of_duckdb(tmp_path):
    place = tmp_path / "t.db"
    with duckdb.connect(str(place)) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        connection.execute(
            "CREATE TABLE t AS SELECT 'glad'::mood e, 1.5::DECIMAL(10, 2) n, 7::HUGEINT h, uuid() u, "
            "'101'::BIT b, TIMESTAMPTZ '2020-01-01 10:00+02' tz, [1, 2] l, INTERVAL 1 DAY i, 'infinity'::DATE d"
        )
    data = read(DatabaseTable(f"duckdb:///{place}", query="SELECT e, n, h, u, b, tz FROM t")).data
    assert data.dtypes[:3] == [pl.Enum(["sad", "glad"]), pl.Decimal(10, 2), pl.Decimal(38, 0)]
    assert data.select("e", "n", "h", "b").row(0) == ("glad", Decimal("1.50"), Decimal(7), "101")
    assert data["tz"][0] == dt.datetime(2020, 1, 1, 8, tzinfo=dt.UTC)
    for column, said in {
        "l": "holds lists",
        "i": "holds intervals of time",
        "d": "dates that are infinite",
    }.items():
        with pytest.raises(DataError, match=said):
            read(DatabaseTable(f"duckdb:///{place}", query=f"SELECT {column} FROM t"))


def test_duckdb_downloads_nothing(tmp_path):
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(DataError, match=r"postgres_scan|extension"):
        read(
            DatabaseTable(
                f"duckdb:///{tmp_path}/t.db", query="SELECT * FROM postgres_scan('', 'public', 't')"
            )
        )


def test_a_missing_library_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    (tmp_path / "t.db").touch()
    with pytest.raises(DataError, match=r'needs the library duckdb: pip install "shoal\[duckdb\]"'):
        read(DatabaseTable(f"duckdb:///{tmp_path}/t.db", "t"))
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(DataError, match=r'pip install "shoal\[postgresql\]"'):
        read(DatabaseTable("postgresql://host/db", "t"))


def test_formats_import_no_driver():
    script = (
        "import sys; from shoal.io.formats import FORMATS; [FORMATS[name] for name in FORMATS]\n"
        "assert not {'polars', 'pyarrow', 'duckdb', 'adbc_driver_manager'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": HOME}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, cwd=Path.home())
