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
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from shoal.errors import DataError
from shoal.wording import counted

MOST_FILES = 10_000
SMALL = 256 << 20
"""Bytes up to which a zip may unpack, however small it is."""
RATIO = 100
"""How many times its size a larger zip may unpack to. Tables seldom reach 30, files made to fill a disk reach 1,000."""
_PIECE = 1 << 20
_SYSTEMS = (3, 0)
"""What Python notes as the system that made a zip: Unix, Windows."""
_DATE = 1 << 5 | 1
"""1 January 1980, the date of all files in a zip that Shoal writes."""
_MODE = 0o600 << 16
_IN_ZIP64 = 0xFFFFFFFF
"""In place of a number that needs more than 32 bits."""
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
            problems.append(f"{shown(name)} {reason}")
        same = same_name(name)
        if same in seen:
            problems.append(f"{shown(seen[same])} and {shown(name)} have the same name")
        seen.setdefault(same, name)
    return problems


def same_name(name: str) -> str:
    """Return what is equal for names that some system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def plain_name(name: str) -> str:
    """Return a name that a file in a pack may have: the same, if it may."""
    return re.sub(r"[^\w.-]|\.$", "_", name) if name_problem(f"_/{name}") else name


def shown(name: str) -> str:
    """Return a name for a message: short, without characters that change the terminal."""
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
                    problems.append(f"{shown(name)} is a link or another special file")
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
            problems = _zip_problems(entries, size) or _form_problems(file, entries, size)
            if problems:
                return problems
            total = sum(entry.file_size for entry in entries)
            if total > shutil.disk_usage(folder).free:
                raise DataError(f"{pack} unpacks to {total:,} bytes, which {folder.parent} has no room for")
            at = 0
            for entry in entries:
                at += len(_local_header(entry))
                file.seek(at)
                if not _unpack_one(file, entry, folder / entry.filename):
                    return [f"{shown(entry.filename)} was changed: its content is not what the zip says"]
                at += entry.compress_size
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
        return [f"it contains {counted(len(entries), 'file')}, more than {MOST_FILES:,}"]
    problems = names_problems(entry.filename for entry in entries)
    for entry in entries:
        name = shown(entry.filename)
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            problems.append(f"{name} is a link or another special file")
        if entry.flag_bits & 1:
            problems.append(f"{name} is encrypted")
        if entry.compress_type != zipfile.ZIP_DEFLATED:
            problems.append(f"{name} is compressed in a way that packs do not use")
    total = sum(entry.file_size for entry in entries)
    if total > max(SMALL, RATIO * size):
        problems.append(
            f"it has {size:,} bytes and unpacks to {total:,}, more than {RATIO} times as many: {_BY_HAND}"
        )
    return problems


def _form_problems(file: BinaryIO, entries: Sequence[zipfile.ZipInfo], size: int) -> list[str]:
    """Compare every byte of a zip outside of the compressed contents with what Shoal writes for files of these names,
    sizes and checksums, in this order, from the first byte to the last.
    """
    at, offsets = 0, []
    for entry in entries:
        offsets.append(at)
        header = _local_header(entry)
        file.seek(at)
        if file.read(len(header)) != header:
            return [
                f"the zip does not have the form in which Shoal writes packs, at {shown(entry.filename)} (byte "
                f"{at:,}): {_BY_HAND}"
            ]
        at += len(header) + entry.compress_size
    file.seek(min(at, size))
    ends = [_directory(entries, offsets, at, system) for system in _SYSTEMS]
    if file.read(max(map(len, ends)) + 1) not in ends:
        return [
            "the zip does not have the form in which Shoal writes packs, in the list of files at its end (byte "
            f"{at:,}): {_BY_HAND}"
        ]
    return []


def _name_and_flags(entry: zipfile.ZipInfo) -> tuple[bytes, int]:
    name = entry.filename
    return (name.encode(), 0) if name.isascii() else (name.encode(), 0x800)  # 0x800: the name is UTF-8


def _is_large(entry: zipfile.ZipInfo) -> bool:
    """Whether Python notes the sizes of a file in 64 bits in front of it: before it knows the compressed size."""
    return entry.file_size * 1.05 > zipfile.ZIP64_LIMIT


def _local_header(entry: zipfile.ZipInfo) -> bytes:
    """Return the bytes that Shoal writes in front of the content of a file."""
    name, flags = _name_and_flags(entry)
    sizes, extra, version = (entry.compress_size, entry.file_size), b"", zipfile.DEFAULT_VERSION
    if _is_large(entry):
        extra = struct.pack("<HHQQ", 1, 16, entry.file_size, entry.compress_size)
        sizes, version = (_IN_ZIP64, _IN_ZIP64), zipfile.ZIP64_VERSION
    numbers = (version, flags, zipfile.ZIP_DEFLATED, 0, _DATE, entry.CRC, *sizes, len(name), len(extra))
    return struct.pack("<4s5H3L2H", b"PK\3\4", *numbers) + name + extra


def _directory(entries: Sequence[zipfile.ZipInfo], offsets: Sequence[int], start: int, system: int) -> bytes:
    """Return the bytes that Shoal writes after all files: the list of them, and the end record. O(files)."""
    limit, parts = zipfile.ZIP64_LIMIT, []
    for entry, offset in zip(entries, offsets, strict=True):
        name, flags = _name_and_flags(entry)
        sizes, place, wide = (entry.compress_size, entry.file_size), offset, list[int]()
        if max(sizes) > limit:
            wide += [entry.file_size, entry.compress_size]
            sizes = (_IN_ZIP64, _IN_ZIP64)
        if offset > limit:
            wide.append(offset)
            place = _IN_ZIP64
        extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
        version = zipfile.ZIP64_VERSION if wide or _is_large(entry) else zipfile.DEFAULT_VERSION
        numbers = (version, system, version, flags, zipfile.ZIP_DEFLATED, 0, _DATE, entry.CRC, *sizes, len(name),
                   len(extra), 0, 0, 0, _MODE, place)  # fmt: skip
        parts.append(struct.pack("<4s2B5H3L5H2L", b"PK\1\2", *numbers) + name + extra)
    count, length, begin = len(entries), sum(map(len, parts)), start
    if start > limit:
        version = zipfile.ZIP64_VERSION
        parts.append(
            struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, version, version, 0, 0, count, count, length, start)
        )
        parts.append(struct.pack("<4sLQL", b"PK\6\7", 0, start + length, 1))
        begin = min(start, _IN_ZIP64)
    parts.append(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, length, begin, 0))
    return b"".join(parts)
