"""How kernels are compiled: once per machine and per content of the files that they reach.

numba stamps a cached function with its own file only, and keeps the cache next to that file. Here a kernel is stamped
with the content of its own file and of every kernel file that it imports, directly or through others. So kernels can
share code, an edit compiles what depends on it and nothing else, and reinstalling compiles nothing. All copies of the
project that a person has share one folder of compiled kernels, and so do processes that run at the same time: the
second waits for the first instead of compiling the same kernel again.

A wheel can bring kernels that were compiled for a common level of processors (`make wheel`, in the folder `built`).
They are used where the processor has that level, so that nothing is compiled.

The folder is `NUMBA_CACHE_DIR` if that is set, or `shoal` in the user's cache folder, or `__pycache__`, or one in the
folder for temporary files: the first that can be written to, and that nobody else can write to, because what is loaded
from it is run. If there is none, kernels are compiled in every process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import pickle
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llvmlite.binding
import numba
from numba.core import config, types
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.environment import Environment
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.misc.appdirs import AppDirs

from shoal.support.machine.trusted_files import (
    is_trusted_folder,
    make_own_folder,
    read_trusted,
    write_trusted,
)

try:
    import fcntl
except ImportError:  # Windows: processes that start together may compile the same kernel
    fcntl = None

_FROM_KERNELS = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(?:\.|shoal\.kernels\b)[^\n]*", re.MULTILINE)
_ONE_KERNEL_FILE = re.compile(rb"[ \t]*from shoal\.kernels\.(\w+) import ")
_UNUSED_DAYS = 60
BUILT = Path(__file__).with_name("built")
"""Where a wheel has compiled kernels."""
LEVEL = "x86-64-v3"
"""The processors that they are for, as LLVM calls them: most of those sold since 2015."""
_FEATURES = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")


def njit(*, cache: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel at its first call, or load it if this machine has compiled it before."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache and not config.DISABLE_JIT:
            folder = cache_folder()
            dispatcher._cache = NullCache() if folder is None else KernelCache(function, folder)
            find = dispatcher.get_call_template
            dispatcher.get_call_template = lambda given, named: find(
                tuple(_wide(one) for one in given), {name: _wide(one) for name, one in named.items()}
            )
        return dispatcher

    return decorate


def _wide(one: Any) -> Any:
    """Return the type with which a kernel calls another one.

    numba compiles a function once for a constant and once for a variable, and once for each width of a number. What
    they compute is the same: numba adds and multiplies narrow numbers as wide ones.
    """
    one = types.unliteral(one)
    return types.int64 if isinstance(one, types.Integer) and one.signed else one


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of compiled kernels, or None if there is no place for this user only where it can write."""
    named = [Path(config.CACHE_DIR) / "shoal"] if config.CACHE_DIR else []
    temporary = f"shoal-kernels-{os.geteuid()}" if sys.platform != "win32" else "shoal-kernels"
    places = [
        *named,
        Path(AppDirs("shoal", appauthor=False).user_cache_dir),
        Path(__file__).parent / "__pycache__",
        Path(tempfile.gettempdir()) / temporary,
    ]
    for place in dict.fromkeys(places):
        with contextlib.suppress(OSError):
            make_own_folder(place)
            if is_trusted_folder(place):
                tempfile.TemporaryFile(dir=place).close()
                return place
        if place in named:
            reason = "you cannot write there, or others can; set NUMBA_CACHE_DIR to a folder of your own"
            told = f"{place} is not used for compiled kernels: {reason}"
            warnings.warn_explicit(told, UserWarning, "shoal.kernels", 1)  # one line, without a line of code
    return None


@functools.cache
def stamp(file: Path) -> str:
    """Return a digest of the content of a kernel file and of all kernel files that it reaches by imports."""
    reached, todo = {file.stem: file.read_bytes()}, [file.stem]
    while todo:
        for line in _FROM_KERNELS.findall(reached[todo.pop()]):
            found = _ONE_KERNEL_FILE.match(line)
            if found is None:
                raise ImportError(
                    f"{file.name} reaches kernels by '{line.decode().strip()}', which the stamp of compiled kernels "
                    "does not follow: write 'from shoal.kernels.<file> import <name>'"
                )
            name = found[1].decode()
            if name not in reached:
                reached[name] = (file.parent / f"{name}.py").read_bytes()
                todo.append(name)
    whole = hashlib.sha256()
    for name in sorted(reached):
        whole.update(f"{name} {len(reached[name])} ".encode() + reached[name])
    return whole.hexdigest()


