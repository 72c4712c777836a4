"""Queries of policies and files of databases from somebody who means harm: they read rows, and nothing else happens."""

from __future__ import annotations

import contextlib
import sqlite3

import adbc_driver_sqlite.dbapi as adbc_sqlite
import duckdb
import polars as pl
import pytest
from click.testing import CliRunner

from shoal import DatabaseTable
from shoal.apps.cli import main
from shoal.errors import DataError, ShoalError
from shoal.io import read
from shoal.io.databases.sessions import RowSession
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy

PEOPLE = pl.DataFrame(
    {"age": [20 + number % 4 for number in range(40)], "ill": ["flu", "gout", "cold", "flu"] * 10}
)
POLICY = Policy.from_keywords(quasi=["age"], sensitive=["ill"], k=5)
BREAKOUT = "SELECT * FROM people) AS x; {}; SELECT * FROM (SELECT * FROM people"
"""Closes the parentheses that Shoal writes around a query, and opens others."""


@pytest.fixture
def files(tmp_path) -> dict[str, str]:
    """The same table in a SQLite file and in a DuckDB file."""
    with contextlib.closing(sqlite3.connect(tmp_path / "p.sqlite")) as connection:
        connection.execute("CREATE TABLE people (age INTEGER, ill TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?)", PEOPLE.rows())
        connection.commit()
    with duckdb.connect(str(tmp_path / "p.duckdb")) as other:
        other.register("given", PEOPLE.to_arrow())
        other.execute("CREATE TABLE people AS SELECT * FROM given")
    return {name: f"{name}:///{tmp_path}/p.{name}" for name in ("sqlite", "duckdb")}


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_a_query_writes_no_file_when_the_output_is_in_the_same_database(files, name, tmp_path):
    """Shoal asks the database first whether the query reads the table that would be replaced."""
    stolen = tmp_path / "stolen"
    harm = {
        "duckdb": f"COPY (SELECT * FROM people) TO '{stolen}' (FORMAT csv)",
        "sqlite": f"ATTACH '{stolen}' AS s",
    }[name]
    for query in (
        BREAKOUT.format(harm),
        f"{harm}; SELECT * FROM people",
        f"SELECT * FROM people; {harm}",
        harm,
    ):
        source = DatabaseTable(files[name], query=query)
        with pytest.raises(ShoalError):
            anonymize_file(source, POLICY, DatabaseTable(files[name], "public"), force=True)
        with pytest.raises(DataError):
            read(source)
        assert not stolen.exists(), query
    anonymize_file(
        DatabaseTable(files[name], query="SELECT * FROM people -- all;"),
        POLICY,
        DatabaseTable(files[name], "public"),
    )
    assert read(DatabaseTable(files[name], "public")).rows == 40


def test_a_query_that_is_not_a_select_is_named(files):
    with pytest.raises(DataError, match="must be one SELECT statement, and it is SELECT, COPY"):
        read(DatabaseTable(files["duckdb"], query="SELECT 1; COPY people TO 'x.csv'"))
    with pytest.raises(DataError, match="must be one SELECT statement, and it is PRAGMA"):
        read(DatabaseTable(files["duckdb"], query="PRAGMA version"))
    pivoted = read(DatabaseTable(files["duckdb"], query="PIVOT people ON ill USING count(*)"))
    assert sorted(pivoted.columns) == ["age", "cold", "flu", "gout"]


@pytest.mark.parametrize("driver", ["standard library", "ADBC"])
def test_a_second_statement_is_rejected_on_connections_of_users(files, driver, tmp_path):
    place = str(tmp_path / "p.sqlite")
    connect = sqlite3.connect if driver == "standard library" else adbc_sqlite.connect
    with contextlib.closing(connect(place)) as connection:
        for query in (
            "SELECT 1 AS a; DROP TABLE people",
            BREAKOUT.format("DROP TABLE people"),
            "PRAGMA user_version",
        ):
            with pytest.raises(DataError):
                read(DatabaseTable(connection, query=query))
    assert read(DatabaseTable(files["sqlite"], "people")).rows == 40


class SimpleCursor:
    """A cursor of a driver that sends several statements at once, as psycopg2 does."""

    def __init__(self, connection) -> None:
        self.connection, self.cursor = connection, connection.cursor()
        self.description: list = []

    def execute(self, text: str) -> None:
        for statement in text.split(";") if "$shoal_" not in text else [text]:
            self.cursor.execute(statement)
        self.description = self.cursor.description

    def fetchall(self) -> list:
        return self.cursor.fetchall()

    def close(self) -> None:
        self.cursor.close()


class SimpleConnection:
    """A connection with such cursors."""

    def __init__(self, connection) -> None:
        self.connection = connection

    def cursor(self) -> SimpleCursor:
        return SimpleCursor(self.connection)


