"""Files and dataframes: what goes in comes out, and what is wrong is refused with its place and a hint."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import math
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from shoal.errors import DataError, OutputError
from shoal.frames import ReadOptions, check_writable, factorize, give_back, output, read, write, write_text

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


def rows_of(tmp_path, content, options=None, name="data.csv"):
    return read(csv_of(tmp_path, content, name), options).data.rows()


# ---------------------------------------------------------------------------------------------- dataframes

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
        "import sys, polars as pl, shoal.frames as f; f.factorize(f.read(pl.DataFrame({'a': ['x']})).column('a'));"
        "assert not {'pandas', 'pyarrow', 'numba', 'fastexcel'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# ------------------------------------------------------------------------------------------- round trips


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


AWKWARD = st.text(
    st.one_of(
        st.sampled_from(list(",;\t|\"'\n\r \\#=-+.eE0123456789NATZ:\ufeff\u2028\x85🐟é")),
        st.characters(codec="utf-8"),
    ),
    max_size=6,
)


@given(
    st.lists(st.tuples(AWKWARD | st.none(), AWKWARD | st.none()), min_size=1, max_size=8),
    st.sampled_from(",;\t|"),
)
def test_awkward_text_survives_csv(tmp_path_factory, rows, delimiter):
    data = pl.DataFrame(rows, schema={"first": pl.String, "second": pl.String}, orient="row")
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text(data.write_csv(separator=delimiter), newline="")
    for options in (ReadOptions(guess_types=False), ReadOptions(delimiter=delimiter, guess_types=False)):
        assert_frame_equal(read(path, options).data, data)
    write(data, path, force=True, options=ReadOptions(delimiter=delimiter))
    assert_frame_equal(read(path, ReadOptions(guess_types=False)).data, data)


@given(st.lists(AWKWARD | st.none(), min_size=1, max_size=8))
def test_one_column_of_awkward_text_survives_csv(tmp_path_factory, values):
    data = pl.DataFrame({"only": values}, schema={"only": pl.String})
    path = write(data, tmp_path_factory.mktemp("csv") / "t.csv")
    assert_frame_equal(read(path, ReadOptions(guess_types=False)).data, data)


NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str),
    st.from_regex(r"[+-]?[0-9]{0,3}\.?[0-9]{0,3}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)


@given(st.lists(NUMBERS | st.none(), min_size=1, max_size=5))
def test_guessed_numbers_lose_nothing(tmp_path_factory, texts):
    """Whatever type is guessed: equal values come from equal texts, and each is the value of its text."""
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    pl.DataFrame({"n": texts, "x": ["x"] * len(texts)}, schema={"n": pl.String, "x": pl.String}).write_csv(
        path
    )
    column = read(path).column("n")
    texts = [text or None for text in texts] if column.dtype != pl.String else texts
    assert [value is None for value in column] == [text is None for text in texts]
    if column.dtype == pl.Int64:
        assert [None if value is None else str(value) for value in column] == texts
    elif column.dtype == pl.Float64:
        values = {text: value for text, value in zip(texts, column, strict=True) if text is not None}
        assert all(repr(float(text)) == repr(value) for text, value in values.items())
        assert len({repr(value) for value in values.values()}) == len(values)
        for text in values:
            digits = text.lower().split("e")[0].lstrip("-")
            assert "+" not in digits
            assert not (len(digits) > 1 and digits[0] == "0" and digits[1].isdigit())
    else:
        assert column.to_list() == texts


@given(st.lists(st.floats(), min_size=1, max_size=6))
def test_floats_survive_csv_and_parquet(tmp_path_factory, values):
    data = pl.DataFrame({"x": [*values, 0.5], "y": ["a"] * (len(values) + 1)})
    for name in ("t.csv", "t.parquet", "t.arrow"):
        path = write(data, tmp_path_factory.mktemp("floats") / name)
        back = read(path).column("x")
        if back.dtype == pl.String:  # both zeros at once: two texts for equal numbers
            assert {0.0, -0.0} <= {value for value in values if value == 0}
        else:
            assert [repr(value) for value in back] == [repr(value) for value in data["x"]]


# ------------------------------------------------------------------------------------------ reading CSV


@pytest.mark.parametrize(
    ("texts", "dtype"),
    [
        (["1", "-20", "0"], pl.Int64),
        (["01234", "90210"], pl.String),
        (["1"] * 5000 + ["007"], pl.String),
        (["1"] * 5000 + ["x"], pl.String),
        (["1"] * 5000 + ["1.5"], pl.Float64),
        (["1.5"] * 5000 + ["00.5"], pl.String),
        (["+1", "2"], pl.String),
        ([" 1", "2"], pl.String),
        (["-0", "1"], pl.String),
        (["9223372036854775807"], pl.Int64),
        (["9223372036854775808"], pl.String),
        (["123456789012345678901234567890"], pl.String),
        (["2.50", "10.25"], pl.Float64),
        (["1.1", "1.10"], pl.String),
        (["0.12345678901234567890"], pl.String),
        (["1e400", "1"], pl.String),
        (["1e-400", "1"], pl.String),
        (["1e5", "2.5"], pl.Float64),
        (["1.5", "NaN", "-inf", "inf"], pl.Float64),
        (["NaN", "inf"], pl.String),
        (["1", "NA"], pl.String),
        (["1", "?"], pl.String),
        (["true", "false"], pl.Boolean),
        (["True", "False"], pl.String),
        (["2020-02-29", "1999-12-31"], pl.Date),
        (["2021-02-29", "1999-12-31"], pl.String),
        (["2020-1-1", "1999-12-31"], pl.String),
        (["2020-01-01 10:00", "2020-01-01 10:00:30.5"], pl.Datetime("us")),
        (["2020-01-01T10:00:00", "2020-01-01 10:00:00"], pl.String),
        (["2020-01-01T10:00:00Z", "2020-01-02T10:00:00Z"], pl.Datetime("us", "UTC")),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00"], pl.String),
        (["2020-01-01T10:00:00+02:00", "2020-01-01T10:00:00-05:00"], pl.String),
        (["2020-01-01", "2020-01-01T10:00:00"], pl.String),
    ],
)
def test_types_are_guessed_from_the_whole_column(tmp_path, texts, dtype):
    content = "a;b\n" + "".join(f"{text};\n" for text in texts)
    frame = read(csv_of(tmp_path, content))
    assert frame.column("a").dtype == dtype
    assert frame.column("b").to_list() == [None] * len(texts)
    if dtype == pl.String:
        assert frame.column("a").to_list() == texts
    plain = read(frame.path, ReadOptions(guess_types=False))
    assert plain.column("a").to_list() == texts


def test_values_of_guessed_types(tmp_path):
    content = "i,f,d,t,u,b\n1,2.50,2020-02-29,2020-01-01 10:00,2020-01-01T10:00:00Z,true\n,,,,,\n"
    assert rows_of(tmp_path, content) == [
        (
            1,
            2.5,
            dt.date(2020, 2, 29),
            dt.datetime(2020, 1, 1, 10),
            dt.datetime(2020, 1, 1, 10, tzinfo=dt.UTC),
            True,
        ),
        (None,) * 6,
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt"])
def test_delimiter_is_detected(tmp_path, delimiter, name):
    content = 'name~amount, total\nAnna~1,5\n"x~y"~2,5\n'.replace("~", delimiter)
    if delimiter == ",":
        content = 'name,"amount, total"\nAnna,"1,5"\n"x,y","2,5"\n'
    frame = read(csv_of(tmp_path, content, name))
    assert frame.options.delimiter == delimiter
    assert frame.data.rows() == [("Anna", "1,5"), (f"x{delimiter}y", "2,5")]


def test_one_column_is_one_column(tmp_path):
    assert rows_of(tmp_path, "only\nx\n\ny z\n") == [("x",), (None,), ("y z",)]


def test_wrong_delimiter_never_gives_one_column_silently(tmp_path):
    path = csv_of(tmp_path, "a;b\n1;2\n")
    with pytest.raises(DataError, match=r"only one column, but ';' would split it into 2"):
        read(path, ReadOptions(delimiter=","))


def test_long_first_lines(tmp_path):
    names = [f"column number {i}" for i in range(20_000)]
    content = ";".join(names) + "\n" + ";".join(map(str, range(20_000))) + "\n"
    frame = read(csv_of(tmp_path, content))
    assert frame.columns == names
    assert frame.data.row(0) == tuple(range(20_000))


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("\ufeffä;b\né;🐟\n".encode(), None),
        ("ä;b\né;🐟\n".encode("utf-16"), None),
        ("ä;b\né;🐟\n".encode("utf-16-be"), ReadOptions(encoding="utf-16-be")),
        ("ä;b\r\né;🐟\r\n".encode(), None),
        ("ä;b\ré;🐟\r".encode(), None),
        ("ä;b\né;🐟".encode(), ReadOptions(encoding="UTF-8")),
        ('"ä";"b"\n"é";"🐟"\n'.encode(), None),
        ("'ä';b\n'é';🐟\n".encode(), ReadOptions(quote="'")),
        ("\ufeff'ä';b\n'é';🐟\n".encode(), ReadOptions(quote="'")),
        ("ä;b\n\né;🐟\n\n\n".encode(), None),
        ("ä;b\r\n\r\né;🐟\r\n\r\n".encode(), None),
    ],
)
def test_encodings_line_ends_and_blank_lines(tmp_path, content, options):
    frame = read(csv_of(tmp_path, content), options)
    assert frame.columns == ["ä", "b"]
    assert frame.data.rows() == [("é", "🐟")]


def test_latin_1(tmp_path):
    content = "name;city\nJosé;Köln\n".encode("latin-1")
    assert rows_of(tmp_path, content, ReadOptions(encoding="latin-1")) == [("José", "Köln")]
    with pytest.raises(DataError, match=r'line 2, byte 13: 0xe9 is not valid utf-8.*encoding = "latin-1"'):
        read(csv_of(tmp_path, content))
    with pytest.raises(DataError, match=r"line 2, byte 13: 0xe9 is not valid utf-8"):
        read(csv_of(tmp_path, gzip.compress(content), "t.csv.gz"))
    with pytest.raises(DataError, match=r"line 1, byte 1: 0xe9 is not valid utf-8"):
        read(csv_of(tmp_path, "né;a\n1;2\n".encode("latin-1")))
    with pytest.raises(DataError, match=r"line 2, byte 13: 0xe9 is not valid ascii"):
        read(csv_of(tmp_path, content), ReadOptions(encoding="ascii"))


def test_only_empty_fields_are_null(tmp_path):
    content = 'a,b\n,""\nNA,?\nnull,None\n'
    assert rows_of(tmp_path, content) == [(None, ""), ("NA", "?"), ("null", "None")]
    nulls = ReadOptions(null_values=["NA", "?"])
    assert rows_of(tmp_path, content, nulls) == [(None, ""), (None, None), ("null", "None")]
    assert rows_of(tmp_path, "a,b\n1,?\n2,3\n", nulls) == [(1, None), (2, 3)]


def test_a_record_of_nulls_is_a_record_and_a_blank_line_is_not(tmp_path):
    assert rows_of(tmp_path, "a,b\n1,2\n,\n\n3,4\n") == [(1, 2), (None, None), (3, 4)]


def test_without_header(tmp_path):
    frame = read(csv_of(tmp_path, "01;x\n2;y\n"), ReadOptions(header=False))
    assert frame.columns == ["column_1", "column_2"]
    assert frame.data.rows() == [("01", "x"), ("2", "y")]


def test_quotes_as_plain_text(tmp_path):
    assert rows_of(tmp_path, 'a,b\n5" pipe,x\n', ReadOptions(quote="")) == [('5" pipe', "x")]


def test_names_that_look_like_patterns(tmp_path):
    for name in ("data[1].csv", "data*.csv"):
        assert rows_of(tmp_path, "a,b\n1,2\n", name=name) == [(1, 2)]
    write(TABLE, tmp_path / "data[1].parquet")
    write(TABLE, tmp_path / "data1.parquet")
    assert read(tmp_path / "data[1].parquet").rows == 3


def test_adult(adult):
    frame = read(adult / "adult.csv")
    assert (frame.options.delimiter, frame.rows, len(frame.columns)) == (";", 30162, 9)
    assert frame.schema["age"] == pl.Int64
    assert all(dtype == pl.String for name, dtype in frame.schema.items() if name != "age")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,c\n1,2,3\n4,5\n7,8,9\n", "line 3: 2 fields, but the table has 3 columns"),
        ("a,b,c\n1,2,3\n4,5,6\n7,8,9,10\n", "line 4: 4 fields, but the table has 3 columns"),
        ('a,b\n"x\ny",2\n3\n', "line 4: 1 fields, but the table has 2 columns"),
        ("a,b\n1,2,3\n4\n", "line 2: 3 fields, but the table has 2 columns"),
        ("a,b,a,b,c\n1,2,3,4,5\n", "more than one column has the name 'a', 'b'"),
        ("", "the file is empty"),
        ("\n\n", "first line is blank"),
        ("a,b\n", "2 columns but no rows"),
        ("a,b", "2 columns but no rows"),
        ("a,b\n\n\n", "2 columns but no rows"),
        ('a,b\n1,2\n"x,3\n4,5\n', "line 3"),
        ('a,b\n1,2\n5" pipe,3\n4,5\n', "line 3 or later: a quote .* is not closed, or stands inside a field"),
    ],
)
def test_bad_csv_is_refused_with_its_place(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read(csv_of(tmp_path, content))


def test_a_ragged_line_far_down(tmp_path):
    lines = ["a;b;c"] + [f"{i};x;y" for i in range(200_000)]
    lines[150_001] = "secret;x"
    with pytest.raises(DataError, match=r"line 150002: 2 fields") as caught:
        read(csv_of(tmp_path, "\n".join(lines)))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "one ASCII character"),
        ({"delimiter": ""}, "one ASCII character"),
        ({"quote": "“"}, "one ASCII character"),
        ({"delimiter": "|", "quote": "|"}, "have to differ"),
        ({"encoding": "utf-9"}, "is not known"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DataError, match=message):
        ReadOptions(**options)


# ---------------------------------------------------------------------------------------- other formats


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
        read(csv_of(tmp_path, "a\n1\n", "t.sas7bdat"))


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.xlsx", "t.jsonl", "t.csv.gz"])
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
        ('{"a": 1}\n{"a": 2\n', "line 2: is not valid JSON"),
        ('{"a": 1}\n[1]\n', "line 2: every line has to be a JSON object"),
        ('{"a": 1, "a": 2}\n', "more than one column has the name 'a'"),
        (b'{"a": "x"}\n{"a": "\xe9"}\n', "line 2, byte 7 of it: is not valid utf-8"),
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


# ----------------------------------------------------------------------------------------------- writing

ENUM = pl.DataFrame({"e": pl.Series(["b", None, "c"], dtype=pl.Enum(["secret", "c", "b"]))})


def test_categories_are_dictionaries_or_text_and_unused_ones_are_gone(tmp_path):
    sets = pl.Series("s", [["c"], None, ["b", "c"]], dtype=pl.List(pl.Enum(["secret", "c", "b"])))
    data = ENUM.with_columns(sets)
    for name in ("t.parquet", "t.arrow", "t.csv", "t.jsonl", "t.xlsx"):
        path = write(data, tmp_path / name)
        assert b"secret" not in path.read_bytes()
        assert read(path).column("e").cast(pl.String).to_list() == ["b", None, "c"]
    assert pa.types.is_dictionary(pyarrow.parquet.read_table(tmp_path / "t.parquet").schema.field("e").type)
    assert pa.types.is_dictionary(pyarrow.feather.read_table(tmp_path / "t.arrow").schema.field("e").type)
    assert read(tmp_path / "t.parquet").schema["e"] == pl.Enum(["c", "b"])
    assert give_back(ENUM, "pandas")["e"].cat.categories.tolist() == ["c", "b"]
    assert "secret" not in str(give_back(ENUM, "pyarrow").schema.field("e").metadata)


def test_value_sets_in_csv(tmp_path):
    data = pl.DataFrame({"s": [[15, 20, 48], [], None], "x": ["a", "b", "c"]})
    path = write(data, tmp_path / "t.csv")
    assert path.read_text() == 's,x\n"{15, 20, 48}",a\n{},b\n,c\n'


def test_columns_that_csv_cannot_hold(tmp_path):
    with pytest.raises(OutputError, match="column 'a' holds Struct"):
        write(pl.DataFrame({"a": [{"x": 1}]}), tmp_path / "t.csv")
    assert os.listdir(tmp_path) == []


def test_delimiter_of_the_input_is_kept(tmp_path):
    data = pl.DataFrame({"a": [1], "b": ["x"]})
    for name, delimiter, expected in (("1.csv", ";", "a;b"), ("2.csv", None, "a,b"), ("3.tsv", ";", "a\tb")):
        path = write(data, tmp_path / name, options=ReadOptions(delimiter=delimiter))
        assert path.read_text().splitlines()[0] == expected


def test_times_in_csv(tmp_path):
    moment = dt.datetime(2020, 1, 1, 10)
    data = pl.DataFrame({"a": [moment], "b": [moment.replace(tzinfo=dt.UTC)]})
    zoned = data.with_columns(c=pl.col("a").dt.replace_time_zone("Asia/Tokyo"))
    path = write(zoned, tmp_path / "t.csv")
    assert path.read_text() == "a,b,c\n2020-01-01T10:00:00,2020-01-01T10:00:00Z,2020-01-01T10:00:00+09:00\n"


@pytest.mark.parametrize("writer", ["table", "text"])
def test_where_nothing_can_be_written(tmp_path, writer):
    def save(path, **keywords):
        return write(TABLE, path, **keywords) if writer == "table" else write_text(path, "x", **keywords)

    old = tmp_path / "old.csv"
    old.write_text("old")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match="is a directory"):
        save(tmp_path / "folder.csv", force=True)
    with pytest.raises(OutputError, match=r"exists already.*--force"):
        save(old)
    with pytest.raises(OutputError, match="there is no directory"):
        save(tmp_path / "nowhere" / "t.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(OutputError, match="not a regular file"):
        save(tmp_path / "pipe.csv", force=True)
    assert old.read_text() == "old"
    save(old, force=True)
    assert old.read_text() != "old"


def test_unknown_ending_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match=r"known are \.csv"):
        check_writable(tmp_path / "t.docx")
    assert check_writable(tmp_path / "card.md", table=False) == (tmp_path / "card.md").resolve()


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device"), MemoryError])
@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.xlsx", "t.txt"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failure, where, name):
    path = tmp_path / name
    path.write_text("old")
    path.chmod(0o640)

    def fail(*_arguments, **_keywords):
        raise failure

    def write_half(_data, file, *_arguments, **_keywords):
        file.write(b"half")
        raise failure

    if where == "write":
        for method in ("write_csv", "write_parquet", "write_excel"):
            monkeypatch.setattr(pl.DataFrame, method, write_half)
    else:
        monkeypatch.setattr(output.os, where, fail)
    expected = OutputError if isinstance(failure, OSError) else failure
    with pytest.raises(expected):
        write(TABLE, path, force=True)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [name]
    monkeypatch.undo()
    write(TABLE, path, force=True)
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == [name]


def test_a_really_full_disk():
    """The device that is always full: the reader of polars' own error is an OutputError of ours."""
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    with pytest.raises((OSError, pl.exceptions.PolarsError)), open("/dev/full", "wb") as full:
        TABLE.write_csv(full)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write(TABLE, tmp_path / "link.csv", force=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert read(tmp_path / "real.csv").rows == 3


def test_text(tmp_path):
    path = write_text(tmp_path / "card.md", "é\n")
    assert path.read_bytes() == "é\n".encode()


# --------------------------------------------------------------------------------------------- factorize


def check_codes(column):
    codes, values = factorize(column)
    assert codes.dtype == np.int32
    assert values.dtype == column.dtype
    assert len(codes) == len(column)
    assert sorted(set(codes.tolist())) == list(range(len(values)))
    back = values.gather(codes)
    assert_series_equal(back, column)
    assert values.n_unique() == len(values)


INT64 = st.integers(-(2**63), 2**63 - 1)
COLUMNS = {
    pl.String: AWKWARD,
    pl.Categorical: AWKWARD,
    pl.Enum(["c", "a", "b"]): st.sampled_from("abc"),
    pl.Boolean: st.booleans(),
    pl.Int8: st.integers(-128, 127),
    pl.UInt8: st.integers(0, 255),
    pl.Int16: st.integers(-(2**15), 2**15 - 1),
    pl.Int32: st.integers(-(2**31), 2**31 - 1),
    pl.UInt32: st.integers(0, 2**32 - 1),
    pl.Int64: st.integers(-5, 5) | INT64,
    pl.UInt64: st.integers(2**64 - 9, 2**64 - 1) | st.integers(0, 2**64 - 1),
    pl.Int128: st.integers(-(2**100), 2**100),
    pl.Float64: st.floats() | st.sampled_from([0.5, 1.5]),
    pl.Float32: st.floats(width=32),
    pl.Date: st.dates(),
    pl.Datetime("us"): st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)),
    pl.Datetime("ms", "UTC"): st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)).map(
        lambda moment: moment.replace(microsecond=0, tzinfo=dt.UTC)
    ),
    pl.Time: st.times(),
    pl.Duration("us"): st.timedeltas(dt.timedelta(-9), dt.timedelta(9)),
    pl.Decimal(20, 2): st.decimals(-1000, 1000, places=2),
    pl.Binary: st.binary(max_size=3),
    pl.Null: st.none(),
}


