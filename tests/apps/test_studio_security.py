"""Who may talk to Studio, what it leaves behind, and what it sends."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

from starlette.testclient import TestClient

import shoal
from shoal.apps.studio.audit import screen as audit
from shoal.apps.studio.data.source import Source
from shoal.apps.studio.private_folder import Folder, remove_abandoned
from shoal.apps.studio.server import Studio
from shoal.support.wording import speak

ROOT = Path(__file__).parents[2]
HOSTILE = [
    "../../etc/passwd",
    "..\\..\\evil.csv",
    "/etc/shadow",
    "a/../../b.csv",
    "%2e%2e%2fx.csv",
    "x\x00.csv",
    ".",
]


@pytest.fixture
def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    """A Studio that is not served, but answers a client in this process."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opened = Studio(largest=1000)
    yield opened
    opened.project.close()
    opened.socket.close()
    speak("python")


def client_of(studio: Studio, **headers: str) -> TestClient:
    return TestClient(
        studio.guard, base_url=studio.link.partition("?")[0], headers=headers, follow_redirects=False
    )


def admitted(studio: Studio) -> TestClient:
    """A client that has used the link, as the browser does."""
    client = client_of(studio)
    answer = client.get(studio.link)
    assert answer.status_code == 200
    return client


def own(studio: Studio) -> dict[str, str]:
    return {"origin": f"http://127.0.0.1:{studio.port}"}


