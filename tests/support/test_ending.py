"""How a supervised process ends, and what it does with freed memory."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from shoal.support.machine import memory

ENDING = """
import atexit, threading, time
from shoal.apps.cli.supervisor import end
atexit.register(print, "last")
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
class Late:
    def __del__(self):
        print("freed")
kept = Late()
end("words are not an exit code")
print("first", end=" ")
end({code})
print("not here")
"""
KEEPING = """
import os, sys
import numpy as np
from shoal.support.machine.memory import keep_freed
def used():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
if sys.argv[1] == "keep":
    keep_freed()
pieces, before = int(sys.argv[2]), used()
arrays = [np.ones((1 << 27) // pieces, np.uint8) for _ in range(pieces)]
assert used() - before > 1 << 26
del arrays
print(used() - before > 1 << 26)
"""


def said(text, *words):
    done = subprocess.run([sys.executable, "-c", text, *words], capture_output=True, text=True)
    return done.returncode, done.stdout.split(), done.stderr


@pytest.mark.parametrize(("code", "found"), [("3", 3), ("None", 0), ("0", 0)])
def test_other_threads_and_what_is_registered_come_before_the_end(code, found):
    assert said(ENDING.format(code=code)) == (found, ["first", "thread", "last"], "")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries stay as they are")
@pytest.mark.parametrize(
    ("word", "pieces", "kept"),
    [("keep", "8", "True"), ("return", "8", "False"), ("keep", "1", "False"), ("return", "1", "False")],
)
def test_freed_memory_is_kept_unless_it_is_large(word, pieces, kept):
    assert said(KEEPING, word, pieces) == (0, [kept], "")


def test_other_c_libraries_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    memory.keep_freed()
