"""Ways to damage a file: bytes, numbers, nesting, encodings, values of other types, and other formats."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from tests.fuzz.hostile import hostile
from tests.fuzz.originals import TABLES, table, write_table

_NUMBER = re.compile(rb"-?\d+(\.\d+)?")
_VALUE = re.compile(rb"(?<=[=:,\[{])\s*(\"[^\"\n]*\"|[\w.+-]+|\[[^\]\n]*\])")
_WORD = re.compile(rb"[A-Za-z_]{2,}")
NUMBERS = (
    b"0", b"-1", b"1e999", b"nan", b"inf", b"-inf", b"1" * 400, b"9" * 5000, b"-9223372036854775809", b"0.1",
    b"18446744073709551616", b"1e-320", b"2147483648", b"true", b"1_000", b"0x1f", b"'1/0'", b'"1/0"', b'"1/3"',
)  # fmt: skip
VALUES = (
    *NUMBERS, b'""', b'"x"', b"[]", b"{}", b"[[[]]]", b"null", b"1979-05-27", b"0001-01-01", b"1979-05-27T00:00:00Z",
    b"24:00:00", b'"\\u0000"', b'"\\ud800"', b'["a", 1]', b"{ a = 1 }", b'"*"', b'["age", "age"]',
    b'"' + b"x" * 9999 + b'"',
    b"[" * 3000, b"{" * 3000, b"[" * 3000 + b"]" * 3000, b'{"a":' * 3000, b'"age"', b'"city"', b'"/dev/zero"',
    b'"."', b'"auto"', b'"full-domain"', b'"\xff"', b'"../../etc"', b'"a\\nb"',
)  # fmt: skip
BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3",
    b'"',
    b"\n",
    b"\r",
    b"\r\n",
    b",",
    b";",
    b"\t",
    b"\x1a",
    b"[",
    b"{",
)


def damaged(name: str, content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Return a file of this name with some damage, or with content that nobody expects."""
    if rng.random() < 0.3 and (made := hostile(name, content, rng)) is not None:
        return made
    if name.startswith("data.") and name.removeprefix("data.") in TABLES and rng.random() < 0.3:
        return _odd_table(name, rng)
    if name.endswith(".gz") and rng.random() < 0.5:
        return gzip.compress(_changed(gzip.decompress(content), rng, others))
    if name.endswith((".xlsx", ".zip")) and rng.random() < 0.6:
        return _inside(content, rng, others)
    return _changed(content, rng, others)


