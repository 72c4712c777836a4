"""The process in which trials run: reads a table and then tasks from its input, and answers with trials.

Started by `workers.py` as ``python -m shoal.comparing.worker``; a separate process can be stopped at any time, and
has separate memory.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import IO, cast

from shoal.ending import end_with_parent
from shoal.wording import Voice, speak

READY = b"ready"


def serve(tasks: IO[bytes], answers: IO[bytes]) -> None:
    """Answer tasks until there are no more."""
    import numba  # noqa: F401  (takes about a second, which should not count for any method)

    from shoal.comparing.running import run_trial

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


if __name__ == "__main__":
    # The parent stops its workers itself, and nothing else may write between the answers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A parent that was killed cannot stop them, and a kernel does not notice that the pipe is closed.
    end_with_parent(int(sys.argv[1]))
    speak(cast(Voice, sys.argv[2]))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(os.fdopen(os.dup(0), "rb"), answers)
