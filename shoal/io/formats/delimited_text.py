"""Delimited text: determines delimiter and encoding before the fast reader runs, and checks the shape after it.

The polars reader splits the file at full speed, but it fills short lines with nulls and gives no line
numbers. So Shoal counts the delimiters outside quotes in one pass over the bytes (every row is complete
exactly if there are enough of them), and if something is wrong, a slow second pass finds the line. No
message shows the content of a row.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import mmap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from shoal.errors import DataError
from shoal.io.column_names import refuse_duplicates, refuse_patterns
from shoal.io.formulas import unescape_formulas
from shoal.io.narrow_types import parse_texts
from shoal.io.read_errors import check_unpacked
from shoal.io.read_options import ReadOptions
from shoal.support.wording import format_count, format_setting

DELIMITERS = (";", "\t", "|", ",")
"""In order of preference: commas occur in text and numbers, the others hardly ever do."""
_BYTES_TO_SNIFF = 1 << 16
_RECORDS_TO_SNIFF = 100
_CHUNK = 1 << 23
_PAIRS = 64
"""Bytes whose zeros show UTF-16."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class _Text:
    """A file as UTF-8 with line feeds: its path if it already is, else its converted bytes."""

    path: Path
    converted: bytes | None
    delimiter: str = ","
    quote: str = '"'
    section: str = "data"

    @property
    def source(self) -> Path | bytes:
        return self.path if self.converted is None else self.converted

    def chunks(self, size: int = _CHUNK) -> Iterator[bytes | memoryview]:
        if self.converted is not None:
            view = memoryview(self.converted)
            yield from (view[at : at + size] for at in range(0, len(view), size))
            return
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
            for at in range(0, len(pages), size):
                yield pages[at : at + size]

    def head(self) -> bytes:
        return bytes(next(self.chunks(_BYTES_TO_SNIFF), b""))

    def lines(self) -> Iterator[str]:
        """Yield lines with their ends; replaces bytes that are not UTF-8, because only messages use this."""
        raw = self.path.open("rb") if self.converted is None else io.BytesIO(self.converted)
        with raw, io.TextIOWrapper(raw, "utf-8", errors="replace", newline="") as text:
            for number, line in enumerate(text):
                yield line.removeprefix("\ufeff") if number == 0 else line


def read_delimited(path: Path, options: ReadOptions) -> tuple[pl.DataFrame, ReadOptions]:
    """Return the table in a CSV file, and the options completed with what was detected. O(bytes)."""
    text, encoding = _as_utf8(path, options)
    quote = '"' if options.quote is None else options.quote
    delimiter = _settle_delimiter(text, options, quote)
    text = replace(text, delimiter=delimiter, quote=quote)
    options = replace(options, delimiter=delimiter, quote=quote, encoding=encoding)
    data = _read_fast(text, _column_names(text, options.header), options)
    if options.escape_formulas:
        data = unescape_formulas(data)
    return data.with_columns([parse_texts(column, options) for column in data]), options


def settle_options(head: bytes, path: Path, options: ReadOptions) -> tuple[list[str], ReadOptions]:
    """Return the names of the columns of a file, and the options completed with what was detected, from its first
    bytes. For tables that another reader splits.
    """
    encoding = options.encoding or next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    whole = head.decode(encoding, errors="ignore").removeprefix("\ufeff")
    text = _Text(path, whole.encode()[:_BYTES_TO_SNIFF], section=options.section)
    if not text.head():
        raise DataError(f"{path}: the file is empty")
    quote = '"' if options.quote is None else options.quote
    delimiter = _settle_delimiter(text, options, quote)
    text = replace(text, delimiter=delimiter, quote=quote)
    options = replace(options, delimiter=delimiter, quote=quote, encoding=encoding)
    return _column_names(text, options.header), options


