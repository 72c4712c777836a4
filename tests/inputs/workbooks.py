"""A workbook of Excel 97 for tests: no library of ours writes such files."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

_SECTOR = 512
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def write_xls(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str | float | None]]) -> Path:
    """Write one sheet with a line of names, as records of BIFF8 in a compound file."""
    globals_ = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0x0600))
    sheet = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0x0600))
    sheet += _record(0x0200, struct.pack("<IIHHH", 0, len(rows) + 1, 0, len(columns), 0))
    for at, row in enumerate([columns, *rows]):
        for place, cell in enumerate(row):
            where = struct.pack("<HHH", at, place, 0)
            if isinstance(cell, str):
                text = cell.encode("utf-16-le")
                sheet += _record(0x0204, where + struct.pack("<HB", len(text) // 2, 1) + text)
            elif cell is not None:
                sheet += _record(0x0203, where + struct.pack("<d", cell))
    sheet += _record(0x000A, b"")
    name = b"people"
    size = len(globals_) + len(_record(0x0085, b"\0" * (8 + len(name)))) + 4
    globals_ += _record(0x0085, struct.pack("<IBBBB", size, 0, 0, len(name), 0) + name) + _record(0x000A, b"")
    path.write_bytes(_compound("Workbook", globals_ + sheet))
    return path


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def _compound(name: str, stream: bytes) -> bytes:
    """Return a compound file with one stream: a header, its FAT, its directory, then the stream."""
    stream = stream.ljust(max(len(stream), 4096), b"\0")  # shorter ones lie elsewhere
    sectors = -(-len(stream) // _SECTOR)
    fats = next(n for n in range(1, 100) if n * 128 >= n + 1 + sectors)
    chain = [_FAT] * fats + [_END] + [fats + 2 + at for at in range(sectors - 1)] + [_END]
    fat = struct.pack(f"<{fats * 128}I", *chain, *[_FREE] * (fats * 128 - len(chain)))
    header = bytes.fromhex("D0CF11E0A1B11AE1") + b"\0" * 16
    header += struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + b"\0" * 6
    header += struct.pack("<9I", 0, fats, fats, 0, 4096, _END, 0, _END, 0)
    header += struct.pack("<109I", *range(fats), *[_FREE] * (109 - fats))
    entries = [_entry("Root Entry", 5, 1, _END, 0), _entry(name, 2, _FREE, fats + 1, len(stream))]
    folder = b"".join([*entries, *[_entry("", 0, _FREE, 0, 0)] * 2])
    return header.ljust(_SECTOR, b"\0") + fat + folder + stream.ljust(sectors * _SECTOR, b"\0")


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = (name + "\0").encode("utf-16-le") if name else b""
    about = struct.pack("<HBBIII", len(text), kind, 1, _FREE, _FREE, child) + b"\0" * 36
    return text.ljust(64, b"\0") + about + struct.pack("<III", start, size, 0)
