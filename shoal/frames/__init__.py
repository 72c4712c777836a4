"""The only door for files and dataframes: everything that is read, written or handed back passes here.

`read` takes a path or a dataframe and gives a `Frame`; `factorize` turns one of its columns into integer
codes; `give_back` returns a result in the kind that was given; `write`, `write_text` and
`Outbox` put it on disk whole or not at all.
"""

from __future__ import annotations

from shoal.frames.coding import factorize
from shoal.frames.frame import Frame, give_back, read
from shoal.frames.options import ReadOptions
from shoal.frames.output import Outbox, check_writable, write, write_text

__all__ = [
    "Frame",
    "Outbox",
    "ReadOptions",
    "check_writable",
    "factorize",
    "give_back",
    "read",
    "write",
    "write_text",
]
