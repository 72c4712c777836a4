"""The process in which trials run: reads a table and then tasks from its input, and answers with trials.

Started by `workers.py`; a separate process can be stopped at any time, and
has separate memory.
"""

from __future__ import annotations

import pickle
from typing import IO

READY = b"ready"


def serve(tasks: IO[bytes], answers: IO[bytes]) -> None:
    """Answer tasks until there are no more."""
    import numba  # noqa: F401  (takes about a second, which should not count for any method)

    from shoal.pipeline.comparison.run_trial import run_trial

    table = pickle.load(tasks)
    pickle.dump(READY, answers)
    answers.flush()
    while True:
        try:
            task = pickle.load(tasks)
        except EOFError:
            return
        pickle.dump(run_trial(table, task), answers, protocol=5)
        answers.flush()
