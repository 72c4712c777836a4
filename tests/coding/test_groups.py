"""Groups of rows as privacy models see them, and the kernels over their histograms, against plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.coding.groups import group
from shoal.kernels import closeness, diversity, grouping
from tests import oracles
from tests.inputs.strategies import hierarchies, tables


def same(ours, plain):
    assert len(ours) == len(plain)
    for a, b in zip(ours, plain, strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()


@st.composite
def numbered(draw, most=3):
    """Rows with a group (-1: in none), a code and a weight; sorted or not, codes dense or far apart."""
    codes = st.integers(0, 4) if draw(st.booleans()) else st.sampled_from([0, 1, 70, 5000])
    rows = draw(st.lists(st.tuples(st.integers(-1, most), codes, st.integers(1, 9)), max_size=40))
    if draw(st.booleans()):
        rows.sort(key=lambda row: row[1])
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    group_of, codes, weights = (np.array(c, t) for c, t in zip(columns, "iil", strict=True))
    return group_of, most + 1, codes, weights


@given(numbered())
def test_histograms_skip_rows_in_no_group(rows):
    same(grouping.histograms(*rows), oracles.grouping.histograms(*rows))


@given(numbered(), st.integers(1, 5), st.integers(0, 40), st.data())
def test_histograms_of_groups_of_groups(rows, groups, unused, data):
    """Both ways: with few codes a dense count, with many that nobody has one group after the other."""
    own = oracles.grouping.histograms(*rows)
    many = st.lists(st.integers(0, groups - 1), min_size=rows[1], max_size=rows[1])
    numbers = np.array(data.draw(many), np.int32)
    codes = int(rows[2].max(initial=0)) + 1 + unused
    same(
        grouping.merge_histograms(*own, numbers, groups, codes),
        oracles.grouping.merge_histograms(*own, numbers, groups, codes),
    )


@given(numbered(), st.data())
def test_histograms_of_some_groups(rows, data):
    own = oracles.grouping.histograms(*rows)
    good = np.array(data.draw(st.lists(st.booleans(), min_size=rows[1], max_size=rows[1])), np.bool_)
    same(grouping.kept_histograms(*own, good), oracles.grouping.kept_histograms(*own, good))


@given(numbered(most=60))
def test_histograms_of_more_groups_than_rows(rows):
    same(grouping.histograms(*rows), oracles.grouping.histograms(*rows))


@given(numbered())
def test_group_sizes(rows):
    group_of, groups, _, weights = rows
    ours = grouping.group_sizes(group_of, groups, weights)
    assert ours.tolist() == oracles.grouping.group_sizes(group_of, groups, weights).tolist()


@given(tables(sensitive=st.integers(0, 2)), st.data())
def test_group_counts_what_a_person_would(table, data):
    groups = data.draw(st.integers(1, 5))
    numbers = st.lists(st.integers(-1, groups - 1), min_size=table.rows, max_size=table.rows)
    group_of = np.array(data.draw(numbers), np.int32)
    weights = data.draw(st.sampled_from([None, np.arange(1, table.rows + 1)]))
    made = group(group_of, groups, table.secrets.wide, table.sensitive, table.sensitive_counts, weights)
    assert len(made) == groups
    for g in range(groups):
        members = np.flatnonzero(group_of == g).tolist()
        weight = {row: 1 if weights is None else int(weights[row]) for row in members}
        assert made.size[g] == sum(weight.values())
        for j, own in enumerate(made.sensitive):
            expected: dict[int, int] = {}
            for row in members:
                code = int(table.secrets.wide[row, j])
                expected[code] = expected.get(code, 0) + weight[row]
            run = slice(own.start[g], own.start[g + 1])
            assert own.value[run].tolist() == sorted(expected)
            assert dict(zip(own.value[run].tolist(), own.count[run].tolist(), strict=True)) == expected


@st.composite
def histograms(draw, hierarchy=None, most=6):
    """A few groups of one column, empty ones too, as sparse runs; and totals that contain them, and more."""
    codes = draw(st.integers(1, 7)) if hierarchy is None else hierarchy.size
    counts = st.lists(st.one_of(st.just(0), st.integers(0, 4), st.just(2000)), min_size=codes, max_size=codes)
    rows = draw(st.lists(counts, max_size=most))
    dense = np.array(rows, np.int64).reshape(len(rows), codes)
    totals = dense.sum(axis=0) + np.array(draw(counts), np.int64)
    g, code = np.nonzero(dense)
    start = np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))]).astype(np.int64)
    return start, code.astype(np.int32), dense[g, code], dense.sum(axis=1), totals


@given(histograms(), st.integers(0, 8))
def test_top_counts(made, many):
    start, _, count, _, _ = made
    same(diversity.top_counts(start, count, many), oracles.diversity.top_counts(start, count, many))


@given(histograms())
def test_group_entropies(made):
    start, _, count, size, _ = made
    ours, plain = (twin.group_entropies(start, count, size) for twin in (diversity, oracles.diversity))
    assert ours == pytest.approx(plain, abs=1e-12)


@given(histograms())
def test_ordered_distances(made):
    ours, plain = (twin.ordered_distances(*made) for twin in (closeness, oracles.closeness))
    assert ours == pytest.approx(plain, abs=1e-12)


@given(st.data(), hierarchies(free=False))
def test_level_distances(data, hierarchy):
    start, value, count, size, totals = data.draw(histograms(hierarchy=hierarchy))
    for levels in range(1, hierarchy.height + 1):
        low = hierarchy.low[:levels]
        ours, plain = (
            twin.level_distances(start, value, count, size, low, totals)
            for twin in (closeness, oracles.closeness)
        )
        assert ours == pytest.approx(plain, abs=1e-12)


def test_a_value_that_the_whole_table_lacks_still_counts():
    """A foreign release may hold values that the original does not: no crash, and no distance forgiven."""
    start, value = np.array([0, 1]), np.array([2], np.int32)
    count, size, totals = np.array([4]), np.array([4]), np.array([5, 5, 0])
    # All mass lies beyond the last place of the table: half of the table's mass is one gap behind.
    assert closeness.ordered_distances(start, value, count, size, totals).tolist() == [0.5]
    low = np.arange(3, dtype=np.int32)[None, :]
    assert closeness.level_distances(start, value, count, size, low, totals).tolist() == [1.0]


@given(st.integers(0, 2**32 - 1), st.integers(2, 200), st.sampled_from([1, 3, 30]))
def test_ordered_distances_over_many_codes(seed, codes, rows):
    """Enough places that long runs of gaps are summed at once; a third of the codes does not occur."""
    random = np.random.default_rng(seed)
    own = random.integers(0, codes, (4, rows))
    dense = np.stack([np.bincount(row, minlength=codes) for row in own])
    totals = dense.sum(axis=0) + random.choice([0, 1, 7], codes)
    g, code = np.nonzero(dense)
    start = np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))]).astype(np.int64)
    made = start, code.astype(np.int32), dense[g, code], dense.sum(axis=1), totals
    ours, plain = (twin.ordered_distances(*made) for twin in (closeness, oracles.closeness))
    assert ours == pytest.approx(plain, abs=1e-12)


@given(tables())
def test_a_table_without_limits_is_one_block(table):
    """It is counted without a group number per row, and must be what grouping all rows gives."""
    found, plain = table.blocks, table.group_rows(np.zeros(table.rows, np.int32), 1)
    same([found.size], [plain.size])
    for ours, theirs in zip(found.sensitive, plain.sensitive, strict=True):
        same((ours.start, ours.value, ours.count), (theirs.start, theirs.value, theirs.count))
    same(found.totals, plain.totals)
    assert (found.shared, found.units, found.placed) == (plain.shared, plain.units, plain.placed)
