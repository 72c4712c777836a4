"""Codes index into distinct values, whatever the type."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_series_equal

from shoal.errors import DataError
from shoal.io import factorize

AWKWARD = st.text(
    st.one_of(
        st.sampled_from(list(",;\t|\"'\n\r \\#=-+.eE0123456789NATZ:\ufeff\u2028\x85🐟é")),
        st.characters(codec="utf-8"),
    ),
    max_size=6,
)


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


def test_factorize_of_repeated_numbers_far_apart():
    numbers = np.random.default_rng(2).integers(0, 50, 3000) * 10**15
    column = pl.Series("number", numbers)
    check_codes(column)
    check_codes(pl.concat([column, pl.Series("number", [None, None], dtype=pl.Int64)]))
    check_codes(pl.Series("value", numbers / 7))


def test_factorize_with_categories_far_apart():
    """Categories share numbers within a process, so a small column can have large ones."""
    pool = pl.Categorical(pl.Categories("far apart", "test"))
    pl.Series([str(i) for i in range(200_000)], dtype=pool)
    check_codes(pl.Series("v", ["199999", "5", None, "5"], dtype=pool))


def test_factorize_refuses_lists():
    with pytest.raises(DataError, match="column 'v' holds List"):
        factorize(pl.Series("v", [[1], [2]]))
