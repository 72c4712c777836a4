"""Record linkage by distance: its kernels against plain twins, and small releases by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError
from shoal.kernels import closest as kernels
from tests import oracles


@st.composite
def crowds(draw):
    """A few people and classes with whole numbers, so that sums are exact and ties are common."""
    people, classes = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    numbers, names = draw(st.integers(0, 2)), draw(st.integers(0, 2))

    def matrix(rows, columns, largest, kind):
        size = rows * columns
        cells = draw(st.lists(st.integers(0, largest), min_size=size, max_size=size))
        return np.array(cells, kind).reshape(rows, columns)

    low = matrix(classes, numbers, 5, np.float64)
    high = low + matrix(classes, numbers, 3, np.float64)
    tables = matrix(1, 9 * names, 4, np.float64).ravel()
    return (
        matrix(people, numbers, 8, np.float64),
        low,
        high,
        matrix(people, names, 2, np.int64),
        matrix(classes, names, 2, np.int64),
        tables,
        np.arange(names, dtype=np.int64) * 9,
        np.full(names, 3, np.int64),
    )


@given(crowds(), st.data())
@settings(max_examples=200, deadline=None)
def test_kernels_are_their_twins(crowd, data):
    people, classes = len(crowd[0]), len(crowd[1])
    sizes = np.array(data.draw(st.lists(st.integers(1, 4), min_size=classes, max_size=classes)), np.int64)
    found = np.full(people, 1e308), np.zeros(people, np.int64)
    expected = np.full(people, 1e308), np.zeros(people, np.int64)
    kernels.closest_classes(*crowd, sizes, *found)
    oracles.closest.closest_classes(*crowd, sizes, *expected)
    np.testing.assert_array_equal(found, expected)
    pairs = np.repeat(np.arange(people), classes), np.tile(np.arange(classes), people)
    ours, theirs = np.zeros(people * classes), np.zeros(people * classes)
    kernels.distances_to(*crowd, *pairs, ours)
    oracles.closest.distances_to(*crowd, *pairs, theirs)
    np.testing.assert_array_equal(ours, theirs)


def policy(k=2, **method):
    return shoal.Policy.from_dict(
        {
            "columns": {"income": {"role": "quasi"}, "ill": {"role": "sensitive"}},
            "privacy": {"k": k, "relocation": {"budget": 1.0}},
            "method": {"name": "microaggregation", **method},
        }
    )


def test_an_example_by_hand():
    """1, 3 | 7, 9 show 1 and 7. 1 and 3 are closest to 1, 7 and 9 to 7: everybody is right, among two rows."""
    rows = pl.DataFrame({"income": [1, 3, 7, 9], "ill": ["a", "b", "a", "b"]})
    made = shoal.anonymize(rows, policy(), seed=1)
    found = shoal.attack(made, policy(), original=rows, name="record-linkage")
    assert found.chances.tolist() == [0.5] * 4
    assert (found.success, found.at_risk) == (0.5, 0)
    assert found.figures["right_class"] == 1
    # The adversary who looks for rows that cover a person finds those of two people only.
    assert shoal.attack(made, policy(), original=rows, name="linkage").figures["match_no_row"] == 2


def test_the_closest_class_may_be_the_wrong_one():
    """1, 2 and 9 are a group, and 9 is closer to what the others show: by brute force over all rows."""
    rows = pl.DataFrame({"income": [1, 2, 9, 10, 11, 12, 13], "ill": list("abababa")})
    asked = policy(3, grouping="mdav")
    made = shoal.anonymize(rows, asked, seed=1)
    groups = [made.release.region_of[i] for i in range(7)]
    shown = [[1, 2, 9, 10, 11, 12, 13][made.release.low[g, 0]] for g in groups]
    found = shoal.attack(made, asked, original=rows, name="record-linkage")
    for own, cell, chance in zip(rows["income"], shown, found.chances, strict=True):
        least = min(abs(own - other) for other in shown)
        near = [other for other in shown if abs(own - other) == least]
        assert chance == (1 / len(near) if cell in near else 0)
    assert 0 < found.success < 1 / 3
    assert found.at_risk == 0


def test_categories_are_as_far_apart_as_their_nodes():
    """flu and cold share a parent, ulcer does not: of levels leaf and parent, one differs, or both."""
    from shoal.coding.hierarchy import build
    from shoal.judging.attacks.record_linkage import _apart

    tree = build(
        pl.Series("x", ["flu", "cold", "ulcer"]), {"tree": {"*": {"lung": ["flu", "cold"], "gut": ["ulcer"]}}}
    )
    codes = {name: at for at, name in enumerate(tree.leaves)}
    flu, cold, ulcer = codes["flu"], codes["cold"], codes["ulcer"]
    lung = sorted([flu, cold])
    found = _apart(tree, np.array([[flu, flu], lung, [ulcer, ulcer]], np.int32))
    assert found[0, [flu, cold, ulcer]].tolist() == [0, 0.25, 1]
    assert found[1, [flu, cold, ulcer]].tolist() == [0, 0, 1]
    assert found[2, [flu, cold, ulcer]].tolist() == [1, 1, 0]


def test_it_refuses_where_rows_are_true_or_owners_unknown():
    rows = pl.DataFrame({"income": [1, 3, 7, 9], "ill": ["a", "b", "a", "b"]})
    made = shoal.anonymize(rows, policy(), seed=1)
    with pytest.raises(DataError, match="whose row is whose is not known"):
        shoal.attack(made.table, policy(), original=rows, name="record-linkage")
    true = policy().override(["method.name=mondrian"])
    with pytest.raises(DataError, match="covers its owner's values"):
        shoal.attack(shoal.anonymize(rows, true), true, original=rows, name="record-linkage")


def test_compare_takes_it_for_the_risk():
    rows = pl.DataFrame({"income": list(range(40)), "ill": ["a", "b"] * 20})
    found = shoal.compare(rows, policy(4), methods=["microaggregation"], seed=1)
    (trial,) = found.trials
    assert {outcome.attack: outcome.decides for outcome in trial.attacks}["record-linkage"]
    # Groups of four neighbours: everybody is closest to their own, among four rows, but for ties between two groups.
    assert 0.15 < trial.risk <= 0.25
