"""``python -m tests.harness.wheel FOLDER``: install the wheel in FOLDER separately and check that nothing is compiled.

It runs with the libraries of this environment, an empty folder for compiled kernels, and every listed kernel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHECK = """
from shoal.kernels.compiled import _has_level
from shoal.kernels.preparing import forms
import shoal
print("shoal is in", shoal.__file__)
if not _has_level():
    raise SystemExit("this processor does not have the level that the wheel was built for")
for form in forms():
    form.compile()
compiled = [form.kernel for form in forms() if form.dispatcher().stats.cache_misses]
if compiled:
    raise SystemExit(f"compiled, although the wheel should have them: {compiled}")
print(len(forms()), "kernels loaded, none compiled")
"""


def main(folder: Path) -> None:
    """Check the newest wheel of a folder."""
    wheel = max(folder.glob("shoal-*.whl"), key=lambda path: path.stat().st_mtime)
    with tempfile.TemporaryDirectory() as place:
        home, cache = Path(place) / "home", Path(place) / "cache"
        install = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(home),
            str(wheel),
        ]
        subprocess.run(install, check=True)
        environment = {**os.environ, "PYTHONPATH": str(home), "NUMBA_CACHE_DIR": str(cache)}
        subprocess.run([sys.executable, "-P", "-c", CHECK], cwd=place, env=environment, check=True)
        left = [path.name for path in cache.rglob("*.nbc")]
    print(
        f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {len(left)} files in the folder of compiled kernels"
    )
    if left:
        raise SystemExit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
