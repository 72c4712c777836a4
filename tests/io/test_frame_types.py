"""What comes in as one type goes out as that type, and reading it again gives the same values."""

from __future__ import annotations

import datetime as dt
import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import shoal
from shoal.io import give_back, read
from shoal.io.dataframes import from_dataframe

D = decimal.Decimal
ZONE = dt.timezone(dt.timedelta(hours=2))
DAYS = pd.to_datetime(["2020-01-01", None, "2021-05-05"])

PANDAS = {
    **{
        name: pd.Series([1, None, 3], dtype=name)
        for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
    },
    **{
        name: pd.Series([1, 0, 3], dtype=name)
        for name in ("int8", "int64", "uint64", "float16", "float32", "float64")
    },
    "large Int64": pd.Series([2**53 + 1, None, 2**53 + 3], dtype="Int64"),
    "large uint64": pd.Series([2**64 - 1, 1, 2], dtype="uint64"),
    "float with gaps": pd.Series([1.5, math.nan, math.inf]),
    "Float64 with NaN": pd.Series(
        pd.arrays.FloatingArray(np.array([1, math.nan, 3]), np.array([False, False, True]))
    ),
    "bool": pd.Series([True, False, True]),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "str": pd.Series(["a", None, ""]),
    "string": pd.Series(["a", None, ""], dtype="string"),
    "object text": pd.Series(["a", None, ""], dtype=object),
    "object int": pd.Series([2**53 + 1, None, 3], dtype=object),
    "object bool": pd.Series([True, None, False], dtype=object),
    "dates": pd.Series([dt.date(2020, 1, 1), None, dt.date(1, 1, 2)]),
    "times": pd.Series([dt.time(1, 2, 3, 4), None, dt.time(2)]),
    "decimals": pd.Series([D("1.10"), None, D("22.55")]),
    "bytes": pd.Series([b"a", None, b""]),
    "object moments": pd.Series([dt.datetime(2020, 1, 1, 2, 3, 4, 5), None], dtype=object),
    "object nanoseconds": pd.Series([pd.Timestamp("2020-01-01 00:00:00.000000001"), None], dtype=object),
    "object nanosecond steps": pd.Series([pd.Timedelta(1, unit="ns"), None], dtype=object),
    "object timedelta": pd.Series([dt.timedelta(1, 2, 3), None], dtype=object),
    **{f"datetime64[{unit}]": pd.Series(DAYS).astype(f"datetime64[{unit}]") for unit in ("s", "ms", "us", "ns")},
    "zoned": pd.Series(DAYS).dt.tz_localize("Europe/Berlin"),
    "utc": pd.Series(DAYS).dt.tz_localize("UTC").astype("datetime64[s, UTC]"),
    "offset": pd.Series(DAYS).dt.tz_localize(ZONE),
    "timedelta": pd.Series(pd.to_timedelta([1, None, 3], unit="s")).astype("timedelta64[s]"),
    "category": pd.Series(pd.Categorical(["b", None, "a"])),
    "ordered category": pd.Series(pd.Categorical(["b", None, "a"], categories=["b", "a"], ordered=True)),
    "int category": pd.Series(pd.Categorical([3, None, 1], categories=[3, 1], ordered=True)),
    "date category": pd.Series(pd.Categorical([dt.date(2020, 1, 1), None])),
    "moment category": pd.Series(pd.Categorical(DAYS)),
    "zoned category": pd.Series(pd.Categorical(pd.Series(DAYS).dt.tz_localize("Europe/Berlin"))),
    "bool category": pd.Series(pd.Categorical([True, None, False])),
    "float category": pd.Series(pd.Categorical([1.5, None, 2.0])),
    "Int8 category": pd.Series(pd.Categorical(pd.array([3, None, 1], dtype="Int8"))),
    "period": pd.Series(pd.period_range("2020-01", periods=3, freq="M")),
    "lists": pd.Series([[1, 2], None, [3, None]]),
    "lists of text": pd.Series([["a", None], [], ["b"]]),
    "lists of moments": pd.Series([[dt.datetime(2020, 1, 1)], None]),
    "structs": pd.Series([{"a": 1}, None, {"a": None}]),
    **{
        f"pyarrow {dtype}": pd.Series(values, dtype=pd.ArrowDtype(dtype))
        for dtype, values in (
            (pa.int8(), [1, None]),
            (pa.string(), ["a", None]),
            (pa.large_string(), ["a", None]),
            (pa.dictionary(pa.int8(), pa.string()), ["a", None]),
            (pa.date32(), [dt.date(2020, 1, 1), None]),
            (pa.date64(), [dt.date(2020, 1, 1), None]),
            (pa.time32("s"), [dt.time(1, 2, 3), None]),
            (pa.time64("ns"), [dt.time(1, 2, 3), None]),
            (pa.timestamp("s", "Europe/Berlin"), [dt.datetime(2020, 1, 1, tzinfo=ZONE), None]),
            (pa.timestamp("ns"), [dt.datetime(2020, 1, 1), None]),
            (pa.duration("ms"), [dt.timedelta(1), None]),
            (pa.decimal128(10, 3), [D("1.100"), None]),
            (pa.bool_(), [True, None]),
            (pa.float32(), [1.5, None]),
            (pa.list_(pa.int8()), [[1, None], None]),
            (pa.struct([("a", pa.int8())]), [{"a": 1}, None]),
            (pa.binary(), [b"a", None]),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PANDAS)
def test_every_pandas_type_comes_back(name):
    frame = pd.DataFrame({"x": PANDAS[name]})
    table = read(frame)
    back = table.give_back(table.data)
    assert back["x"].dtype == frame["x"].dtype
    assert_frame_equal(read(back).data, table.data)
    for before, after in zip(frame["x"].tolist(), back["x"].tolist(), strict=True):
        if before is None or before is pd.NA or before is pd.NaT or before != before:
            assert after is None or after is pd.NA or after is pd.NaT or after != after
        else:
            assert after == before
            assert type(after) is type(before) or isinstance(before, dt.datetime)


ARROW = [
    pa.array([1, None], pa.int8()),
    pa.array([1, None], pa.uint64()),
    pa.array([1.5, None], pa.float16()),
    pa.array([1.5, math.inf], pa.float32()),
    pa.array(["a", None], pa.string()),
    pa.array(["a", None], pa.large_string()),
    pa.array(["a", None], pa.string_view()),
    pa.array([b"a", None], pa.binary()),
    pa.array([b"a", None], pa.large_binary()),
    pa.array([b"ab", None], pa.binary(2)),
    pa.array([True, None]),
    pa.array([dt.date(2020, 1, 1), None], pa.date32()),
    pa.array([dt.date(2020, 1, 1), None], pa.date64()),
    pa.array([dt.time(1, 2, 3), None], pa.time32("s")),
    pa.array([dt.time(1, 2, 3), None], pa.time32("ms")),
    pa.array([dt.time(1, 2, 3), None], pa.time64("us")),
    pa.array([dt.time(1, 2, 3), None], pa.time64("ns")),
    *(pa.array([dt.datetime(2020, 1, 1), None], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    pa.array([dt.datetime(2020, 1, 1, tzinfo=ZONE), None], pa.timestamp("s", "Asia/Kolkata")),
    pa.array([dt.timedelta(1), None], pa.duration("s")),
    pa.array([D("1.10"), None], pa.decimal128(12, 2)),
    pa.array([[1, None], None], pa.list_(pa.int8())),
    pa.array([[1, None], None], pa.large_list(pa.int8())),
    pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
    pa.array([{"a": 1}, None], pa.struct([("a", pa.int8())])),
    pa.array(["b", "a", None]).dictionary_encode(),
    pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), pa.array(["b", "a"]), ordered=True),
    pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.uint16()), pa.array([7, 5], pa.int16())),
    pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int64()), pa.array([7, 5]), ordered=True),
]


