"""Processes of our own beside this one: modules of Shoal that talk through pipes, and can be stopped at any time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import shoal
from shoal.wording import voice


def start_python(module: str, *, threads: int | None = None) -> subprocess.Popen[bytes]:
    """Start a module of Shoal as a process with pipes, which gets the number of this process and its voice as
    arguments."""
    environment = dict(os.environ)
    home = str(Path(shoal.__file__).resolve().parents[1])
    environment["PYTHONPATH"] = os.pathsep.join([home, *filter(None, [environment.get("PYTHONPATH")])])
    if threads is not None:
        environment["POLARS_MAX_THREADS"] = str(threads)
    return subprocess.Popen(
        # -P: a file of the user with the name of a library must not replace it.
        [sys.executable, "-P", "-m", module, str(os.getpid()), voice()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A traceback might show values of the data.
        stderr=None if os.environ.get("SHOAL_DEBUG") else subprocess.DEVNULL,
        env=environment,
    )
