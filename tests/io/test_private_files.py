"""Files of one user that another one on the same machine must not read: private ones, and drafts of public ones."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal import io
from shoal.documents.pages import pdf as printing
from shoal.engines.spark import session
from shoal.io.databases import DatabaseTable
from shoal.io.databases.transactions import Pending
from shoal.kernels import compiled
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from tests.harness.two_users import (
    STRANGER,
    find_readable,
    needed,
    open_folder,
    run_as_stranger,
    start_as_stranger,
)
from tests.kernels.test_compiled import Planted, ask, package

__all__ = ["open_folder"]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")

POLICY = Policy.from_dict(
    {
        "columns": {
            "age": {"role": "quasi", "hierarchy": {"widths": [5, 10]}},
            "ward": {"role": "sensitive"},
        },
        "privacy": {"k": 3},
        "method": {"name": "mondrian"},
    }
)
WATCH = """
import json, os, sys, threading
ended, read = threading.Event(), set()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
print("ready", flush=True)
while not ended.is_set():
    for folder, _, names in os.walk(sys.argv[1]):
        for name in names:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    if file.read(1):
                        read.add(path)
            except OSError:
                pass
print(json.dumps(sorted(read)))
"""
"""Read every file that appears below a folder, as fast as possible, until the standard input ends."""


TABLE = pl.DataFrame({"age": [20 + i % 30 for i in range(90)], "ward": [f"w{i % 5}" for i in range(90)]})


@pytest.fixture
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.csv"
    TABLE.write_csv(path)
    return path


def mode_of(path) -> int:
    return path.stat().st_mode & 0o777


@contextmanager
def watched(folder):
    """Let the stranger watch a folder; the list has afterwards what the stranger has read."""
    read: list[str] = []
    stranger = start_as_stranger(WATCH, str(folder))
    assert stranger.stdout is not None
    assert stranger.stdout.readline() == "ready\n"
    try:
        yield read
        told, said = stranger.communicate("", timeout=60)
        assert stranger.returncode == 0, said
        read += json.loads(told)
    finally:
        stranger.kill()


@needed
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "sqlite", "duckdb"])
def test_nobody_else_reads_a_draft_or_the_record(open_folder, data, ending, monkeypatch):
    os.umask(0)
    sync, rename = os.fsync, Pending.rename
    monkeypatch.setattr(os, "fsync", lambda handle: (sync(handle), time.sleep(0.2)))  # long enough to be seen
    monkeypatch.setattr(Pending, "rename", lambda pending: (time.sleep(0.2), rename(pending))[1])
    path = open_folder / f"release.{ending}"
    output = path
    if ending in ("sqlite", "duckdb"):
        output = DatabaseTable(f"{ending}:///{path}", "people")
    with watched(open_folder) as read:
        anonymize_file(
            data, POLICY, output, record=open_folder / "record.json", cards=[open_folder / "card.md"]
        )
        time.sleep(0.3)
    assert set(read) == {str(path), str(open_folder / "card.md")}
    assert mode_of(path) == 0o666
    assert mode_of(open_folder / "record.json") == 0o600
    assert sorted(os.listdir(open_folder)) == sorted([path.name, "record.json", "card.md"])


def test_private_files_are_private_whatever_they_replace(tmp_path, data):
    before = os.umask(0o022)
    try:
        record, release = tmp_path / "record.json", tmp_path / "release.csv"
        anonymize_file(data, POLICY, release, record=record)
        assert (mode_of(release), mode_of(record)) == (0o644, 0o600)
        release.chmod(0o640)
        record.chmod(0o666)
        anonymize_file(data, POLICY, release, record=record, force=True)
        assert (mode_of(release), mode_of(record)) == (0o640, 0o600)
        os.umask(0)
        source = tmp_path / "source"
        source.touch()
        with io.Outbox() as box:
            box.write_text(tmp_path / "text", "x")
            box.copy(source, tmp_path / "copy")
            box.copy(source, tmp_path / "public", private=False)
        assert [mode_of(tmp_path / name) for name in ("text", "copy", "public")] == [0o600, 0o600, 0o666]
    finally:
        os.umask(before)


def test_the_private_report_is_private_and_the_public_one_is_not(tmp_path, data):
    release = tmp_path / "release.csv"
    anonymize_file(data, POLICY, release)
    before = os.umask(0)
    try:
        for edition, mode in (("private", 0o600), ("public", 0o666)):
            made = shoal.report(release, POLICY, original=data, edition=edition)
            made.write(tmp_path / f"{edition}.html")
            assert mode_of(tmp_path / f"{edition}.html") == mode
    finally:
        os.umask(before)


def test_a_draft_is_in_a_folder_that_only_its_owner_enters(tmp_path, monkeypatch):
    seen = []
    before = os.umask(0)
    sync = os.fsync
    monkeypatch.setattr(
        os,
        "fsync",
        lambda handle: (seen.extend(mode_of(one) for one in tmp_path.glob(".shoal-*")), sync(handle)),
    )
    try:
        io.write(TABLE, tmp_path / "release.csv")
    finally:
        os.umask(before)
    assert seen[0] == 0o700


@needed
def test_a_kernel_that_another_user_planted_is_not_run(open_folder):
    """The stranger has made the folder in the shared one first, and knows names and digests of kernels."""
    here, shared = package(open_folder / "here"), open_folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    own = {"NUMBA_CACHE_DIR": str(open_folder / "own"), "XDG_CACHE_HOME": str(open_folder / "cache")}
    ask(here, **own)
    (kernel,) = (open_folder / "own" / "shoal").glob("near.result-*.nbc")
    compiled.write_trusted(kernel, pickle.dumps(Planted()))
    plant = "import os, sys; os.umask(0); os.mkdir(sys.argv[1])\n"
    plant += "open(sys.argv[2], 'wb').write(bytes.fromhex(sys.argv[3]))"
    place = shared / "shoal"
    run_as_stranger(plant, str(place), str(place / kernel.name), kernel.read_bytes().hex())
    assert (place / kernel.name).stat().st_uid == STRANGER
    # What was planted would print, so the answer would not be JSON.
    assert ask(here, **{**own, "NUMBA_CACHE_DIR": str(shared)}) == [[7, 4], [0, 0]]
    assert not find_readable([open_folder / "own", open_folder / "cache"])


@needed
@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"])
def test_no_kernels_are_kept_in_the_home_of_somebody_else(open_folder, variable, monkeypatch):
    """sudo may keep the variables of the user who calls it."""
    here, home, own = package(open_folder / "here"), open_folder / "home", open_folder / "own"
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    own.mkdir()
    monkeypatch.setenv("HOME", str(own))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("TMPDIR", str(open_folder))
    assert ask(here, **{variable: str(home)}) == [[7, 4], [0, 0]]
    assert os.listdir(home) == []


@needed
@pytest.mark.parametrize("owner", [0, STRANGER])
def test_no_page_to_print_is_put_into_the_home_of_somebody_else(open_folder, owner, monkeypatch):
    """A browser that comes as a snap sees only the home, so a page, perhaps a private report, is put there."""
    home, program = open_folder / "home", open_folder / "snap" / "browser"
    home.mkdir()
    os.chown(home, owner, owner)
    program.parent.mkdir()
    # Writes where the PDF goes into the PDF.
    case = 'case "$word" in --print-to-pdf=*) echo "$word" > "${word#*=}";; esac'
    program.write_text(f"#!/bin/sh\nfor word; do {case}; done\n")
    program.chmod(0o755)
    monkeypatch.setattr(printing, "browser", lambda: str(program))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(open_folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    target = printing.pdf_of("<p>x</p>").decode().partition("=")[2]
    assert target.startswith(f"{home}/") == (owner == 0)


def test_duckdb_spills_into_a_folder_for_this_user_that_goes_with_the_process(tmp_path):
    """Its own choice is next to the file, with modes that let everybody read the rows."""
    place, spill = tmp_path / "people.db", tmp_path / "spill"
    spill.mkdir()
    code = """
