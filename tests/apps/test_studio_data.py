"""The screen Data: opening a table, looking at its rows, reading it otherwise."""

from __future__ import annotations

import datetime as dt
import shlex
import threading
import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from shoal import io
from shoal.apps.samples import write_sample
from shoal.apps.studio.data import screen as data
from shoal.apps.studio.data.column_facts import BINS, Columns, describe_column
from shoal.apps.studio.data.rows import CHUNK, window
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.form_fields import fields_of, taken
from shoal.apps.studio.jobs import Order
from shoal.apps.studio.look.current_release import start_release
from shoal.apps.studio.page import page
from shoal.apps.studio.private_folder import Folder
from shoal.apps.studio.project import Project
from shoal.errors import PolicyError, ShoalError
from shoal.policy.column_section import Column
from shoal.policy.sections import Data as Reading

HOSTILE = (  # names of columns and values
    "<script>alert(1)</script>",
    "quote \" and '",
    "שלום עולם",
    "🐟🐠",
    "a/b.c",
    "x" * 10_000,
    " ",
    "{{ 7 * 7 }}",
)


@pytest.fixture
def project():
    made = Project(Folder())
    yield made
    made.close()


def opened(project: Project, table: pl.DataFrame, path: Path) -> Project:
    table.write_csv(path)
    project.read(Source(path, path.name))
    return project


def settled(project: Project) -> None:
    """Wait until nothing is being read."""
    limit = time.monotonic() + 60
    while project.opening and time.monotonic() < limit:
        time.sleep(0.01)
    assert not project.opening


# --- rows and columns ---------------------------------------------------------------------------------------


def test_a_window_of_rows_is_what_the_table_holds(tmp_path: Path):
    table = pl.DataFrame({"a": range(1_000), "b": [None, *("x" * n for n in range(1, 1_000))]})
    frame = io.read(table)
    for first in (0, 3, 950, 999, 1_000, 10**9):
        shown = window(frame, first, CHUNK, ["a", "b"])
        assert [position for position, _ in shown] == list(range(first, min(first + CHUNK, 1_000)))
        assert [int(cells[0].text) for _, cells in shown] == [position for position, _ in shown]
    assert window(frame, 0, 1, ["b"])[0][1][0].missing
    long = window(frame, 999, 1, ["b"])[0][1][0]
    assert len(long.text) < 100
    assert long.whole == "x" * 999


@given(
    st.lists(
        st.one_of(st.none(), st.integers(-5, 40), st.sampled_from([10**6, -(10**6)])), min_size=1, max_size=60
    )
)
def test_facts_count_every_row_once(values: list[int | None]):
    column = pl.Series("c", values, pl.Int64)
    codes, distinct = io.factorize(column)
    facts = describe_column(distinct, np.bincount(codes, minlength=len(distinct)))
    filled = [value for value in values if value is not None]
    assert facts.missing == values.count(None)
    assert facts.distinct == len(set(filled))
    assert facts.unique == sum(values.count(value) == 1 for value in values)
    assert sum(bar.rows for bar in facts.bars) in (len(values), 0)
    assert bool(facts.bars) == bool(filled)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]), st.booleans()),
        min_size=1,
        max_size=40,
    ),
    st.sets(st.integers(0, 2)),
)
def test_unique_rows_are_those_that_nobody_shares(rows: list[tuple[object, ...]], places: set[int]):
    frame = io.read(pl.DataFrame(rows, schema=["a", "b", "c"], orient="row"))
    keys = [tuple(row[place] for place in sorted(places)) for row in rows]
    assert Columns(frame, lambda: None).unique_rows(sorted(places)) == sum(
        keys.count(key) == 1 for key in keys
    )


@pytest.mark.parametrize("values", [
    [1.5, float("nan"), float("inf"), -float("inf"), *map(float, range(30))],
    [1e308, -1e308, *map(float, range(30))],
    [[1], [2, 3]],
    [b"\x00", b"\xff"],
    [None, None],
    [{"a": 1}, {"a": 2}],
    [dt.time(n % 24, n) for n in range(40)],
    [dt.timedelta(hours=n) for n in range(40)],
    [dt.date(1, 1, 1), *(dt.date(9999, 12, n % 28 + 1) for n in range(40))],
    [2**64 - 1 - n for n in range(40)],
], ids=["nan", "huge", "lists", "bytes", "empty", "structs", "times", "durations", "far", "close"])  # fmt: skip
def test_columns_of_odd_values_have_facts(values: list[object]):
    frame = io.read(pl.DataFrame({"c": values}))
    columns = Columns(frame, lambda: None)
    facts = columns.facts(0)
    assert facts is not None
    assert len(facts.bars) <= BINS + 1
    assert facts.picture
    assert columns.type_of(0)


