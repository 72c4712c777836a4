"""Reading a table that may need more memory than there is: first in a separate process.

A file of a kilobyte may unpack to any size, a query may return any number of rows, and a library that gets no memory
ends its whole process. So what may be large is first read in a process with a limit. Only what could be read there is
read by Studio.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import DataError, ShoalError
from shoal.io.databases import passwords
from shoal.io.formats import suffix_of
from shoal.support.machine.memory import limit_memory, memory_left
from shoal.support.machine.processes import LOST, Child

if TYPE_CHECKING:
    from shoal.io import Frame, ReadOptions
    from shoal.policy.suggestions import Suggestion

PLAIN = (".csv", ".txt", ".tsv", ".tab", ".jsonl", ".ndjson")
"""Endings of files that need some times the memory of their own size, and no more."""
TIMES = 20
"""The most memory that such a file needs, in times of its size: two bytes of text may become a number and a string."""


def read_table(place: Any, options: ReadOptions) -> tuple[Frame, Suggestion]:
    """Read a table, and suggest a policy for it. Raises DataError if there is not enough memory for it."""
    from shoal import io
    from shoal.policy.suggestions import look_at

    if not _is_light(place):
        _read_elsewhere(place, options)
    frame = io.read(place, options)
    _ = frame.data  # now, and not at the first click
    return frame, look_at(frame)


def _is_light(place: Any) -> bool:
    if not isinstance(place, str | Path):
        return False  # a database, whose size nothing tells: queries and views may return any number of rows
    try:
        left = memory_left()
        return suffix_of(place) in PLAIN and (left is None or TIMES * os.stat(place).st_size <= left)
    except (OSError, ValueError):
        return True  # reading it says what is wrong


def _read_elsewhere(place: Any, options: ReadOptions) -> None:
    """Read a table in another process; DataError if it cannot be read there."""
    left = memory_left()
    child = Child("shoal.apps.studio.data.reader")
    try:
        child.send((place, options, left, passwords.all_passwords()))
        words = child.receive()
    except LOST:
        words = None
    finally:
        child.end()
    if words is None:
        free = "" if left is None else f" ({left / 1e9:,.1f} GB are free)"
        words = f"{place}: this table needs more memory than there is{free}; close other programs, or open a part of it"
    if words:
        raise DataError(words)


def serve(asked: IO[bytes], answers: IO[bytes]) -> None:
    """Be the process that reads: answer with words about what is wrong, "" if nothing is, None for lack of memory."""
    place, options, left, known = pickle.load(asked)
    passwords.remember(known)
    limit_memory(left)
    from shoal import io

    words: str | None = ""
    try:
        _ = io.read(place, options).data
    except ShoalError as error:
        words = str(error)
    except MemoryError:
        words = None
    except BaseException as error:  # a panic in a library is not an Exception
        words = f"Shoal made a mistake of its own ({type(error).__name__}) while it read the table; please report it."
    pickle.dump(words, answers, protocol=5)
    answers.flush()
