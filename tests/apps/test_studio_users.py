"""Studio on a machine with other users: they see command lines, read files, connect to ports, and take free ones."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

from tests.apps.test_studio_security import started
from tests.harness.studio import REPOSITORY, browser  # noqa: F401
from tests.harness.two_users import (
    find_readable,
    needed,
    open_folder,  # noqa: F401
    run_as_stranger,
    search_processes,
    start_as_stranger,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAME = "Xaverine Quellenhofer"
TABLE = f"name,age,diagnosis\n{NAME},31,gout\nZeno Ypsilanti,32,flu\n"
CONNECT = """
import http.client, json, sys
port, asked = json.load(sys.stdin)
found = []
for method, path, headers in asked:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    if path.endswith("/events") and answer.status == 200:
        found.append((200, "events"))
        continue
    found.append((answer.status, answer.read().decode("utf-8", "replace")))
print(json.dumps(found))
"""
IMPOSTOR = """
import http.server, json, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(json.dumps([self.command, self.path, dict(self.headers)]), flush=True)
        self.send_response(200)
        if self.path.endswith("/events"):
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b'data: {"version": 999999, "jobs": []}\\n\\n')
            return
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b'<body data-script="/evil.js"><main id="work" data-version="1">TAKEN OVER</main></body>')
    do_POST = do_GET
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer)
print("listening", flush=True)
server.serve_forever()
"""


def ask_as_stranger(port: int, *asked: tuple[str, str, dict[str, str]]) -> list[tuple[int, str]]:
    """Send requests as the stranger, and return the answers."""
    told = run_as_stranger(CONNECT, given=json.dumps([port, asked]))
    return [(status, text) for status, text in json.loads(told)]


@pytest.fixture
def places(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: F811
    """A home and a folder for temporary files that every user may enter, as on a machine with defaults."""
    for name, mode in (("home", 0o755), ("tmp", 0o1777)):
        (open_folder / name).mkdir()
        (open_folder / name).chmod(mode)
    (open_folder / "home" / "private").mkdir(mode=0o700)
    (open_folder / "home" / "private" / "people.csv").write_text(TABLE)
    monkeypatch.setenv("HOME", str(open_folder / "home"))
    monkeypatch.setenv("TMPDIR", str(open_folder / "tmp"))
    return open_folder


@pytest.fixture
def with_browser(places: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """A Studio that has started a browser: a program that keeps running with what it was given to open."""
    fake = places / "browser"
    number = str(places / "pid")
    fake.write_text(
        f"#!{sys.executable}\nimport os, time\nopen({number!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{fake} %s &")
    command = [sys.executable, "-m", "shoal", "studio", str(places / "home" / "private" / "people.csv")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}
    )
    yield process
    process.send_signal(signal.SIGINT)
    process.wait(20)
    os.kill(int((places / "pid").read_text()), signal.SIGKILL)


def read_last_argument(number: Path) -> str:
    """Return the last argument of the process with the number in a file, as ps shows it."""
    for _ in range(300):
        if number.exists() and number.read_text():
            return Path("/proc", number.read_text(), "cmdline").read_text().split("\0")[-2]
        time.sleep(0.1)
    raise AssertionError("no browser was started")


@needed
def test_another_user_does_not_get_in(places: Path, with_browser: subprocess.Popen[str]) -> None:
    import httpx

    assert with_browser.stdout is not None
    link = re.search(r"http://127\.0\.0\.1:(\d+)(/[\w-]+)/\?token=(\S+)", with_browser.stdout.readline())
    assert link is not None
    port, root, token = int(link[1]), link[2], link[3]
    file = Path(read_last_argument(places / "pid").removeprefix("file://"))
    assert token in file.read_text()
    # The stranger: processes, files, the port.
    assert search_processes([token.encode(), root.encode()]) == []
    assert search_processes([str(file).encode()]) != []  # sees the browser
    assert find_readable([places], [token.encode(), root.encode(), NAME.encode()]) == []
    assert find_readable([file]) == []
    asked = [
        ("GET", path, {"host": f"127.0.0.1:{port}"})
        for path in (
            "/",
            "/data",
            "/?token=",
            "/events",
            "/data/rows?first=0",
            f"/{'A' * 43}/data",
            "//",
            "/static/studio.js",
        )
    ]
    for status, text in ask_as_stranger(port, *asked):
        assert (status, NAME in text, "Open the link" in text) == (403, False, True)
    # The user whose Studio it is: the file leads to the link, and goes.
    with httpx.Client(timeout=30) as client:
        assert client.get(link[0]).status_code == 200
        assert not file.parent.exists()
        for _ in range(300):
            page = client.get(f"http://127.0.0.1:{port}{root}/data/rows?first=0")
            if NAME in page.text:
                break
            time.sleep(0.1)
        assert NAME in page.text
        # Even with the used link, the stranger stays outside; and uploads are private.
        own = {"origin": f"http://127.0.0.1:{port}", "x-file-name": "more.csv"}
        client.post(f"http://127.0.0.1:{port}{root}/upload/data", headers=own, content=TABLE.encode())
    answers = ask_as_stranger(port, ("GET", f"{root}/?token={token}", {}), ("GET", f"{root}/data", {}))
    assert [status for status, _ in answers] == [403, 403]
    assert find_readable([places], [NAME.encode(), token.encode()]) == []


@needed
def test_a_log_that_others_can_read_does_not_have_the_link(places: Path) -> None:
    log = places / "studio.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal", "studio", "--no-browser"], stdout=stream,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, cwd=places,
        )  # fmt: skip
    try:
        while not (found := re.search(r"file://(\S+)\n", log.read_text())):
            assert process.poll() is None
            assert "http://" not in log.read_text()
            time.sleep(0.05)
        assert "token=" in Path(found[1]).read_text()
        assert find_readable([places], [b"token="]) == []
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
    assert not list((places / "home").glob("shoal-studio*"))


@needed
def test_who_takes_the_port_of_an_ended_studio_gets_nothing_that_opens_another(
    browser: Browser,  # noqa: F811
    places: Path,
) -> None:
    from playwright.sync_api import expect

    table = str(places / "home" / "private" / "people.csv")
    first, first_link = started(places / "tmp", table)
    second, second_link = started(places / "tmp", table)
    old, new = (re.search(r":(\d+)(/[\w-]+)/", link) for link in (first_link, second_link))
    assert old is not None
    assert new is not None
    context = browser.new_context()
    impostor = None
    try:
        tab, other = context.new_page(), context.new_page()
        for page, link in ((tab, first_link), (other, second_link)):
            page.goto(link)
            expect(page.get_by_role("cell", name=NAME)).to_be_visible()
        first.kill()  # it cannot say goodbye
        first.wait(20)
        impostor = start_as_stranger(IMPOSTOR, old[1])
        assert impostor.stdout is not None
        assert impostor.stdout.readline() == "listening\n"
        expect(tab.get_by_role("alert")).to_contain_text("Studio has ended")
        expect(tab.get_by_text("TAKEN OVER")).to_have_count(0)
        # The tab sends nothing more, even if somebody uses it.
        tab.get_by_role("link", name="Roles").first.click()
        tab.get_by_role("button", name="Close Studio").click()
        tab.wait_for_timeout(2500)
        impostor.kill()
        heard = [json.loads(line) for line in impostor.stdout.read().splitlines()]
        assert 1 <= len(heard) <= 3
        assert {(method, path) for method, path, _ in heard} == {("GET", f"{old[2]}/events")}
        assert "shoal" in heard[0][2]["Cookie"]  # that of the Studio that has ended
        values = {cookie.get("path"): cookie.get("value", "") for cookie in context.cookies()}
        assert set(values) == {f"{old[2]}/", f"{new[2]}/"}
        assert values[f"{new[2]}/"] not in json.dumps(heard)
        # All that it heard, on the Studio that runs.
        port = int(new[1])
        host = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}"}
        asked = [
            (method, path, {**headers, **host})
            for _, heard_path, headers in heard
            for method, path in (
                ("GET", "/data"), ("GET", "/data/rows?first=0"), ("GET", heard_path), ("GET", f"{new[2]}/data"),
                ("GET", f"{new[2]}/data/rows?first=0"), ("POST", f"{new[2]}/studio/close"), ("POST", "/studio/close"),
            )
        ]  # fmt: skip
        for status, text in ask_as_stranger(port, *asked):
            assert (status, NAME in text) == (403, False)
        other.reload()
        expect(other.get_by_role("cell", name=NAME)).to_be_visible()
        expect(other.get_by_role("alert")).to_have_count(0)
    finally:
        context.close()
        for process in (first, second, impostor):
            if process is not None and process.poll() is None:
                process.kill()
                process.communicate(timeout=20)


def test_a_browser_opens_studio_through_the_file(browser: Browser, tmp_path: Path, monkeypatch) -> None:  # noqa: F811
    """From file:// to http://, and the cookie is kept."""
    from playwright.sync_api import expect

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BROWSER", "true %s")
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", "studio"], stdout=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    context = browser.new_context()
    try:
        assert process.stdout is not None
        link = process.stdout.readline().split()[-1]
        (file,) = tmp_path.glob("*/open-studio.html")
        page = context.new_page()
        page.goto(file.as_uri())
        page.wait_for_url(f"{link.partition('?')[0]}data")
        expect(page.get_by_role("heading", name="Data", exact=True)).to_be_visible()
        assert not file.exists()
    finally:
        context.close()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def test_a_tab_stops_asking_when_studio_has_ended(browser: Browser, tmp_path: Path) -> None:  # noqa: F811
    from playwright.sync_api import expect

    process, link = started(tmp_path)
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(link)
        page.wait_for_url(f"{link.partition('?')[0]}data")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        process.send_signal(signal.SIGINT)
        expect(page.get_by_role("alert")).to_contain_text("Studio has ended")
        process.communicate(timeout=20)
        tried = len(asked)
        page.wait_for_timeout(2500)
        assert 0 < tried == len(asked) < 10
    finally:
        context.close()
        if process.poll() is None:
            process.kill()
