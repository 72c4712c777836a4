"""Drafts: files under temporary names, next to the targets that they will become.

Who writes a draft holds a lock on it, which ends with the process however that ends. So a draft without a lock belongs
to nobody, for example after a power cut or ``kill -9``, and the next one who writes into the folder removes it. The
name of a draft holds a checksum of itself, so that no file of the user is taken for one. Folders under such names are
in `draft_folders.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from shoal.machine.ending import journal

if sys.platform != "win32":  # there, what a killed process has left stays
    import fcntl

_NAME = re.compile(r"\.shoal-([0-9a-f]{24})\..+", re.DOTALL)
_DIGITS = 24
_ENDING = 100
"""How many bytes of its target's name a draft ends in: file systems limit the length of a name in bytes."""


class Draft:
    """A file under a temporary name, which nobody else removes until it is closed."""

    def __init__(self, target: Path, *, private: bool = False) -> None:
        self.target = target
        self.private = private
        self.path = draft_path(target)
        self._held: int | None = None

    def create(self) -> IO[bytes]:
        """Create the file, and return it open for writing."""
        journal.begin(str(self.target.parent))
        while True:
            file = open(self.path, "xb", opener=_own if self.private else None)  # noqa: SIM115 (given back open)
            if sys.platform == "win32":
                return file
            self._held = os.dup(file.fileno())  # holds the lock when the file is closed
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self._held, fcntl.LOCK_EX)
            if os.fstat(self._held).st_nlink:
                return file
            # Somebody took it for abandoned, between its creation and its lock.
            file.close()
            self.close()
            self.path = draft_path(self.target)

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
                self.path.unlink()
                return
        os.replace(self.path, self.target)

    def close(self) -> None:
        """Remove the file, unless it was renamed, and give its lock back."""
        with contextlib.suppress(OSError):  # what stays, the next run removes
            self.path.unlink()
        if self._held is not None:
            held, self._held = self._held, None
            with contextlib.suppress(OSError):
                os.close(held)


def _own(path: str, flags: int) -> int:
    """Open a file that nobody but its owner can read, from the start."""
    return os.open(path, flags, 0o600)


def draft_path(target: Path) -> Path:
    """Return a new temporary name next to a target. It ends like the target, so that it can be read back as such."""
    ending = target.name
    while len(os.fsencode(ending)) > _ENDING:
        ending = ending[1:]
    return target.with_name(f".shoal-{draft_number()}.{ending}")


def is_draft(name: str) -> bool:
    """Return whether a file of this name is a draft."""
    found = _NAME.fullmatch(name)
    return found is not None and is_draft_number(found[1])


def draft_number() -> str:
    """Return a new number that tells drafts from whatever else has such a name, by a checksum of itself."""
    number = secrets.token_hex(8)
    return number + _checksum(number)


def is_draft_number(number: str) -> bool:
    """Return whether a number is that of a draft."""
    return len(number) == _DIGITS and number[16:] == _checksum(number[:16])


def _checksum(number: str) -> str:
    return hashlib.sha256(f"shoal draft {number}".encode()).hexdigest()[:8]


@contextlib.contextmanager
def alone_in(folders: Iterable[Path], seconds: float = 5.0) -> Iterator[None]:
    """Let one process at a time rename files in these folders, so that the files of two runs do not mix.

    Where the system has no such locks, or somebody keeps one for so long, go on without.
    """
    with contextlib.ExitStack() as held:
        stop = time.monotonic() + seconds
        for folder in sorted(set(folders)) if sys.platform != "win32" else ():
            with contextlib.suppress(OSError):
                handle = os.open(folder, os.O_RDONLY)
                held.callback(os.close, handle)
                while not _locked(handle) and time.monotonic() < stop:
                    time.sleep(0.01)
        yield


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remove_abandoned(folders: Iterable[str | Path]) -> None:
    """Remove this user's drafts in these folders that nobody holds any more. What cannot be removed stays."""
    if sys.platform == "win32":
        return
    for folder in folders:
        try:
            found = [name for name in os.listdir(folder) if is_draft(name)]
        except OSError:
            continue
        for name in sorted(found, key=len):
            path = os.path.join(folder, name)
            # Databases write further files next to their own, under longer names: who holds the first, holds all.
            mains = [main for main in found if name != main and name.startswith(main)]
            if any(os.path.exists(os.path.join(folder, main)) for main in mains):
                continue
            with contextlib.suppress(OSError):
                _remove_unheld(path)


def _remove_unheld(path: str) -> None:
    held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(held)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if its writer is alive
            os.unlink(path)
    finally:
        os.close(held)
