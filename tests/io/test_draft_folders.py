"""Temporary folders: those of the living stay, those of the dead go."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shoal.io import draft_folders
from shoal.io.draft_folders import LOCK, Draft, DraftFolder, remove_abandoned_folders

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks")

WRITER = """
import sys, time
from pathlib import Path
from shoal.io.draft_folders import DraftFolder
place = DraftFolder(Path(sys.argv[1])).create()
(place / "rows").mkdir()
(place / "rows" / "part-0").write_text("x")
print(place.name, flush=True)
time.sleep(600)
"""


def test_a_draft_is_not_emptied_while_its_writer_locks_it(tmp_path, monkeypatch):
    """Another run looks at a folder that was made and not locked yet, and its writer goes on meanwhile."""
    draft, mkdir, empty = Draft(tmp_path / "release.csv", private=False), Path.mkdir, draft_folders._empty
    draft.path.parent.mkdir(mode=0o700)  # so far its writer has come
    monkeypatch.setattr(Path, "mkdir", lambda self, mode: None if self.exists() else mkdir(self, mode))

    def go_on(folder):
        monkeypatch.setattr(draft_folders, "_empty", empty)
        with draft.create() as file:
            file.write(b"verified")
        empty(folder)

    monkeypatch.setattr(draft_folders, "_empty", go_on)
    remove_abandoned_folders(tmp_path)
    draft.appear(force=True)
    draft.close()
    assert draft.target.read_bytes() == b"verified"
    assert os.listdir(tmp_path) == ["release.csv"]


def test_a_folder_goes_with_its_run_however_that_ends(tmp_path: Path):
    run = subprocess.Popen(
        [sys.executable, "-c", WRITER, tmp_path / "out"], stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    name = run.stdout.readline().strip()
    assert remove_abandoned_folders(tmp_path) == []
    assert sorted(os.listdir(tmp_path / name)) == [LOCK, "rows"]
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert remove_abandoned_folders(tmp_path) == []
    assert not os.listdir(tmp_path)


def test_only_folders_that_nobody_holds_are_removed(tmp_path: Path):
    held, dead, late, link, file = (DraftFolder(tmp_path / "out") for _ in range(5))
    held.create()
    dead.path.mkdir()
    (dead.path / LOCK).touch()
    (dead.path / "part-0").touch()
    (late.path / "rows").mkdir(parents=True)  # tasks of a dead run have written once more
    others = tmp_path / "others"
    others.mkdir()
    (others / "mine").touch()
    link.path.symlink_to(others)
    file.path.touch()
    (tmp_path / f".shoal-{'0' * 24}.out").mkdir()  # without the right checksum
    assert remove_abandoned_folders(tmp_path) == []
    left = {held.path.name, link.path.name, file.path.name, "others", f".shoal-{'0' * 24}.out"}
    assert set(os.listdir(tmp_path)) == left
    assert os.listdir(others) == ["mine"]
    held.close()
    assert set(os.listdir(tmp_path)) == left - {held.path.name}
    assert remove_abandoned_folders(tmp_path / "nowhere") == []


def test_a_folder_without_a_working_lock_is_named(tmp_path: Path, monkeypatch):
    """On such a file system nobody can tell the living from the dead."""
    dead = DraftFolder(tmp_path / "out")
    dead.path.mkdir()
    (dead.path / LOCK).touch()

    def unable(*_given: object) -> None:
        raise OSError(38, "not implemented")

    monkeypatch.setattr(draft_folders.fcntl, "flock", unable)
    assert remove_abandoned_folders(tmp_path) == [dead.path]
    assert dead.path.exists()
    assert DraftFolder(tmp_path / "other").create().exists()


def test_making_and_removing_at_the_same_time(tmp_path: Path):
    """Whoever has a folder keeps it until it is closed, however often others remove what is abandoned."""
    done = threading.Event()

    def remove() -> None:
        while not done.is_set():
            remove_abandoned_folders(tmp_path)

    threads = [threading.Thread(target=remove) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            folder = DraftFolder(tmp_path / "out")
            place = folder.create()
            (place / "rows").mkdir()
            assert (place / LOCK).exists()
            folder.close()
            assert not place.exists()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("free", range(1, 9))
def test_nothing_stays_if_there_are_too_few_descriptors(tmp_path: Path, free: int):
    """Several drafts at once, of which the last does not get its descriptors: removing all of them needs some, too."""
    code = """
import os, resource, sys
from pathlib import Path
from shoal.io.draft_folders import Draft
highest = os.dup(0)
resource.setrlimit(resource.RLIMIT_NOFILE, (highest + int(sys.argv[2]), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
os.close(highest)
drafts = []
try:
    for number in range(9):
        drafts.append(Draft(Path(sys.argv[1]) / f"{number}.csv", private=True))
        with drafts[-1].create() as file:
            file.write(b"rows")
    print("all")
except OSError as error:
    print(error.errno)
for draft in drafts:
    draft.close()
"""
    words = [sys.executable, "-c", code, str(tmp_path), str(free)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == f"{errno.EMFILE}\n"
    left = [name for _, _, names in os.walk(tmp_path) for name in names]
    assert [name for name in left if name != LOCK] == []
    assert free < 2 or not os.listdir(tmp_path)


@pytest.mark.parametrize("when", ["before the lock", "before the file"])
def test_nothing_is_created_behind_a_link_in_the_place_of_the_folder(tmp_path: Path, monkeypatch, when: str):
    """Who may rename folders next to the target can be faster than the writer."""
    own, draft = tmp_path / "own", Draft(tmp_path / "release.csv", private=False)
    own.mkdir()
    inside = DraftFolder.open

    def swapped(folder: DraftFolder, name: str, flags: int, mode: int) -> int:
        if (name == LOCK) == (when == "before the lock"):
            folder.path.rename(tmp_path / "away")
            folder.path.symlink_to(own)
        return inside(folder, name, flags, mode)

    monkeypatch.setattr(DraftFolder, "open", swapped)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        draft.create()
    draft.close()
    assert os.listdir(own) == []


def test_nothing_is_created_in_another_folder_in_the_place_of_the_own_one(tmp_path: Path):
    draft = DraftFolder(tmp_path / "release.csv")
    draft.create().rename(tmp_path / "away")
    draft.path.mkdir()
    (draft.path / LOCK).touch()
    with pytest.raises(OSError, match="in the place of the draft"):
        draft.open("file", os.O_CREAT | os.O_WRONLY, 0o600)
    draft.close()
    assert os.listdir(draft.path) == [LOCK]
