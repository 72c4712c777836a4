"""Folders under temporary names, which hold what is written until it is verified. Only their owner can enter them.

So nobody else reads a draft, nor a file that a library writes next to it, such as the journal of a database, whatever
the mode of these files is.

Who writes into a folder holds a lock on a file in it, because not every file system locks folders. The lock is there
before anything else, and goes last. So a folder whose lock nobody holds, or that has none, is what a dead run has left,
for example after a power cut or ``kill -9``, and the next run that writes next to it removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import time
from pathlib import Path
from typing import IO

from shoal.frames.drafts import draft_path, is_draft, shorten_name
from shoal.machine.ending import journal

if sys.platform != "win32":  # there, what a killed process has left stays
    import fcntl

LOCK = ".lock"
"""The file that the writer of a folder holds."""
_PATIENCE = 2.0
"""Seconds in which others may still write into a folder that is being removed: tasks that were told to stop."""


class DraftFolder:
    """A folder under a temporary name next to its target, which nobody else removes until it is closed."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = draft_path(target)
        self._held: int | None = None

    def create(self) -> Path:
        """Make the folder and lock it. Until it is locked, another run may take it for an abandoned one."""
        while True:
            journal.lend(str(self.path))  # whoever ends this process removes it
            self.path.mkdir(mode=0o700)
            try:
                self._held = os.open(self.path / LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
                if sys.platform == "win32":
                    return self.path
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(self._held, fcntl.LOCK_EX)
                if os.fstat(self._held).st_nlink:
                    return self.path
            except FileNotFoundError:
                pass
            self.close()
            self.path = draft_path(self.target)

    def close(self) -> None:
        """Remove the folder with all that is in it, and give its lock back. What stays, the next run removes."""
        until = time.monotonic() + _PATIENCE
        while self.path.exists():
            with contextlib.suppress(OSError):
                _empty(self.path)
                if sys.platform != "win32":
                    (self.path / LOCK).unlink(missing_ok=True)
                    self.path.rmdir()
            if time.monotonic() > until or sys.platform == "win32":
                break
            if self.path.exists():
                time.sleep(0.05)
        if self._held is not None:
            held, self._held = self._held, None
            with contextlib.suppress(OSError):
                os.close(held)
        if sys.platform == "win32":  # which removes no file that is open
            shutil.rmtree(self.path, ignore_errors=True)
        if not self.path.exists():
            journal.settle(str(self.path))


class Draft:
    """A file in a folder of its own under a temporary name, which nobody else removes until it is closed."""

    def __init__(self, target: Path, *, private: bool) -> None:
        self.target = target
        self.private = private
        self._folder = DraftFolder(target)

    @property
    def path(self) -> Path:
        """Where the file is. It ends like its target, so that it can be read back as such."""
        return self._folder.path / f"draft-{shorten_name(self.target.name)}"

    def create(self) -> IO[bytes]:
        """Create the file, and return it open for writing. Only its owner will ever read a private one."""
        self._folder.create()
        return open(self.path, "xb", opener=_open_private if self.private else None)

    def appear(self, *, force: bool) -> None:
        """Rename the file to its target, or raise FileExistsError if there is one and it may not be replaced."""
        if not force:
            try:
                os.link(self.path, self.target)  # at once, so that of two runs only one can have it
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                if self.target.exists():
                    raise FileExistsError from None
            else:
                return
        os.replace(self.path, self.target)

    def close(self) -> None:
        """Remove the file, unless it was renamed, with its folder."""
        self._folder.close()


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def remove_abandoned_folders(parent: Path) -> list[Path]:
    """Remove this user's temporary folders that nobody holds any more; return those that stay although no writer of
    theirs is known to be alive."""
    stay = []
    try:
        found = [entry for entry in os.scandir(parent) if is_draft(entry.name)]
        found = [entry for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    for entry in found:
        path = Path(entry.path)
        if sys.platform == "win32":
            stay.append(path)
            continue
        try:
            if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                _remove_unheld(path)
        except (BlockingIOError, FileNotFoundError):
            pass  # its writer is alive, or somebody else has removed it
        except OSError:
            stay.append(path)
    return stay


def _remove_unheld(path: Path) -> None:
    try:
        held = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        # Its writer has not come so far, or tasks of a dead run have written once more.
        _empty(path)
        try:
            path.rmdir()
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:  # now its writer has come so far
                raise
        return
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if its writer is alive
        _empty(path)
        (path / LOCK).unlink()
        path.rmdir()
    finally:
        os.close(held)


def _empty(path: Path) -> None:
    """Remove everything from a folder but its lock."""
    for entry in os.scandir(path):
        if entry.name == LOCK:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
