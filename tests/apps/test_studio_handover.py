"""The screen Hand over: whose reports are offered, and where files may be written."""

from __future__ import annotations

import json
import shlex
import stat
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

from starlette.datastructures import FormData, QueryParams

import shoal
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.handover import screen as handover
from shoal.apps.studio.handover.items import PAPERS, Item, items, written
from shoal.apps.studio.jobs import Job, Order
from shoal.apps.studio.look.current_release import CARDS, CODEBOOKS, RECORD, Made
from shoal.apps.studio.page import page
from shoal.apps.studio.private_folder import Folder
from shoal.apps.studio.project import Project
from shoal.documents.report.build_report import EDITIONS
from shoal.errors import ShoalError
from shoal.policy import Policy
from shoal.release.conclusion import Conclusion
from shoal.release.record import card_markdown
from shoal.support.wording import speak

SUMMARY = {"holds": True, "method": "mondrian", "rows": 100, "suppressed": 0}
POLICY = '[columns.age]\nrole = "quasi"\n\n[privacy]\nk = 5\n'


@pytest.fixture
def project() -> Iterator[Project]:
    found = Project(Folder())
    yield found
    found.close()


def made(folder: Path, output: str = "release.csv") -> Made:
    folder.mkdir(exist_ok=True)
    (folder / output).write_text("age\n20-30\n")
    for name in (RECORD, *CARDS, *CODEBOOKS):
        (folder / name).write_text("")
    return Made(
        folder=folder, output=output, policy=POLICY, summary=SUMMARY, columns=["age"], sections=[],
        conclusion=Conclusion("pass"), loss=0.1, smallest=5, risk_before=1.0, risk=0.2,
    )  # fmt: skip


def test_the_policy_names_the_method_that_auto_chose(project: Project, tmp_path: Path) -> None:
    """What is handed over makes the same release again, without a second search."""
    table = pl.DataFrame({"age": [20 + row % 40 for row in range(80)]})
    asked = Policy.from_keywords(quasi=["age"], k=5, method="auto")
    first = shoal.anonymize(table, asked, seed=3)
    release = replace(made(tmp_path / "one"), policy=asked.to_toml())
    (release.folder / RECORD).write_text(json.dumps(first.record))
    text = next(item.text for item in items(project, release) if item.key == "policy")
    pinned = Policy.from_toml(text)
    assert pinned.method.name == first.method != "auto"
    assert shoal.anonymize(table, pinned, seed=3).table.equals(first.table)


def keys(project: Project, release: Made) -> set[str]:
    return {item.key for item in items(project, release)}


def test_reports_are_offered_with_the_release_that_they_are_about(project: Project, tmp_path: Path):
    """Another release of the same policy, in another format or of a file that has changed, has none yet."""
    first = made(tmp_path / "job-1")
    names = {edition: f"report-{edition}.html" for edition in EDITIONS}
    job = Job(2, Order(PAPERS, "Write the reports", "", {"release": first.path}, POLICY), tmp_path)
    project.jobs._jobs.append(replace(job, state="done", result=names))
    assert {"report-public", "report-private"} <= keys(project, first)
    for second in (made(tmp_path / "job-3"), made(tmp_path / "job-1", "release.parquet")):
        assert not {"report-public", "report-private"} & keys(project, second)


@pytest.mark.parametrize("link", [False, True])
def test_the_original_is_never_written_over(project: Project, tmp_path: Path, link: bool):
    original = tmp_path / "public" / "release.csv"
    original.parent.mkdir()
    original.write_text("age\n23\n")
    folder = tmp_path
    if link:
        folder = tmp_path / "out"
        folder.mkdir()
        (folder / "public").symlink_to(original.parent)
    project.source = Source(original, str(original))
    item = Item("release", "release.csv", "Release", "", True, text="age\n20-30\n")
    with pytest.raises(ShoalError, match="the original"):
        written([item], folder, force=True, inputs={project.source.place: "the original table"})
    assert original.read_text() == "age\n23\n"


@pytest.mark.parametrize("what", ["policy.toml", "zip.csv", "people.csv"])
def test_nothing_that_the_policy_names_is_written_over(project: Project, tmp_path: Path, what: str):
    """A policy that was handed over once and is opened again lies where Studio would write."""
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "zip.csv").write_text("1,*\n2,*\n")
    (folder / "people.csv").write_text("age,zip\n" + "30,1\n40,2\n" * 50)
    policy = folder / "policy.toml"
    policy.write_text(
        '[columns]\nage = "quasi"\nzip = { role = "quasi", hierarchy = "zip.csv" }\n[privacy]\nk = 2\n'
        'presence = [0.1, 0.9]\n[population]\nfile = "people.csv"\n[method]\nname = "mpalm"\n'
    )
    table = tmp_path / "t.csv"
    pl.DataFrame({"age": [30, 40] * 10, "zip": [1, 2] * 10}).write_csv(table)
    project.read(Source(table, "t.csv"), policy)
    release = replace(made(tmp_path / "job-1"), policy=Policy.read(policy).to_toml())
    project.release = release
    before = (folder / what).read_bytes()
    item = next(item for item in items(project, release) if item.name == what)
    form = FormData([("folder", str(tmp_path)), ("force", "on"), ("item", item.key)])
    with pytest.raises(
        ShoalError, match=r"would replace the (policy that you opened|hierarchy of 'zip'|population)"
    ):
        handover._write(project, form)
    assert (folder / what).read_bytes() == before