@pytest.mark.parametrize("dtype", COLUMNS, ids=str)
@given(data=st.data())
def test_factorize(dtype, data):
    values = data.draw(st.lists(COLUMNS[dtype] | st.none(), max_size=5))
    repeats = data.draw(st.lists(st.sampled_from(values), max_size=8)) if values else []
    check_codes(pl.Series("v", values + repeats, dtype=dtype, strict=False))


def test_factorize_makes_one_value_of_all_nan_and_of_both_zeros():
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001, 0, 1 << 63], np.uint64)
    codes, values = factorize(pl.Series("v", bits.view(np.float64)))
    assert len(values) == 2
    assert codes[0] == codes[1] == codes[2] != codes[3] == codes[4]


def test_factorize_of_chunks_and_slices_and_many_values():
    numbers = np.random.default_rng(1).integers(0, 50_000, 120_000)
    column = pl.Series("v", numbers).cast(pl.String)
    check_codes(pl.concat([column.slice(5, 70_000), column.slice(1000, 90_000)], rechunk=False))
    check_codes(pl.concat([pl.Series("v", numbers * 10**13), pl.Series("v", numbers)], rechunk=False))


def test_factorize_with_categories_far_apart():
    """Categories share numbers within a process, so a small column can have large ones."""
    pool = pl.Categorical(pl.Categories("far apart", "test"))
    pl.Series([str(i) for i in range(200_000)], dtype=pool)
    check_codes(pl.Series("v", ["199999", "5", None, "5"], dtype=pool))


def test_factorize_refuses_lists():
    with pytest.raises(DataError, match="column 'v' holds List"):
        factorize(pl.Series("v", [[1], [2]]))


def test_compressed_csv_is_the_same_text(tmp_path):
    plain, packed = write(TABLE, tmp_path / "a.csv"), write(TABLE, tmp_path / "b.csv.gz")
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
