"""What goes wrong while a file is read: one place turns the errors of all libraries into `DataError`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from shoal.errors import DataError, ShoalError
from shoal.support.machine.files import TOO_FEW_HANDLES, explain_denial, few_handles_left
from shoal.support.machine.memory import is_lack_of_memory, memory_left
from shoal.support.wording import first_line

_PLAIN = ("PolarsError", "ReadstatError", "FastExcelError")
"""Errors of libraries whose messages are about files and types. Other messages may show values of the data."""


@contextlib.contextmanager
def as_data_error(where: object, title: str) -> Iterator[None]:
    """Turn any error of a library that reads a file into `DataError`, also a panic, which is not an `Exception`.

    `where` is how messages name the file, and `title` is its format. Lack of memory stays lack of memory.
    """
    try:
        yield
    except (ShoalError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if is_lack_of_memory(error):
            raise MemoryError from None  # the file is good
        if reason := _explain_denial(error):
            raise DataError(f"{where}: cannot be read as {title}: {reason}") from None
        raise DataError(f"{where}: is not a readable {title} file: {_reason(error)}") from None


def _explain_denial(error: BaseException) -> str:
    """Explain an error that comes from the operating system and not from the content of the file; "" for others."""
    if isinstance(error, OSError):
        reason = explain_denial(error)
        return TOO_FEW_HANDLES if reason == TOO_FEW_HANDLES else error.strerror or reason
    return TOO_FEW_HANDLES if not _is_plain(error) and few_handles_left() else ""


def _is_plain(error: BaseException) -> bool:
    return any(kind.__name__ in _PLAIN for kind in type(error).__mro__)


def _reason(error: BaseException) -> str:
    if _is_plain(error):
        # A message about a column may end in a list of its values.
        return first_line(error).partition(": [")[0]
    if isinstance(error, RecursionError):
        return "it is damaged, or nested too deeply; write its values as text, numbers, dates or Booleans"
    return (
        f"it is damaged, or has types or values that Shoal cannot read ({type(error).__name__}); write it again with "
        "the program that made it, with text, numbers, dates or Booleans only, and another name for each column"
    )


def check_unpacked(path: Path, size: int) -> None:
    """Raise `DataError` if a compressed file unpacks to more bytes than there is memory."""
    left = memory_left()
    if left is not None and size > left:
        raise DataError(
            f"{path}: unpacks to {size / 1e9:,.1f} GB or more, and {left / 1e9:,.1f} GB of memory are left; unpack it, "
            "and save it as Parquet"
        )
