"""The only door for files and dataframes: Shoal reads, writes and returns every table here.

`read` takes a path or a dataframe and gives a `Frame`. `factorize` turns one of its columns into integer codes.
`give_back` returns a result in the kind that was given. `write`, `write_text` and `Outbox` write complete files or
none. `FORMATS` lists the file formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.registry import imported_late

if TYPE_CHECKING:
    from shoal.frames.coding import factorize
    from shoal.frames.dataframes import give_back
    from shoal.frames.formats import FORMATS
    from shoal.frames.frame import Frame
    from shoal.frames.options import ReadOptions
    from shoal.frames.output import (
        Outbox,
        check_apart,
        check_holds,
        check_publishable,
        check_writable,
        write,
        write_text,
    )
    from shoal.frames.reading import read
    from shoal.frames.returning import converted, read_again

# Late, so that a wrong file name is answered before polars is imported.
__getattr__ = imported_late(
    __name__,
    {
        "coding": ("factorize",),
        "dataframes": ("give_back",),
        "formats": ("FORMATS",),
        "frame": ("Frame",),
        "options": ("ReadOptions",),
        "output": (
            "Outbox",
            "check_apart",
            "check_holds",
            "check_publishable",
            "check_writable",
            "write",
            "write_text",
        ),
        "reading": ("read",),
        "returning": ("converted", "read_again"),
    },
)

__all__ = [
    "FORMATS",
    "Frame",
    "Outbox",
    "ReadOptions",
    "check_apart",
    "check_holds",
    "check_publishable",
    "check_writable",
    "converted",
    "factorize",
    "give_back",
    "read",
    "read_again",
    "write",
    "write_text",
]