@pytest.mark.parametrize("kind", ["table", "batch"])
@pytest.mark.parametrize("column", ARROW, ids=lambda column: str(column.type))
def test_every_pyarrow_type_comes_back(column, kind):
    make = pa.table if kind == "table" else pa.record_batch
    frame = make({"x": column})
    table = read(frame)
    back = table.give_back(table.data)
    assert type(back) is type(frame)
    assert back.schema == frame.schema
    assert back.to_pylist() == frame.to_pylist()
    assert_frame_equal(read(back).data, table.data)


def test_an_ordered_dictionary_in_pieces_keeps_its_order():
    first = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array(["low"]), ordered=True)
    then = pa.DictionaryArray.from_arrays(
        pa.array([0, 1], pa.int8()), pa.array(["low", "high"]), ordered=True
    )
    table = read(pa.table({"x": pa.chunked_array([first, then])}))
    assert table.schema["x"] == pl.Enum(["low", "high"])
    back = table.give_back(table.data)["x"].combine_chunks()
    assert back.dictionary.to_pylist() == ["low", "high"]


def test_labels_of_pandas_columns_come_back():
    frame = pd.DataFrame(
        [[1, 2, 3, 4]], columns=pd.Index(["a", 7, (1, "b"), None], name="what", tupleize_cols=False)
    )
    table = read(frame)
    back = table.give_back(table.data.with_columns(bucket=1))
    assert back.columns.tolist() == ["a", 7, (1, "b"), None, "bucket"]
    assert back.columns.name == "what"


