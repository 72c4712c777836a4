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
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from shoal.io.drafts import draft_path, is_draft, shorten_name
from shoal.support.machine.shutdown import journal

if sys.platform != "win32":  # there, what a killed process has left stays
    import fcntl

LOCK = ".lock"
"""The file that the writer of a folder holds."""
_REPLACED = "somebody put another file in the place of the draft; choose a folder where only you can write"
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
                self._held = self.open(LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
                if sys.platform == "win32":
                    return self.path
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(self._held, fcntl.LOCK_EX)
                if os.fstat(self._held).st_nlink:
                    return self.path
            except (FileNotFoundError, FileExistsError):
                pass
            self.close()
            self.path = draft_path(self.target)

    def open(self, name: str, flags: int, mode: int) -> int:
        """Open a file in the folder itself, and not in what somebody put in its place. Raises `OSError`."""
        if sys.platform == "win32":
            return os.open(self.path / name, flags, mode)
        with _open_folder(self.path) as folder:
            if self._held is not None and not _is_in(folder, LOCK, self._held):
                raise OSError(errno.ESTALE, _REPLACED)
            return os.open(name, flags, mode, dir_fd=folder)

    def close(self) -> None:
        """Remove the folder with all that is in it, and give its lock back. What stays, the next run removes."""
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                self._remove()
        self._release()
        if sys.platform == "win32":  # which removes no file that is open
            shutil.rmtree(self.path, ignore_errors=True)
        if not os.path.lexists(self.path):
            journal.settle(str(self.path))

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            with contextlib.suppress(OSError):
                os.close(held)

    def _remove(self) -> None:
        """Remove the folder that has the lock, and nothing from another one that somebody put in its place."""
        until = time.monotonic() + _PATIENCE
        with _open_folder(self.path) as folder:
            own = self._held is not None and _is_in(folder, LOCK, self._held)
            self._release()  # so that there is a descriptor to list the folder, even if there were none
            while True:
                with contextlib.suppress(OSError):
                    if own:
                        _empty(folder)
                        with contextlib.suppress(FileNotFoundError):
                            os.unlink(LOCK, dir_fd=folder)
                    self.path.rmdir()
                if not own or not self.path.exists() or time.monotonic() > until:
                    return
                time.sleep(0.05)


class Draft:
    """A file in a folder of its own under a temporary name, which nobody else removes until it is closed."""

    def __init__(self, target: Path, *, private: bool) -> None:
        self.target = target
        self.private = private
        self._folder = DraftFolder(target)
        self._file: int | None = None
        """The file that was created, kept open so that no other one has its number."""

    @property
    def path(self) -> Path:
        """Where the file is. It ends like its target, so that it can be read back as such."""
        return self._folder.path / f"draft-{shorten_name(self.target.name)}"

    def create(self) -> IO[bytes]:
        """Create the file, and return it open for writing. Only its owner will ever read a private one."""
        self._folder.create()
        name, mode = self.path.name, 0o600 if self.private else 0o666
        file = open(self.path, "xb", opener=lambda _, flags: self._folder.open(name, flags, mode))  # noqa: SIM115
        try:
            if sys.platform != "win32":  # which renames no file that is open
                self._file = os.dup(file.fileno())
        except OSError:
            file.close()
            raise
        return file

    def appear(self, *, force: bool) -> None:
        """Rename the file to its target, or raise FileExistsError if there is one and it may not be replaced."""
        if sys.platform != "win32":
            self._check_kept()
            if force and not self.private:
                self._take_mode()
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

    def _check_kept(self) -> None:
        """Raise `OSError` if this is not the file that was written: where others may rename folders, they can put
        another one in its place."""
        with _open_folder(self.path.parent) as folder:
            if self._file is None or not _is_in(folder, self.path.name, self._file):
                raise OSError(errno.ESTALE, _REPLACED)

    def _take_mode(self) -> None:
        """Give the file the permissions of the one that it replaces. If that is somebody else's, who could have chosen
        them, they only take permissions away."""
        assert self._file is not None
        try:
            former = self.target.lstat()
        except FileNotFoundError:
            return
        mode = stat.S_IMODE(former.st_mode) & 0o777
        if former.st_uid != os.geteuid():
            mode &= os.fstat(self._file).st_mode
        os.fchmod(self._file, mode)

    def close(self) -> None:
        """Remove the file, unless it was renamed, with its folder."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)
        self._folder.close()


@contextlib.contextmanager
def _open_folder(path: Path) -> Iterator[int]:
    """Open a folder without following symbolic links."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield folder
    finally:
        os.close(folder)


def _is_in(folder: int, name: str, file: int) -> bool:
    """Whether a folder has an open file under this name."""
    return os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(file))


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
            with _open_folder(path) as folder:
                if os.fstat(folder).st_uid == os.geteuid():
                    _remove_unheld(path, folder)
        except (BlockingIOError, FileNotFoundError):
            pass  # its writer is alive, or somebody else has removed it
        except OSError:
            stay.append(path)
    return stay


def _remove_unheld(path: Path, folder: int) -> None:
    # There may be no lock: its writer has not come so far, or tasks of a dead run have written once more. Whoever makes
    # the lock first has the folder; a writer who comes second takes another one.
    held = os.open(LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if its writer is alive
        _empty(folder)
        os.unlink(LOCK, dir_fd=folder)
        path.rmdir()
    finally:
        os.close(held)


def _empty(folder: int) -> None:
    """Remove everything from an open folder but its lock."""
    for entry in os.scandir(folder):
        if entry.name == LOCK:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.name, dir_fd=folder)
        else:
            os.unlink(entry.name, dir_fd=folder)