import os, sys, duckdb
from shoal.io.databases import DatabaseTable
duckdb.connect(sys.argv[1]).execute("CREATE TABLE people AS SELECT 1 AS a")
os.umask(0)
stored = DatabaseTable(f"duckdb:///{sys.argv[1]}", "people")
for writing in (False, True):
    first, second = (stored.database.open_session(stored, writing=writing) for _ in range(2))
    with first as one, second as two:
        for opened in (one, two):
            ((folder,),) = opened.rows("SELECT current_setting('temp_directory')")
            print(os.path.dirname(folder), oct(os.stat(folder).st_mode & 0o777))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)],
        env={**os.environ, "TMPDIR": str(spill)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{spill} 0o700\n" * 4
    assert os.listdir(spill) == []


@pytest.mark.parametrize("given", ["default", "setting", "environment"])
def test_spark_spills_into_folders_for_this_user_that_go_with_the_process(tmp_path, monkeypatch, given):
    """Spark's own folders for shuffles let everybody read the rows."""
    at_exit: list = []
    monkeypatch.setattr(session.atexit, "register", lambda *words: at_exit.append(words))
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    named = f"{tmp_path}/a" if given == "default" else f"{tmp_path}/a, {tmp_path}/b"
    if given == "environment":
        monkeypatch.setenv("SPARK_LOCAL_DIRS", named)
    before = os.umask(0)
    try:
        found = session._private_folders("/nowhere" if given == "environment" else named)
    finally:
        os.umask(before)
    folders = [Path(one) for one in found.split(",")]
    assert [folder.parent.name for folder in folders] == (["a"] if given == "default" else ["a", "b"])
    assert {mode_of(folder) for folder in folders} == {0o700}
    assert os.environ.get("SPARK_LOCAL_DIRS") == (found if given == "environment" else None)
    for work, *words in at_exit:
        work(*words)
    assert not any(folder.exists() for folder in folders)
