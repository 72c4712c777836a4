"""Files that are run when they are loaded: whose they may be, and what a damaged one becomes."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from shoal.support.machine.trusted_files import (
    is_trusted_folder,
    make_own_folder,
    own_home,
    read_trusted,
    write_trusted,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and owners")
as_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files to somebody else"
)
SOMEBODY = 61_002


@pytest.fixture
def place():
    """A folder in a place that everyone can enter; pytest's own are closed."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_file_comes_back_and_only_its_owner_can_read_it(tmp_path):
    before = os.umask(0)
    try:
        write_trusted(tmp_path / "a.nbc", b"content")
    finally:
        os.umask(before)
    assert read_trusted(tmp_path / "a.nbc") == b"content"
    assert (tmp_path / "a.nbc").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a.nbc"]


def test_a_damaged_or_renamed_file_is_none(tmp_path):
    path = tmp_path / "a.nbc"
    write_trusted(path, b"content")
    whole = path.read_bytes()
    damaged = [whole[:-1], whole + b"x", b"", whole[:20]]
    damaged += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(len(whole))]
    for content in damaged:
        path.write_bytes(content)
        assert read_trusted(path) is None
    path.write_bytes(whole)
    assert read_trusted(path) == b"content"
    assert read_trusted(path.rename(tmp_path / "b.nbc")) is None
    assert read_trusted(tmp_path / "missing") is None
    assert read_trusted(tmp_path) is None


def test_a_pipe_is_none_at_once_and_is_replaced(tmp_path):
    """Opened in the usual way, a pipe waits for somebody who writes into it."""
    path = tmp_path / "a.nbc"
    os.mkfifo(path)
    assert read_trusted(path) is None
    write_trusted(path, b"content")
    assert read_trusted(path) == b"content"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_none(tmp_path, mode):
    write_trusted(tmp_path / "a.nbc", b"content")
    (tmp_path / "a.nbc").chmod(mode)
    assert read_trusted(tmp_path / "a.nbc") is None


def test_a_link_is_not_followed(tmp_path):
    write_trusted(tmp_path / "a.nbc", b"content")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.nbc").symlink_to(tmp_path / "a.nbc")
    assert read_trusted(tmp_path / "other" / "a.nbc") is None


def test_a_folder_is_trusted_if_others_can_change_nothing_on_the_way_to_it(place):
    shared, own = place / "shared", place / "shared" / "own"
    own.mkdir(parents=True, mode=0o700)
    assert is_trusted_folder(own)
    shared.chmod(0o777)
    assert not is_trusted_folder(own)  # others could put another folder in its place
    shared.chmod(0o775)
    assert not is_trusted_folder(own)
    shared.chmod(0o1777)
    assert is_trusted_folder(own)
    assert not is_trusted_folder(shared)
    shared.chmod(0o775)
    place.chmod(0o700)  # nobody comes there
    assert is_trusted_folder(own)
    own.chmod(0o777)
    assert not is_trusted_folder(own)


def test_a_link_leads_to_the_folder_that_counts(place):
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    (place / "open" / "own").mkdir(mode=0o700)
    (place / "link").symlink_to(place / "open" / "own")
    assert not is_trusted_folder(place / "link")


@as_root
def test_what_belongs_to_somebody_else_is_not_trusted(place):
    own, file = place / "theirs" / "own", place / "a.nbc"
    own.mkdir(parents=True, mode=0o700)
    write_trusted(file, b"content")
    os.chown(file, SOMEBODY, SOMEBODY)
    os.chown(place / "theirs", SOMEBODY, SOMEBODY)
    assert read_trusted(file) is None
    assert not is_trusted_folder(own)


def test_a_folder_is_made_for_its_owner_with_those_on_the_way(place):
    before = os.umask(0)
    try:
        make_own_folder(place / "a" / "b")
        make_own_folder(place / "a" / "b")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (place / "a", place / "a" / "b")] == [0o700, 0o700]


@as_root
def test_nothing_is_made_in_a_folder_of_somebody_else(place, monkeypatch):
    """As sudo with the HOME of another user would, also below a folder that an earlier run has made there."""
    theirs, left = place / "theirs", place / "theirs" / "left"
    left.mkdir(parents=True)
    os.chown(theirs, SOMEBODY, SOMEBODY)
    (place / "link").symlink_to(theirs)
    for folder in (theirs / "a", theirs / "a" / "b", left / "a", place / "link" / "a", theirs, left):
        with pytest.raises(PermissionError):
            make_own_folder(folder)
    assert os.listdir(theirs) == ["left"]
    assert os.listdir(left) == []
    for home, expected in ((theirs, None), (place / "none", None), (left, str(left))):
        monkeypatch.setenv("HOME", str(home))
        assert own_home() == expected
