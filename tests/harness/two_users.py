"""A second user of this machine, who tries to get at what belongs to the first.

The first user is the one who runs the tests (root, as only root can start a program as somebody else), the second is
the stranger: another user ID, no groups, no capabilities. The stranger's programs use only the standard library: the
environment of the tests may be closed to other users. Folders of pytest are closed as a whole, which would hide a file
whose own mode is too open: use the fixture `open_folder`.

    @needed
    def test_nobody_else_reads_it(open_folder):
        ...
        assert find_readable([open_folder], [b"Ada"]) == []
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

STRANGER = 61_002
"""The user ID of the stranger. No account needs to exist."""

_SEARCH = """
import json, os, sys
roots, needles = json.load(sys.stdin)
needles = [one.encode("latin-1") for one in needles]
found = []
def look(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            content = file.read(64 << 20)
    except OSError:
        return
    if not needles or any(one in content for one in needles):
        found.append(path)
for root in roots:
    if not os.path.isdir(root):
        look(root)
    for folder, _, names in os.walk(root):
        for name in names:
            look(os.path.join(folder, name))
print(json.dumps(found))
"""
_PROCESSES = """
import json, os, sys
needles = [one.encode("latin-1") for one in json.load(sys.stdin)]
found = []
for number in filter(str.isdecimal, os.listdir("/proc")):
    for name in ("cmdline", "environ", "comm", "maps"):
        try:
            with open(f"/proc/{number}/{name}", "rb") as file:
                content = file.read()
        except OSError:
            continue
        if int(number) != os.getpid() and any(one in content for one in needles):
            found.append(f"/proc/{number}/{name}")
print(json.dumps(found))
"""


def needed(test: Any) -> Any:
    """Mark a test that needs a second user: it is skipped, with a reason, where none can be had."""
    reason = _why_not()
    return pytest.mark.skipif(reason is not None, reason=f"no second user: {reason}")(test)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter and read, with an open umask: what is private in it is so by itself."""
    folder = Path(tempfile.mkdtemp(prefix="two-users-", dir="/tmp"))
    folder.chmod(0o755)
    former = os.umask(0o022)
    yield folder
    os.umask(former)
    shutil.rmtree(folder, ignore_errors=True)


def command_as(uid: int, *arguments: str) -> list[str]:
    """Return the command that runs a program as a user without groups and capabilities."""
    return [
        "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
        "--no-new-privs", "--pdeathsig=KILL", *arguments,
    ]  # fmt: skip


def start_as_stranger(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a program of the stranger: Python code for the standard library, with pipes."""
    words = command_as(STRANGER, _interpreter() or "", "-I", "-c", code, *arguments)
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd="/", env={}, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def run_as_stranger(code: str, *arguments: str, given: str = "", seconds: float = 60) -> str:
    """Run a program of the stranger, and return what it printed. It fails the test if the program itself fails."""
    process = start_as_stranger(code, *arguments)
    try:
        told, said = process.communicate(given, timeout=seconds)
    finally:
        process.kill()
    assert process.returncode == 0, said
    return told


def find_readable(roots: Sequence[Path | str], needles: Sequence[bytes] = ()) -> list[str]:
    """Return files below some folders that the stranger can read; with needles, only those that contain one."""
    asked = [[str(one) for one in roots], [one.decode("latin-1") for one in needles]]
    found: list[str] = json.loads(run_as_stranger(_SEARCH, given=json.dumps(asked)))
    return found


def search_processes(needles: Sequence[bytes]) -> list[str]:
    """Return what the stranger sees of processes, as ``ps`` does, and that contains a needle: files in ``/proc``."""
    asked = [one.decode("latin-1") for one in needles]
    found: list[str] = json.loads(run_as_stranger(_PROCESSES, given=json.dumps(asked)))
    return found


@cache
def _why_not() -> str | None:
    if not sys.platform.startswith("linux"):
        return "setpriv is for Linux"
    if os.geteuid() != 0:
        return "the tests do not run as root"
    if shutil.which("setpriv") is None:
        return "setpriv is not installed: apt-get install util-linux"
    if subprocess.run(command_as(STRANGER, "true"), capture_output=True, check=False).returncode != 0:
        return "this container does not allow another user ID"
    return None if _interpreter() else "no Python that another user can run, such as /usr/bin/python3"


@cache
def _interpreter() -> str | None:
    """Return a Python that the stranger can run."""
    for place in ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable):
        words = command_as(STRANGER, place, "-I", "-c", "import socket, json")
        if Path(place).exists() and subprocess.run(words, capture_output=True, check=False).returncode == 0:
            return place
    return None
