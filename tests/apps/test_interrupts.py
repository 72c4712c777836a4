"""Ctrl-C at random moments of every command: it ends within two seconds, with all its processes and without a trace.

The tables are large enough for kernels to run for seconds, which heed no signal.
"""

from __future__ import annotations

import fcntl
import os
import random
import subprocess
import sys
import termios
import time

import polars as pl
import pytest

import shoal
from shoal.apps import samples
from tests.harness.commands import (
    END,
    HOME,
    INTERRUPT,
    KILL,
    at_work,
    descendants,
    drafts,
    end,
    gone,
    start,
    wait_for,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

ROWS = 30_000
POLICY = ("-p", "census.toml")
ANONYMIZE = ("anonymize", "census.parquet", *POLICY, "-o", "out/release.csv", "--record", "out/record.json")
COMMANDS = {
    "agglomerative": (*ANONYMIZE, "--method", "agglomerative"),
    "forest": (*ANONYMIZE, "--method", "forest"),
    "parts": (*ANONYMIZE, "--method", "agglomerative", "--set", "engine.part_rows=3000", "--set", "engine.jobs=2"),
    "improve": (*ANONYMIZE, "--method", "agglomerative", "--set", "method.improve=true"),
    "full-domain by dm": (*ANONYMIZE, "--method", "full-domain", "--set", "utility.measure=dm"),
    "k-k": (*ANONYMIZE, "--method", "k-k", "--set", "privacy.notion=k-k"),
    "auto": (*ANONYMIZE, "--method", "auto"),
    "compare": ("compare", "census.parquet", *POLICY, "-o", "out/trials"),
    "compare in parallel": ("compare", "census.parquet", *POLICY, "--jobs", "2"),
    "explain": ("explain", "census.parquet", *POLICY, "--seconds", "60"),
    "attack": ("attack", "made.csv", "--original", "census.parquet", *POLICY),
    "membership": ("attack", "made.csv", "--original", "census.parquet", *POLICY, "--name", "membership",
                   "--population", "people.parquet"),
    "audit": ("audit", "made.csv", "--original", "census.parquet", *POLICY),
    "report": ("report", "made.csv", "--original", "census.parquet", *POLICY, "-o", "out/report.html"),
    "network": ("network", "anonymize", "--nodes", "nodes.csv", "--edges", "edges.csv",
                "-p", "nodes.toml", "-o", "out/masked"),
    "init": ("init", "census.parquet", "-o", "out/policy.toml"),
    "sample": ("sample", "census", "--rows", "3000000", "-o", "out/sample.csv"),
    "demo": ("demo",),
}  # fmt: skip


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupts")
    samples.write_sample("census", ROWS, folder / "census.parquet")
    data = samples.sample("census", ROWS)
    shoal.anonymize(data, folder / "census.toml").table.write_csv(folder / "made.csv")
    pl.concat([data, samples.sample("census", 2 * ROWS, seed=1)]).write_parquet(folder / "people.parquet")
    data.head(3000).with_row_index("id").write_csv(folder / "nodes.csv")
    pairs = {tuple(sorted(random.Random(i).sample(range(3000), 2))) for i in range(9000)}
    (folder / "edges.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in sorted(pairs)))
    text = (folder / "census.toml").read_text()
    (folder / "nodes.toml").write_text('[columns.id]\nrole = "identifier"\n' + text)
    return folder


def begun(tables, name):
    for path in (tables / "out").iterdir() if (tables / "out").is_dir() else ():
        raise AssertionError(f"{path} was left")
    (tables / "out").mkdir(exist_ok=True)
    words = COMMANDS[name]
    if name == "demo":
        return start(tables / "out", module="shoal.apps.cli.demo")
    return start(tables, *words)


def clear(folder):
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_ends_within_two_seconds_of_ctrl_c(tables, name, request):
    thorough = request.config.getoption("--thorough")
    chance = random.Random(name)
    clear(tables / "out")
    for turn in range(4 if thorough else 1):
        process = begun(tables, name)
        wait_for(process, lambda process=process: at_work(process))
        time.sleep(chance.random() * (8 if thorough else 1.5))
        processes = descendants(process.pid)
        sent, code = [(INTERRUPT, 130), (END, 143)][turn % 2]
        ended = end(process, sent, whole_group=bool(chance.random() < 0.5))
        assert "Traceback" not in ended.told
        assert ended.code in (0, code), ended.told  # 0: it was done before
        assert ended.seconds < 2
        assert ended.code == 0 or "interrupted; " in ended.told
        if ended.code and COMMANDS[name][0] not in ("compare", "demo") and "already" not in ended.told:
            assert not any((tables / "out").iterdir())
        assert gone(processes)
        assert not drafts(tables)
        clear(tables / "out")


@pytest.mark.parametrize("name", ["compare in parallel", "parts"])
def test_workers_end_with_a_command_that_is_killed(tables, name):
    clear(tables / "out")
    process = begun(tables, name)
    wait_for(process, lambda: len(descendants(process.pid)) >= 3)
    time.sleep(1.5)
    processes = descendants(process.pid)
    assert len(processes) >= 3
    end(process, KILL, whole_group=False)
    assert gone(processes)


def test_ctrl_c_comes_before_or_after_all_files_of_a_release(tables):
    """It is sent while files appear, which is made to last for half a second."""
    script = (
        "import os, sys, time; real = os.link\n"
        "def slow(*paths): time.sleep(0.25); real(*paths); open('moved', 'a').close()\n"
        "os.link = slow\n"
        "sys.argv = ['shoal', *sys.argv[1:]]\n"
        "from shoal.apps.cli import main; main()"
    )
    clear(tables / "out")
    (tables / "slow.py").write_text(script)
    words = (
        "anonymize",
        "../census.parquet",
        "-p",
        "../census.toml",
        "-o",
        "release.csv",
        "--record",
        "r.json",
    )
    (tables / "out").mkdir(exist_ok=True)
    process = start(
        tables / "out", *words, module="slow", environment={"PYTHONPATH": f"{tables}:{os.getcwd()}"}
    )
    wait_for(process, (tables / "out" / "moved").exists)
    ended = end(process, INTERRUPT)
    assert ended.code == 130
    assert "already written: " in ended.told
    assert {path.name for path in (tables / "out").iterdir()} == {"moved", "release.csv", "r.json"}
    clear(tables / "out")


def test_a_second_ctrl_c_ends_at_once(tables):
    clear(tables / "out")
    process = begun(tables, "agglomerative")
    wait_for(process, lambda: at_work(process))
    process.send_signal(INTERRUPT)
    assert end(process, INTERRUPT).seconds < 1
    clear(tables / "out")


def test_ctrl_c_on_a_terminal_gives_the_cursor_back(tables):
    clear(tables / "out")
    own, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "shoal", *COMMANDS["agglomerative"]],
        cwd=tables, env={**os.environ, "PYTHONPATH": HOME, "TERM": "xterm"}, stdin=terminal, stdout=terminal,
        stderr=terminal, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(terminal)
    told = b""
    while b"starting" not in told and b"read" not in told:  # the bar hides the cursor
        told += os.read(own, 4096)
    os.write(own, b"\x03")
    assert process.wait(timeout=20) == 130
    told = os.read(own, 1 << 16)
    assert told.rstrip().endswith(b"interrupted; nothing was written")
    assert b"\x1b[?25h" in told
    os.close(own)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_standard_streams_may_be_closed(tables, tmp_path, closed):
    def close():
        for handle in closed:
            os.close(handle)

    words = ("sample", "census", "--rows", "20", "-o", str(tmp_path / "sample.csv"))
    command = [sys.executable, "-P", "-m", "shoal", *words]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": HOME}, preexec_fn=close, check=False)
    assert done.returncode == 0
    assert (tmp_path / "sample.csv").read_text().count("\n") == 21


OWING = """
import sys, time
from pathlib import Path
from shoal.apps.cli.messages import report_error
from shoal.apps.cli.supervisor import supervise
supervise()
from shoal.support.machine.shutdown import journal
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # as a library may do
there, stubborn = Path(sys.argv[1]), len(sys.argv) > 2
try:
    with journal.owe(str(there)):
        try:
            there.touch()
            while True:
                time.sleep(0.01)
        finally:
            while stubborn:
                time.sleep(0.01)
            time.sleep(0.3)
            there.unlink()
            journal.settle(str(there))
except KeyboardInterrupt:
    report_error(journal.describe_interrupt(), "Interrupted", 130)
    sys.exit(130)
"""
"""Work that has made something where nobody else can remove it."""


@pytest.mark.parametrize(("sent", "code"), [(INTERRUPT, 130), (END, 143)])
@pytest.mark.parametrize("everybody", [False, True])
def test_work_removes_what_nobody_else_can(tmp_path, sent, code, everybody):
    """Also if the terminal sends Ctrl-C to all its processes."""
    there = tmp_path / "there"
    process = subprocess.Popen(
        [sys.executable, "-c", OWING, there], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(process, there.exists)
    if everybody:
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    _, told = process.communicate(timeout=60)
    assert process.returncode == code
    assert "interrupted; nothing was written" in told
    assert not there.exists()


def test_a_second_ctrl_c_does_not_wait_and_names_what_stays(tmp_path):
    there = tmp_path / "there"
    process = subprocess.Popen(
        [sys.executable, "-c", OWING, there, "stubborn"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(process, there.exists)
    process.send_signal(INTERRUPT)
    time.sleep(0.5)
    process.send_signal(INTERRUPT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"{there} could not be removed, and holds rows that were not verified" in " ".join(told.split())
