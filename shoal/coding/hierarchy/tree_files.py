"""Hierarchies in CSV files: ``value;level 1;..;*``, one line per value."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import polars as pl

from shoal.coding.hierarchy.distinct_values import text_of
from shoal.coding.hierarchy.tree import ROOT, Hierarchy
from shoal.coding.hierarchy.tree_rows import from_rows
from shoal.errors import HierarchyError, did_you_mean
from shoal.support.machine.files import read_bytes
from shoal.support.wording import format_count

DELIMITERS = (";", "\t", ",", "|")


def from_file(values: pl.Series, path: str | Path) -> Hierarchy:
    """Read the hierarchy of a column from a CSV file (UTF-8; the delimiter is detected)."""
    return from_csv(values, read_text(path), Path(path).name)


def read_text(path: str | Path, name: str = "") -> str:
    """Return the text of a hierarchy file; errors call it `name`."""
    file = Path(path)
    try:
        content = read_bytes(file)
    except FileNotFoundError:
        there = sorted(other.name for other in file.parent.glob("*.csv")) if file.parent.is_dir() else []
        hint = did_you_mean(file.name, there)
        raise HierarchyError(
            f"the hierarchy file {file} does not exist{f' ({hint})' if hint else ''}"
        ) from None
    except OSError as error:
        raise HierarchyError(f"the hierarchy file {file} cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise HierarchyError(
            f"{name or file.name}: line {line} is not UTF-8: save the file in that encoding"
        ) from None
    return text


def from_csv(values: pl.Series, text: str, source: str = "the hierarchy") -> Hierarchy:
    """Read the hierarchy of a column from CSV text. Leaves that the data does not have belong to the domain, too."""
    rows, lines = read_rows(values, text, source)
    return from_rows(values, rows, source, lines)


def read_rows(values: pl.Series, text: str, source: str) -> tuple[list[list[str]], list[int]]:
    """Return the rows ``value, level 1, .., top`` of CSV text, all of one length, and the line of each."""
    rows, lines = _split(text.removeprefix("\ufeff"), _likely_delimiter(text), source)
    if not rows:
        raise HierarchyError(f"{source} is empty: it needs one line per value, such as 'Spain;Europe;*'")
    widths = [len(row) for row in rows]
    usual = max(Counter(widths).items(), key=lambda item: (item[1], item[0]))[0]
    odd = [(line, width) for line, width in zip(lines, widths, strict=True) if width != usual]
    if odd:
        shown = ", ".join(f"line {line} has {width}" for line, width in odd[:5])
        more = f" and {len(odd) - 5:,} more lines differ" if len(odd) > 5 else ""
        raise HierarchyError(
            f"{source} is unbalanced: most lines have {format_count(usual, 'field')}, but {shown}{more}: "
            "repeat a name if a branch has fewer levels"
        )
    _no_header(rows, lines, values, source)
    return rows, lines


def _no_header(rows: list[list[str]], lines: list[int], values: pl.Series, source: str) -> None:
    """Refuse a header, which would become a value: the first line, if it alone does not end in the root."""
    tops = {row[-1] for row in rows[1:]}
    if tops == {ROOT} and rows[0][-1] != ROOT and rows[0][0] not in text_of(values).to_list():
        raise HierarchyError(
            f"{source}: line {lines[0]} looks like a header, because it alone does not end in '{ROOT}': remove it"
        )


def _split(
    text: str, delimiter: str, source: str, most: int | None = None
) -> tuple[list[list[str]], list[int]]:
    rows, lines = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    first = 1
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(first)
            first = reader.line_num + 1
            if most is not None and len(rows) >= most:
                break
    except csv.Error as error:
        raise HierarchyError(f"{source}: line {first} is not valid CSV: {error}") from None
    return rows, lines


def _likely_delimiter(text: str) -> str:
    """Choose the delimiter with which the first lines look most like a tree: same width, one name on top."""

    def score(delimiter: str) -> tuple[bool, bool, int]:
        try:
            rows, _ = _split(text, delimiter, "the hierarchy", 200)
        except HierarchyError:  # its quotes belong to another delimiter, or to none
            return False, False, 0
        widths = {len(row) for row in rows}
        wide = sum(len(row) > 1 for row in rows)
        return len(widths) == 1 and wide > 0, wide > 0 and len({row[-1] for row in rows}) == 1, wide

    return max(DELIMITERS, key=score)


def to_csv(hierarchy: Hierarchy) -> str:
    """Write a hierarchy as CSV, one line per value, so that `from_csv` reads the same tree. O(levels x leaves)."""
    rows = level_names(hierarchy)
    line = pl.concat_str(*map(_quote_column, rows.columns), separator=";")
    # Readers skip an empty line, so a single null is written as an empty text.
    lines = rows.select(line.replace("", '""')).to_series()
    return "".join(f"{text}\n" for text in lines)


def level_names(hierarchy: Hierarchy) -> pl.DataFrame:
    """Return one row per value: its name at every level, ``L0``, ``L1``, .. The row of null has nulls."""
    columns = [
        hierarchy.names(hierarchy.low[level], hierarchy.high[level], level)
        for level in range(len(hierarchy.levels))
    ]
    if hierarchy.hiding is not None:  # a file lists values, so what hides them is a level above
        columns = [text_of(hierarchy.leaves), *columns]
    rows = pl.DataFrame({f"L{level}": names for level, names in enumerate(columns)})
    if hierarchy.leaves.null_count() and (rows["L0"] == "").any():
        # An empty value can mean one thing only; null needs no line, because it gets a node anyway.
        return rows.drop_nulls("L0")
    return rows


def _quote_column(column: str) -> pl.Expr:
    field, quote = pl.col(column), pl.lit('"')
    needed = field.str.contains(r'[;\t,|"\n\r]') | (field != field.str.strip_chars()) | (field == "")
    quoted = pl.concat_str(quote, field.str.replace_all('"', '""', literal=True), quote)
    return pl.when(needed).then(quoted).otherwise(field).fill_null("")
