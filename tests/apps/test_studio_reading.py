"""Whatever file is opened in Studio, Studio goes on, and says what happened."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

import shoal.apps.studio.data.reader
from shoal.apps.studio.data.reader import read_table
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.private_folder import Folder
from shoal.apps.studio.project import Project
from shoal.errors import DataError
from shoal.io import ReadOptions
from shoal.io.databases import DatabaseTable

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{OFFICE}">'
    '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEETS}"><sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
    '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>',
}


class Panic(BaseException):
    """As a library in Rust raises it: not an Exception."""


@pytest.fixture
def project() -> Iterator[Project]:
    opened = Project(Folder())
    yield opened
    opened.close()


def write_bomb(path: Path) -> Path:
    """Write a workbook of a kilobyte with two cells, the first and the last: readers make room for all between them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in PARTS.items():
            archive.writestr(name, f'<?xml version="1.0"?>{text}')
    return path


def wait_for(project: Project) -> list[str]:
    end = time.monotonic() + 120
    while project.opening:
        assert time.monotonic() < end, "the table is being read for ever"
        time.sleep(0.02)
    return [notice.words for notice in project.notices]


def test_a_workbook_that_needs_more_memory_than_there_is_leaves_studio_running(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastexcel", reason="fastexcel is not installed: pip install 'shoal[excel]'")
    path = write_bomb(tmp_path / "small.xlsx")
    assert path.stat().st_size < 2000
    monkeypatch.setattr(shoal.apps.studio.data.reader, "memory_left", lambda: 2_000_000_000)
    project.open(Source(path, "people.xlsx", kept=True))
    (words,) = wait_for(project)
    assert words.startswith("people.xlsx: this table needs more memory than there is (2.0 GB are free)")
    assert project.frame is None


def test_a_table_is_read_in_another_process_as_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,town\n" + "".join(f"{20 + at % 40},{'ABC'[at % 3]}\n" for at in range(200)))
    here = read_table(path, ReadOptions())
    started: list[str] = []
    real = shoal.apps.studio.data.reader.Child

    def child(module: str) -> Any:
        started.append(module)
        return real(module)

    monkeypatch.setattr(shoal.apps.studio.data.reader, "Child", child)
    assert read_table(path, ReadOptions())[1] == here[1]
    assert started == []
    monkeypatch.setattr(shoal.apps.studio.data.reader, "TIMES", 10**12)
    elsewhere = read_table(path, ReadOptions())
    assert started == ["shoal.apps.studio.data.reader"]
    assert elsewhere[1] == here[1]
    assert elsewhere[0].data.equals(here[0].data)
    path.write_text("age,age\n1,2\n")
    with pytest.raises(DataError, match="age"):
        read_table(path, ReadOptions())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the memory of a process")
@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_a_database_that_needs_more_memory_than_there_is_leaves_studio_running(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A view of a few bytes may have any number of rows."""
    path = tmp_path / f"small.{name}"
    many = {
        "sqlite": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 20000000) "
        "SELECT x, 'somebody ' || x AS who FROM c",
        "duckdb": "SELECT range AS x, 'somebody who has a long name ' || range AS who FROM range(200000000)",
    }[name]
    if name == "sqlite":
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute(f"CREATE VIEW many AS {many}")
    else:
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'shoal[duckdb]'")
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE VIEW many AS {many}")
    monkeypatch.setattr(shoal.apps.studio.data.reader, "memory_left", lambda: 500_000_000)
    project.open(Source(DatabaseTable(f"{name}:///{path}", "many"), "many"))
    (words,) = wait_for(project)
    assert "needs more memory than there is (0.5 GB are free)" in words
    assert project.frame is None


def test_a_database_is_read_in_another_process_as_here(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (age INTEGER, town TEXT)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?)", [(20 + at % 40, "ABC"[at % 3]) for at in range(200)]
        )
        connection.commit()
    place = DatabaseTable(f"sqlite:///{path}", "t")
    assert read_table(place, ReadOptions())[0].rows == 200
    with pytest.raises(DataError, match="there is no table 'people'"):
        read_table(DatabaseTable(f"sqlite:///{path}", "people"), ReadOptions())


def test_the_process_that_reads_a_database_gets_passwords_through_its_pipe(server: Any) -> None:
    from shoal.io.databases import passwords
    from tests.harness.server import SECRET

    server.run("DROP TABLE IF EXISTS few", "CREATE TABLE few AS SELECT 1 AS a")
    place = DatabaseTable(server.over_network(), "few")
    passwords.remember({place.place: SECRET})
    try:
        assert read_table(place, ReadOptions())[0].rows == 1
    finally:
        passwords.forget(place.place)


def test_a_panic_while_a_table_is_read_is_told(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age\n1\n2\n")

    def panic(*_: object) -> None:
        raise Panic("in a library")

    project.read(Source(path, "people.csv"))
    before = project.tables
    monkeypatch.setattr(shoal.apps.studio.data.reader, "read_table", panic)
    project.open(Source(path, "people.csv"))
    assert ["made a mistake of its own (Panic)" in words for words in wait_for(project)] == [True]
    project.notices = []
    project.set("data.header", "false")
    assert ["made a mistake of its own (Panic)" in words for words in wait_for(project)] == [True]
    assert project.tables == before


def test_a_panic_in_a_page_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from starlette.testclient import TestClient

    from shoal.apps.studio.audit import screen as audit
    from shoal.apps.studio.server import Studio
    from shoal.support.wording import speak

    def panic(*_: object) -> None:
        raise Panic("Ada Lovelace")

    monkeypatch.setattr(audit, "context", panic)
    studio = Studio()
    try:
        client = TestClient(studio.guard, base_url=studio.link.partition("?")[0])
        client.get(studio.link)
        answer = client.get("/audit")
        assert (answer.status_code, "PanicError" in answer.text, "Lovelace" in answer.text) == (
            500,
            True,
            False,
        )
        assert f'href="{studio.guard.root}/data"' in answer.text
        assert capfd.readouterr() == ("", "")
        assert client.get("/data").status_code == 200
    finally:
        studio.project.close()
        studio.socket.close()
        speak("python")
