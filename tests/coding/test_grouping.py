"""The grouping and closure kernels against their plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import closures, grouping
from tests import oracles

WIDE = 2**31 - 1


@st.composite
def matrices(draw):
    rows, columns = draw(st.integers(0, 30)), draw(st.integers(1, 5))
    value = st.one_of(st.integers(0, 3), st.sampled_from([0, WIDE]))
    cells = draw(st.lists(value, min_size=rows * columns, max_size=rows * columns))
    return np.array(cells, np.int32).reshape(rows, columns)


@given(matrices())
def test_distinct(matrix):
    numbers, first = grouping.distinct(matrix)
    expected, expected_first = oracles.grouping.distinct(matrix)
    assert numbers.tolist() == expected.tolist()
    assert first.tolist() == expected_first.tolist()


@given(matrices(), st.sampled_from([1, 3, 1 << 18]))
def test_distinct_rows_of_columns_of_any_width(matrix, piece):
    columns = [column.astype(np.uint8) if column.max(initial=0) < 4 else column for column in matrix.T]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "PIECE", piece)
        numbers, first = grouping.distinct_rows(columns)
    expected, expected_first = oracles.grouping.distinct_rows(columns)
    assert numbers.tolist() == expected.tolist()
    assert first.tolist() == expected_first.tolist()
    assert grouping.distinct_rows([], 3)[0].tolist() == oracles.grouping.distinct_rows([], 3)[0].tolist()


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 6), st.sampled_from([1, 2, 3, 5]))
def test_keys_are_numbered_alike_in_threads(keys, piece, threads):
    keys = np.array(keys, np.uint64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "PIECE", piece)
        patch.setattr(grouping, "processors", lambda: threads)
        numbers, first = grouping._numbered(keys)
    expected, expected_first = oracles.grouping.number(keys)
    assert numbers.tolist() == expected.tolist()
    assert first.tolist() == expected_first.tolist()


def test_distinct_grows_its_hash_table():
    matrix = np.random.default_rng(1).integers(0, 2**30, (300_000, 2)).astype(np.int32)
    numbers, first = grouping.distinct(matrix)
    assert np.array_equal(matrix[first][numbers], matrix)
    assert len(first) == len(np.unique(matrix, axis=0))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(1, 9)), max_size=30))
def test_histograms(rows):
    group_of, codes, weights = (np.array([row[i] for row in rows], t) for i, t in enumerate("iil"))
    for ours, plain in zip(
        grouping.histograms(group_of, 4, codes, weights),
        oracles.grouping.histograms(group_of, 4, codes, weights),
        strict=True,
    ):
        assert ours.tolist() == plain.tolist()


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 9)), max_size=20))
def test_bounds(rows):
    group_of, codes = (np.array([row[i] for row in rows], np.int32) for i in (0, 1))
    for ours, plain in zip(
        closures.bounds(codes, group_of, 3), oracles.closures.bounds(codes, group_of, 3), strict=True
    ):
        assert ours.tolist() == plain.tolist()


@given(st.lists(st.integers(0, 9), max_size=20))
def test_pack(values):
    codes = np.array(values, np.int32)
    keys, plain = np.full(len(codes), 3, np.uint64), np.full(len(codes), 3, np.uint64)
    grouping.pack(keys, codes, 0, 10)
    oracles.grouping.pack(plain, codes, 0, 10)
    assert keys.tolist() == plain.tolist()
    assert grouping.number(keys)[0].tolist() == oracles.grouping.number(keys)[0].tolist()
