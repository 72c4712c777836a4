"""Compile the kernels that a run needs side by side, in processes of their own, before it needs them.

`signatures.json` lists every kernel that is called from outside the kernels, with the types of its arguments and the
methods that call it. `make signatures` writes it from what the methods call in the tests.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import types

from shoal.kernels.compiled import KernelCache
from shoal.support.machine.shutdown import end_with_parent
from shoal.support.machine.threads import processors

LISTED = Path(__file__).with_name("signatures.json")


class Form(NamedTuple):
    """A kernel, as ``file.function``, with the types of its arguments."""

    kernel: str
    types: str

    def dispatcher(self) -> Any:
        """Import the kernel."""
        file, function = self.kernel.split(".")
        return getattr(import_module(f"shoal.kernels.{file}"), function)

    def compile(self) -> None:
        """Compile the kernel, or load it."""
        self.dispatcher().compile(self.given())

    def given(self) -> tuple[Any, ...]:
        """The types of its arguments as numba knows them."""
        return read_types(self.types)

    def missing(self) -> bool:
        """Whether this machine has not compiled it yet and could keep it."""
        try:
            dispatcher, given = self.dispatcher(), self.given()
        except (ImportError, AttributeError):
            return False  # A list that is out of date costs time and not the run; a test notices.
        kept = getattr(dispatcher, "_cache", None)
        return isinstance(kept, KernelCache) and not kept.has(given, dispatcher.targetctx.codegen())

    def size(self) -> int:
        """The length of its code and of all kernels that it calls: time to compile is about as that."""
        seen, todo = set(), [self.dispatcher()]
        while todo:
            function = getattr(todo.pop(), "py_func", None)
            if function is not None and function not in seen:
                seen.add(function)
                todo += [function.__globals__.get(name) for name in function.__code__.co_names]
        return sum(len(function.__code__.co_code) for function in seen)


@cache
def _listed() -> dict[str, dict[str, list[str]]]:
    known: dict[str, dict[str, list[str]]] = json.loads(LISTED.read_text("utf-8"))
    return known


def kernels_of(method: str) -> set[str]:
    """Name the kernels that a method calls, and those that group rows, which every run needs."""
    return {
        name
        for name, facts in _listed().items()
        if method in facts["methods"] or name.startswith("grouping.")
    }


def forms(names: Iterable[str] | None = None, codes: int | None = None) -> list[Form]:
    """List forms of some kernels, or of all; where they differ by the type of codes, those for so many `codes`."""
    found = []
    for name in _listed() if names is None else names:
        texts = _listed()[name]["types"]
        fitting = [text for text in texts if codes and text.startswith(f"{np.min_scalar_type(codes - 1)}[")]
        found += [Form(name, text) for text in (fitting if len(texts) > 1 and fitting else texts)]
    return found


_seen: set[Form] = set()
"""What this process has looked for: the second run need not look again."""


def prepare(wanted: Iterable[Form], progress: Callable[[str], None]) -> None:
    """Compile forms that are missing, the largest first, in as many processes as there are processors.

    What fails here is compiled again in the run, which says why it fails.
    """
    unknown = [form for form in wanted if form not in _seen]
    _seen.update(unknown)
    waiting = sorted((form for form in unknown if form.missing()), key=lambda form: -form.size())
    if len(waiting) < 2 or not sys.executable:
        return
    total, done, change = len(waiting), [0], threading.Condition()
    left = iter(waiting)  # threads share it: each form goes to one of them

    def feed() -> None:
        """Hand one form after the other to a process, which ends when nothing is left or this process ends."""
        with contextlib.suppress(OSError), _worker() as worker:
            for form in left:
                print(json.dumps(form), file=worker.stdin, flush=True)
                if not worker.stdout.readline():
                    break
                with change:
                    done[0] += 1
                    change.notify()

    threads = [threading.Thread(target=feed, daemon=True) for _ in range(min(total, processors()))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        progress(f"compiling {min(done[0] + 1, total)} of {total}, once on this machine")
        with change:
            change.wait(0.1)


def _worker() -> Any:
    home = str(Path(__file__).resolve().parents[2])
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    # -P: a file of the user that is called like a library must not stand in for it.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "shoal.kernels.preparing", str(os.getpid())],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _work() -> None:
    """Compile what is named on standard input, one form in a line, and answer each."""
    for line in sys.stdin:
        Form(*json.loads(line)).compile()
        print("ready", flush=True)


def types_text(given: Iterable[Any]) -> str:
    """Write the types of arguments in numba's own notation, and tuples as calls."""
    return ", ".join(_type_text(one) for one in given)


def _type_text(one: Any) -> str:
    if isinstance(one, types.Array):
        axes = [":"] * one.ndim
        if one.layout in "CF":
            axes[0 if one.layout == "F" else -1] = "::1"
        return f"{one.dtype}[{', '.join(axes)}]"
    if isinstance(one, types.BaseNamedTuple):
        kind = one.instance_class
        return f"named('{kind.__module__}', '{kind.__name__}', {types_text(one.types)})"
    if isinstance(one, types.BaseTuple):
        return f"plain({types_text(one.types)})"
    return str(one)


def read_types(text: str) -> tuple[Any, ...]:
    """Read what `types_text` wrote."""
    words = {
        "named": lambda module, name, *of: types.BaseTuple.from_types(
            of, getattr(import_module(module), name)
        ),
        "plain": lambda *of: types.BaseTuple.from_types(of),
        "bool": types.boolean,
    }
    # The text comes with the package, as its code does.
    found: tuple[Any, ...] = eval(f"({text},)", {**vars(types), **words})
    return found


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    _work()
