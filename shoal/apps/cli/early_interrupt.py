"""Ctrl-C in the first moments of the program, before anything is there to heed it: end without a stack trace.

Imported for its effect, before everything else, and only in the program itself.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(130)


if os.path.basename(sys.argv[0]) in ("shoal", "-m") and (
    signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, _end)


def restore_interrupts() -> None:
    """Restore Python's default reaction to Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