def _as_utf8(path: Path, options: ReadOptions) -> tuple[_Text, str]:
    converted: bytes | None = None
    if path.suffix == ".gz":
        converted = _unpack(path)
    text = _Text(path, converted, section=options.section)
    if converted == b"":
        raise DataError(f"{path}: the file is empty")
    head = text.head()
    encoding = options.encoding or next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    if not options.encoding:
        _refuse_unmarked(text, head)
    if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
        raw = path.read_bytes() if converted is None else converted
        try:
            converted = raw.decode(encoding).removeprefix("\ufeff").encode()
        except UnicodeDecodeError as error:
            raise _not_decodable(text, encoding, raw[: error.start], raw[error.start]) from None
        head = converted[:_BYTES_TO_SNIFF]
    if b"\r" in head and b"\n" not in head:
        # Old line ends: the fast reader only supports those with a line feed.
        whole = path.read_bytes() if converted is None else converted
        converted = whole.replace(b"\r", b"\n")
    return _Text(path, converted, section=options.section), encoding


def _refuse_unmarked(text: _Text, head: bytes) -> None:
    """Refuse UTF-16 without its mark: each ASCII character has a zero byte before or after it."""
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[first:_PAIRS:2], head[1 - first : _PAIRS : 2]
        if len(zeros) > 1 and not any(zeros) and any(others):
            own = f'[{text.section}] encoding = "{name}" in the policy'
            raise DataError(
                f"{text.path}: the file looks like UTF-16 without a byte order mark; name its encoding: {own}, or "
                + format_setting(f"{text.section}.encoding", name)
            )


def _unpack(path: Path) -> bytes:
    """Return the content of a compressed file, if it fits into memory."""
    content = bytearray()
    with gzip.open(path) as file:
        while piece := file.read(_CHUNK):
            content += piece
            if len(content) > _CHUNK:
                check_unpacked(path, len(content))
    return bytes(content)


def _not_decodable(text: _Text, encoding: str, before: bytes, byte: int) -> DataError:
    line = before.count(b"\n") + 1
    other = "latin-1" if encoding != "latin-1" else "utf-8"
    own = f'[{text.section}] encoding = "{other}" in the policy'
    return DataError(
        f"{text.path}: line {line}, byte {len(before)}: 0x{byte:02x} is not valid {encoding}; "
        f"name the encoding of the file, for example {own}, or "
        + format_setting(f"{text.section}.encoding", other)
    )


def _field_counts(head: bytes, delimiter: str, quote: str) -> list[int]:
    """Return the number of fields of each of the first lines; -1 if quotes contradict the delimiter."""
    text = head.decode("utf-8", errors="replace").removeprefix("\ufeff")
    cut = len(head) == _BYTES_TO_SNIFF
    counts: list[int] = []
    try:
        counts += map(len, _reader(iter(io.StringIO(text, newline="")), delimiter, quote, strict=True))
    except csv.Error:
        counts.append(-1)
    if cut and len(counts) > 1:
        del counts[-1]
    return [count for count in counts if count][:_RECORDS_TO_SNIFF]


def _reader(lines: Iterator[str], delimiter: str, quote: str, strict: bool = False) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 30)
    if quote:
        return iter(csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=strict))
    return iter(csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))


def _settle_delimiter(text: _Text, options: ReadOptions, quote: str) -> str:
    given, likely = options.delimiter, options.likely_delimiter
    head = text.head()
    tabs = text.path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    # A table that was separated by tabs is written with commas, unless the name of its file says tabs.
    first = "\t" if tabs else likely if likely != "\t" else None
    order = dict.fromkeys((first, *DELIMITERS)) if first else DELIMITERS
    best, best_score = first or ",", (False, 0.0, 0)
    for delimiter in order:
        if delimiter == quote:
            continue
        counts = _field_counts(head, delimiter, quote)
        if not counts or counts[0] < 2:
            continue
        agreeing = Counter(counts)[counts[0]] / len(counts)
        if 2 * agreeing <= 1:
            continue  # The name of a single column may hold one of these signs.
        score = (agreeing == 1.0, agreeing, counts[0])
        if score > best_score:
            best, best_score = delimiter, score
    if given is None:
        return best
    if best != given and best_score[0] and set(_field_counts(head, given, quote)) == {1}:
        raise DataError(
            f"{text.path}: with the delimiter {given!r} the table has only one column, but {best!r} "
            f"would split it into {best_score[2]}; set [{text.section}] delimiter = {best!r}, or remove it"
        )
    return given


