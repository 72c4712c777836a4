"""Compile all listed kernels for a common level of processors, into the folder that goes into the wheel.

``python -m shoal.kernels.building``, as `make wheel` does. They serve the versions of Python and numba that built them;
with others, kernels are compiled at their first use as ever.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

from shoal.kernels.compiled import BUILT, LEVEL
from shoal.kernels.preparing import forms, prepare


def build() -> int:
    """Fill the folder anew, in processes that compile for the level; return how many forms it has."""
    shutil.rmtree(BUILT, ignore_errors=True)
    with tempfile.TemporaryDirectory() as cache:
        aim = {"NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": cache}
        subprocess.run([sys.executable, "-m", __spec__.name, cache], env={**os.environ, **aim}, check=True)
        return len(list(BUILT.iterdir()))


def _compile() -> None:
    wanted = forms()
    prepare(wanted, lambda _stage: None)
    BUILT.mkdir()
    for form in wanted:
        dispatcher = form.dispatcher()
        form.compile()
        path = dispatcher._cache.path(form.given(), dispatcher.targetctx.codegen())
        shutil.copyfile(path, BUILT / path.name)  # readable by all, which the original is not


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _compile()
    else:
        print(f"{build()} kernels in {BUILT}, for {LEVEL}")