def _changed(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        content = rng.choice(WAYS)(content, rng, others)
    return content


def _flip(content: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    made = bytearray(content)
    for _number in range(min(rng.choice((1, 1, 2, 5, 40)), len(made))):
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def _overwrite(content: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    start, piece = (
        rng.randrange(len(content) + 1),
        rng.choice((b"\xff", b"\x00", b"\x7f", b"\x80")) * rng.choice((1, 4, 8)),
    )
    return content[:start] + piece + content[start + len(piece) :]


def _cut(content: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _insert(content: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    start = rng.choice((0, rng.randrange(len(content) + 1), len(content)))
    piece = rng.choice((*BYTES, *VALUES)) if rng.random() < 0.8 else rng.randbytes(rng.randrange(1, 200))
    return content[:start] + piece + content[start:]


def _piece(content: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 4, 16, 100, 1000)))


def _double(content: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    start, stop = _piece(content, rng)
    return content[:stop] + content[start:stop] * rng.choice((1, 1, 3, 500)) + content[stop:]


def _remove(content: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    start, stop = _piece(content, rng)
    return content[:start] + content[stop:]


def _swap(content: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    a, b, c = sorted(rng.randrange(len(content) + 1) for _ in range(3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def _other_encoding(content: bytes, rng: random.Random, _: list[bytes]) -> bytes:
    text = content.decode("utf-8", errors="replace")
    return text.encode(
        rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "utf-8-sig", "cp037")), "replace"
    )


def _other_file(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return rng.choice(others)


def _splice(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    other = rng.choice(others)
    return content[: rng.randrange(len(content) + 1)] + other[rng.randrange(len(other) + 1) :]


def _replaced(
    pattern: re.Pattern[bytes], choices: Callable[[random.Random, bytes], bytes]
) -> Callable[..., bytes]:
    def way(content: bytes, rng: random.Random, _: list[bytes]) -> bytes:
        found = list(pattern.finditer(content))
        if not found:
            return content
        one = rng.choice(found)
        return content[: one.start()] + choices(rng, content) + content[one.end() :]

    return way


def _words_of(rng: random.Random, content: bytes) -> bytes:
    words = _WORD.findall(content)
    return rng.choice(words) if words else b"x"


WAYS = (
    _flip, _flip, _overwrite, _cut, _insert, _insert, _double, _remove, _swap, _other_encoding, _other_file, _splice,
    _replaced(_NUMBER, lambda rng, _: rng.choice(NUMBERS)),
    _replaced(_NUMBER, lambda rng, _: rng.choice(NUMBERS)),
    _replaced(_VALUE, lambda rng, _: rng.choice(VALUES)),
    _replaced(_VALUE, lambda rng, _: rng.choice(VALUES)),
    _replaced(_WORD, _words_of),
    _replaced(_WORD, _words_of),
)  # fmt: skip


def _inside(content: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Damage one file of an archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            inner = old.read(name)
            if name == chosen:
                if rng.random() < 0.1:
                    continue
                inner = _changed(inner, rng, others)
            new.writestr(name if rng.random() < 0.98 else f"../{name}", inner)
    return made.getvalue()


def _odd_table(name: str, rng: random.Random) -> bytes:
    """Write a table with values that few tables have, in the format of a name."""
    import tempfile

    data = table(rng.randrange(99), rng.choice((0, 1, 2, 24)))
    for column in rng.sample(data.columns, rng.choice((1, 1, 2, 5))):
        data = data.with_columns(_odd_column(column, data.height, rng))
    if rng.random() < 0.1:
        data = data.rename(
            {rng.choice(data.columns): rng.choice(("", "*", "^a$", "\x00", "a" * 300, "é", "__index"))}
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        try:
            write_table(data, path)
        except BaseException:  # the format has no such values, and polars may panic
            path.write_bytes(table().write_csv().encode())
        return path.read_bytes()


def _odd_column(name: str, rows: int, rng: random.Random) -> pl.Series:
    kinds: dict[pl.DataType, tuple[object, ...]] = {
        pl.Int64(): (2**63 - 1, -(2**63), 0, None),
        pl.UInt64(): (2**64 - 1, 0, None),
        pl.Int128(): (2**127 - 1, 1, None),
        pl.Float64(): (float("nan"), float("inf"), -0.0, 5e-324, 1.7e308, None),
        pl.Float32(): (float("nan"), 3.4e38, 1.5),
        pl.String(): (
            "",
            " ",
            "*",
            "\x00",
            "\u202e",
            "[1, 2]",
            "{a, b}",
            "a" * 5000,
            "null",
            "1e999",
            "9" * 400,
            None,
        ),
        pl.Boolean(): (True, False, None),
        pl.Null(): (None,),
        pl.Date(): (dt.date(1, 1, 1), dt.date(9999, 12, 31), None),
        pl.Datetime("us"): (dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), None),
        pl.Datetime("ns", "UTC"): (dt.datetime(2024, 1, 1), None),
        pl.Time(): (dt.time(0), dt.time(23, 59, 59, 999999), None),
        pl.Duration(): (dt.timedelta(days=9999), dt.timedelta(0), None),
        pl.Binary(): (b"\x00\xff", b"", None),
        pl.List(pl.Int64): ([1], [], None),
        pl.Struct({"a": pl.Int64}): ({"a": 1}, None),
        pl.Categorical(): ("a", "b", None),
        pl.Decimal(38, 10): (1, 99999999, None),
    }
    kind = rng.choice(list(kinds))
    values = [rng.choice(kinds[kind]) for _ in range(rows)]
    made = pl.Series(name, values, dtype=kind, strict=False)
    if kind in (pl.Date, pl.Datetime("us")) and rng.random() < 0.4:  # years that Python's dates do not have
        number = rng.choice((2**31 - 1, -(2**31), 3_000_000, -800_000))
        whole = pl.Int32 if kind == pl.Date else pl.Int64
        made = pl.Series(name, [number * (1 if kind == pl.Date else 10**9)] * rows, dtype=whole).cast(kind)
    return made
