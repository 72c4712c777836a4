"""What an evidence pack may contain: regular files under plain names, each name once, and no more than it says.

A pack comes from somebody else. So nothing is unpacked or read before the names, kinds and sizes of all files are
checked: two files of one name, a link or a name with ``..`` would let one file be checked and another one be read.

Programs read a zip in different ways: from its start or from its end, with names from three places. So a zip is
accepted only if all bytes except the compressed contents are exactly those that Shoal writes for these names and sizes.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from shoal.errors import DataError
from shoal.support.wording import format_count

MOST_FILES = 10_000
SMALL = 256 << 20
"""Bytes up to which a zip may unpack, however small it is."""
RATIO = 100
"""How many times its size a larger zip may unpack to. Tables seldom reach 30, files made to fill a disk reach 1,000."""
_PIECE = 1 << 20
_SYSTEMS = (3, 0)
"""What Python notes as the system that made a zip: Unix, Windows."""
_OTHER_FORM = "the zip does not have the form in which Shoal writes packs"
_BY_HAND = "if you trust its sender, unpack it yourself and check the folder"
_BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, LookupError, NotImplementedError, OSError, RuntimeError,
           ValueError, OverflowError)  # fmt: skip
"""What reading a damaged zip raises."""


def name_problem(name: str) -> str:
    """Return why this cannot be the name of a file in a pack; empty if it can. Names mean the same on all systems."""
    parts = name.split("/")
    if not name or name.startswith("/") or ".." in parts or (len(name) > 1 and name[1] == ":"):
        return "is outside of the pack"
    if "" in parts or "." in parts or "\\" in name or any(part[-1] in ". " for part in parts):
        return "is not a plain name"
    if len(name) > 1_000 or not name.isprintable():
        return "is not a plain name"
    return ""


def names_problems(names: Iterable[str]) -> list[str]:
    """Return, in words, names that cannot be those of a pack, and names that some system takes for one."""
    problems, seen = [], dict[str, str]()
    for name in names:
        reason = name_problem(name)
        if reason:
            problems.append(f"{printable_name(name)} {reason}")
        same = same_name(name)
        if same in seen:
            problems.append(f"{printable_name(seen[same])} and {printable_name(name)} have the same name")
        seen.setdefault(same, name)
    return problems


def same_name(name: str) -> str:
    """Return what is equal for names that some system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def plain_name(name: str) -> str:
    """Return a name that a file in a pack may have: the same, if it may."""
    return re.sub(r"[^\w.-]|\.$", "_", name) if name_problem(f"_/{name}") else name


def printable_name(name: str) -> str:
    """Return a file name that is safe to print: short, without control characters."""
    return name if name.isprintable() and len(name) <= 200 else ascii(name[:200])


def folder_problems(folder: Path) -> list[str]:
    """Return, in words, what is in a folder and cannot be in a pack: links, devices, strange names."""
    problems: list[str] = []
    names: list[str] = []
    todo = [(str(folder), "")]
    try:
        while todo and len(names) <= MOST_FILES:
            place, before = todo.pop()
            for entry in os.scandir(place):
                name = before + entry.name
                if entry.is_dir(follow_symlinks=False):
                    todo.append((entry.path, f"{name}/"))
                elif not entry.is_file(follow_symlinks=False):
                    problems.append(f"{printable_name(name)} is a link or another special file")
                names.append(name)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None
    if len(names) > MOST_FILES:
        return [f"it contains more than {MOST_FILES:,} files"]
    return sorted(problems) + names_problems(sorted(names))


def unpack(pack: Path, folder: Path) -> list[str]:
    """Unpack a zip into an empty folder. Return, in words, why it is not the zip of a pack; nothing if it is."""
    try:
        with pack.open("rb") as file:
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
            size = file.seek(0, os.SEEK_END)
            if problems := _zip_problems(entries, size):
                return problems
            total = sum(entry.file_size for entry in entries)
            if total > shutil.disk_usage(folder).free:
                raise DataError(f"{pack} unpacks to {total:,} bytes, which {folder.parent} has no room for")
            at = file.seek(0)
            again = [_written_by_shoal(entry) for entry in entries]
            for entry in again:
                entry.header_offset = at
                header = entry.FileHeader(entry.file_size * 1.05 > zipfile.ZIP64_LIMIT)  # as Python decides
                if file.read(len(header)) != header:
                    return [f"{_OTHER_FORM}, at {printable_name(entry.filename)} (byte {at:,}): {_BY_HAND}"]
                if not _unpack_one(file, entry, folder / entry.filename):
                    return [
                        f"{printable_name(entry.filename)} was changed: its content is not what the zip says"
                    ]
                at += len(header) + entry.compress_size
            ends = [_directory(again, at, system) for system in _SYSTEMS]
            if file.read(max(map(len, ends)) + 1) not in ends:
                return [f"{_OTHER_FORM}, in the list of files at its end (byte {at:,}): {_BY_HAND}"]
    except _BROKEN as error:
        raise DataError(f"{pack} cannot be read as a zip: {error or type(error).__name__}") from None
    return []


def _unpack_one(file: BinaryIO, entry: zipfile.ZipInfo, target: Path) -> bool:
    """Unpack the content that begins here. Return whether it has the size and the checksum that the zip says, and
    nothing follows it in its place.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    inflate, left, size, crc = zlib.decompressobj(-zlib.MAX_WBITS), entry.compress_size, 0, 0
    with target.open("xb") as unpacked:
        while left:
            piece = file.read(min(_PIECE, left))
            if not piece:
                return False
            left -= len(piece)
            while piece:
                try:
                    part = inflate.decompress(piece, _PIECE)
                    piece = inflate.unconsumed_tail
                    part += b"" if piece or left else inflate.flush()
                except zlib.error:
                    return False
                size, crc = size + len(part), zlib.crc32(part, crc)
                if size > entry.file_size:
                    return False
                unpacked.write(part)
    return inflate.eof and not inflate.unused_data and (size, crc) == (entry.file_size, entry.CRC)


def _zip_problems(entries: Sequence[zipfile.ZipInfo], size: int) -> list[str]:
    """Return, in words, what the list of files in a zip has that no pack has."""
    if len(entries) > MOST_FILES:
        return [f"it contains {format_count(len(entries), 'file')}, more than {MOST_FILES:,}"]
    problems = names_problems(entry.filename for entry in entries)
    for entry in entries:
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            problems.append(f"{printable_name(entry.filename)} is a link or another special file")
    total = sum(entry.file_size for entry in entries)
    if total > max(SMALL, RATIO * size):
        problems.append(
            f"it has {size:,} bytes and unpacks to {total:,}, more than {RATIO} times as many: {_BY_HAND}"
        )
    return problems


def _written_by_shoal(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Return the entry that Shoal writes for a file of this name, size and checksum."""
    found = zipfile.ZipInfo(entry.filename)
    found.CRC, found.compress_size, found.file_size = entry.CRC, entry.compress_size, entry.file_size
    found.compress_type, found.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
    return found


class _End(BytesIO):
    """The end of a file that has `start` bytes in front of it."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def tell(self) -> int:
        return self.start + super().tell()

    def seek(self, at: int, whence: int = os.SEEK_SET) -> int:
        return self.start + super().seek(at - self.start, whence)


def _directory(entries: Sequence[zipfile.ZipInfo], start: int, system: int) -> bytes:
    """Return the bytes that Shoal writes after all files: the list of them, and the end record. O(files)."""
    file = _End(start)
    with zipfile.ZipFile(file, "w") as archive:
        for entry in entries:
            entry.create_system = system
            archive.filelist.append(entry)
    return file.getvalue()
