"""The private folder of one Studio: uploads and releases lie in it, and it goes when Studio ends.

Who uses a folder holds a lock on it, which ends with the process however that ends. So a folder without a lock was left
by a Studio that was killed, and the next one removes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from shoal.support.machine.shutdown import journal

if sys.platform != "win32":
    import fcntl

_PREFIX = "shoal-studio-"


class Folder:
    """A folder that only this user can enter, and that is gone after `close`."""

    def __init__(self) -> None:
        remove_abandoned()
        self.path, self._held = _make_folder()
        journal.lend(str(self.path))

    def inside(self, name: str) -> Path:
        """Return a new folder in it."""
        path = self.path / name
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def close(self) -> None:
        """Remove it with everything inside."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _make_folder() -> tuple[Path, int | None]:
    """Make a folder and lock it. Until it is locked, another Studio that starts may take it for an abandoned one."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))  # mode 0700
        if sys.platform == "win32":
            return path, None
        held = _lock_folder(path)
        if held is not None:
            return path, held


def _lock_folder(path: Path) -> int | None:
    """Lock a folder; None if another Studio was faster, and removes it."""
    try:
        held = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    taken = False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        taken = True
    except OSError:
        pass  # a file system without locks
    if not taken and path.exists():
        return held
    os.close(held)
    return None


def remove_abandoned() -> None:
    """Remove this user's folders that no Studio uses any more. What cannot be removed stays."""
    if sys.platform == "win32":
        return
    place = tempfile.gettempdir()
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(_PREFIX):
                with contextlib.suppress(OSError):
                    _remove_unheld(os.path.join(place, name))


def _remove_unheld(path: str) -> None:
    held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        found = os.fstat(held)
        if stat.S_IMODE(found.st_mode) == 0o700 and found.st_uid == os.geteuid():
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if its Studio is alive
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(held)