class KernelCache(NullCache):
    """The compiled forms of one kernel: a file per signature, kind of processor, version and stamp.

    The name of a file is a digest of all that its content depends on. It is written under another name and moved, so
    it is never seen half written, and processes cannot disturb each other.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        file = Path(inspect.getfile(function))
        self._folder = folder
        self._name = f"{file.stem}.{function.__name__}"
        self._stamp = stamp(file)
        self._locked: dict[Path, int] = {}

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled before for this signature; else None, and others wait until it is saved."""
        places = self._places(sig, target_context.codegen())
        found = next((one for path in places if (one := _load(path, target_context))), None)
        if found is None:
            self._lock(places[0])
            found = _load(places[0], target_context)
            if found is not None:
                self._unlock(places[0])
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for this signature."""
        path = self.path(sig, data.codegen)
        # A full disk, or a folder that was removed meanwhile, costs the next process time and nothing else.
        with contextlib.suppress(OSError):
            if not data.library.has_dynamic_globals:  # else it holds addresses of this process
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._drop_unused()
                write_trusted(path, _dump(data))
        self._unlock(path)

    def has(self, sig: Any, codegen: Any) -> bool:
        """Whether this signature was compiled before."""
        return any(place.exists() for place in self._places(sig, codegen))

    def path(self, sig: Any, codegen: Any) -> Path:
        """Return the file of a signature."""
        return self._places(sig, codegen)[0]

    def _places(self, sig: Any, codegen: Any) -> list[Path]:
        """List where this signature may be: on this machine, or in the wheel if the processor has its level."""
        target = codegen.magic_tuple()
        built = [BUILT / self._file(sig, (target[0], LEVEL, ""))] if _has_level() else []
        return [self._folder / self._file(sig, target), *built]

    def _file(self, sig: Any, target: tuple[str, str, str]) -> str:
        """Return a name that says all that a compiled form depends on."""
        versions = (numba.__version__, llvmlite.__version__, sys.implementation.cache_tag)
        options = (str(config.OPT), config.BOUNDSCHECK)
        given, _ = normalize_signature(sig)
        facts = (self._name, self._stamp, str(given), target, versions, options)
        return f"{self._name}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}.nbc"

    def _lock(self, path: Path) -> None:
        """Let other processes wait for what this one compiles; the lock ends with the process.

        Calls between kernels have no cycles, and a kernel waits only for those that it calls, so there is no deadlock.
        """
        if fcntl is None:
            return
        with contextlib.suppress(OSError):  # a file system without locks: compile at the same time, then
            held = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            self._locked[path] = held
            fcntl.flock(held, fcntl.LOCK_EX)

    def _unlock(self, path: Path) -> None:
        held = self._locked.pop(path, None)
        if held is not None:
            path.with_suffix(".lock").unlink(missing_ok=True)
            os.close(held)

    def _drop_unused(self) -> None:
        """Remove forms of this kernel that nobody has loaded for long: older content, other versions."""
        oldest = time.time() - _UNUSED_DAYS * 86_400
        for path in self._folder.glob(f"{self._name}-*"):
            with contextlib.suppress(OSError):
                used = path.stat()
                if max(used.st_atime, used.st_mtime) < oldest:
                    path.unlink()


@functools.cache
def _has_level() -> bool:
    """Whether this processor runs what was compiled for `LEVEL`, and nobody has asked for another."""
    found = llvmlite.binding.get_host_cpu_features()
    return not config.CPU_NAME and all(found.get(name) for name in _FEATURES)


def _dump(compiled: Any) -> bytes:
    """Write what numba has compiled.

    The constants of numba's own functions are kept by name: to load the modules of these functions takes longer than
    to load a kernel, and compiled code needs only the constants.
    """
    *parts, environments = CompileResultCacheImpl.reduce(None, compiled)
    foreign = [one for one in environments if str(one.globals.get("__name__")).startswith("numba.")]
    own = [one for one in environments if one not in foreign]
    return dumps((*parts, own, [(one.env_name, one.consts) for one in foreign]))


def _load(path: Path, target_context: Any) -> Any:
    """Return what `_dump` wrote, ready to run; None if the file is missing, damaged, not trusted or of no use."""
    content = read_trusted(path)
    if content is None:
        return None
    # Memory is all that compiled code needs of numba. Its tables for typing and lowering, which numba's own cache loads
    # here, take half a second.
    rtsys.initialize(target_context)
    try:
        *parts, own, foreign = pickle.loads(content)
        for name, constants in foreign:
            one = Environment.from_fndesc(SimpleNamespace(env_name=name, lookup_globals=dict))
            one.consts[:] = one.consts or constants  # this process may have it already
            own.append(one)
        return CompileResultCacheImpl.rebuild(None, target_context, (*parts, own))
    except Exception:  # whatever it is, to compile the kernel helps
        return None