def test_names_in_a_card_cannot_act_where_it_is_rendered():
    name = "<script>alert(1)</script>|x"
    guarantee = {"model": f"2-diversity of {name}", "required": 2, "reached": 2, "meaning": "as asked"}
    card = {
        "for_publication": True, "made_with": "Shoal", "made_on": "today", "method": "mondrian", "levels": None,
        "rows_published": 9, "share_suppressed_at_most": 0.0, "classes": 1, "measures": {},
        "guarantees": [guarantee],
        "columns": [{"name": name, "role": "sensitive", "published": "as it is", "loss": None}],
    }  # fmt: skip
    text = card_markdown(card)
    assert "<" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;\\|x") == 2


@pytest.mark.parametrize("change", [{"conclusion": Conclusion("fail")}])
def test_nothing_of_a_release_that_must_not_be_published_is_public(
    project: Project, tmp_path: Path, change: dict[str, Any]
):
    """Look says not to publish it; Hand over put it into the folder for what may leave."""
    original = tmp_path / "t.csv"
    pl.DataFrame({"age": [30, 40] * 50}).write_csv(original)
    project.read(Source(original, "t.csv"))
    good = made(tmp_path / "job-1")
    project.release = good
    assert "Public: may leave" in page(project, "handover", QueryParams()).body.decode()
    project.release = bad = replace(good, **change)
    project.store["handed"] = "downloaded"
    assert not [item.name for item in items(project, bad) if item.public]
    shown = page(project, "handover", QueryParams()).body.decode()
    assert "Do not publish this release" in shown
    assert "Public: may leave" not in shown
    assert handover.state(project).mark == "problem"


def test_the_commands_name_files_where_they_are_handed_over(project: Project, tmp_path: Path):
    project.source = Source(tmp_path / "0123.csv", "my people.csv", kept=True)
    found = {item.key: item for item in items(project, made(tmp_path / "job-1"))}
    named = {word for word in shlex.split(found["command"].text, comments=True) if "/" in word}
    assert named == {found[key].place for key in ("release", "policy", "record")}
    assert "'my people.csv'" in found["command"].text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_private_files_are_their_owners_alone_in_a_folder_that_was_there(tmp_path: Path):
    (tmp_path / "private").mkdir(mode=0o755)
    chosen = [
        Item("policy", "policy.toml", "Policy", "", False, text=POLICY),
        Item("release", "release.csv", "Release", "", True, text="age\n20-30\n"),
    ]
    private, public = written(chosen, tmp_path, force=False)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(public.stat().st_mode) != 0o600
    speak("studio")
    try:
        with pytest.raises(ShoalError, match="the box 'replace files that exist'"):
            written(chosen, tmp_path, force=False)
    finally:
        speak("python")


def test_a_release_is_written_into_a_database_and_verified_there(project: Project, tmp_path: Path):
    import sqlite3
    import time

    from starlette.datastructures import FormData

    people = tmp_path / "people.csv"
    people.write_text("age,ill\n" + "".join(f"{20 + at % 9},{'ab'[at % 2]}\n" for at in range(60)))
    project.read(Source(people, "people.csv"))
    for action, fields in (
        ("look", {}),
        ("handover", {"address": f"sqlite:///{tmp_path / 'out.db'}", "table": "public people"}),
    ):
        if action == "look":
            from shoal.apps.studio.look.current_release import start_release

            start_release(project)
        else:
            handover.ACTIONS["database"](project, FormData(fields))
        end = time.monotonic() + 120
        while project.jobs.active:
            assert time.monotonic() < end
            time.sleep(0.05)
    job = project.jobs.latest("store")
    assert job is not None
    assert job.state == "done", job.error
    with sqlite3.connect(tmp_path / "out.db") as opened:
        rows = opened.execute('SELECT age, ill FROM "public people"').fetchall()
    assert len(rows) + job.result["summary"]["suppressed"] == 60
    assert "stored" in {item.key for item in items(project, project.release)}
    shown = bytes(page(project, "handover", QueryParams()).body).decode()
    assert "Written to public people" in shown
    with pytest.raises(ShoalError, match="password"):
        handover.ACTIONS["database"](
            project, FormData({"address": "postgresql://me:secret@host/db", "table": "t"})
        )
