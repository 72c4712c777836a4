"""Files that are run when they are loaded: only those that nobody else could have written, and that are undamaged.

Trusted are this user, root, and the owner of Shoal's own code, who can run anything as this user already. A file holds
a digest of its name and content in front of the content, so that a damaged or renamed one is noticed before it is used.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import uuid
from functools import cache
from pathlib import Path

_DIGEST = 32
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@cache
def _owners() -> frozenset[int]:
    return frozenset({0, os.geteuid(), os.stat(__file__).st_uid})


def is_trusted_folder(folder: Path) -> bool:
    """Whether nobody else can change what is in a folder, or put another one in its place.

    Every folder from the root on must belong to somebody trusted. Others may write only where the sticky bit keeps them
    from renaming what is not theirs, or below a folder that they cannot enter.
    """
    if sys.platform == "win32":  # where the user's folders are closed to others by default
        return True
    place, hidden = Path(os.path.realpath(folder)), False
    for part in (*reversed(place.parents), place):
        found = part.stat()
        open_to_others = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
        if found.st_uid not in _owners() or (open_to_others and not hidden):
            return False
        hidden = hidden or (found.st_uid == os.geteuid() and not found.st_mode & _OTHERS)
    return not found.st_mode & _OTHERS_WRITE


def make_own_folder(folder: Path) -> None:
    """Make a folder for this user only, with those on the way to it. Raises `PermissionError`, and makes nothing, if
    that would be in a folder of somebody else, such as a home that ``sudo`` has kept.
    """
    place = Path(os.path.realpath(folder))
    known = [part for part in (place, *place.parents) if part.exists()]
    if sys.platform != "win32" and any(part.stat().st_uid not in (0, os.geteuid()) for part in known):
        raise PermissionError(errno.EPERM, "it is in a folder of somebody else", str(folder))
    for missing in reversed([place, *place.parents][: -len(known)]):
        missing.mkdir(mode=0o700, exist_ok=True)


def own_home() -> str | None:
    """Return the home of this user; None if ``HOME`` names that of somebody else, as ``sudo`` may keep it."""
    home = os.path.expanduser("~")
    try:
        own = sys.platform == "win32" or os.stat(home).st_uid == os.geteuid()
    except OSError:
        return None
    return home if own else None


def read_trusted(path: Path) -> bytes | None:
    """Return the content of a file of `write_trusted`; None if it is missing, damaged, or others could write it."""
    try:
        with open(path, "rb", opener=_open_itself) as file:
            found = os.fstat(file.fileno())
            if sys.platform != "win32" and (found.st_uid not in _owners() or found.st_mode & _OTHERS_WRITE):
                return None
            whole = memoryview(file.read())
    except OSError:
        return None
    content = whole[_DIGEST:]
    return bytes(content) if _digest(path, content) == whole[:_DIGEST] else None


def write_trusted(path: Path, content: bytes) -> None:
    """Write a file for this user. It is moved to its name, so that nobody sees it half written."""
    part = path.with_suffix(f".{uuid.uuid4().hex[:16]}")
    try:
        with open(part, "xb", opener=_open_itself) as file:
            file.write(_digest(path, content) + content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _open_itself(path: str, flags: int) -> int:
    """Open a file, not what a link leads to, and without waiting at a pipe; a new one is for this user only."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o600)


def _digest(path: Path, content: bytes | memoryview) -> bytes:
    found = hashlib.blake2b(path.name.encode(), digest_size=_DIGEST)
    found.update(content)
    return found.digest()