KINDS = ["polars", "polars-lazy", "pandas", "pyarrow"]

whole = st.integers(-(2**63), 2**63 - 1)
moments = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
COLUMNS = {
    pl.Int8(): st.integers(-128, 127),
    pl.Int64(): whole,
    pl.UInt64(): st.integers(0, 2**64 - 1),
    pl.Float32(): st.floats(width=32),
    pl.Float64(): st.floats(),
    pl.Boolean(): st.booleans(),
    pl.String(): st.text(),
    pl.Binary(): st.binary(),
    pl.Date(): st.dates(),
    pl.Time(): st.times(),
    pl.Datetime("ms"): moments.map(lambda one: one.replace(microsecond=0)),
    pl.Datetime("us"): moments,
    pl.Datetime("ns"): moments,
    pl.Datetime("us", "UTC"): moments.map(lambda one: one.replace(tzinfo=dt.UTC)),
    pl.Datetime("us", "Europe/Berlin"): moments.map(lambda one: one.replace(tzinfo=dt.UTC)),
    pl.Duration("us"): st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999)),
    pl.Decimal(20, 3): st.decimals(-(10**15), 10**15, places=3, allow_nan=False),
    pl.Categorical(): st.text(),
    pl.Enum(["b", "", "a", "ä"]): st.sampled_from(["b", "", "a", "ä"]),
    pl.List(pl.Int64()): st.lists(st.none() | whole),
    pl.List(pl.Int16()): st.lists(st.none() | st.integers(-(2**15), 2**15 - 1)),
    pl.List(pl.Float64()): st.lists(st.none() | st.floats()),
    pl.List(pl.String()): st.lists(st.none() | st.text()),
    pl.List(pl.Categorical()): st.lists(st.none() | st.text()),
    pl.List(pl.Date()): st.lists(st.none() | st.dates()),
    pl.List(pl.Datetime("ns")): st.lists(st.none() | moments),
    pl.List(pl.Decimal(20, 3)): st.lists(st.none() | st.decimals(-99, 99, places=3, allow_nan=False)),
    pl.List(pl.Boolean()): st.lists(st.none() | st.booleans()),
    pl.Struct({"a": pl.Int64(), "b": pl.String()}): st.fixed_dictionaries(
        {"a": st.none() | whole, "b": st.none() | st.text()}
    ),
}  # fmt: skip


@st.composite
def frames(draw):
    """A frame with columns of some types, each with nulls, and at least one value that gives it a type."""
    rows = draw(st.integers(1, 6))
    columns = {}
    for dtype in draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=4, unique_by=str)):
        cells = draw(st.lists(st.none() | COLUMNS[dtype], min_size=rows, max_size=rows))
        columns[str(dtype)] = pl.Series(cells, dtype=dtype)
    return pl.DataFrame(columns)


def values(frame):
    """The values of a frame; categories are texts here."""

    def plain(dtype):
        if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null):
            return pl.String()
        if isinstance(dtype, pl.List):
            return pl.List(plain(dtype.inner))
        return dtype

    return frame.cast({name: plain(dtype) for name, dtype in frame.schema.items()})


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=300)
@given(frame=frames())
def test_what_was_given_back_reads_as_the_same_values(kind, frame):
    back = give_back(frame, kind)
    again = from_dataframe(back)[1]
    expected = values(frame)
    if kind == "pandas":
        # Among Python's objects, integers have no width, and what has no value has no type.
        again = values(again).cast(dict(expected.schema))
    assert_frame_equal(values(again), expected, check_exact=True)


# --- through anonymize and audit ---------------------------------------------------------------------------


AGES = pl.DataFrame(
    {"age": [*range(15)] * 20, "town": ["Ulm", "Aix", "Bonn"] * 100, "s": ["a", "b", "c", "d"] * 75}
)
"""300 people in three ranges of five years, of a hundred each: sorted as text, 5-9 would be the last."""
RANGES = {"quasi": ["age"], "sensitive": ["s"], "plain": ["town"], "hierarchies": {"age": {"widths": [5]}},
          "k": 100, "method": "full-domain"}  # fmt: skip
