"""Minimal uniques against their definition, row by row and set by set, and worked examples by hand."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.judging.linking import suda as module
from shoal.judging.linking.suda import find_minimal_uniques, size_for
from shoal.kernels import singling
from shoal.policy.suggestions import column_uniqueness as uniqueness
from tests import oracles

OWNERS = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), max_size=20)


@given(OWNERS)
def test_groups_of_one_person(rows):
    group_of = np.array([row[0] for row in rows], np.int32)
    owner = np.array([row[1] for row in rows], np.int32)
    found = singling.of_one_person(group_of, 4, owner)
    assert found.tolist() == oracles.singling.of_one_person(group_of, 4, owner).tolist()


@st.composite
def tables(draw):
    rows, columns = draw(st.integers(1, 14)), draw(st.integers(1, 5))
    wide = draw(st.booleans())
    value = st.sampled_from([0, 1, 2, 2**31 - 1]) if wide else st.integers(0, 3)
    cells = draw(st.lists(value, min_size=rows * columns, max_size=rows * columns))
    people = draw(st.none() | st.lists(st.integers(0, 5), min_size=rows, max_size=rows))
    return np.array(cells, np.int32).reshape(rows, columns), people


def minimal(matrix, whose, row, largest):
    """The sets of columns in which everybody with the row's values is its owner, and none of whose parts is one."""
    width = matrix.shape[1]
    single = {
        chosen
        for size in range(1, largest + 1)
        for chosen in combinations(range(width), size)
        if {whose[i] for i in range(len(matrix)) if all(matrix[i][c] == matrix[row][c] for c in chosen)}
        == {whose[row]}
    }
    return {chosen for chosen in single if not any(set(part) < set(chosen) for part in single)}


@given(tables(), st.integers(1, 5), st.sampled_from([0, 4]))
def test_minimal_uniques_are_their_definition(table, largest, dense):
    matrix, people = table
    whose = list(range(len(matrix))) if people is None else people
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DENSE", dense)
        found = find_minimal_uniques(
            list(matrix.T),
            len(matrix),
            largest=largest,
            person=None if people is None else np.array(people, np.int32),
        )
    width = matrix.shape[1]
    largest = min(largest, width)
    assert found.largest == largest
    points = {k: math.prod(max(width - i, 1) for i in range(k, largest + 1)) for k in range(1, largest + 1)}
    every = [minimal(matrix, whose, row, largest) for row in range(len(matrix))]
    assert found.scores.tolist() == [sum(points[len(chosen)] for chosen in own) for own in every]
    assert found.fewest.tolist() == [min(map(len, own), default=0) for own in every]
    counted = {}
    for row, own in enumerate(every):
        for chosen in own:
            counted.setdefault(chosen, set()).add(whose[row])
    assert {one.columns: one.people for one in found.sets} == {c: len(who) for c, who in counted.items()}
    assert [len(one.columns) for one in found.sets] == sorted(len(one.columns) for one in found.sets)
    assert found.people == len({whose[row] for row, own in enumerate(every) if own})
    assert found.of == len(set(whose))
    # Equal rows of one person are one row for the shares of columns.
    once = {(tuple(row), who): own for row, who, own in zip(matrix.tolist(), whose, every, strict=True)}
    total = sum(points[len(chosen)] for own in once.values() for chosen in own)
    shares = [
        sum(points[len(chosen)] for own in once.values() for chosen in own if c in chosen)
        for c in range(width)
    ]
    assert found.contribution.tolist() == pytest.approx([share / total if total else 0 for share in shares])


@given(tables())
def test_rows_may_stand_for_several_people(table):
    matrix, _ = table
    number, first = oracles.grouping.distinct(matrix)
    heads = np.bincount(number)
    once = find_minimal_uniques(list(matrix[first].T), len(first), heads=heads)
    every = find_minimal_uniques(list(matrix.T), len(matrix))
    assert once.sets == every.sets
    assert (once.people, once.of) == (every.people, every.of)
    assert once.scores[number].tolist() == every.scores.tolist()


@given(tables(), st.sampled_from([0, 100]))
def test_starter_policies_count_the_same_rows(table, kernels):
    matrix, _ = table
    names = [f"c{j}" for j in range(matrix.shape[1])]
    frame = pl.DataFrame({name: matrix[:, j] for j, name in enumerate(names)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uniqueness, "TOLD", 1000)
        patch.setattr(uniqueness, "KERNELS", kernels)
        found = uniqueness.minimal_sets(frame, names)
    every = find_minimal_uniques(list(matrix.T), len(matrix), largest=found.size)
    told = {one.columns: one.unique for one in found.worst}
    assert told == {tuple(names[j] for j in one.columns): one.people for one in every.sets}
    assert (found.rows, found.share) == (every.people, every.people / len(matrix))


def test_how_many_columns_a_set_may_have():
    """400 sets: 1 + .. + 4 of 10 columns are 385, of 11 they are 561; 3 of 13 are 377; 2 of 27 are 378."""
    sizes = {width: size_for(width, 400) for width in (1, 2, 10, 11, 13, 14, 27, 28, 500)}
    assert sizes == {1: 1, 2: 2, 10: 4, 11: 3, 13: 3, 14: 2, 27: 2, 28: 1, 500: 1}


def test_by_hand():
    """Row 0 is alone in column 0, row 4 in column 1, row 3 only in columns 0 and 2 together; rows 1 and 2 are equal."""
    matrix = np.array([[9, 0, 0], [1, 0, 1], [1, 0, 1], [1, 0, 0], [1, 1, 1]], np.int32)
    found = find_minimal_uniques(list(matrix.T), 5, largest=2)
    # Row 3, columns 0 and 2: only row 0 has 0 in column 2 as well, and it has 9 in column 0.
    # (3 - 1)(3 - 2) = 2 points for one column, (3 - 2) = 1 for two.
    assert found.scores.tolist() == [2, 0, 0, 1, 2]
    assert {one.columns: one.people for one in found.sets} == {(0,): 1, (1,): 1, (0, 2): 1}
    assert found.fewest.tolist() == [1, 0, 0, 2, 1]
    assert found.contribution.tolist() == [3 / 5, 2 / 5, 1 / 5]
    assert (found.people, found.of) == (3, 5)


def test_keys_without_room_are_hashed_column_by_column():
    """Eight columns of 2^31 values do not fit into one key."""
    matrix = np.zeros((4, 8), np.int32)
    matrix[0] = 2**31 - 1
    found = find_minimal_uniques(list(matrix.T), 4, largest=4)
    assert {one.columns for one in found.sets} == {(c,) for c in range(8)}
    matrix[1] = 2**31 - 1
    assert find_minimal_uniques(list(matrix.T), 4, largest=4).sets == ()
