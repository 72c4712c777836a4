"""CSV: awkward text, types, delimiters and encodings, and bad files refused with their place."""

from __future__ import annotations

import datetime as dt
import gzip

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shoal.errors import DataError
from shoal.io import ReadOptions, read, write


def csv_of(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows_of(tmp_path, content, options=None, name="data.csv"):
    return read(csv_of(tmp_path, content, name), options).data.rows()


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
            assert {"0.0", "-0.0"} <= {repr(value) for value in values}
        else:
            assert [repr(value) for value in back] == [repr(value) for value in data["x"]]


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


@pytest.mark.parametrize("name", ["data.csv", "data.tsv"])
def test_the_name_of_a_single_column_may_hold_a_delimiter(tmp_path, name):
    path = tmp_path / name
    path.write_text("semi;colon\nx\ny\n")
    assert read(path).data.to_dict(as_series=False) == {"semi;colon": ["x", "y"]}


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
    write(pl.DataFrame({"a": [1, 2, 3]}), tmp_path / "data[1].parquet")
    write(pl.DataFrame({"a": [1, 2, 3]}), tmp_path / "data1.parquet")
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
        ('a,b\n"x\ny",2\n3\n', "line 4: 1 field, but the table has 2 columns"),
        ("a,b\n1,2,3\n4\n", "line 2: 3 fields, but the table has 2 columns"),
        ("a,b,a,b,c\n1,2,3,4,5\n", "more than one column has the name 'a', 'b'"),
        ("", "the file is empty"),
        ("\n\n", "first line is blank"),
        ("a,b\n", "2 columns but no rows"),
        ("a,b", "2 columns but no rows"),
        ("a,b\n\n\n", "2 columns but no rows"),
        ('a,b\n1,2\n"x,3\n4,5\n', "line 3"),
        ('a,b\n1,2\n5" pipe,3\n4,5\n', "line 3 or later: a quote .* is not closed, or is inside a field"),
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
        ({"delimiter": "|", "quote": "|"}, "must differ"),
        ({"encoding": "utf-9"}, "is unknown"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DataError, match=message):
        ReadOptions(**options)
