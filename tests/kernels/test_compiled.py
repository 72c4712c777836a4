"""Compiled kernels: compiled again when a file that they reach has changed, and only then."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shoal.kernels
from shoal.kernels import compiled
from shoal.support.machine.trusted_files import write_trusted

KERNELS = Path(shoal.kernels.__file__).parent

# Three files in a row, and one that stands alone.
FILES = {
    "far": "@njit(nogil=True)\ndef step(x):\n    return x + 1\n",
    "middle": "from shoal.kernels.far import step\n@njit(nogil=True)\ndef twice(x):\n    return step(step(x))\n",
    "near": "from shoal.kernels.middle import twice\n@njit(nogil=True)\ndef result(x):\n    return twice(x)\n",
    "alone": "@njit(nogil=True)\ndef other(x):\n    return x - 1\n",
}
ASK = """
import json
from shoal.kernels.near import result
from shoal.kernels.alone import other
found = [result(5), other(5)]
print(json.dumps([found, [sum(f.stats.cache_hits.values()) for f in (result, other)]]))
"""


def package(folder: Path) -> Path:
    """Copy the kernels, and add those above."""
    shutil.copytree(KERNELS, folder / "shoal" / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "shoal" / "__init__.py").touch()
    shutil.copytree(
        KERNELS.parent / "support" / "machine",
        folder / "shoal" / "support" / "machine",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (folder / "shoal" / "support" / "__init__.py").touch()
    for name, text in FILES.items():
        (folder / "shoal" / "kernels" / f"{name}.py").write_text(
            "from shoal.kernels.compiled import njit\n" + text
        )
    return folder


def ask(folder: Path, **environment: str) -> list[list[int]]:
    """Return both results in a new process, and which were loaded instead of compiled."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_an_edit_two_files_away_is_noticed_and_an_unrelated_kernel_is_loaded(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first = package(tmp_path / "first")
    assert ask(first, **cache) == [[7, 4], [0, 0]]
    far = first / "shoal" / "kernels" / "far.py"
    written = far.stat()
    far.write_text(far.read_text().replace("x + 1", "x + 3"))
    # As old as before: only the content tells.
    os.utime(far, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert ask(first, **cache) == [[11, 4], [0, 1]]
    # What it calls is loaded and linked.
    near = first / "shoal" / "kernels" / "near.py"
    near.write_text(near.read_text().replace("twice(x)", "twice(x) * 2"))
    assert ask(first, **cache) == [[22, 4], [0, 1]]
    # A copy with the old content, made later and elsewhere, finds what was compiled from it.
    second = package(tmp_path / "second")
    assert ask(second, **cache) == [[7, 4], [1, 1]]


def test_the_folder_is_the_users_own_or_next_to_the_kernels_or_none(tmp_path):
    here = package(tmp_path / "here")
    assert ask(here, XDG_CACHE_HOME=str(tmp_path / "own"))[0] == [7, 4]
    assert {file.suffix for file in (tmp_path / "own" / "shoal").iterdir()} == {".nbc"}
    # A file stands where the folders would be, so neither can be made.
    blocked = tmp_path / "blocked"
    blocked.touch()
    assert ask(here, XDG_CACHE_HOME=str(blocked))[0] == [7, 4]
    beside = here / "shoal" / "kernels" / "__pycache__"
    assert len(list(beside.glob("near.result-*.nbc"))) == 1
    shutil.rmtree(beside)
    beside.touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert ask(here, XDG_CACHE_HOME=str(blocked), TMPDIR=str(temporary)) == [[7, 4], [0, 0]]
    (kept,) = temporary.iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    shutil.rmtree(kept)
    kept.touch()
    assert ask(here, XDG_CACHE_HOME=str(blocked), TMPDIR=str(temporary)) == [[7, 4], [0, 0]]


def test_processes_that_start_together_compile_a_kernel_once(tmp_path):
    here = package(tmp_path / "here")
    slow = "import time\nfrom shoal.kernels import compiled\nwrite = compiled.write_trusted\n"
    slow += "compiled.write_trusted = lambda *given: (time.sleep(0.5), write(*given))\n" + ASK
    environment = {
        **os.environ,
        "PYTHONPATH": str(here),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }
    started = [
        subprocess.Popen([sys.executable, "-c", slow], cwd=here, env=environment, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    hits = [json.loads(process.communicate()[0])[1] for process in started]
    assert [sum(pair) for pair in zip(*hits, strict=True)] == [1, 1]


def test_kernels_of_a_wheel_are_loaded_where_the_processor_has_their_level(tmp_path):
    from shoal.kernels.compiled import _has_level

    here, loaded = package(tmp_path / "here"), int(_has_level())
    listed = {name: {"methods": [], "types": ["int64"]} for name in ("near.result", "alone.other")}
    (here / "shoal" / "kernels" / "signatures.json").write_text(json.dumps(listed))
    environment = {**os.environ, "PYTHONPATH": str(here), "NUMBA_CACHE_DIR": str(tmp_path / "unused")}
    subprocess.run([sys.executable, "-m", "shoal.kernels.building"], cwd=here, env=environment, check=True)
    assert ask(here, NUMBA_CACHE_DIR=str(tmp_path / "one")) == [[7, 4], [loaded, loaded]]
    assert ask(here, NUMBA_CACHE_DIR=str(tmp_path / "two"), NUMBA_CPU_NAME="generic") == [[7, 4], [0, 0]]
    far = here / "shoal" / "kernels" / "far.py"
    far.write_text(far.read_text().replace("x + 1", "x + 3"))
    assert ask(here, NUMBA_CACHE_DIR=str(tmp_path / "three")) == [[11, 4], [0, loaded]]


def test_a_damaged_file_is_compiled_again(tmp_path):
    here, cache = package(tmp_path / "here"), tmp_path / "cache"
    ask(here, NUMBA_CACHE_DIR=str(cache))
    (file,) = (cache / "shoal").glob("near.result-*.nbc")
    content = bytearray(file.read_bytes())
    content[content.index(b".text") + 1_000] ^= 1  # still a pickle, with other machine code
    file.write_bytes(content)
    assert ask(here, NUMBA_CACHE_DIR=str(cache)) == [[7, 4], [0, 1]]


@pytest.mark.parametrize("content", [b"no pickle", pickle.dumps(None), pickle.dumps(tuple(range(10)))])
def test_a_whole_file_that_cannot_be_loaded_is_compiled_again(tmp_path, content):
    here, cache = package(tmp_path / "here"), tmp_path / "cache"
    ask(here, NUMBA_CACHE_DIR=str(cache))
    (file,) = (cache / "shoal").glob("near.result-*.nbc")
    write_trusted(file, content)
    assert ask(here, NUMBA_CACHE_DIR=str(cache)) == [[7, 4], [0, 1]]
    assert ask(here, NUMBA_CACHE_DIR=str(cache)) == [[7, 4], [1, 1]]


class Planted:
    """An object that runs code when it is loaded."""

    def __reduce__(self):
        return print, ("planted",)


def test_what_others_could_have_written_is_not_loaded(tmp_path):
    """What was planted would print, so the answer would not be JSON."""
    here, cache = package(tmp_path / "here"), tmp_path / "cache"
    own = {"NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(tmp_path / "own")}
    ask(here, **own)
    (file,) = (cache / "shoal").glob("near.result-*.nbc")
    write_trusted(file, pickle.dumps(Planted()))  # with the right digest, which anyone can compute
    file.chmod(0o666)
    assert ask(here, **own) == [[7, 4], [0, 1]]
    write_trusted(file, pickle.dumps(Planted()))
    file.parent.chmod(0o777)
    assert ask(here, **own) == [[7, 4], [0, 0]]
    assert (tmp_path / "own" / "shoal").is_dir()


def test_a_folder_that_is_not_used_is_named_in_one_line(tmp_path, monkeypatch):
    cache_folder = compiled.cache_folder.__wrapped__
    place = tmp_path / "shared" / "shoal"
    place.mkdir(parents=True)
    place.chmod(0o777)
    monkeypatch.setattr(compiled.config, "CACHE_DIR", str(place.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    with pytest.warns(UserWarning, match=f"{place} is not used .* set NUMBA_CACHE_DIR") as told:
        assert cache_folder() == tmp_path / "own" / "shoal"
    assert len(told) == 1
    place.chmod(0o700)
    assert cache_folder() == place


@pytest.mark.parametrize(
    "line", ["from shoal.kernels import far", "from .far import step", "import shoal.kernels.far"]
)
def test_imports_that_the_stamp_cannot_follow_are_refused(tmp_path, line):
    from shoal.kernels.compiled import stamp

    file = tmp_path / "near.py"
    file.write_text(f"{line}\n")
    with pytest.raises(ImportError, match=r"write 'from shoal\.kernels\.<file> import <name>'"):
        stamp(file)


def test_every_kernel_is_stamped():
    """`numba.njit` keeps a kernel that reaches other files when these change."""
    importing = [
        file.stem
        for file in KERNELS.glob("*.py")
        if re.search(r"^\s*(from|import) numba", file.read_text(), re.M)
    ]
    assert sorted(importing) == ["compiled", "preparing"]
