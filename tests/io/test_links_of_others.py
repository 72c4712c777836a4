"""Outputs in folders where others can write: links, folders and files that somebody else put there are not used."""

from __future__ import annotations

import os
import shutil
import sys

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal import io
from shoal.apps.cli import main
from shoal.apps.studio.handover.items import Item, written
from shoal.errors import OutputError
from shoal.io import draft_folders
from shoal.io.databases import DatabaseTable
from shoal.io.draft_folders import LOCK, Draft, DraftFolder, remove_abandoned_folders
from shoal.io.links import follow_links
from shoal.network.masked import make_folder
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from tests.harness.two_users import STRANGER, needed, open_folder, run_as_stranger

__all__ = ["open_folder"]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX owners")

AS_ROOT = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give links to somebody else"
)
POLICY = Policy.from_keywords(quasi=["age"], sensitive=["ill"], k=5)
PEOPLE = pl.DataFrame({"age": [20 + i % 4 for i in range(40)], "ill": ["flu", "gout", "cold", "flu"] * 10})


@pytest.fixture
def shared(open_folder):
    """A folder where everybody may write, as /tmp, next to the data and a folder of files of this user."""
    place = open_folder / "shared"
    place.mkdir()
    place.chmod(0o1777)
    PEOPLE.write_csv(open_folder / "data.csv")
    (open_folder / "policy.toml").write_text(POLICY.to_toml())
    (open_folder / "own").mkdir()
    (open_folder / "own" / "diary").write_text("mine")
    return place


def link(place, target):
    """Make a link that belongs to the stranger."""
    place.symlink_to(target)
    os.lchown(place, STRANGER, STRANGER)
    return place


def only_diary(shared) -> bool:
    own = shared.parent / "own"
    return os.listdir(own) == ["diary"] and (own / "diary").read_text() == "mine"


@AS_ROOT
@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("what", ["release", "record", "card", "codebook"])
def test_no_file_of_a_release_is_written_through_a_link_of_somebody_else(shared, what, folder):
    data = shared.parent / "data.csv"
    names = {"release": "r.csv", "record": "record.json", "card": "card.md", "codebook": "codebook.md"}
    paths = {one: shared.parent / name for one, name in names.items()}
    if folder:
        paths[what] = link(shared / "there", shared.parent / "own") / names[what]
    else:
        paths[what] = link(shared / names[what], shared.parent / "own" / "diary")
    words = ["anonymize", data, "-p", shared.parent / "policy.toml", "-o", paths["release"], "--force"]
    for one in ("record", "card", "codebook"):
        words += [f"--{one}", paths[one]]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code not in (0, 70), done.output
    assert f"is a link that somebody else made (user ID {STRANGER}, and yours is 0)" in done.stderr
    assert only_diary(shared)
    assert not any(path.exists() for one, path in paths.items() if one != what)


@AS_ROOT
def test_no_document_is_written_through_a_link_of_somebody_else(shared):
    data, policy, release = (shared.parent / name for name in ("data.csv", "policy.toml", "r.csv"))
    anonymize_file(data, POLICY, release)
    file = link(shared / "x.csv", shared.parent / "own" / "diary")
    there = link(shared / "there", shared.parent / "own")
    for words in (
        ["report", release, "-p", policy, "--original", data],
        ["report", release, "-p", policy, "--original", data, "--private"],
        ["attack", release, "-p", policy, "--original", data],
        ["assess", data, "-p", policy],
        ["init", data],
        ["sample", "patients"],
    ):
        for place in (file, there / "x.csv"):
            given = [*map(str, words), "-o", str(place), "--force"]
            done = CliRunner().invoke(main, given)
            assert done.exit_code not in (0, 70), given
            assert "is a link that somebody else made" in done.stderr, (given, done.stderr)
            assert only_diary(shared)


