"""The second user of the tests: sees what any user sees, and nothing more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.harness.two_users import (  # noqa: F401
    STRANGER,
    find_readable,
    needed,
    open_folder,
    run_as_stranger,
    search_processes,
)


@needed
def test_the_stranger_is_another_user() -> None:
    assert run_as_stranger("import os; print(os.getuid(), os.getgroups())") == f"{STRANGER} []\n"


@needed
def test_the_stranger_reads_open_files_and_no_private_ones(open_folder: Path) -> None:  # noqa: F811
    for name, mode in (("open.txt", 0o644), ("closed.txt", 0o600)):
        (open_folder / name).write_text("secret-of-the-test")
        (open_folder / name).chmod(mode)
    assert find_readable([open_folder], [b"secret-of-the-test"]) == [str(open_folder / "open.txt")]
    assert find_readable([open_folder], [b"something else"]) == []


@needed
def test_the_stranger_sees_command_lines_and_no_environments() -> None:
    words = [sys.executable, "-c", "input()", "word-on-the-command-line"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, env={"A": "word-of-the-environment"})
    try:
        assert f"/proc/{process.pid}/cmdline" in search_processes([b"word-on-the-command-line"])
        assert search_processes([b"word-of-the-environment"]) == []
    finally:
        process.communicate(b"\n")
