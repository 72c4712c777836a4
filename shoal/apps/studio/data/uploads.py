"""Files that are dropped on a page: streamed into Studio's folder, never longer than the limit."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request

from shoal.apps.studio.private_folder import Folder
from shoal.errors import DataError
from shoal.io.formats import suffix_of
from shoal.support.wording import printable

LARGEST = 20 << 30
"""The most bytes that Studio takes as one file. Longer ones can be opened by their path, without a copy."""
_OTHERS = (".toml", ".graphml", ".gml", ".json", ".txt", ".md")
"""Endings of files that are no tables."""


async def receive(request: Request, folder: Folder, largest: int) -> tuple[Path, str]:
    """Take the body of a request as a file, and return where it is and what the user calls it.

    The name that a browser sends is only a name: nothing but a known ending of it becomes part of a path.
    """
    name = (
        printable(unquote(request.headers.get("x-file-name", ""))).replace("\\", "/").rsplit("/", 1)[-1][:200]
    )
    if not name:
        raise DataError("the file has no name")
    ending = suffix_of(name) or next((end for end in _OTHERS if name.lower().endswith(end)), "")
    path = folder.inside("uploads") / f"{secrets.token_hex(8)}{ending}"
    length = request.headers.get("content-length", "")
    taken = int(length) if length.isdecimal() else 0
    try:
        if taken <= largest:
            taken = 0
            with path.open("xb") as file:
                async for part in request.stream():
                    taken += len(part)
                    if taken > largest:
                        break
                    file.write(part)
    except ClientDisconnect:
        path.unlink(missing_ok=True)
        raise DataError(f"the upload of {name} was broken off; drop the file again") from None
    except OSError as error:
        path.unlink(missing_ok=True)
        raise DataError(f"{name} cannot be kept: {error.strerror}; open it by its path instead") from None
    if taken > largest:
        path.unlink(missing_ok=True)
        raise DataError(
            f"{name} has {taken:,} bytes or more, but Studio takes at most {largest:,}; open it by its path instead"
        )
    return path, name