@AS_ROOT
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize("exists", [False, True])
def test_no_database_is_written_through_a_link_of_somebody_else(shared, kind, exists):
    own = shared.parent / "own" / "people.db"
    if exists:
        anonymize_file(shared.parent / "data.csv", POLICY, DatabaseTable(f"{kind}:///{own}", "before"))
    content = own.read_bytes() if exists else None
    target = DatabaseTable(f"{kind}:///{link(shared / 'r.db', own)}", "after")
    with pytest.raises(OutputError, match="link that somebody else made"):
        anonymize_file(shared.parent / "data.csv", POLICY, target, force=True)
    with io.Outbox(force=True) as box, pytest.raises(OutputError, match="link that somebody else made"):
        box.publish(PEOPLE, target)
    assert (own.read_bytes() if own.exists() else None) == content


@AS_ROOT
def test_no_folder_is_made_through_a_link_of_somebody_else(shared):
    there = link(shared / "there", shared.parent / "own")
    data, release = shared.parent / "data.csv", shared.parent / "r.csv"
    anonymize_file(data, POLICY, release)
    item = Item(key="x", name="x.txt", title="x", about="", public=True, text="x")
    for place in (there, there / "new"):
        for make in (
            lambda place=place: make_folder(place / "network"),
            lambda place=place: shoal.evidence(release, POLICY, original=data, output=place / "pack"),
            lambda place=place: shoal.compare(data, POLICY, methods=["mondrian"], folder=place),
            lambda place=place: written([item], place / "files", force=True),
        ):
            with pytest.raises(OutputError, match=r"link that somebody else made|there is no folder"):
                make()
    assert only_diary(shared)


@AS_ROOT
def test_a_folder_of_trials_of_somebody_else_is_not_used(shared):
    """Its owner could read the trials, and has perhaps written some."""
    made = "import os, sys; os.umask(0); os.makedirs(sys.argv[1])"
    for name in ("empty", "with"):
        run_as_stranger(made, str(shared / name / "trials"))
        with pytest.raises(
            OutputError, match=f"belongs to somebody else \\(user ID {STRANGER}, and yours is 0"
        ):
            shoal.compare(shared.parent / "data.csv", POLICY, methods=["mondrian"], folder=shared / name)
        assert os.listdir(shared / name) == ["trials"]
        assert os.listdir(shared / name / "trials") == []
    linked = shared.parent / "linked"
    linked.mkdir()
    link(linked / "trials", shared.parent / "own")
    with pytest.raises(OutputError, match="link that somebody else made"):
        shoal.compare(shared.parent / "data.csv", POLICY, methods=["mondrian"], folder=linked)
    assert only_diary(shared)


@AS_ROOT
def test_links_are_followed_as_the_system_does(shared):
    own, deep = shared.parent / "own", shared.parent / "own" / "deep"
    deep.mkdir()
    (shared / "a").symlink_to("../own/deep")  # of root, who runs the tests
    (shared / "b").symlink_to("a/../diary")  # ".." of what the link leads to
    (shared / "c").symlink_to(shared / "missing" / "x")
    (shared / "loop").symlink_to("loop")
    for path in ("a", "b", "c", "a/new/file", "a/../../data.csv", "../shared/./b", "none/../b", "//a"):
        assert str(follow_links(shared / path)) == os.path.realpath(shared / path)
    with pytest.raises(OutputError, match="leads to itself"):
        follow_links(shared / "loop")
    link(own / "theirs", deep)
    (shared / "d").symlink_to(own / "theirs" / "x")  # through another link
    for path in (own / "theirs", own / "theirs" / "x", shared / "d", own / "theirs" / ".." / "diary"):
        with pytest.raises(OutputError, match="link that somebody else made"):
            follow_links(path)


def test_relative_names_are_those_of_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(follow_links("a/../b.csv")) == os.path.realpath("a/../b.csv")


@pytest.mark.parametrize("force", [False, True])
def test_a_draft_that_was_replaced_does_not_appear(tmp_path, force):
    """Who may rename folders next to the target puts another folder in the place of the draft's."""
    target, secret = tmp_path / "release.csv", tmp_path / "secret"
    secret.write_text("mine")
    secret.chmod(0o600)
    if force:
        target.write_text("before")
        target.chmod(0o666)
    for plant in (lambda place: place.symlink_to(secret), lambda place: place.write_text("forged")):
        draft = Draft(target, private=False)
        with draft.create() as file:
            file.write(b"verified")
        draft.path.parent.rename(tmp_path / "away")
        draft.path.parent.mkdir()
        plant(draft.path)
        with pytest.raises(OSError, match="another file in the place of the draft"):
            draft.appear(force=force)
        draft.close()
        assert secret.stat().st_mode & 0o777 == 0o600
        assert target.read_text() == "before" if force else not target.exists()
        assert (tmp_path / "away" / draft.path.name).read_text() == "verified"
        shutil.rmtree(tmp_path / "away")


