"""Dataframes and files of all kinds come in whole, and what is wrong is refused with a hint."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal, assert_series_equal

from shoal.errors import DataError, OutputError
from shoal.io import ReadOptions, check_writable, factorize, give_back, read, write

TABLE = pl.DataFrame(
    {
        "zip": ["01234", None, "90210"],
        "age": [31, 40, None],
        "weight": [70.5, None, 3.25],
        "born": [dt.date(1990, 1, 2), None, dt.date(2001, 12, 31)],
        "seen": [dt.datetime(2020, 1, 1, 10, 30), dt.datetime(2021, 5, 5, 0, 0, 1, 500000), None],
        "note": ['a "quoted", word', "two\nlines", "🐟 émoji"],
    }
)


def csv_of(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


CONSTRUCTORS = {
    "polars": lambda data: data,
    "polars-lazy": lambda data: data.lazy(),
    "pandas": lambda data: data.to_pandas(),
    "pyarrow": lambda data: data.to_arrow(),
}


@pytest.mark.parametrize("kind", CONSTRUCTORS)
def test_frames_come_in_whole_and_go_back_in_their_kind(kind):
    given_frame = CONSTRUCTORS[kind](TABLE)
    frame = read(given_frame)
    assert (frame.kind, frame.rows, frame.columns) == (kind, 3, TABLE.columns)
    assert frame.digest is None
    assert frame.path is None
    # pandas has no dates of its own nor integers with nulls; all others keep every type.
    without = TABLE.with_columns(pl.col("age").cast(pl.Float64), pl.col("born").cast(pl.Datetime("ms")))
    expected = without if kind == "pandas" else TABLE
    assert_frame_equal(frame.data, expected)
    assert frame.schema == frame.data.schema
    for name in frame.columns:
        assert_series_equal(frame.column(name), frame.data[name])
    back = give_back(frame.data, frame.kind)
    assert type(back) is type(given_frame)
    assert_frame_equal(read(back).data, frame.data)


@pytest.mark.parametrize("kind", CONSTRUCTORS)
def test_empty_frames_are_refused(kind):
    with pytest.raises(DataError, match="6 columns but no rows"):
        read(CONSTRUCTORS[kind](TABLE.clear()))


def test_pandas_labels_are_not_positions():
    given_frame = pd.DataFrame({"a": ["x", "y", "z"], 7: [1, 2, 3]}, index=[5, 5, 5])
    frame = read(given_frame)
    assert frame.data.rows() == [("x", 1), ("y", 2), ("z", 3)]
    assert frame.columns == ["a", "7"]
    assert give_back(frame.data, "pandas").index.tolist() == [0, 1, 2]


def test_pandas_types():
    frame = read(
        pd.DataFrame(
            {
                "category": pd.Categorical(["b", None, "a"]),
                "number category": pd.Categorical([3, 1, 3]),
                "integer": pd.array([1, None, 3], dtype="Int64"),
                "truth": pd.array([True, None, False], dtype="boolean"),
                "text": pd.array(["x", None, ""], dtype="string"),
                "float": [math.inf, math.nan, -0.5],
            }
        )
    )
    assert frame.column("category").cast(pl.String).to_list() == ["b", None, "a"]
    assert frame.column("number category").to_list() == [3, 1, 3]
    assert frame.column("integer").to_list() == [1, None, 3]
    assert frame.column("truth").to_list() == [True, None, False]
    assert frame.column("text").to_list() == ["x", None, ""]
    assert frame.column("float").to_list() == [math.inf, None, -0.5]


def test_dictionary_columns_of_arrow():
    table = pa.table({"a": pa.array(["x", None, "x"]).dictionary_encode()})
    codes, values = factorize(read(table).column("a"))
    assert values.gather(codes).cast(pl.String).to_list() == ["x", None, "x"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column has the name 'a'"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "more than one column has the name '1'"),
        (pd.DataFrame({"ok": [1, 2], "a": [1, "x"]}), "columns 'a' of the pandas frame"),
        (pd.DataFrame([[1, 2]], columns=[["a", "a"], ["b", "c"]]), "2 levels"),
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "more than one column has the name 'a'"),
        ([1, 2], "cannot read a builtins.list"),
        (pl.DataFrame(), "no columns"),
    ],
)
def test_frames_that_are_refused(frame, message):
    with pytest.raises(DataError, match=message):
        read(frame)


def test_unknown_column_gets_a_suggestion():
    with pytest.raises(DataError, match="did you mean 'weight'"):
        read(TABLE).column("wieght")


def test_all_null_column_without_a_type_is_text():
    frame = read(pl.DataFrame({"a": [None, None]}))
    assert frame.schema["a"] == pl.String
    assert frame.column("a").dtype == pl.String


def test_null_values_hold_for_frames_too():
    frame = read(pl.DataFrame({"a": ["NA", "x", "?"], "b": [1, 2, 3]}), ReadOptions(null_values=("NA", "?")))
    assert frame.column("a").to_list() == [None, "x", None]


def test_pandas_and_pyarrow_are_not_imported_unless_given():
    script = (
        "import sys, polars as pl, shoal.io as f; f.factorize(f.read(pl.DataFrame({'a': ['x']})).column('a'));"
        "assert not {'pandas', 'pyarrow', 'numba', 'fastexcel'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    "name",
    [
        "t.csv",
        "t.csv.gz",
        "t.tsv",
        "t.parquet",
        "t.arrow",
        "t.feather",
        "t.ipc",
        "t.xlsx",
        "t.jsonl",
        "T.NDJSON",
    ],
)
def test_files_round_trip(tmp_path, name):
    path = write(TABLE, tmp_path / name)
    frame = read(path)
    expected = TABLE.with_columns(pl.col("seen").cast(frame.schema["seen"])) if name == "t.xlsx" else TABLE
    assert_frame_equal(frame.data, expected)
    assert frame.schema == frame.data.schema
    assert frame.rows == 3
    assert frame.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert frame.path == path
    assert os.listdir(tmp_path) == [name]
    assert type(give_back(frame.data, frame.kind)) is pl.DataFrame


def test_missing_file_gets_a_suggestion(tmp_path):
    csv_of(tmp_path, "a\n1\n", "patients.csv")
    with pytest.raises(DataError, match=r"no such file; did you mean 'patients.csv'"):
        read(tmp_path / "patient.csv")
    with pytest.raises(DataError, match=r"there is no directory"):
        read(tmp_path / "nowhere" / "patient.csv")
    with pytest.raises(DataError, match=r"is a directory"):
        read(tmp_path)


def test_unknown_ending_lists_what_there_is(tmp_path):
    with pytest.raises(DataError, match=r"known are \.csv, .*\.parquet.*\.xlsx"):
        read(csv_of(tmp_path, "a\n1\n", "t.docx"))


@pytest.mark.parametrize(
    "name",
    ["t.parquet", "t.arrow", "t.xlsx", "t.xls", "t.jsonl", "t.sav", "t.dta", "t.xpt", "t.csv.gz"],
)
def test_broken_files(tmp_path, name):
    for content in (b"", b"this is not such a file at all, but plain text\n"):
        with pytest.raises(DataError, match=name.replace(".", r"\.")):
            read(csv_of(tmp_path, content, name))


def test_columns_stay_on_disk_until_asked_for(tmp_path):
    path = write(TABLE, tmp_path / "t.parquet")
    frame = read(path)
    write(TABLE.head(2), path, force=True)
    with pytest.raises(DataError, match="was changed while"):
        frame.column("age")
    path.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        frame.column("age")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": 2\n', "line 2: not valid JSON"),
        ('{"a": 1}\n[1]\n', "line 2: every line must be a JSON object"),
        ('{"a": 1, "a": 2}\n', "more than one column has the name 'a'"),
        (b'{"a": "x"}\n{"a": "\xe9"}\n', "line 2, byte 7 of the line: not valid UTF-8"),
    ],
)
def test_bad_json_lines(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read(csv_of(tmp_path, content, "t.jsonl"))


def test_json_lines(tmp_path):
    content = '\ufeff{"a": "01", "d": "2020-01-31"}\n{"a": "2", "n": 1.5}\n'
    frame = read(csv_of(tmp_path, content, "t.jsonl"))
    assert frame.data.rows() == [("01", dt.date(2020, 1, 31), None), ("2", None, 1.5)]


def excel_of(tmp_path, **sheets):
    import xlsxwriter

    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


def test_excel_sheets(tmp_path):
    path = excel_of(
        tmp_path, one=[["a"], ["01"]], two=[["b", "c"], [1, "x"], [2, 5]], double=[["a", "a"], [1, 2]]
    )
    assert read(path).data.rows() == [("01",)]
    assert read(path, ReadOptions(sheet="two")).data.rows() == [(1, "x"), (2, "5")]
    with pytest.raises(DataError, match="no sheet 'twoo'; did you mean 'two'"):
        read(path, ReadOptions(sheet="twoo"))
    with pytest.raises(DataError, match="more than one column has the name 'a'"):
        read(path, ReadOptions(sheet="double"))


def test_excel_without_the_extra(tmp_path, monkeypatch):
    path = excel_of(tmp_path, one=[["a"], [1]])
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(DataError, match=r'pip install "shoal\[excel\]"'):
        read(path)
    with pytest.raises(OutputError, match=r'pip install "shoal\[excel\]"'):
        check_writable(tmp_path / "out.xlsx")


def test_excel_does_not_run_formulas_nor_take_too_many_rows(tmp_path):
    path = write(pl.DataFrame({"a": ["=1+1", "http://x.y"]}), tmp_path / "t.xlsx")
    assert read(path).column("a").to_list() == ["=1+1", "http://x.y"]
    with pytest.raises(OutputError, match="1,048,576 rows do not fit"):
        write(pl.DataFrame({"a": np.zeros(1_048_576)}), tmp_path / "u.xlsx")
