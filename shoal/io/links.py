"""Where an output goes: through links of this user and of root, and never through a link that somebody else made.

In a folder where everybody can write, such as ``/tmp``, another user can make a link with the name of an output, or of
a folder on the way to it. Following it would write, or with ``--force`` replace, any file of the user who runs Shoal.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from shoal.errors import OutputError

_MOST_LINKS = 40
"""As many as Linux follows."""


def follow_links(path: str | Path) -> Path:
    """Return the path of an output without links, as ``os.path.realpath`` does; parts that do not exist stay.

    Raises `OutputError` at a link that neither this user nor root has made.
    """
    if sys.platform == "win32":  # where only administrators make links
        return Path(os.path.realpath(path))
    place, left, links = Path("/"), [*reversed(Path(path).absolute().parts)], 0
    while left:
        part = left.pop()
        if part == "..":
            place = place.parent
            continue
        place = place / part if part[0] != "/" else Path("/")
        try:
            found = place.lstat()
        except (OSError, ValueError):
            continue
        if not stat.S_ISLNK(found.st_mode):
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OutputError(f"{path}: the link {place} leads to itself, or to too many others; remove it")
        if found.st_uid not in (0, os.geteuid()):
            raise OutputError(
                f"{path}: {place} is a link that somebody else made (user ID {found.st_uid}, and yours is "
                f"{os.geteuid()}); Shoal writes only through links of yours and of root: name the place that it leads "
                "to, or choose another one"
            )
        left += reversed(Path(os.readlink(place)).parts)
        place = place.parent
    return place