def test_a_release_whose_draft_was_replaced_is_an_error(tmp_path):
    def publish_and_swap(box, target):
        box.publish(PEOPLE, target)
        (draft,) = tmp_path.glob(".shoal-*")
        draft.rename(tmp_path / "away")
        shutil.copytree(tmp_path / "away", draft)

    for target in (tmp_path / "release.csv", DatabaseTable(f"sqlite:///{tmp_path}/r.db", "people")):
        with (
            pytest.raises(OutputError, match="another file in the place of the draft"),
            io.Outbox() as box,
        ):
            publish_and_swap(box, target)
        assert not list(tmp_path.glob("r*"))
        for left in list(tmp_path.iterdir()):
            shutil.rmtree(left)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_database_that_appeared_in_the_meantime_stays(tmp_path, kind):
    def publish_and_write(box):
        box.publish(PEOPLE, DatabaseTable(f"{kind}:///{tmp_path}/r.db", "people"))
        (tmp_path / "r.db").write_text("mine")

    with pytest.raises(OutputError, match=r"r\.db was created in the meantime"), io.Outbox() as box:
        publish_and_write(box)
    assert os.listdir(tmp_path) == ["r.db"]
    assert (tmp_path / "r.db").read_text() == "mine"


@pytest.mark.parametrize("linked", [False, True])
def test_closing_a_draft_empties_no_other_folder(tmp_path, linked):
    own = tmp_path / "own"
    own.mkdir()
    (own / "diary").touch()
    draft = DraftFolder(tmp_path / "release.csv")
    draft.create().rename(tmp_path / "away")
    if linked:
        draft.path.symlink_to(own)
    else:
        own.rename(draft.path)
        (draft.path / LOCK).touch()
    draft.close()
    assert (draft.path / "diary").exists()


def test_removing_abandoned_folders_stays_in_the_folder_that_was_looked_at(tmp_path, monkeypatch):
    """Between the look at a folder and its removal, a link may take its place."""
    own, dead = tmp_path / "own", DraftFolder(tmp_path / "x" / "release.csv").path
    own.mkdir()
    dead.mkdir(parents=True)
    for place in (own, dead):
        (place / "diary").touch()
        (place / LOCK).touch()
    remove = draft_folders._remove_unheld

    def swapped(path, *given):
        path.rename(tmp_path / "away")
        path.symlink_to(own)
        remove(path, *given)

    monkeypatch.setattr(draft_folders, "_remove_unheld", swapped)
    remove_abandoned_folders(dead.parent)
    assert sorted(os.listdir(own)) == [LOCK, "diary"]


@AS_ROOT
def test_a_file_that_is_replaced_gives_no_more_permissions_than_its_owner_may(shared):
    before = os.umask(0o027)
    try:
        for owner, mode, expected in ((0, 0o666, 0o666), (STRANGER, 0o6666, 0o640), (STRANGER, 0o600, 0o600)):
            path = shared / f"{owner}-{mode:o}.csv"
            path.write_text("before")
            os.chown(path, owner, owner)
            path.chmod(mode)
            io.write(PEOPLE, path, force=True)
            assert path.stat().st_mode & 0o7777 == expected
    finally:
        os.umask(before)


@needed
def test_the_stranger_leads_no_release_to_a_file_of_this_user(shared):
    """From end to end, with a link that the stranger has really made."""
    make = "import os, sys; os.symlink(sys.argv[2], sys.argv[1])"
    run_as_stranger(make, str(shared / "release.csv"), str(shared.parent / "own" / "diary"))
    words = ["anonymize", shared.parent / "data.csv", "-p", shared.parent / "policy.toml", "--force"]
    done = CliRunner().invoke(main, [*map(str, words), "-o", str(shared / "release.csv")])
    assert done.exit_code not in (0, 70)
    assert "name the place that it leads to" in done.stderr
    assert only_diary(shared)
