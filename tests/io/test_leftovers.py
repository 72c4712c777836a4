"""Files and frames hold the published cells and nothing else: markers in suppressed rows, identifiers, unused
categories and under nulls are in none of their bytes."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

import shoal
from shoal.apps.cli import main
from shoal.io import FORMATS, write
from shoal.io.formats.format import FileFormat
from shoal.io.leftovers import without_leftovers

MARK = b"MARK"
WHOLE = int.from_bytes(MARK, "little")
REAL = struct.unpack("<d", MARK * 2)[0]
"""Numbers whose bytes in a file are the marker."""
SIGNS = (MARK, str(WHOLE).encode(), repr(REAL).encode())
ROWS = 42
FEW = pl.Enum(["a", "b", "MARKe", "MARKunused"])
LONG = "so long that it lies in a buffer"
SUFFIXES = [kind.suffixes[0] for kind in FORMATS.values() if issubclass(kind, FileFormat)] + [".csv.gz"]


def column(usual, marked, dtype=None):
    """One row is suppressed, and has the marker."""
    return pl.Series([*(usual[row % len(usual)] for row in range(ROWS)), marked], dtype=dtype)


def nulled(values: pl.Series) -> pl.Series:
    """Make the values with a marker null, as users do; the memory still holds them."""
    hidden = [not any(sign in str(value).encode() for sign in SIGNS) for value in values]
    return pl.select(pl.when(pl.Series(hidden)).then(values)).to_series()


PLAIN = {
    "text": column([LONG, "short"], f"MARK {LONG}"),
    "short": column(["x", "y"], "MARKs"),
    "whole": column([1, 2], WHOLE),
    "real": column([1.5, 2.5], REAL),
    "flag": column([True], False),
    "day": column([dt.date(2000, 1, 1)], dt.date(1970, 1, 1)),
    "enum": column(["a", "b"], "MARKe", FEW),
    "category": column(["a", "b"], "MARKc").cast(pl.Categorical),
    "null_text": nulled(column([LONG, f"MARK {LONG}", "MARK", "x"], "x")),
    "null_whole": nulled(column([1, WHOLE], 1)),
}
NESTED = {
    "binary": column([b"short", LONG.encode()], f"MARK {LONG}".encode()),
    "list": column([["a"], [LONG], [], None], [f"MARK {LONG}"]),
    "list_enum": column([["a"], [], None], ["MARKe"], pl.List(FEW)),
    "array": column([["a", LONG]], [f"MARK {LONG}", "b"], pl.Array(pl.String, 2)),
    "array_enum": column([["a", "b"], None], ["MARKe", "a"], pl.Array(FEW, 2)),
    "struct": column([{"x": "a", "y": 1}, None], {"x": f"MARK {LONG}", "y": WHOLE}),
    "struct_enum": column([{"x": "a"}], {"x": "MARKe"}, pl.Struct({"x": FEW})),
    "list_struct": column([[{"x": "a"}], None], [{"x": "MARKe"}], pl.List(pl.Struct({"x": FEW}))),
    "array_struct": column([[{"x": "a"}]], [{"x": "MARKe"}], pl.Array(pl.Struct({"x": FEW}), 1)),
    "deep": column([[[{"x": ["a"]}]]], [[{"x": ["MARKe"]}]], pl.List(pl.List(pl.Struct({"x": pl.List(FEW)})))),
    "list_category": column([[{"x": "a"}]], [{"x": "MARKc"}], pl.List(pl.Struct({"x": pl.Categorical}))),
    "null_struct": nulled(column([{"x": f"MARK {LONG}"}, {"x": "a"}], {"x": "a"})),
    "null_list": nulled(column([[f"MARK {LONG}"], ["a"]], ["a"])),
    "null_struct_whole": nulled(column([{"x": WHOLE}, {"x": 1}], {"x": 1})),
    "struct_null_whole": nulled(column([WHOLE, 1], 1)).to_frame("x").to_struct(),
    "null_list_whole": nulled(column([[WHOLE], [1]], [1])),
    "list_null_whole": nulled(column([WHOLE, 1], 1)).to_frame("x").select(pl.concat_list("x")).to_series(),
    "null_list_struct": nulled(column([[{"x": WHOLE}], [{"x": 1}]], [{"x": 1}])),
    "null_array_whole": nulled(column([[WHOLE, 1], [1, 2]], [1, 1], pl.Array(pl.Int64, 2))),
}  # fmt: skip
QUASI = {
    "block": column(["north"], "rare"),
    "age": column([20, 25, 31, 40, 47, 52, 58], WHOLE),
    "height": column([1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1], REAL),
    "town": column(["Aa", "Bb", "Cc", "Dd", "Ee", "Ff", "Gg"], "MARKtown"),
}
OTHERS = {
    "id": column([f"MARK{row}" for row in range(ROWS)], "MARK"),
    "secret": column(["u", "v", "w"], "MARKs"),
}


def table(*, nested: bool) -> pl.DataFrame:
    return pl.DataFrame(OTHERS | QUASI | PLAIN | (NESTED if nested else {}))


def policy(hierarchy: str, method: str = "mondrian", *, nested: bool = True) -> shoal.Policy:
    columns: dict = {name: {"role": "plain"} for name in PLAIN | (NESTED if nested else {})}
    columns |= {name: {"role": "quasi", "hierarchy": hierarchy} for name in QUASI}
    columns |= {"id": {"role": "identifier"}, "secret": {"role": "sensitive"}}
    columns["block"] = {"role": "quasi", "limit": 0}
    rest = {"privacy": {"k": 3}, "method": {"name": method}, "utility": {"suppression": 0.2}}
    return shoal.Policy.from_dict({"columns": columns, **rest})


def clean(content: bytes) -> bool:
    return not any(sign in content for sign in SIGNS)


def contents(path: Path) -> bytes:
    """All that a file holds, unpacked."""
    content = path.read_bytes()
    if content[:2] == b"PK":
        with zipfile.ZipFile(path) as archive:
            return b"".join(archive.read(name) for name in archive.namelist())
    if content[:2] == b"\x1f\x8b":
        return gzip.decompress(content)
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        out = io.BytesIO()
        pq.write_table(file.read(), out, compression="none")
        return content + out.getvalue() + str(file.metadata.to_dict()).encode()
    if path.suffix == ".arrow":
        out = io.BytesIO()
        with pa.ipc.open_file(path) as file, pa.ipc.new_file(out, file.schema) as copy:
            for number in range(file.num_record_batches):
                copy.write_batch(file.get_batch(number))
        return content + out.getvalue()
    return content


def test_the_markers_are_found_where_they_are(tmp_path):
    for name, marked in (PLAIN | NESTED | QUASI | OTHERS).items():
        if name not in ("flag", "day", "block"):
            assert not clean(pickle.dumps(marked)), name
    for suffix in SUFFIXES:
        kept = table(nested=False).select("id", "age", "text")
        write(kept, tmp_path / f"all{suffix}")
        assert not clean(contents(tmp_path / f"all{suffix}")), suffix


@pytest.mark.parametrize("hierarchy", ["auto", "none"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_byte_of_a_file_tells_of_a_suppressed_row(tmp_path, suffix, hierarchy):
    nested = suffix in (".parquet", ".arrow")
    made = shoal.anonymize(table(nested=nested), policy(hierarchy, nested=nested))
    assert made.suppressed == 1
    write(made.table, tmp_path / f"out{suffix}")
    assert clean(contents(tmp_path / f"out{suffix}"))


@pytest.mark.parametrize("method", ["mondrian", "full-domain", "hilbert", "forest"])
@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pyarrow", "pyarrow-batch", "pandas"])
def test_no_frame_holds_anything_of_a_suppressed_row(kind, method):
    given: object
    own = table(nested=True)
    if kind == "pandas":
        own = own.drop("list_category")
        given = own.to_pandas()
        given.attrs["MARK"] = "MARK"  # type: ignore[attr-defined]
        given.index = given["id"]  # type: ignore[attr-defined]
    elif kind.startswith("pyarrow"):
        given = own.to_arrow().replace_schema_metadata({"MARK": "MARK"})
        given = given.combine_chunks().to_batches()[0] if kind == "pyarrow-batch" else given
    else:
        given = own.lazy() if kind == "polars-lazy" else own
    rules = policy("auto", method)
    if kind == "pandas":
        raw = rules.to_dict()
        raw["columns"] = {name: column for name, column in raw["columns"].items() if name in own.columns}
        rules = shoal.Policy.from_dict(raw)
    made = shoal.anonymize(given, rules)
    frame = made.table.collect() if kind == "polars-lazy" else made.table
    assert made.suppressed == 1
    assert clean(pickle.dumps(frame))
    assert clean(str(getattr(frame, "schema", "")).encode())
    assert clean(repr(made).encode())
    assert clean(json.dumps(made.card).encode())


@pytest.mark.parametrize("kind", ["pyarrow", "pandas"])
def test_notes_in_the_types_of_a_frame_stay_behind(kind):
    noted = pa.field("x", pa.string(), metadata={"MARK": "MARK"})
    types = [
        pa.struct([noted]),
        pa.list_(noted),
        pa.large_list(noted),
        pa.list_(noted, 1),
        pa.map_(pa.string(), noted),
    ]
    cells = [{"x": "a"}, ["a"], ["a"], ["a"], [("a", "a")]]
    columns = {
        f"c{at}": pa.array([cell] * 4, dtype)
        for at, (cell, dtype) in enumerate(zip(cells, types, strict=True))
    }
    given = pa.table({"age": [1, 1, 2, 2], **columns})
    if kind == "pandas":
        given = given.to_pandas(types_mapper=pd.ArrowDtype)
    made = shoal.anonymize(given, quasi=["age"], plain=list(columns), k=2)
    assert not clean(pickle.dumps(given))
    assert clean(pickle.dumps(made.table))


def test_what_the_public_gets_shows_no_marker(tmp_path):
    own = table(nested=False).drop("category").with_columns(pl.col("enum").cast(pl.String))
    own.write_parquet(tmp_path / "data.parquet")
    rules = policy("auto", nested=False)
    raw = rules.to_dict()
    raw["columns"].pop("category")
    (tmp_path / "policy.toml").write_text(shoal.Policy.from_dict(raw).to_toml())
    run = CliRunner()
    word = [
        str(tmp_path / name) for name in ("data.parquet", "policy.toml", "out.csv", "card.md", "card.json")
    ]
    made = run.invoke(
        main, ["anonymize", word[0], "-p", word[1], "-o", word[2], "--card", word[3], "--card", word[4]]
    )
    assert made.exit_code == 0, made.output
    assert clean(made.output.encode())
    for file in word[2:]:
        assert clean(Path(file).read_bytes()), file
    page = tmp_path / "page.html"
    told = run.invoke(main, ["report", word[2], "--original", word[0], "-p", word[1], "-o", str(page)])
    assert told.exit_code == 0, told.output
    assert clean(page.read_bytes())
    assert clean(told.output.encode())


@pytest.mark.parametrize("buffers", [True, False])
def test_all_cells_stay_as_they_are(buffers):
    own = table(nested=True)
    for rows in (own, own.head(0), own.head(1), own.sample(fraction=1.0, shuffle=True, seed=1)):
        there = without_leftovers(rows, buffers=buffers)
        assert there.to_dict(as_series=False) == rows.to_dict(as_series=False)
        plain = [
            name
            for name in rows.columns
            if "enum" not in name and name not in ("deep", "list_struct", "array_struct")
        ]
        assert_frame_equal(there.select(plain), rows.select(plain))


@pytest.mark.parametrize(
    "dtype", [pl.Int64, pl.Int128, pl.Decimal(38, 0), pl.Datetime("us"), pl.Duration("ns")]
)
@pytest.mark.parametrize("shape", ["flat", "struct", "list", "array", "list of structs", "struct of lists"])
@pytest.mark.parametrize("inside", [True, False])
def test_no_value_stays_under_a_null(dtype, shape, inside):
    made = pl.Series("x", [WHOLE, 1, WHOLE, 2]).cast(dtype)
    shown = pl.Series([False, True, False, True])
    made = pl.select(x=pl.when(shown).then(made)).to_series() if inside else made
    if shape.endswith("structs") or shape == "struct":
        made = made.to_frame().to_struct("x")
    if "list" in shape:
        made = made.to_frame().select(pl.concat_list("x")).to_series()
    made = made.reshape((4, 1)) if shape == "array" else made
    made = made.to_frame().to_struct("x") if shape == "struct of lists" else made
    own = pl.select(x=made if inside else pl.when(shown).then(made))
    there = without_leftovers(own)
    assert not clean(pickle.dumps(own))
    assert clean(pickle.dumps(there))
    assert_frame_equal(there, own)


def test_categories_that_occur_keep_their_order():
    some = pl.Series("x", ["c", "a", None], pl.Enum(["d", "c", "b", "a"]))
    inside = pl.Series("y", [[{"x": "c"}], [{"x": "a"}], None], pl.List(pl.Struct({"x": some.dtype})))
    there = without_leftovers(pl.DataFrame([some, inside]))
    assert there.schema["x"] == pl.Enum(["c", "a"])
    assert there.schema["y"] == pl.List(pl.Struct({"x": pl.Enum(["c", "a"])}))


def test_a_part_of_a_longer_table_shares_no_memory_with_it():
    whole = pl.DataFrame(
        {"x": [f"{LONG} {row}" for row in range(100)], "y": [[f"{LONG} {row}"] for row in range(100)]}
    )
    some = whole.filter(pl.Series(np.arange(100) % 50 == 7))
    assert b"buffer 8" in pickle.dumps(some)
    assert b"buffer 8" not in pickle.dumps(without_leftovers(some))