def _column_names(text: _Text, header: bool) -> list[str]:
    _, first = next(_number_records(text), (1, []))
    path = text.path
    if not header:
        return [f"column_{number}" for number in range(1, max(1, len(first)) + 1)]
    if not first:
        raise DataError(f"{path}: the first line is blank, but it must name the columns; remove it")
    if "\ufffd" in "".join(first):
        _refuse_bad_bytes(text)
    refuse_patterns(first, str(path))
    return refuse_duplicates(first, str(path))


def _read_fast(text: _Text, names: list[str], options: ReadOptions) -> pl.DataFrame:
    try:
        data = pl.read_csv(
            text.source,
            has_header=options.header,
            schema=None if options.header else dict.fromkeys(names, pl.String),
            separator=text.delimiter,
            quote_char=text.quote or None,
            null_values=list(options.null_values) or None,
            infer_schema=False,
            glob=False,
        )
    except pl.exceptions.PolarsError:
        # The reader's message may quote a row, so Shoal does not repeat it.
        raise _explain(text, len(names)) from None
    if data.width != len(names):
        raise _explain(text, len(names))
    data.columns = names
    # No row has too many delimiters: the reader would have refused it.
    if _delimiters_outside_quotes(text) == (data.height + options.header) * (data.width - 1):
        return data
    return _without_blank_lines(text, data, options.header)


def _delimiters_outside_quotes(text: _Text) -> int:
    """Count delimiters that separate fields: those after an even number of quotes. O(bytes)."""
    total = 0
    inside = np.uint8(0)
    for chunk in text.chunks():
        letters = np.frombuffer(chunk, np.uint8)
        found = letters == ord(text.delimiter)
        quotes = (letters == ord(text.quote)) if text.quote else None
        if quotes is not None and (inside or quotes.any()):
            odd = np.bitwise_xor.accumulate(quotes.view(np.uint8)) ^ inside
            inside = odd[-1]
            found &= odd == 0
        total += int(np.count_nonzero(found))
    return total


def _number_records(text: _Text) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of its first line, up to the first row that cannot be split."""
    line = 0

    def count_lines() -> Iterator[str]:
        nonlocal line
        for line, content in enumerate(text.lines(), 1):  # noqa: B007
            yield content

    start = 1
    with contextlib.suppress(csv.Error):
        for record in _reader(count_lines(), text.delimiter, text.quote):
            yield start, record
            start = line + 1


def _without_blank_lines(text: _Text, data: pl.DataFrame, header: bool) -> pl.DataFrame:
    """Drop blank lines, which the reader turns into rows of nulls; refuse a row that has too few fields."""
    keep = np.ones(data.height, np.bool_)
    row = -int(header)
    for line, record in _number_records(text):
        if record and len(record) != data.width:
            raise _uneven_row_error(text, line, len(record), data.width)
        if not record and row < len(keep):
            keep[row] = False
        row += 1
    if row != data.height:
        raise _explain(text, data.width)
    return data.filter(pl.Series(keep))


def _uneven_row_error(text: _Text, line: int, found: int, expected: int) -> DataError:
    return DataError(
        f"{text.path}: line {line}: {format_count(found, 'field')}, but the table has "
        f"{format_count(expected, 'column')}; "
        f"correct the line, or set [{text.section}] delimiter and quote"
    )


def _explain(text: _Text, columns: int) -> DataError:
    """Find out why the fast reader failed: encoding, a row with another number of fields, or quotes."""
    _refuse_bad_bytes(text)
    for line, record in _number_records(text):
        if record and len(record) != columns:
            return _uneven_row_error(text, line, len(record), columns)
    quote = text.quote
    odd = (number for number, line in enumerate(text.lines(), 1) if quote and line.count(quote) % 2)
    return DataError(
        f"{text.path}: line {next(odd, 1)} or later: a quote {quote!r} is not closed, or is inside a field; "
        f'double it there, or set [{text.section}] quote = "" if quotes are plain text in this file'
    )


def _refuse_bad_bytes(text: _Text) -> None:
    path = text.path
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    for chunk in text.chunks():
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(bytes(chunk))
        except UnicodeDecodeError as error:
            position = done - pending + error.start
            raw = path.read_bytes() if text.converted is None else text.converted
            raise _not_decodable(text, "utf-8", raw[:position], raw[position]) from None
        done += len(chunk)
    if decoder.getstate()[0]:
        raise DataError(
            f"{path}: the file ends in the middle of a character; name its encoding: [{text.section}] encoding"
        )