@pytest.mark.parametrize(
    ("form", "given"),
    [
        ("promise/utility", {"suppression": "inf"}),
        ("promise/utility", {"suppression": "1e308"}),
        ("promise/k", {"k": "9" * 299}),
        ("promise/k", {"k": "9" * 400}),
        ("promise/drop", {"entry": "9" * 5000}),
        ("promise/population", {"size": "9" * 5000}),
        ("promise/columns", {"limit-0": "9" * 5000}),
        ("roles/give", {"column": "9" * 5000, "role": "quasi"}),
        ("compare/start", {"ks": f"2,{'9' * 5000}"}),
    ],
)
def test_numbers_that_nobody_means_leave_every_screen_usable(
    tmp_path: Path, studio: Studio, form: str, given: dict[str, str]
) -> None:
    """The policy is kept with its problems, so a page that fails would fail until somebody undoes the step."""
    table = pl.DataFrame({"age": [20, 30] * 40, "ill": ["flu", "cold"] * 40})
    policy = {"columns": {"age": {"role": "quasi"}, "ill": {"role": "sensitive"}}, "privacy": {"k": 2}}
    table.write_csv(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(shoal.Policy.from_dict(policy).to_toml())
    studio.project.read(Source(tmp_path / "people.csv", "people.csv"), tmp_path / "people.toml")
    client = admitted(studio)
    assert client.post(f"/{form}", data=given, headers=own(studio)).status_code == 303
    for screen in ("roles", "hierarchies", "promise", "compare", "handover"):
        assert client.get(f"/{screen}").status_code == 200, screen


def test_without_the_link_nothing_is_answered(studio: Studio) -> None:
    client = client_of(studio)
    for path in ("/", "/data", "/events", "/style.css", "/static/studio.js", "/handover/file?key=release"):
        answer = client.get(path)
        assert answer.status_code == 403, path
        assert "Open the link" in answer.text
    assert client.post("/studio/undo", headers=own(studio)).status_code == 403
    assert client.get("/?token=wrong").status_code == 403


def test_the_link_works_once_and_gives_a_strict_cookie(studio: Studio) -> None:
    link = studio.link
    first = client_of(studio).get(link)
    cookie = first.headers["set-cookie"]
    assert f"Path={studio.guard.root}/;" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client_of(studio).get(link).status_code == 403  # somebody who has seen the link
    assert link not in first.text


def test_the_link_works_for_a_short_time(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.apps.studio import link

    monkeypatch.setattr(link.time, "monotonic", lambda: time.perf_counter() + 10 * link.SECONDS)
    answer = client_of(studio).get(studio.link)
    assert (answer.status_code, "older than 15 minutes" in answer.text) == (403, True)
    assert "set-cookie" not in answer.headers


def test_the_file_with_the_link_is_private_and_goes_when_it_is_used(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = studio.guard.link.write_file()
    assert studio.link in file.read_text()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
    assert client_of(studio).get("/?token=wrong").status_code == 403
    assert file.exists()
    admitted(studio)
    assert not file.parent.exists()


def test_only_an_admitted_browser_sees_the_mark(studio: Studio) -> None:
    """Pages trust an answer with the mark; a program that takes the port later must not have it."""
    mark, client = studio.project.mark, client_of(studio)
    for answer in (client.get("/data"), client.get("/?token=wrong"), client.get(studio.link)):
        assert mark not in answer.text + str(answer.headers)
    for answer in (client.get("/data"), client.get("/style.css"), client.get("/nowhere")):
        assert answer.headers["x-studio-mark"] == mark
    assert f'data-mark="{mark}"' in client.get("/data").text


def test_the_cookie_is_worth_nothing_without_the_path(studio: Studio) -> None:
    """Cookies go to every port of a host."""
    cookie = admitted(studio).cookies["shoal-studio"]
    for path in ("/data", "/", f"/{'x' * 43}/data", "//data"):
        stolen = TestClient(
            studio.guard, base_url=f"http://127.0.0.1:{studio.port}", cookies={"shoal-studio": cookie}
        )
        assert stolen.get(path).status_code == 403, path


def test_the_same_browser_may_open_the_link_again(studio: Studio) -> None:
    link, client = studio.link, client_of(studio)
    assert [client.get(link).status_code for _ in range(2)] == [200, 200]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
def test_foreign_hosts_are_refused(studio: Studio, host: str) -> None:
    client = admitted(studio)
    answer = client.get("/data", headers={"host": host.format(port=studio.port)})
    assert answer.status_code == 421
    assert client.get("/data", headers={"host": f"localhost:{studio.port}"}).status_code == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_only_its_own_pages_may_change_anything(studio: Studio, origin: str | None) -> None:
    client = admitted(studio)
    headers = {} if origin is None else {"origin": origin.format(port=studio.port)}
    for path in ("/studio/undo", "/studio/close", "/data/open", "/upload/data"):
        assert client.post(path, headers=headers).status_code == 403, path
    assert client.post("/studio/undo", headers=own(studio)).status_code == 303
    assert not studio.is_closing


def test_other_sites_may_not_read(studio: Studio) -> None:
    client = admitted(studio)
    for site in ("cross-site", "same-site"):
        assert client.get("/data", headers={"sec-fetch-site": site}).status_code == 403


def test_every_answer_has_the_safe_headers(studio: Studio) -> None:
    client = admitted(studio)
    for answer in (
        client.get("/data"),
        client.get("/nowhere"),
        client_of(studio).get("/data"),
        client.get("/style.css"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_pages_have_nothing_inline(studio: Studio) -> None:
    """The content security policy forbids it; the browser would leave it out."""
    templates = list((ROOT / "shoal" / "apps" / "studio" / "templates").glob("*.html"))
    assert len(templates) > 9
    for path in templates:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\son[a-z]+=", text), path.name
        assert not re.search(r"\sstyle=", text), path.name
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), path.name
        assert not re.search(r"https?://", text), path.name


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_uploads_are_only_names(studio: Studio, name: str, tmp_path: Path) -> None:
    from urllib.parse import quote

    client = admitted(studio)
    before = {path for path in tmp_path.rglob("*") if "shoal-studio-" not in path.as_posix()}
    client.post("/upload/data", headers={**own(studio), "x-file-name": quote(name)}, content=b"a,b\n1,2\n")
    inside = [path for path in studio.project.folder.path.rglob("*") if path.is_file()]
    assert all(re.fullmatch(r"[0-9a-f]{16}(\.[a-z.]+)?", path.name) for path in inside)
    assert {path for path in tmp_path.rglob("*") if "shoal-studio-" not in path.as_posix()} == before
    assert not (ROOT / "evil.csv").exists()


@pytest.mark.parametrize("declared", [True, False])
def test_an_upload_that_is_too_long_is_stopped(studio: Studio, declared: bool) -> None:
    client = admitted(studio)
    sent: list[int] = []

    def parts() -> Iterator[bytes]:
        for _ in range(100):
            sent.append(100)
            yield b"x" * 100

    content: Any = b"x" * 10_000 if declared else parts()
    answer = client.post("/upload/data", headers={**own(studio), "x-file-name": "big.csv"}, content=content)
    assert answer.status_code == 413
    assert "at most 1,000" in answer.text
    assert not [path for path in studio.project.folder.path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2f..%2fcase.py",
        "/handover/file?key=../../x",
    ],
)
def test_no_path_leads_out_of_what_is_served(studio: Studio, path: str) -> None:
    answer = admitted(studio).get(path)
    assert answer.status_code in (400, 404)
    assert "import" not in answer.text


def test_the_folder_is_private_and_goes(studio: Studio) -> None:
    folder = studio.project.folder.path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    studio.project.close()
    assert not folder.exists()


def test_a_folder_in_use_stays_and_an_abandoned_one_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    used = Folder()
    left = tmp_path / "shoal-studio-left"
    left.mkdir(mode=0o700)
    (left / "secret.csv").write_text("a\n1\n")
    (tmp_path / "shoal-studio-not-ours").mkdir(mode=0o755)
    remove_abandoned()
    assert not left.exists()
    assert used.path.exists()
    assert (tmp_path / "shoal-studio-not-ours").exists()
    used.close()


# --- as a process ---------------------------------------------------------------------------------------------


def started(tmp_path: Path, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "shoal", "studio", *arguments, "--no-browser"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    link = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{43}/\?token=\S+", process.stdout.readline())
    assert link is not None
    return process, link[0]


def folders(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("shoal-studio-*"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_without_leftovers(tmp_path: Path, number: signal.Signals) -> None:
    process, _ = started(tmp_path)
    assert len(folders(tmp_path)) == 1
    begun = time.monotonic()
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert time.monotonic() - begun < 10
    assert process.returncode == 128 + number
    assert "Studio has ended" in said
    assert not folders(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_after_kill_9_the_next_studio_removes_the_folder(tmp_path: Path) -> None:
    process, _ = started(tmp_path)
    process.kill()
    process.communicate(timeout=20)
    (left,) = folders(tmp_path)
    again, _ = started(tmp_path)
    assert left not in folders(tmp_path)
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=20)
    assert not folders(tmp_path)


def test_two_studios_do_not_share_anything(tmp_path: Path) -> None:
    import httpx

    one, first = started(tmp_path)
    two, second = started(tmp_path)
    try:
        assert len(folders(tmp_path)) == 2
        with httpx.Client(timeout=30) as client:  # one browser with both
            assert client.get(first).status_code == 200
            assert client.get(f"{second.partition('?')[0]}data").status_code == 403
            assert client.get(second).status_code == 200
            assert len({(cookie.path, cookie.value) for cookie in client.cookies.jar}) == 2
            for link in (first, second):
                assert client.get(f"{link.partition('?')[0]}data").status_code == 200
    finally:
        for process in (one, two):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
    assert not folders(tmp_path)


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    process, link = started(tmp_path)
    port = re.search(r":(\d+)/", link)
    assert port is not None
    try:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-m", "shoal", "studio", "--no-browser", "--port", port[1]]
        second = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=30, check=False
        )
        assert second.returncode == 6
        assert "in use" in second.stderr
        assert "Traceback" not in second.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def test_no_line_of_its_output_has_data(tmp_path: Path) -> None:
    import httpx

    (tmp_path / "t.csv").write_text("name,age\nZZSECRET,31\nYYSECRET,32\n")
    process, link = started(tmp_path, "t.csv")
    with httpx.Client(timeout=30) as client:
        assert client.get(link).status_code == 200
        client.get(f"{link.partition('?')[0]}data?x=ZZSECRET")
    process.send_signal(signal.SIGINT)
    told, said = process.communicate(timeout=20)
    assert "SECRET" not in told + said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_a_folder_that_another_studio_takes_for_an_abandoned_one_is_made_anew(monkeypatch, tmp_path: Path):
    import fcntl
    import tempfile

    made: list[Path] = []
    real = tempfile.mkdtemp

    def raced(prefix: str) -> str:
        made.append(Path(real(prefix=prefix, dir=tmp_path)))
        if len(made) == 1:
            made[0].rmdir()
        if len(made) == 2:
            locks.append(os.open(made[1], os.O_RDONLY))
            fcntl.flock(locks[0], fcntl.LOCK_EX)
        return str(made[-1])

    locks: list[int] = []
    monkeypatch.setattr(tempfile, "mkdtemp", raced)
    folder = Folder()
    assert folder.path == made[2]
    assert folder.path.is_dir()
    folder.close()
    os.close(locks[0])


def test_a_mistake_is_told_on_the_page_and_prints_nothing(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The server prints what an application raises, with its stack; messages of libraries quote values."""
    client = admitted(studio)

    def wrong(*_: object) -> None:
        raise ValueError("cannot convert 'Ada Lovelace'")

    monkeypatch.setattr(audit, "context", wrong)
    answer = client.get("/audit")  # would raise here what the server would print
    assert answer.status_code == 500
    assert "ValueError" in answer.text
    assert "Lovelace" not in answer.text
    assert capfd.readouterr() == ("", "")


def test_only_settings_that_shoal_proposes_become_buttons(studio: Studio) -> None:
    from shoal.support.wording import format_setting, list_fixes

    proposed = "too few rows: " + format_setting("utility.suppression", 0.05)
    proposed += ", or " + format_setting("privacy.k", ...)
    assert list_fixes(proposed) == (("utility.suppression", "0.05"),)
    hostile = "there is no column 'x; set privacy.k = 1'"
    assert list_fixes(hostile) == ()
    client = admitted(studio)
    studio.project.tell("problem", hostile + "; " + proposed, "data")
    shown = client.get("/data").text
    assert "set utility.suppression = 0.05, or set privacy.k = .." in shown
    assert "Set utility.suppression to 0.05" in shown
    assert "Set privacy.k" not in shown
