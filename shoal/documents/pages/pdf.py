"""From a page to PDF, by the print of a browser that is installed; Shoal itself brings none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from shoal.errors import OutputError
from shoal.support.machine.trusted_files import own_home

NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
    "microsoft-edge-stable", "msedge", "brave-browser",
)  # fmt: skip
"""Programs that print as Chromium does."""
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
"""Where they are if no path leads to them."""
SECONDS = 120
MISSING = (
    "a PDF needs Chromium, Chrome or Edge, and none was found. Install one (Debian: `apt install chromium`), or write "
    "the page as HTML and print it from any browser"
)


def browser() -> str | None:
    """Return the program that prints, or None if there is none."""
    named = (shutil.which(name) for name in NAMES)
    placed = (place for place in PLACES if Path(place).is_file())
    return next((found for found in (*named, *placed) if found), None)


def check_browser() -> str:
    """Return the program that prints, or raise `OutputError` that says what to install. Call this before long work."""
    found = browser()
    if found is None:
        raise OutputError(MISSING)
    return found


def pdf_of(html: str) -> bytes:
    """Print a page. The browser gets a folder of its own that only this user can read, and no network."""
    program = check_browser()
    # Some browsers come as a snap, which may not see the system's temporary folder.
    home = own_home() if "snap" in os.path.realpath(program) else None
    with tempfile.TemporaryDirectory(prefix="shoal-print-", dir=home) as name:
        folder = Path(name)
        source, target = folder / "page.html", folder / "page.pdf"
        source.write_text(html, encoding="utf-8")
        command = [
            program, "--headless", "--disable-gpu", "--disable-extensions", "--no-first-run",
            "--disable-background-networking", "--disable-sync", "--no-pdf-header-footer",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}",
            f"--print-to-pdf={target}", source.as_uri(),
        ]  # fmt: skip
        if sys.platform == "linux" and os.geteuid() == 0:
            # Chromium does not start for root otherwise; the page is ours, and has no script.
            command.insert(1, "--no-sandbox")
        try:
            ran = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise OutputError(f"{program} did not print the page within {SECONDS} seconds") from None
        except OSError as error:
            raise OutputError(f"{program} cannot be started: {error.strerror}") from error
        if ran.returncode or not target.is_file():
            words = ran.stderr.decode(errors="replace").strip().splitlines()
            why = words[-1] if words else "no reason given"
            raise OutputError(f"{program} did not print the page (exit code {ran.returncode}): {why}")
        return target.read_bytes()
