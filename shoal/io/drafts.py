"""Names of drafts: what is not verified yet is under a temporary name, next to the target that it will become.

The name holds a checksum of itself, so that no file of the user is taken for a draft. Drafts are in
`draft_folders.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

if sys.platform != "win32":  # there, what a killed process has left stays
    import fcntl

_NAME = re.compile(r"\.shoal-([0-9a-f]{24})\..+", re.DOTALL)
_DIGITS = 24
_ENDING = 100
"""How many bytes of its target's name a draft ends in: file systems limit the length of a name in bytes."""


def draft_path(target: Path) -> Path:
    """Return a new temporary name next to a target."""
    return target.with_name(f".shoal-{draft_number()}.{shorten_name(target.name)}")


def shorten_name(name: str) -> str:
    """Return the end of a name, short enough for a file system even if something stands before it."""
    while len(os.fsencode(name)) > _ENDING:
        name = name[1:]
    return name


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
                while not _try_lock(handle) and time.monotonic() < stop:
                    time.sleep(0.01)
        yield


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
