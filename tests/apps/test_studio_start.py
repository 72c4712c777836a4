"""The first page is there at once: what it needs is light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="Studio is not installed: pip install 'shoal[studio]'")

HEAVY = ("matplotlib", "numba", "numpy", "polars", "pydantic", "pyarrow", "scipy")
PROGRAM = f"""
import sys
import shoal.apps.studio.server
from shoal.apps.studio.screens import SCREENS
assert len(list(SCREENS.values())) > 8
print(*(name for name in {HEAVY!r} if name in sys.modules))
"""


def test_screens_import_nothing_heavy() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.split() == []
