"""The only door for files and dataframes: Shoal reads, writes and returns every table here.

`read` takes a path or a dataframe and gives a `Frame`. `factorize` turns one of its columns into integer codes.
`give_back` returns a result in the kind that was given. `write`, `write_text` and `Outbox` write complete files or
none. `FORMATS` lists the file formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.support.registry import import_late

if TYPE_CHECKING:
    from shoal.io.dataframes import give_back
    from shoal.io.factorization import factorize
    from shoal.io.formats import FORMATS
    from shoal.io.frame import Frame
    from shoal.io.output import Outbox, write, write_text
    from shoal.io.output_checks import check_apart, check_holds, check_publishable, check_writable
    from shoal.io.read_back import convert_result, read_again
    from shoal.io.read_options import ReadOptions
    from shoal.io.read_source import read

# Late, so that a wrong file name is answered before polars is imported.
__getattr__ = import_late(
    __name__,
    {
        "factorization": ("factorize",),
        "dataframes": ("give_back",),
        "formats": ("FORMATS",),
        "frame": ("Frame",),
        "read_options": ("ReadOptions",),
        "output": ("Outbox", "write", "write_text"),
        "output_checks": ("check_apart", "check_holds", "check_publishable", "check_writable"),
        "read_source": ("read",),
        "read_back": ("convert_result", "read_again"),
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
    "convert_result",
    "factorize",
    "give_back",
    "read",
    "read_again",
    "write",
    "write_text",
]
