"""A Studio in a process of its own, and a browser that uses it as a person would.

``studio`` is a fixture: ``visit = studio("patients.csv")`` starts Studio and opens its link. After the test, the visit
fails if the browser complained (errors of scripts, of the content security policy, of the server) or asked any other
host. A test that provokes a complaint removes it: ``visit.complaints.clear()``.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE = 30_000
"""Milliseconds that an expectation may take on a busy machine."""
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking")
REPOSITORY = Path(__file__).parents[2]


@dataclass
class Visit:
    """A browser tab with Studio in it."""

    page: Page
    address: str
    """Where Studio is, without a slash at the end."""
    process: subprocess.Popen[str]
    said: Path
    """What Studio wrote to its standard error."""
    complaints: list[str] = field(default_factory=list)

    def go(self, screen: str) -> Page:
        """Open a screen by its address, and wait until its script answers and no table is being read."""
        from playwright.sync_api import expect

        self.page.goto(f"{self.address}/{screen}")
        expect(self.page.locator("body[data-script] #work:not([data-ready])")).to_have_count(0)
        expect(self.page.get_by_text("Reading ", exact=False).filter(has_text="..")).to_have_count(0)
        return self.page

    def watch(self) -> None:
        """Note what the browser complains about, and requests to other hosts."""
        page = self.page
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        page.on("console", self._told)
        page.context.on("request", lambda request: self._asked(request.url))

    def _told(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _asked(self, url: str) -> None:
        if not url.startswith((f"{self.address}/", "data:", "blob:", "about:")):
            self.complaints.append(f"request to another host: {url}")

    def leave(self) -> None:
        """Close the tab and end Studio."""
        with contextlib.suppress(Exception):
            self.page.context.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("Studio did not end within 20 s of Ctrl-C") from None


def chromium() -> str:
    """Return Debian's Chromium, or skip the test."""
    pytest.importorskip("playwright", reason="playwright is not installed: pip install 'shoal[dev]'")
    pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    return found


@contextlib.contextmanager
def opened_browser() -> Iterator[Browser]:
    """Start Chromium."""
    place = chromium()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=place, args=list(FLAGS))
        try:
            yield started
        finally:
            started.close()


@contextlib.contextmanager
def visited(browser: Browser, folder: Path, *arguments: object, **context: Any) -> Iterator[Visit]:
    """Start Studio in a folder, with the arguments of its command, and open its link in a new tab."""
    said = folder / "studio-stderr.txt"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "SHOAL_DEBUG": "1"}
    command = [sys.executable, "-m", "shoal", "studio", *map(str, arguments), "--no-browser"]
    with said.open("w") as error:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=error, text=True
        )
    assert process.stdout is not None
    link = re.search(r"http://\S+", process.stdout.readline())
    assert link is not None, said.read_text()
    page = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | context)).new_page()
    page.set_default_timeout(PATIENCE)
    visit = Visit(page, link[0].split("/?")[0], process, said)
    visit.watch()
    try:
        page.goto(link[0])
        page.wait_for_url(f"{visit.address}/data")  # its scripts are there, too
        yield visit
    finally:
        visit.leave()
    assert not visit.complaints, "\n".join([*visit.complaints, said.read_text()])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests of one file: while it runs, this thread has an event loop that other tests would meet."""
    with opened_browser() as started:
        yield started


@pytest.fixture
def studio(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """Start Studio: ``studio(DATA, "-p", POLICY)``; options of the browser's context by keyword."""
    with contextlib.ExitStack() as stack:
        yield lambda *arguments, **context: stack.enter_context(
            visited(browser, tmp_path, *arguments, **context)
        )
