"""Compiled loops over plain arrays. Each has a plain twin of the same name in tests/naive.py.

Files stand alone: numba's cache does not notice an edit in a file that another one imports.
"""

from __future__ import annotations

import os
from pathlib import Path


def compiled() -> bool:
    """Whether kernels were compiled on this machine before; if not, the first run takes some seconds longer."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folders = (
        [Path(chosen)]
        if chosen
        else [Path(__file__).parent / "__pycache__", Path.home() / ".cache" / "numba"]
    )
    return any(next(folder.rglob("*.nbi"), None) for folder in folders if folder.is_dir())