def test_postgresql_runs_one_select(server):
    server.load("people", PEOPLE)
    stored = DatabaseTable(server.url, "people")
    database = stored.database
    for query in (
        BREAKOUT.format("DROP TABLE people"),
        "SELECT 1 AS a; DROP TABLE people",
        "DELETE FROM people RETURNING *",
        "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone",
        "COPY people TO PROGRAM 'cat > /tmp/stolen'",
        "SELECT pg_catalog.query_to_xml('DROP TABLE people', false, false, '')",
        "SELECT set_config('transaction_read_only', 'off', false), nextval('s')",
    ):
        with pytest.raises(DataError):
            read(DatabaseTable(server.url, query=query))
        with pytest.raises(ShoalError):
            anonymize_file(DatabaseTable(server.url, query=query), POLICY, DatabaseTable(server.url, "r"))
    hostile = DatabaseTable(server.url, query=BREAKOUT.format("DROP TABLE people"))
    with server.connect() as connection, pytest.raises(database.errors()):
        database.resolve_selection(RowSession(SimpleConnection(connection)), hostile)
    assert server.rows("SELECT count(*) FROM people") == [(40,)]
    odd = "SELECT age, 'it''s; $$ -- ' AS \"a;b\" FROM people -- all)"
    assert read(DatabaseTable(server.url, query=odd)).rows == 40


def test_a_view_in_a_duckdb_file_reads_no_other_file(tmp_path):
    (tmp_path / "secret.csv").write_text("age,ill\n" + "30,flu\n" * 10)
    place = f"duckdb:///{tmp_path}/t.db"
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    for stored in (
        DatabaseTable(place, "v"),
        DatabaseTable(place, query=f"SELECT * FROM '{tmp_path}/secret.csv'"),
        DatabaseTable(place, query=f"SELECT * FROM read_text('{tmp_path}/secret.csv')"),
    ):
        with pytest.raises(DataError, match="disabled by configuration"):
            read(stored)
    assert read(DatabaseTable(place, "t")).rows == 1


def test_a_query_sees_no_variable_of_shoal(files):
    """DuckDB reads tables of Python by the names of variables."""
    from shoal.io.formats.duckdb import DuckDb

    stored = DatabaseTable(files["duckdb"], "people")
    with DuckDb().open_session(stored) as session:
        frame = pl.DataFrame({"a": [1]})
        assert frame.height == 1
        with pytest.raises(duckdb.CatalogException):
            session.fetch("SELECT * FROM frame")
        with pytest.raises(duckdb.Error, match="locked"):
            session.execute("SET enable_external_access = true")


@pytest.mark.parametrize("writing", [False, True])
def test_views_of_a_sqlite_file_call_nothing_with_side_effects(files, writing):
    stored = DatabaseTable(files["sqlite"], "people")
    with stored.database.open_session(stored, writing=writing) as session:
        assert session.rows("PRAGMA trusted_schema") == [(0,)]
        with pytest.raises(stored.database.errors()):
            session.rows("SELECT load_extension('x')")


@pytest.mark.parametrize(
    "address",
    [
        *(
            "postgresql://me@db.example.org/clinic?host=evil.example",
            "postgresql://db.example.org/c?port=6666",
        ),
        *(
            "postgresql://me@h/clinic?user=other",
            "postgresql://me@h/clinic?dbname=other",
            "postgresql://h/c?host=a&host=b",
        ),
        *(
            "postgresql:///c?host=a,b&port=1,2,3",
            "postgresql:///c?user=me%3Asecret",
            "postgresql:///c?host=a&port=x",
        ),
    ],
)
def test_an_address_leads_to_the_server_that_messages_name(address):
    """Otherwise a password would be asked for one server, and sent to another."""
    with pytest.raises(DataError, match="twice") as told:
        DatabaseTable(address, "t")
    assert "secret" not in str(told.value)


def test_options_of_an_address_that_name_the_server_are_parts_of_it():
    database = DatabaseTable("postgresql://h/c").database
    for text, parts in {
        "postgresql://me@/c?host=/run/pg&port=5433": "postgresql://me@%2Frun%2Fpg:5433/c",
        "postgresql:///?host=a,b&port=1&user=me&dbname=c": "postgresql://me@a:1,b:1/c",
        "postgresql:///c?host=a,b&port=1,2": "postgresql://a:1,b:2/c",
    }.items():
        found = database.address(text)
        assert str(found) == parts
        assert database.address(parts) == found
        assert found.options == {}


def test_a_name_of_duckdb_with_a_colon_is_a_file(tmp_path, monkeypatch):
    """DuckDB takes md:x for an address of MotherDuck, and sqlite:x for a file of another kind."""
    monkeypatch.chdir(tmp_path)
    for name in ("md:x", "sqlite:x", "postgres:x"):
        with duckdb.connect(str(tmp_path / name)) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        assert read(DatabaseTable(f"duckdb:///{name}", "t")).rows == 1


def test_a_starter_policy_has_no_option_that_only_a_user_gives(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server.load("people", PEOPLE)
    address = f"{server.url}&options=-c%20work_mem%3D5MB&connect_timeout=9"
    done = CliRunner().invoke(main, ["init", address, "--table", "people", "-o", "p.toml"])
    assert done.exit_code == 0, done.output
    assert "does not contain the options options of the address" in done.stderr
    source = Policy.read("p.toml").data.source
    assert source.endswith("?connect_timeout=9")
    assert read(DatabaseTable(source, "people")).rows == 40