def test_histograms_of_decimal_numbers_and_dates_name_their_ends():
    prices = pl.DataFrame(
        {
            "c": [Decimal(n) / 4 for n in range(41)],
            "d": [dt.date(2020, 1, 1) + dt.timedelta(n) for n in range(41)],
        }
    )
    columns = Columns(io.read(prices), lambda: None)
    told = [facts.picture for place in (0, 1) if (facts := columns.facts(place)) is not None]
    assert told == ["from 0 to 10", "from 2020-01-01 to 2020-02-10"]


# --- reading ------------------------------------------------------------------------------------------------


def test_reading_options_are_the_fields_of_the_policy():
    found = fields_of(Reading, {"null_values": ["?", "NA"]}, used={"delimiter": ";"})
    assert [one.name for one in found] == list(Reading.model_fields)
    assert all(one.help for one in found)
    by_name = {one.name: one for one in found}
    assert by_name["null_values"].value == "?, NA"
    assert by_name["delimiter"].placeholder == ";"
    assert by_name["header"].value == "yes"


def test_what_a_form_shows_it_takes_back():
    values = {"null_values": ["?", "NA"], "delimiter": "\t", "header": False, "decimal": ","}
    form = {one.name: one.value for one in fields_of(Reading, values)}
    read = Reading.model_validate(taken(Reading, form, "data"))
    assert read == Reading.model_validate(values)
    assert taken(Reading, {one.name: one.value for one in fields_of(Reading, {})}, "data") == {}


