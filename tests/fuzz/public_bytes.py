"""Many pairs of tables whose public bytes must be the same: `python -m tests.fuzz.public_bytes --pairs 3000`.

Each table becomes a release in one format, by one method. Then suppressed rows change or go, identifiers change, and
people move within their cells, and every release of such a table is compared with the first one: its file or frame,
both codebooks, the card and the public report. A public report and a card are also what an evidence pack makes public.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import gzip
import json
import os
import re
import sqlite3
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import xlsxwriter

import shoal
from shoal.documents.codebook.codebook_files import codebook_text
from shoal.documents.report.build_report import public_page
from shoal.documents.report.report_parts import SignOff
from shoal.documents.report.subject import read_subject
from shoal.errors import ShoalError
from shoal.io.databases import DatabaseTable
from shoal.judging.read_case import Received
from shoal.pipeline.anonymize import anonymize_file
from shoal.release.record import card_markdown
from shoal.release.two_tables import second_path
from tests.fuzz.running import folder
from tests.inputs.pairs import (
    METHODS,
    Pair,
    changed,
    moved,
    odd_pair,
    pair,
    renamed,
    same_decision,
    suppressed,
)

TARGETS = (
    ".csv", ".tsv", ".csv.gz", ".parquet", ".arrow", ".xlsx", ".jsonl", ".dta", ".sav", ".sqlite", ".duckdb",
)  # fmt: skip
SOURCES = (".csv", ".tsv", ".parquet", ".arrow", ".jsonl", ".xlsx", ".sqlite")
CELLS = (".jsonl", ".xlsx", ".sqlite")
"""Formats whose cells have types, while their columns have none."""
FRAMES = ("polars", "pandas", "pyarrow")
CHANGES = 6
"""Changes of a table that are tried."""


def content(path: Path) -> dict[str, bytes]:
    """Return the bytes of a file, without the time at which it was written."""
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        return {name: re.sub(rb"<dcterms[^/]*/dcterms:\w+>", b"", part) for name, part in parts.items()}
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if path.suffix == ".dta":
        data = re.sub(rb"<timestamp>.*?</timestamp>", b"", data, flags=re.DOTALL)
    if path.suffix == ".sav":
        data = data[:92] + data[92 + 17 :]  # the date and the time
    if path.suffix == ".duckdb":
        import duckdb

        with duckdb.connect(str(path), read_only=True) as base:  # pages have addresses at random
            rows = base.sql("SELECT * FROM release")
            return {"types": repr(rows.types).encode(), "rows": repr(rows.fetchall()).encode()}
    return {"": data}


def target(path: Path) -> Path | DatabaseTable:
    """Return where a release goes: in a database, its table has a name."""
    if path.suffix in (".sqlite", ".duckdb"):
        return DatabaseTable(f"{path.suffix[1:]}:///{path}", "release")
    return path


def from_cells(rows: list[dict[str, Any]], path: Path) -> object:
    """Write rows whose cells may have any type into a file."""
    names = list(rows[0])
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, default=lambda day: day.isoformat()) + "\n" for row in rows))
    elif path.suffix == ".xlsx":
        with xlsxwriter.Workbook(
            path, {"default_date_format": "yyyy-mm-dd hh:mm:ss", "nan_inf_to_errors": True}
        ) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, names)
            for at, row in enumerate(rows, start=1):
                for place, cell in enumerate(row.values()):
                    write = sheet.write_string if isinstance(cell, str) else sheet.write
                    write(at, place, cell)
    else:
        with contextlib.closing(sqlite3.connect(path)) as base, base:
            base.execute(f"CREATE TABLE original ({', '.join(names)})")
            cells = [[_in_sqlite(one) for one in row.values()] for row in rows]
            base.executemany(f"INSERT INTO original VALUES ({', '.join('?' * len(names))})", cells)
        return DatabaseTable(f"sqlite:///{path}", "original")
    return path


def _in_sqlite(cell: Any) -> Any:
    if isinstance(cell, dt.date):
        return cell.isoformat()
    return float(cell) if isinstance(cell, int) and abs(cell) >= 2**63 else cell


def as_source(frame: Any, folder: Path, kind: str) -> object:
    """Return a table as a file or frame of a kind."""
    if kind in CELLS:
        return from_cells(frame, folder / f"table{kind}")
    if kind == "polars":
        return frame
    if kind == "pandas":
        return frame.to_pandas(use_pyarrow_extension_array=True)
    if kind == "pyarrow":
        return frame.to_arrow()
    path = folder / f"table{kind}"
    if kind in (".csv", ".tsv"):
        frame.write_csv(path, separator="," if kind == ".csv" else "\t")
    elif kind == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_ipc(path)
    return path


def described(frame: object) -> object:
    """Return the types, categories and cells of a frame."""
    if isinstance(frame, pd.DataFrame):
        return [repr(dtype) for dtype in frame.dtypes], frame.to_csv()
    if isinstance(frame, pa.Table):
        return frame.schema.serialize().to_pybytes(), frame.to_pylist()
    assert isinstance(frame, pl.DataFrame)
    return repr(frame.schema), repr(frame.rows())


@dataclass(frozen=True)
class Public:
    """A release of a table, and everything that the public sees of it."""

    source: object
    made: shoal.Result
    seen: dict[str, Any]


def published(one: Pair, table: Any, kind: str, suffix: str, place: Path) -> Public:
    """Make a release of a table in a format, and everything about it that is public."""
    policy = shoal.Policy.from_dict(one.policy)
    place.mkdir()
    source: Any = as_source(table, place, kind)
    seen: dict[str, Any] = {}
    if kind in FRAMES:
        made = shoal.anonymize(source, policy, seed=1)
        seen["frame"] = described(made.table)
        if made.second is not None:
            seen["second"] = described(made.second)
        for name in ("codebook.json", "codebook.md"):
            seen[name] = codebook_text(made.codebook, Path(name))
    else:
        out = place / f"release{suffix}"
        books = [place / "codebook.json", place / "codebook.md"]
        made = anonymize_file(source, policy, target(out), codebooks=books, seed=1)
        written = [out, *books]
        if made.second is not None and not isinstance(target(out), DatabaseTable):
            written.append(Path(str(second_path(out))))
        seen = {path.name: content(path) for path in written}
    seen["card.json"] = json.dumps(made.card, indent=2)
    seen["card.md"] = card_markdown(made.card)
    subject = read_subject(Received(made, original=source, record=None), policy)
    seen["report.html"] = public_page(subject, SignOff())
    return Public(source, made, seen)


def compared(one: Pair, first: Public, kind: str, suffix: str, place: Path) -> tuple[str, list[str]]:
    """Make the release of the other table of a pair. Return what came of it, and which public parts differ."""
    tables: Any = one.loose if kind in (".csv", ".tsv") else one.cells if kind in CELLS else one.typed
    try:
        second = published(one, tables[1], kind, suffix, place)
    except ShoalError as error:
        return f"refused: {str(error)[:100]}", []
    if one.what in ("changed", "removed") and not suppressed(one, first.made):
        return "published", []
    if not same_decision(one, first.source, second.source, first.made, second.made):
        return "other decision", []
    return "compared", [name for name in first.seen if first.seen[name] != second.seen.get(name)]


def others(one: Pair, first: Public, many: int) -> Iterator[Pair]:
    """Yield pairs with the same first table: half of them change a suppressed row."""
    random = np.random.default_rng([one.number, 1])
    yield one
    for at in range(1, many):
        if at % 4 == 3:
            yield renamed(one, random)
        elif at % 4 == 1:
            other = moved(one, first.source, first.made, random)
            yield changed(one, random) if other is None else other
        else:
            yield changed(one, random)


def setting(number: int) -> tuple[str, str]:
    """Return the source and the target of a table."""
    kinds = [*SOURCES, *FRAMES]
    return kinds[number % len(kinds)], TARGETS[number // len(kinds) % len(TARGETS)]


def tried(
    number: int,
    method: str,
    kind: str,
    suffix: str,
    place: Path,
    many: int = CHANGES,
    made: Callable[[int, str], Pair] = pair,
) -> Iterator[tuple[Pair, str, list[str]]]:
    """Yield the pairs of a table, what came of each, and which public parts differ; nothing if it has no release."""
    one = made(number, method)
    table: Any = (one.loose if kind in (".csv", ".tsv") else one.cells if kind in CELLS else one.typed)[0]
    try:
        first = published(one, table, kind, suffix, place / "first")
    except ShoalError as error:
        yield one, f"no release: {str(error)[:100]}", []
        return
    for at, other in enumerate(others(one, first, many)):
        yield other, *compared(other, first, kind, suffix, place / f"other{at}")


def main() -> int:
    """Compare pairs, and print how many there were of each kind."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.public_bytes", description=__doc__)
    parser.add_argument("--pairs", type=int, default=3000, help="compare at least this many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no table after this time")
    parser.add_argument("--method", choices=list(METHODS), help="only tables of this method")
    parser.add_argument("--kind", choices=[*SOURCES, *FRAMES], help="only tables of this kind")
    parser.add_argument(
        "--odd", action="store_true", help="only tables with odd columns, not every second one"
    )
    parser.add_argument("--table", type=int, help="only this table, with what differs")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    start, tables, different = time.perf_counter(), 0, 0
    counts: Counter[str] = Counter()
    methods, kinds, reasons = Counter[str](), Counter[str](), Counter[str]()
    methods.update(dict.fromkeys(METHODS, 0))
    at = 0 if asked.table is None else asked.table
    while counts["compared"] < asked.pairs and time.perf_counter() - start < asked.seconds:
        number, names = 1_000_000 * asked.seed + at, list(METHODS)
        method = asked.method or names[at % len(names)]
        kind, suffix = setting(at // len(names) + at)
        kind = asked.kind or kind
        with tempfile.TemporaryDirectory(dir=folder()) as place:
            made = odd_pair if asked.odd or at % 2 else pair
            for one, what, parts in tried(number, method, kind, suffix, Path(place), made=made):
                word, _, reason = what.partition(": ")
                counts[word] += 1
                reasons[f"{method}: {reason}"] += bool(reason)
                if what == "compared":
                    methods[method] += 1
                    kinds[kind if kind in FRAMES else f"{kind} to {suffix}"] += 1
                    counts[f"  {one.what}"] += 1
                if parts:
                    different += 1
                    print(f"table {at}: {method}, {kind} to {suffix}, {one.what} {one.column} "
                          f"{one.instead!r} {one.text!r} {one.cell!r}: {', '.join(parts)}", flush=True)  # fmt: skip
        tables, at = tables + 1, at + 1
        if asked.table is not None:
            break
    for title, own in (("outcomes", counts), ("methods", methods), ("formats", kinds)):
        print(f"{title}: " + ", ".join(f"{name.strip()} {many:,}" for name, many in sorted(own.items())))
    for reason, many in reasons.most_common(12):
        print(f"  {many:,} x {reason}" if many else "")
    print(
        f"{tables:,} tables, {counts['compared']:,} pairs, {len(kinds)} formats, "
        f"{sum(many > 0 for many in methods.values())} of {len(METHODS)} methods, {different:,} differences, "
        f"{time.perf_counter() - start:.0f} s"
    )
    return int(different > 0)


if __name__ == "__main__":
    os.environ["POLARS_MAX_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"
    sys.exit(main())
