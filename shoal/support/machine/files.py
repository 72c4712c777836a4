"""Small files as bytes, text and JSON: policies, hierarchies, records and lists. Devices and pipes are not files."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

MOST_TEXT = 1 << 28
"""Bytes of the largest policy, hierarchy, record or list that Shoal reads."""


_OF_THE_SYSTEM = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO,
    errno.ENAMETOOLONG, errno.ELOOP,
)  # fmt: skip
"""What the system lacks or does not allow, whatever the program does."""
_TOO_MANY, _NO_FOLDER = "Too many open files", "No usable temporary directory"
"""What libraries say, with or without the number of an error."""
TOO_FEW_HANDLES = (
    "too many files are open at once: raise the limit of this shell, for example `ulimit -n 1024`"
)
_HANDLES = 8
"""Files that a library may open at once while it reads a table."""


def few_handles_left() -> bool:
    """Whether the system lets this process open only a few more files. A panic of a library does not give its cause,
    and the library may have closed some files again before the panic arrives here."""
    opened: list[int] = []
    try:
        while len(opened) < _HANDLES:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for handle in opened:
            os.close(handle)
    return False


def explain_denial(error: BaseException | None) -> str:
    """Explain which limit or permission of the operating system caused an error; "" if none did."""
    while error is not None:
        number = getattr(error, "errno", None)
        if number in (errno.EMFILE, errno.ENFILE) or _TOO_MANY in str(error):
            return TOO_FEW_HANDLES
        if _NO_FOLDER in str(error):
            return (
                "nothing can be written to a temporary folder: make room there, or set TMPDIR to another one"
            )
        if isinstance(error, OSError) and number in _OF_THE_SYSTEM:
            where = f"{os.fsdecode(error.filename)[:200]}: " if error.filename is not None else ""
            return f"{where}{error.strerror}"
        error = error.__cause__ or error.__context__
    return ""


def why_not_named(path: str | os.PathLike[str]) -> str:
    """Return why libraries that read and write tables cannot open a file of this name; "" if they can."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return "the name of the file, or of a folder that it is in, is not UTF-8; rename it"
    return ""


def check_regular(path: Path) -> None:
    """Raise `OSError` if a path that exists is not a file with an end: a device, a pipe or a socket."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a device, a pipe or a socket; save it as a file first", str(path))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a small file. Raises `OSError` for what is not a file, or has more than `MOST_TEXT`."""
    place = Path(path)
    check_regular(place)
    with place.open("rb") as file:
        content = file.read(MOST_TEXT + 1)
    if len(content) > MOST_TEXT:
        raise OSError(errno.EFBIG, f"it has more than {MOST_TEXT >> 20} MB", str(place))
    return content


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a small file in UTF-8, with or without its mark. Raises `OSError` or `UnicodeDecodeError`."""
    return read_bytes(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return what a small JSON file holds. Raises `OSError` or `ValueError`."""
    try:
        return json.loads(read_text(path))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
