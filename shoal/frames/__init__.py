"""The only door for files and dataframes: Shoal reads, writes and returns every table here.

`read` takes a path or a dataframe and gives a `Frame`. `factorize` turns one of its columns into integer codes.
`give_back` returns a result in the kind that was given. `write`, `write_text` and `Outbox` write complete files or
none. `FORMATS` lists the file formats.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.frames.coding import factorize
    from shoal.frames.dataframes import give_back
    from shoal.frames.formats import FORMATS
    from shoal.frames.frame import Frame
    from shoal.frames.options import ReadOptions
    from shoal.frames.output import Outbox, check_writable, write, write_text
    from shoal.frames.reading import read

# Imported when first asked for, so that a wrong file name is answered before polars is imported.
_PLACES = {
    "FORMATS": "formats",
    "Frame": "frame",
    "Outbox": "output",
    "ReadOptions": "options",
    "check_apart": "output",
    "check_writable": "output",
    "factorize": "coding",
    "give_back": "dataframes",
    "read": "reading",
    "write": "output",
    "write_text": "output",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


__all__ = [
    "FORMATS",
    "Frame",
    "Outbox",
    "ReadOptions",
    "check_apart",
    "check_writable",
    "factorize",
    "give_back",
    "read",
    "write",
    "write_text",
]
