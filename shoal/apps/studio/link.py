"""The link that opens Studio: it works once, for a short time, and other users of this machine do not see it.

``ps`` shows the command line of every browser to every user. So a browser is started with the address of a file that
only this user can read, and the file leads on to the link.
"""

from __future__ import annotations

import html
import os
import secrets
import shutil
import tempfile
import time
from pathlib import Path

from shoal.support.machine.shutdown import journal
from shoal.support.machine.trusted_files import own_home

SECONDS = 15 * 60
"""How long the link works."""
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Shoal Studio</title><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={link}"></head>
<body><p><a href="{link}">Open Shoal Studio</a></p></body></html>
"""


class Link:
    """A link to an address of Studio, with a token that can be used once."""

    def __init__(self, address: str) -> None:
        self._token: str | None = secrets.token_urlsafe(32)
        self._until = time.monotonic() + SECONDS
        self._folder: str | None = None
        self.url = f"{address}?token={self._token}"

    def use(self, token: str) -> bool:
        """Whether a token opens Studio. If so, no token does any more."""
        if self._token is None or time.monotonic() > self._until:
            return False
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return False
        self._token = None
        self.remove_file()
        return True

    def write_file(self) -> Path:
        """Write the file that leads to the link, and return its path. It goes as soon as the link is used.

        It is in the home folder and not hidden: browsers in a sandbox, such as those of snap, can read nothing else.
        """
        try:
            self._folder = tempfile.mkdtemp(prefix="shoal-studio-link-", dir=own_home())  # mode 0700
        except OSError:  # a home that cannot be written to
            self._folder = tempfile.mkdtemp(prefix="shoal-studio-link-")
        journal.lend(self._folder)
        path = Path(self._folder, "open-studio.html")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(PAGE.format(link=html.escape(self.url)))
        return path

    def remove_file(self) -> None:
        """Remove the file, if there is one."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