IN_ORDER = ["0-4", "5-9", "10-14"]


def test_pandas_sorts_and_compares_ranges_by_their_numbers():
    table = shoal.anonymize(AGES.to_pandas(), **RANGES).table
    assert table["age"].dtype == pd.CategoricalDtype(IN_ORDER, ordered=True)
    assert table.sort_values("age")["age"].tolist() == [name for name in IN_ORDER for _ in range(100)]
    assert (table.age < "10-14").sum() == 200


def test_polars_and_pyarrow_have_the_order_of_the_numbers():
    table = shoal.anonymize(AGES, **RANGES).table
    assert table.schema["age"] == pl.Enum(IN_ORDER)
    assert (table["age"] < "10-14").sum() == 200
    column = shoal.anonymize(AGES.to_arrow(), **RANGES).table["age"].combine_chunks()
    assert column.type.ordered
    assert column.dictionary.to_pylist() == IN_ORDER


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_other_readers_of_a_file_see_the_same_order(tmp_path, ending):
    from shoal.pipeline.anonymize import anonymize_file

    data, out = tmp_path / "data.parquet", tmp_path / f"out.{ending}"
    AGES.write_parquet(data)
    anonymize_file(data, shoal.Policy.from_keywords(**RANGES), out)
    by_pandas = pd.read_parquet(out) if ending == "parquet" else pd.read_feather(out)
    assert by_pandas["age"].dtype == pd.CategoricalDtype(IN_ORDER, ordered=True)
    by_polars = pl.read_parquet(out) if ending == "parquet" else pl.read_ipc(out)
    assert by_polars.schema["age"] == pl.Enum(IN_ORDER)


@pytest.mark.parametrize(
    ("values", "hierarchy", "order"),
    [
        # Numbers and dates have an order, whatever the names of their ranges.
        (range(15), {"tree": {"young": [*range(5)], "adult": [*range(5, 10)], "aged": [*range(10, 15)]}},
         ["young", "adult", "aged"]),
        ([dt.date(1999 + i // 5, 12 - i % 5, 1) for i in range(15)], {"dates": ["year"]}, ["1999", "2000", "2001"]),
        ([f"{i}" for i in range(15)], {"widths": [5]}, IN_ORDER),
        # Texts have none, also if they are sorted, or if a tree lists them.
        ([f"{chr(97 + i // 5)}{i}" for i in range(15)], {"mask": "right"}, None),
        ([f"x{i}" for i in range(15)],
         {"tree": {"low": [f"x{i}" for i in range(5)], "mid": [f"x{i}" for i in range(5, 10)],
                   "top": [f"x{i}" for i in range(10, 15)]}}, None),
        # Null has no name; * covers everything, so it has no place.
        ([*range(15), *[None] * 5], {"widths": [5]}, IN_ORDER),
    ],
)  # fmt: skip
def test_names_have_an_order_where_their_values_have_one(values, hierarchy, order):
    frame = pl.DataFrame({"x": [*values] * 20})
    found = shoal.anonymize(frame, quasi=["x"], hierarchies={"x": hierarchy}, k=80, method="full-domain")
    assert found.table["x"].drop_nulls().n_unique() == 3
    assert found.table.schema["x"] == (pl.Categorical() if order is None else pl.Enum(order))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_what_is_published_is_a_category(kind):
    frame = pl.DataFrame({"q": [1, 1, 2, 2, 9], "town": ["Ulm", "Aix", "Ulm", "Aix", "Secret"]})
    typed = [frame.with_columns(pl.col("town").cast(dtype)) for dtype in (
        pl.Categorical(), pl.Enum(["Secret", "Ulm", "Aix"]))]  # fmt: skip
    for one in typed:
        found = shoal.anonymize(give_back(one, kind), quasi=["q"], plain=["town"], k=2, suppression=0.2,
                                method="full-domain", limits={"q": 0})  # fmt: skip
        assert found.suppressed == 1
        table = found.table
        if kind == "pandas":
            ordered = isinstance(one.schema["town"], pl.Enum)
            names = ["Ulm", "Aix"] if ordered else ["Aix", "Ulm"]
            assert table["town"].cat.categories.tolist() == names
            assert table["town"].cat.ordered == ordered
        elif kind == "pyarrow":
            assert set(table["town"].combine_chunks().dictionary.to_pylist()) == {"Aix", "Ulm"}
        else:
            assert "Secret" not in str(table.lazy().collect().to_arrow())


NOT_SINGLE = ("bytes", "period", "list", "struct", "binary")
"""Types that only columns with the role plain may have."""


def judged(frame, role):
    """The released table, after an audit of it with its original."""
    own = {"quasi": ["x"], "plain": ["y"]} if role == "quasi" else {"quasi": ["y"], role: ["x"]}
    found = shoal.anonymize(frame, **own, k=2).table
    assert shoal.audit(found, **own, k=2, original=frame).holds
    return found


@pytest.mark.parametrize("role", ["quasi", "sensitive", "plain"])
@pytest.mark.parametrize("name", PANDAS)
def test_single_values_keep_their_pandas_type_through_a_release(name, role):
    column = PANDAS[name]
    twice = column.take([*range(len(column))] * 2).reset_index(drop=True)
    frame = pd.DataFrame({"x": twice, "y": 1})
    if role != "plain" and any(word in name for word in NOT_SINGLE):
        with pytest.raises(shoal.ShoalError, match="column 'x'"):
            judged(frame, role)
        return
    assert judged(frame, role)["x"].dtype == column.dtype


@pytest.mark.parametrize("role", ["quasi", "sensitive", "plain"])
@pytest.mark.parametrize("column", ARROW, ids=lambda column: str(column.type))
def test_single_values_keep_their_pyarrow_type_through_a_release(column, role):
    twice = pa.chunked_array([column, column])
    frame = pa.table({"x": twice, "y": pa.array([1] * len(twice))})
    if role != "plain" and any(word in str(column.type) for word in NOT_SINGLE):
        with pytest.raises(shoal.ShoalError, match="column 'x'"):
            judged(frame, role)
        return
    assert judged(frame, role).schema == frame.schema


@pytest.mark.parametrize("role", ["quasi", "sensitive", "plain"])
@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["b", "c", "a"]), pl.Int8(), pl.Decimal(9, 2), pl.Time(),
                                   pl.Datetime("ns", "Europe/Berlin"), pl.Float32()], ids=str)  # fmt: skip
