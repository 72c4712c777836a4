"""Commands as processes of their own, to be interrupted, killed, starved and run side by side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import shoal

HOME = str(Path(shoal.__file__).parents[1])
DRAFT = ".shoal-"


@dataclass(frozen=True)
class Ended:
    code: int
    told: str
    """Standard error."""
    seconds: float
    """From the signal to the end."""


def start(folder: Path, *words: str, module: str = "shoal", **options) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": HOME, **options.pop("environment", {})}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *map(str, words)],
        cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True, **options,
    )  # fmt: skip


def run(folder: Path, *words: str, **options) -> Ended:
    process = start(folder, *words, **options)
    _, told = process.communicate(timeout=120)
    return Ended(process.returncode, told, 0.0)


def wait_for(process: subprocess.Popen[str], what, seconds: float = 60.0) -> None:
    """Wait until something is so, or the process has ended."""
    stop = time.monotonic() + seconds
    while process.poll() is None and not what() and time.monotonic() < stop:
        time.sleep(0.002)


def at_work(process: subprocess.Popen[str]) -> bool:
    """Whether the process has begun its work, in a second process."""
    return bool(descendants(process.pid))


def end(process: subprocess.Popen[str], sent: int, *, whole_group: bool = True) -> Ended:
    """Send a signal: to the group as a terminal does, or to the process alone as ``kill`` does."""
    began = time.monotonic()
    if process.poll() is None:
        (os.killpg if whole_group else os.kill)(process.pid, sent)
    _, told = process.communicate(timeout=60)
    return Ended(process.returncode, told, time.monotonic() - began)


def descendants(pid: int) -> set[int]:
    """All living processes that a process has started, directly or through others."""
    parent_of = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parent_of[int(entry.name)] = int(parent)
    found: set[int] = set()
    todo = [pid]
    while todo:
        one = todo.pop()
        todo += [child for child, parent in parent_of.items() if parent == one and child not in found]
        found.update(todo)
    return found


def gone(pids: set[int], seconds: float = 2.0) -> bool:
    """Whether these processes have ended, or end within some seconds."""
    stop = time.monotonic() + seconds
    while True:
        alive = [pid for pid in pids if _alive(pid)]
        if not alive or time.monotonic() > stop:
            return not alive
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def drafts(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(DRAFT)]


INTERRUPT, END, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