def test_other_reading_options_read_again_and_keep_roles(project: Project, tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("age;town\n" + "".join(f"{30 + n % 9};?\n{40 + n % 9};Ulm\n" for n in range(30)))
    project.read(Source(path, "t.csv"))
    project.set("columns.town.role", "plain")
    before = project.tables
    data.ACTIONS["reading"](project, {"null_values": "?", "header": "yes"})  # type: ignore[arg-type]
    settled(project)
    assert project.frame is not None
    assert project.frame.data["town"].null_count() == 30
    assert project.tables["columns"]["town"]["role"] == "plain"
    project.undo()
    settled(project)
    assert project.tables == before
    assert project.frame.data["town"].null_count() == 0
    project.redo()
    settled(project)
    assert project.frame.data["town"].null_count() == 30


def test_columns_with_other_names_get_new_guesses(project: Project, tmp_path: Path):
    opened(project, pl.DataFrame({"age": range(20, 60), "sex": ["f", "m"] * 20}), tmp_path / "t.csv")
    data.ACTIONS["reading"](project, {"header": "no"})  # type: ignore[arg-type]
    settled(project)
    assert list(project.tables["columns"]) == ["column_1", "column_2"]
    assert project.policy is not None
    project.undo()
    settled(project)
    assert list(project.tables["columns"]) == ["age", "sex"]


def test_options_with_which_nothing_can_be_read_change_nothing(project: Project, tmp_path: Path):
    opened(project, pl.DataFrame({"age": range(20, 60), "sex": ["f", "ü"] * 20}), tmp_path / "t.csv")
    before = project.tables
    data.ACTIONS["reading"](project, {"encoding": "ascii"})  # type: ignore[arg-type]
    settled(project)
    assert project.tables == before
    assert [notice.kind for notice in project.notices] == ["problem"]
    with pytest.raises(PolicyError, match="not a number"):
        taken(Column, {"weight": "heavy"}, "columns.age")


def test_a_table_that_cannot_be_opened_can_be_read_otherwise(project: Project, tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"age,town\n" + b"".join(b"%d,M\xfcnchen\n" % (20 + n % 40) for n in range(80)))
    project.open(Source(path, "t.csv"))
    settled(project)
    assert project.frame is None
    assert project.failed is not None
    assert data.state(project).mark == "problem"
    assert fields_of(Reading, {})
    project.set("data.encoding", "latin-1")
    settled(project)
    assert project.frame is not None
    assert project.failed is None
    assert project.frame.data["town"][0] == "München"
    assert project.tables["data"]["encoding"] == "latin-1"


def test_advice_on_a_table_that_cannot_be_opened_is_about_that_table(project: Project, tmp_path: Path):
    """Not about the one that is still open, whose release it would have thrown away."""
    opened(project, pl.DataFrame({"age": [30, 40] * 50}), tmp_path / "first.csv")
    before = project.tables
    project.store["kept"] = True
    second = tmp_path / "0123.csv"
    rows = b"".join(b"%d;M\xfcnchen;%d,5\n" % (20 + n % 40, n) for n in range(80))
    second.write_bytes(b"age;town;height\n" + rows)
    project.open(Source(second, "towns.csv", kept=True))
    settled(project)
    [notice] = project.notices
    assert "towns.csv" in notice.words
    assert str(tmp_path) not in notice.words  # where an upload lies is nobody's business
    assert project.tables == before
    assert project.store["kept"]
    project.set("data.delimiter", ";")
    settled(project)
    assert project.failed is not None
    project.set("data.encoding", "latin-1")
    settled(project)
    assert project.source is not None
    assert project.source.name == "towns.csv"
    # Both settings count: the second try does not forget the first.
    assert project.tables["data"] == {**project.tables["data"], "delimiter": ";", "encoding": "latin-1"}


def test_whoever_goes_on_with_a_table_gives_the_other_one_up(project: Project, tmp_path: Path):
    opened(project, pl.DataFrame({"age": [30, 40] * 50, "town": ["A", "B"] * 50}), tmp_path / "first.csv")
    project.open(Source(tmp_path / "missing.csv", "missing.csv"))
    settled(project)
    project.set("privacy.k", "7")
    assert project.failed is None
    project.set("data.delimiter", ",")
    settled(project)
    assert project.source is not None
    assert project.source.name == "first.csv"
    assert project.tables["data"]["delimiter"] == ","


def test_a_sample_that_would_fill_the_memory_is_refused(project: Project):
    with pytest.raises(ShoalError, match=r"999,999,999 rows .* at most 2,000,000"):
        data.ACTIONS["sample"](project, {"name": "patients", "rows": "999999999"})  # type: ignore[arg-type]
    assert not project.opening


def test_samples_open_with_and_without_their_policy(project: Project):
    for policy in ("", "yes"):
        data.ACTIONS["sample"](project, {"name": "patients", "rows": "200", "policy": policy, "tour": "yes"})  # type: ignore[arg-type]
        settled(project)
        assert project.frame is not None
        assert project.frame.rows == 200
        assert project.policy is not None
        assert project.tour
    assert project.tables["columns"]["zip"]["hierarchy"] == "patients_zip.csv"


def test_a_table_in_a_database_opens_and_is_named_in_every_voice(project: Project, tmp_path: Path):
    import sqlite3

    place = tmp_path / "clinic.db"
    with sqlite3.connect(place) as connection:
        connection.execute("create table visits(age integer, town text)")
        connection.executemany(
            "insert into visits values (?, ?)", [(20 + n % 50, "UV"[n % 2]) for n in range(200)]
        )
    connection.close()
    form = {"address": f"sqlite:///{place}", "table": "", "query": "", "password": ""}
    data.ACTIONS["database"](project, form)  # type: ignore[arg-type]
    settled(project)
    assert project.frame is None
    assert "visits" in project.notices[-1].words
    for how, value in (("table", "visits"), ("query", "SELECT age FROM visits")):
        data.ACTIONS["database"](project, {**form, how: value})  # type: ignore[arg-type]
        settled(project)
        assert project.frame is not None
        assert project.frame.rows == 200
        assert project.tables["data"][how] == value
        assert f"--{how} {shlex.quote(value)}" in project.command
        assert f"{how}={value!r}" in project.python
    # other options read it again, and keep where it is
    data.ACTIONS["reading"](project, {"other_columns": "plain", "header": "yes"})  # type: ignore[arg-type]
    settled(project)
    assert project.tables["data"]["query"] == "SELECT age FROM visits"
    assert project.tables["data"]["other_columns"] == "plain"


def test_a_password_in_an_address_is_refused(project: Project):
    with pytest.raises(ShoalError) as told:
        data.ACTIONS["database"](project, {"address": "postgresql://me:secret-word@localhost/x"})  # type: ignore[arg-type]
    assert "secret-word" not in str(told.value)
    with pytest.raises(ShoalError, match="postgresql://"):
        data.ACTIONS["database"](project, {"address": "visits"})  # type: ignore[arg-type]


def test_a_password_stays_in_memory_and_reaches_jobs(server, project: Project, monkeypatch):
    from shoal.io.databases import passwords
    from tests.harness.server import SECRET

    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setattr(passwords, "_known", {})
    server.load(
        "wards", pl.DataFrame({"age": [20 + n % 30 for n in range(90)], "ward": ["a", "b", "c"] * 30})
    )
    form = {"address": server.over_network(), "table": "wards", "password": ""}
    data.ACTIONS["database"](project, form)  # type: ignore[arg-type]
    settled(project)
    assert "wants a password" in project.notices[0].words
    data.ACTIONS["database"](project, {**form, "password": SECRET})  # type: ignore[arg-type]
    settled(project)
    assert project.frame is not None
    assert project.source is not None
    told = (
        project.toml,
        project.command,
        project.python,
        repr(project.source),
        bytes(page(project, "data", QueryParams("")).body).decode(),
    )
    assert not any(SECRET in text for text in told)
    work = "tests.apps.test_studio_data:rows_in_a_job"
    job = project.jobs.start(Order("read", "Reading", work, {"source": project.source.place}))
    limit = time.monotonic() + 60
    while job.active and time.monotonic() < limit:
        time.sleep(0.05)
    assert (job.error, job.result) == ("", 90)


def rows_in_a_job(_line: object, *, source: object) -> int:
    return io.read(source).rows


# --- in the browser -----------------------------------------------------------------------------------------


def test_a_table_opens_with_the_link(studio, tmp_path: Path):
    from playwright.sync_api import expect

    write_sample("patients", 20_000, tmp_path / "patients.csv")
    visit = studio("patients.csv")
    page = visit.go("data")
    expect(page.get_by_role("heading", name="Data", exact=True)).to_be_visible()
    where = page.locator("#where")
    expect(where).to_contain_text("of 20,000")
    page.get_by_label("Go to row").fill("15000")
    page.get_by_label("Go to row").press("Enter")
    found = page.locator("tr.found")
    expect(found.get_by_role("rowheader")).to_have_text("15,000")
    table = pl.read_csv(tmp_path / "patients.csv")
    expect(found).to_contain_text(table["name"][14_999])
    # by keyboard
    grid = page.get_by_role("region", name="Rows of the table")
    grid.press("End")
    expect(where).to_contain_text("to 20,000 of 20,000")
    expect(grid.locator("tbody tr").last).to_contain_text(table["name"][-1])
    grid.press("Home")
    expect(where).to_contain_text("Rows 1 to")
    expect(grid.locator("tbody tr").first).to_contain_text(table["name"][0])
    grid.press("PageDown")
    grid.press("ArrowDown")
    first = int(grid.locator("tbody th").first.inner_text().replace(",", "")) - 1
    assert first > 2
    expect(grid.locator("tbody tr").first).to_contain_text(table["name"][first])


def test_a_file_that_changes_is_told_and_read_again_with_its_policy(project: Project, tmp_path: Path):
    """Jobs read the file themselves: their release would be of other rows than the pages show."""
    path = tmp_path / "t.csv"
    opened(project, pl.DataFrame({"age": [30, 40] * 50, "town": ["A", "B"] * 50}), path)
    project.set("privacy.k", "7")
    assert not project.is_outdated
    assert project.place() == path
    pl.DataFrame({"age": [30, 40, 50] * 50, "town": ["A", "B", "C"] * 50}).write_csv(path)
    assert project.is_outdated
    with pytest.raises(ShoalError, match=r"t\.csv has changed since Studio read it"):
        start_release(project)
    assert "t.csv has changed" in page(project, "roles", QueryParams()).body.decode()
    project.read_again()
    settled(project)
    assert not project.is_outdated
    assert project.frame is not None
    assert project.frame.rows == 150
    assert project.tables["privacy"]["k"] == 7
    path.unlink()
    assert project.is_outdated


def test_another_tab_does_not_take_a_notice_away(project: Project, tmp_path: Path):
    project.open(Source(tmp_path / "missing.csv", "missing.csv"))
    settled(project)
    for screen in ("roles", "data", "roles", "data"):  # two tabs, which show themselves anew
        found = project.notices_on(screen)
        if screen == "data":
            assert "missing.csv" in found[0].words
    project.forget_seen_notices()
    assert not project.notices_on("data")
    project.tell("done", "somewhere")
    assert len(project.notices_on("look")) == len(project.notices_on("look")) == 1
    assert not project.notices_on("data")
    assert not project.notices


def test_a_policy_with_problems_is_called_by_its_own_name(project: Project, tmp_path: Path):
    path = tmp_path / "0123456789.toml"
    path.write_text("a,b\n")
    with pytest.raises(ShoalError) as caught:
        data.take_file(project, path, "visits.toml", QueryParams())
    assert "visits.toml" in str(caught.value)
    assert "0123456789" not in str(caught.value)


def test_the_table_that_was_opened_last_counts(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A slow one that was opened before would take its place, and its work, seconds later."""
    for name in ("slow", "quick"):
        pl.DataFrame({name: [30, 40] * 50}).write_csv(tmp_path / f"{name}.csv")
    go, real = threading.Event(), io.read

    def read(place: Path, *args: object) -> object:
        if place.stem == "slow":
            go.wait(30)
        return real(place, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(io, "read", read)
    project.open(Source(tmp_path / "slow.csv", "slow.csv"))
    project.open(Source(tmp_path / "quick.csv", "quick.csv"))
    settled(project)
    readers = [one for one in threading.enumerate() if one._target == project._read]  # type: ignore[attr-defined]
    assert readers
    go.set()
    for thread in readers:
        thread.join(30)
    assert project.frame is not None
    assert project.frame.columns == ["quick"]
    assert not project.notices