def test_single_values_keep_their_polars_type_through_a_release(dtype, role):
    text = isinstance(dtype, pl.Categorical | pl.Enum)
    cells = ["b", "a", None] if text else pl.Series([3, 5, None]).cast(dtype).to_list()
    frame = pl.DataFrame({"x": pl.Series(cells * 2, dtype=dtype), "y": [1] * 6})
    found = judged(frame, role)
    # Only the categories that occur.
    assert found.schema["x"] == (pl.Enum(["b", "a"]) if isinstance(dtype, pl.Enum) else dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "dtype", [pl.Int64(), pl.Int8(), pl.Float64(), pl.String(), pl.Date(), pl.Boolean()], ids=str
)
def test_value_sets_hold_the_values_themselves_and_can_be_audited(kind, dtype):
    numbers = pl.Series([2, None, 3, 3, None, 2])
    cells = numbers == 2 if dtype == pl.Boolean() else numbers.cast(dtype)
    frame = give_back(pl.DataFrame({"x": cells, "s": list("ababab")}), kind)
    policy = {"quasi": ["x"], "sensitive": ["s"], "k": 3, "method": {"name": "mondrian", "show": "sets"}}
    found = shoal.anonymize(frame, **policy)
    assert shoal.audit(found.table, **policy, original=frame).holds
    if kind == "pandas":
        known = set(cells.to_list())
        for cell in found.table["x"]:
            assert isinstance(cell, list)
            assert set(cell) <= known
            assert all(one is None or type(one) is type(cells.drop_nulls()[0]) for one in cell)


def test_a_tree_that_lists_other_texts_too_does_not_turn_numbers_into_text():
    tree = {"tree": {"low": [1, 2], "other": ["unknown", 3]}}
    frame = pd.DataFrame({"x": pd.array([1, 2, 3] * 2, dtype="Int16"), "y": 1})
    found = shoal.anonymize(frame, quasi=["x"], plain=["y"], k=2, hierarchies={"x": tree}).table
    assert found["x"].dtype == "Int16"
    assert sorted(found["x"]) == [1, 1, 2, 2, 3, 3]


def test_integers_that_floats_cannot_tell_apart_stay_apart():
    big = [2**53 + 1, 2**53 + 3, None]
    frame = pd.DataFrame({"x": pd.array(big * 2, dtype="Int64"), "y": 1})
    found = judged(frame, "quasi")
    assert found["x"].dtype == "Int64"
    assert found.groupby("x", dropna=False).size().tolist() == [2, 2, 2]
