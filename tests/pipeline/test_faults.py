"""Faults by injection: whatever breaks, a file is whole or as it was, nothing is left over, and the message helps.

Everything here runs through the public verbs or the command line. `--thorough` tries more, and kills 200 times.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest

from shoal import io
from shoal.apps import samples
from shoal.errors import DataError, OutputError
from shoal.io.databases import DatabaseTable
from shoal.io.draft_folders import Draft
from shoal.io.drafts import draft_path
from shoal.io.formats import FORMATS, FileFormat
from shoal.io.formats.spss import Spss
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from tests.harness.commands import HOME, KILL, at_work, descendants, drafts, gone, run, start, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses limits and signals of Linux")

MARK = "Zaphod"
"""A value of the data, which no message may show."""
ENDINGS = ("csv", "csv.gz", "tsv", "parquet", "arrow", "jsonl", "xlsx")
OUTPUTS = ("record.json", "card.md")
POLICY = Policy.from_dict(
    {
        "columns": {
            "age": {"role": "quasi", "hierarchy": {"widths": [5, 10]}},
            "name": {"role": "sensitive"},
        },
        "privacy": {"k": 3},
        "method": {"name": "mondrian"},
    }
)
TOML = POLICY.to_toml()


@pytest.fixture
def folder(tmp_path):
    random_ = random.Random(5)
    rows = {
        "age": [random_.randrange(60) for _ in range(300)],
        "name": [f"{MARK}{i % 7}" for i in range(300)],
    }
    pl.DataFrame(rows).write_csv(tmp_path / "data.csv")
    (tmp_path / "policy.toml").write_text(TOML)
    (tmp_path / "out").mkdir()
    return tmp_path


def publish(folder, ending="csv", *, force=False, progress=lambda *_: None):
    out = folder / "out"
    return anonymize_file(
        folder / "data.csv", POLICY, out / f"release.{ending}", record=out / OUTPUTS[0], cards=[out / OUTPUTS[1]],
        force=force, progress=progress,
    )  # fmt: skip


def content(folder):
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def refused(folder, *arguments, says="", **options):
    """Check that a run fails with `OutputError`, and that the folder is as it was."""
    before = content(folder)
    with pytest.raises(OutputError) as error:
        publish(folder, *arguments, **options)
    assert MARK not in str(error.value)
    assert says in str(error.value)
    assert content(folder) == before


@contextlib.contextmanager
def largest_file(size):
    """Let the system refuse files of more bytes, as a full disk does, but for this process alone."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_disk_is_full_at_any_byte(folder, ending, force, request):
    publish(folder, ending, force=True)
    size = max(len(one) for one in content(folder).values())
    if not force:
        for path in (folder / "out").iterdir():
            path.unlink()
    tries = 60 if request.config.getoption("--thorough") else 4
    for limit in sorted({0, 1, *(size * 9 * i // (10 * tries) for i in range(tries + 1))}):
        with largest_file(limit):
            refused(folder, ending, force=force, says="could not be written")
    publish(folder, ending, force=force)


def test_a_full_disk_that_the_writer_did_not_notice_is_named(tmp_path, monkeypatch):
    """The library for SPSS writes a part of the file, and says nothing."""
    monkeypatch.setattr(Spss, "write", lambda _self, _data, path, *_: Path(path).write_bytes(bytes(900)))
    for limit, says in ((1000, "File too large"), (1 << 20, "SPSS does not give back the table")):
        with pytest.raises(OutputError, match=says), largest_file(limit), io.Outbox() as box:
            box.publish(pl.DataFrame({"age": [1, 2]}), tmp_path / "out.sav")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scheme", ["duckdb", "sqlite"])
def test_a_full_disk_is_named_for_a_new_database(tmp_path, scheme):
    target = DatabaseTable(f"{scheme}:///{tmp_path}/out.db", "people")
    says = r"/out\.db, table people: (IO Error|disk)"
    with pytest.raises(OutputError, match=says), largest_file(1000), io.Outbox() as box:
        box.publish(pl.DataFrame({"age": [1, 2]}), target)
    assert not list(tmp_path.iterdir())


class Full:
    """A file on a disk that is full at one of its writes, or when it is flushed or synchronized."""

    def __init__(self, file, left):
        self.file, self.left = file, left

    def _use(self):
        self.left[0] -= 1
        if self.left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(self, *what):
        self._use()
        return self.file.write(*what)

    def flush(self):
        self._use()
        return self.file.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def __getattr__(self, name):
        if name == "fileno":  # so that polars writes here, and not past this object
            raise AttributeError(name)
        return getattr(self.file, name)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_disk_is_full_at_any_write(folder, ending, monkeypatch):
    """Every write and flush of every file in turn, until a run gets through."""
    publish(folder, ending)
    real_create, real_sync = Draft.create, os.fsync
    left = [0]
    monkeypatch.setattr(Draft, "create", lambda draft: Full(real_create(draft), left))
    monkeypatch.setattr(os, "fsync", lambda _handle: None)
    monkeypatch.setattr(Full, "fileno", lambda full: full.file.fileno(), raising=False)
    for turn in range(1, 500):
        left[0] = turn
        before = content(folder)
        try:
            publish(folder, ending, force=True)
        except OutputError as error:
            told = str(error)
        else:
            break
        assert os.strerror(errno.ENOSPC) in told
        assert content(folder) == before
    assert 6 <= turn < 499  # three files, each written and flushed
    monkeypatch.setattr(os, "fsync", real_sync)


@pytest.mark.parametrize("stage", ["read", "anonymize", "measure", "create", "sync", "rename"])
def test_the_folder_is_removed(folder, stage, monkeypatch):
    def remove(*_):
        shutil.rmtree(folder / "out", ignore_errors=True)

    def first(real):
        def then(*given, **named):
            remove()
            return real(*given, **named)

        return then

    if stage == "create":
        monkeypatch.setattr(Draft, "create", first(Draft.create))
    elif stage == "sync":
        monkeypatch.setattr(os, "fsync", first(os.fsync))
    elif stage == "rename":
        monkeypatch.setattr(Draft, "appear", first(Draft.appear))
    with pytest.raises(OutputError) as error:
        publish(folder, progress=lambda now, _share: remove() if now == stage else None)
    assert MARK not in str(error.value)
    assert not (folder / "out").exists()


def without_override():
    """Let permissions hold for the administrator too: drop the right to override them."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP; fails for others, who do not have it


ANONYMIZE = ("anonymize", "data.csv", "-p", "policy.toml", "-o", "out/release.csv", "--force")


def test_the_target_is_made_read_only(folder):
    publish(folder)
    before = content(folder)
    process = start(folder, *ANONYMIZE, preexec_fn=without_override)
    wait_for(process, lambda: at_work(process))
    (folder / "out").chmod(0o555)
    try:
        _, told = process.communicate(timeout=60)
    finally:
        (folder / "out").chmod(0o755)
    assert process.returncode == 6, told
    assert "ermission" in told
    assert MARK not in told
    assert content(folder) == before


def test_a_rename_is_refused(folder, monkeypatch):
    """For example in a folder that only its owner may change, or on a disk that turned read-only."""

    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    publish(folder)
    monkeypatch.setattr(os, "replace", refuse)
    refused(folder, force=True, says=os.strerror(errno.EPERM))


def test_some_files_have_appeared_when_a_rename_is_refused(folder, monkeypatch):
    """Without --force all go again; with it, the message names those that were replaced."""
    real = Draft.appear

    def refuse_the_release(draft, **options):
        if draft.target.name == "release.csv":
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        real(draft, **options)

    monkeypatch.setattr(Draft, "appear", refuse_the_release)
    refused(folder, says="nothing was changed")
    with pytest.raises(OutputError, match=r"already replaced: .*card\.md, .*record\.json"):
        publish(folder, force=True)


@pytest.mark.parametrize("force", [False, True])
def test_two_runs_to_the_same_output_at_once(tmp_path, force, request):
    """Their files never mix: one has all of them, or with --force the last one."""
    names = ("release.csv", "record.json", "card.md")
    for turn in range(300 if request.config.getoption("--thorough") else 60):
        out = tmp_path / str(turn)
        out.mkdir()
        together = threading.Barrier(3)

        def write(who, out=out, together=together):
            with contextlib.suppress(OutputError), io.Outbox(force=force) as box:
                for name in names:
                    box.write_text(out / name, who * 1000)
                together.wait()
                time.sleep(random.random() / 1000)

        threads = [threading.Thread(target=write, args=(who,)) for who in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = {(out / name).read_text() for name in names}
        assert len(found) == 1
        assert found < {who * 1000 for who in "abc"}
        assert sorted(os.listdir(out)) == sorted(names)


def test_two_commands_to_the_same_output_at_once(folder):
    words = (*ANONYMIZE[:-1], "--record", "out/record.json")
    for force in (False, True):
        runs = [start(folder, *words, "--k", k, *(["--force"] if force else [])) for k in ("3", "30")]
        told = [process.communicate(timeout=60)[1] for process in runs]
        codes = sorted(process.returncode for process in runs)
        assert codes == ([0, 0] if force else [0, 6]), told
        k = json.loads((folder / "out" / "record.json").read_text())["verdicts"][0]["required"]
        sizes = pl.read_csv(folder / "out" / "release.csv").group_by("age").len()["len"]
        assert (sizes.min() >= 30) == (k == 30)
        assert set(content(folder)) == {"record.json", "release.csv"}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", [name for name in FORMATS if issubclass(FORMATS[name], FileFormat)])
def test_the_input_changes_while_it_is_read(tmp_path, monkeypatch, name, when):
    kind = FORMATS[name]
    path = tmp_path / f"data{kind.suffixes[0]}"
    longer = tmp_path / f"longer{kind.suffixes[0]}"
    table = pl.DataFrame({"a": [1, 2, 3], "b": [MARK, "x", "y"]})
    io.write(table, path)
    io.write(pl.concat([table, table]), longer)
    io.read(path)
    real = kind.load

    def edit(load):
        def then(self, given, options):
            if when == "before":
                path.write_bytes(longer.read_bytes())
            found = load(self, given, options)
            if when == "after":
                path.write_bytes(path.read_bytes()[:-3])
            return found

        return then

    monkeypatch.setattr(kind, "load", edit(real))
    with pytest.raises(DataError, match="was changed while it was being read; read it again") as error:
        io.read(path)
    assert MARK not in str(error.value)


def test_the_input_is_shortened_or_removed_under_a_command(folder):
    """For real: a large file loses its end, or is gone, at a random moment."""
    data = samples.sample("census", 300_000)
    chance = random.Random(3)
    for what in ("shortened", "removed"):
        data.write_csv(folder / "big.csv")
        words = ("anonymize", "big.csv", "-o", "out/release.csv", "--quasi", "age,race,education", "--k", "3",
                 "--force")  # fmt: skip
        process = start(folder, *words)
        wait_for(process, lambda process=process: at_work(process))
        time.sleep(chance.random())
        if what == "removed":
            (folder / "big.csv").unlink()
        else:
            os.truncate(folder / "big.csv", 5_000_000)
        _, told = process.communicate(timeout=60)
        assert process.returncode in (0, 3), told
        assert "Traceback" not in told
        assert not drafts(folder)
        if process.returncode == 0:  # it was read before, or after
            assert pl.read_csv(folder / "out" / "release.csv").height > 0
            (folder / "out" / "release.csv").unlink()
        assert not content(folder)


def whole(folder, old):
    """Whether the release is the old one or a new one, complete."""
    path = folder / "out" / "release.csv"
    if not path.exists():
        return old is None
    text = path.read_bytes()
    return text == old or (text.endswith(b"\n") and text.count(b"\n") == 3001)


def test_killed_at_random_moments(folder, request):
    """Nothing is half written, no process is left, and the next run removes what was."""
    rows = {"age": [i % 97 for i in range(3000)], "name": [f"{MARK}{i % 7}" for i in range(3000)]}
    pl.DataFrame(rows).write_csv(folder / "data.csv")
    chance = random.Random(8)
    left, old = 0, None
    for turn in range(200 if request.config.getoption("--thorough") else 6):
        process = start(folder, *ANONYMIZE, "--record", "out/record.json")
        if turn % 2:  # while it writes
            wait_for(process, lambda: bool(drafts(folder)))
            time.sleep(chance.random() / 50)
        else:
            wait_for(process, lambda process=process: at_work(process))
            time.sleep(chance.random() * 2)
        processes = descendants(process.pid)
        # Of the two processes, the one that works is as likely to be killed, for example for lack of memory.
        victim = process.pid if chance.random() < 0.5 or not processes else chance.choice(sorted(processes))
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, KILL)
        _, told = process.communicate(timeout=60)
        assert gone(processes)
        if process.returncode not in (0, -KILL):
            assert process.returncode == 1, told
            assert "most likely for lack of memory; no file was left half written" in told
            assert not drafts(folder)
        assert MARK not in told
        assert whole(folder, old)
        left += len(drafts(folder))
        old = (
            (folder / "out" / "release.csv").read_bytes()
            if (folder / "out" / "release.csv").exists()
            else None
        )
        io.write_text(folder / "out" / "other.txt", "next", force=True)
        assert not drafts(folder)
    assert left or turn < 50  # otherwise nothing was tried
    print(f"{turn + 1} kills left {left} drafts")


def test_only_drafts_that_nobody_holds_are_removed(tmp_path):
    abandoned, link = (draft_path(tmp_path / "release.csv") for _ in range(2))
    others = [
        ".shoal-00.release.csv",
        f".shoal-{'0' * 16}.release.csv",
        f".shoal-{'0' * 24}.release.csv",  # without the right checksum
        "shoal-0123456789abcdef.csv",
        f".shoal-{'0' * 16}",
        ".release.csv.part",
    ]
    for other in (abandoned.name, *others):
        (tmp_path / other).mkdir()
        (tmp_path / other / "draft-release.csv").write_text("x")
    link.symlink_to(others[0])
    draft = Draft(tmp_path / "held.csv", private=False)
    with draft.create():
        io.write_text(tmp_path / "a.txt", "a")
    io.write_text(tmp_path / "b.txt", "b")  # its file is closed, and it waits for its name
    assert draft.path.exists()
    assert not abandoned.exists()
    assert {path.name for path in tmp_path.iterdir()} == {
        *others, "a.txt", "b.txt", draft.path.parent.name, link.name,
    }  # fmt: skip
    draft.close()
    assert not draft.path.parent.exists()


def test_nothing_of_the_user_has_the_name_of_a_draft(tmp_path):
    """What the next run would remove is neither written nor read, and a name that only looks alike is safe."""
    draft = draft_path(tmp_path / "release.csv")
    with pytest.raises(OutputError, match="drafts of Shoal"):
        io.check_writable(draft)
    with pytest.raises(OutputError, match=r"the data.*drafts of Shoal.*rename it"):
        io.check_apart({draft: "the data"}, [(tmp_path / "out.csv", "the release")])
    alike = io.write_text(tmp_path / f".shoal-{'a' * 16}.csv", "mine")
    io.write_text(tmp_path / "other.txt", "x")
    assert alike.read_text() == "mine"


def test_names_are_as_long_as_the_file_system_allows(tmp_path):
    for name in ("ä" * 120 + ".csv.gz", "数" * 80 + ".csv", "a" * 250 + ".csv"):
        io.write(pl.DataFrame({"a": [1]}), tmp_path / name)
        assert (tmp_path / name).exists()


IN_A_SHELL = "anonymize d.csv -o o.csv --quasi a --k 2 --seed 1"


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        (f"{IN_A_SHELL} >/dev/full", 6, "could not be shown: No space left on device; written: "),
        (f"{IN_A_SHELL} --json >/dev/full", 6, "could not be shown: No space left on device; written: "),
        (f"{IN_A_SHELL} | true", 141, "nobody reads the output any more; written: "),
        (f"{IN_A_SHELL} --json | true", 141, "nobody reads the output any more; written: "),
        ("methods --json >/dev/full", 6, "could not be shown: No space left on device; no file was written"),
        ("methods | true", 141, ""),
        ("--help >/dev/full", 6, "could not be shown"),
        ("init missing.csv --json >/dev/full", 3, "missing.csv"),
        ("init missing.csv 2>/dev/full", 3, ""),
        ("init --nonsense 2>/dev/full", 2, ""),
    ],
)
def test_a_terminal_that_takes_nothing(tmp_path, command, code, says):
    (tmp_path / "d.csv").write_text("a\n1\n1\n2\n2\n")
    shell = f"set -o pipefail; {sys.executable} -P -m shoal {command}"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tmp_path, env={**os.environ, "PYTHONPATH": HOME}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert bool(done.stderr) == bool(says)
    assert "Traceback" not in done.stderr
    assert (tmp_path / "o.csv").exists() == (IN_A_SHELL in command)


def test_a_pipe_is_no_file_to_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match=r"pipe\.csv is not a regular file"):
        io.read(tmp_path / "pipe.csv")


def _ignore_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def _open_many():
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    while (handle := os.dup(0)) < 1100:
        os.set_inheritable(handle, True)


@pytest.mark.parametrize("before", [_ignore_children, _open_many])
def test_what_a_command_inherits_does_not_hide_how_it_ends(tmp_path, before):
    done = run(tmp_path, "schema", preexec_fn=before, close_fds=False)
    assert (done.code, done.told) == (0, "")
    assert run(tmp_path, "init", "missing.csv", preexec_fn=before, close_fds=False).code == 3


def test_no_place_of_the_user_for_compiled_kernels_and_no_home(folder):
    """They are kept elsewhere, or compiled in the process; the run works, and one line says so. Without optimization,
    some kernels hold addresses of the process and are not kept."""
    nowhere = str(folder / "data.csv" / "no")
    environment = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "XDG_CONFIG_HOME": nowhere,
                   "NUMBA_CACHE_DIR": nowhere, "NUMBA_OPT": "0"}  # fmt: skip
    ended = run(folder, *ANONYMIZE, environment=environment)
    assert ended.code == 0, ended.told
    assert ended.told.count("is not used for compiled kernels") == 1
    assert set(content(folder)) == {"release.csv"}


@pytest.mark.parametrize("megabytes", [120, 150, 500, 1000])
def test_little_memory(folder, megabytes):
    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6,) * 2)

    ended = run(folder, *ANONYMIZE, preexec_fn=limited)
    assert ended.code == 1, ended.told
    assert "memory; no file was left half written. Use a machine with more memory" in ended.told
    assert f"{megabytes / 1000:.1f} GB of addresses (`ulimit -v`)" in ended.told
    assert "Traceback" not in ended.told
    assert MARK not in ended.told
    assert not content(folder)


@pytest.mark.parametrize("most", [6, 9, 10])
def test_too_few_handles_are_said_without_a_stack_trace(folder, most):
    """Some panics of polars do not give their cause, and the file is not damaged."""

    def limited():
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    ended = run(folder, *ANONYMIZE, preexec_fn=limited)
    assert ended.code in (1, 3, 6)
    assert "Traceback" not in ended.told
    assert "too many files are open at once" in ended.told
    assert "ulimit -n" in ended.told
    assert drafts(folder) == []


def test_a_disk_that_takes_nothing_is_said(folder):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    ended = run(folder, *ANONYMIZE, preexec_fn=limited)
    assert ended.code in (1, 6)
    assert "mistake of its own" not in ended.told
    assert drafts(folder) == []


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_what_the_system_denies_is_no_fault_of_shoal(folder, monkeypatch, number):
    from click.testing import CliRunner

    import shoal.pipeline.anonymize
    from shoal.apps.cli import main

    def fail(*_, **__):
        raise OSError(number, os.strerror(number), "somewhere")

    monkeypatch.setattr(shoal.pipeline.anonymize, "anonymize_file", fail)
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(main, ["anonymize", "data.csv", "-p", "policy.toml", "-o", "new.csv"])
    assert result.exit_code == 1
    assert "mistake of its own" not in result.stderr
    assert "no file was left half written" in result.stderr
