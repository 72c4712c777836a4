"""From a table and its plan to codes."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode, renumber
from shoal.coding.roles import QUASI, SENSITIVE, find_role
from shoal.errors import DataError, HierarchyError

COLUMNS = {
    "text": (
        st.one_of(st.none(), st.text("ab ,🐟\n", max_size=3)),
        pl.String,
        [None, "auto", {"mask": "left"}],
    ),
    "int": (st.one_of(st.none(), st.integers(-20, 20)), pl.Int64, [None, "auto", {"widths": [5, 10]}]),
    "small": (st.integers(0, 9), pl.UInt8, [None, {"cuts": [[3, 6], [6]]}]),
    "float": (st.one_of(st.none(), st.floats(width=32)), pl.Float64, [None, "auto", {"cuts": [[0.5]]}]),
    "bool": (st.one_of(st.none(), st.booleans()), pl.Boolean, [None, "auto"]),
    "date": (
        st.one_of(st.none(), st.dates(dt.date(2000, 1, 1), dt.date(2004, 1, 1))),
        pl.Date,
        [None, {"dates": ["month", "year"]}],
    ),
}


@st.composite
def planned(draw):
    rows = draw(st.integers(1, 12))
    columns, plan = {}, []
    for name in draw(st.permutations(sorted(COLUMNS))):
        values, dtype, specs = COLUMNS[name]
        cells = draw(st.lists(values, min_size=rows, max_size=rows))
        columns[name] = pl.Series(name, cells, dtype=dtype)
        role = draw(st.sampled_from(["quasi", "quasi", "sensitive", "plain", "identifier", None]))
        if columns[name].null_count() == rows and role in ("quasi", "sensitive"):
            role = "plain"
        if role:
            plan.append(
                ColumnPlan(name, find_role(role), draw(st.sampled_from(specs)), draw(st.floats(0, 3)))
            )
    return pl.DataFrame(columns), plan


@given(planned())
def test_codes_stand_for_the_values_of_their_rows(case):
    frame, plan = case
    table = encode(frame, plan)
    roles = {column.name: column.role for column in plan}

    def named(role):
        return [name for name in frame.columns if roles.get(name) == role]

    assert [attribute.name for attribute in table.attributes] == named("quasi")
    assert [attribute.name for attribute in table.sensitive] == named("sensitive")
    for attributes, codes in ((table.attributes, table.quasi.wide), (table.sensitive, table.secrets.wide)):
        assert codes.dtype == np.int32
        assert codes.shape == (len(frame), len(attributes))
        assert codes.flags.f_contiguous
        for j, attribute in enumerate(attributes):
            shown = attribute.hierarchy.leaves.gather(codes[:, j]).alias(attribute.name)
            assert shown.equals(frame[attribute.name], null_equal=True, check_dtypes=True)
            assert attribute.weight == next(column.weight for column in plan if column.name == attribute.name)
    published = [name for name in frame.columns if roles.get(name) in ("quasi", "sensitive", "plain")]
    assert table.columns == tuple(published)
    assert list(table.kept.columns) == [name for name in published if roles[name] != "quasi"]
    assert table.kept.whole.equals(frame.select(list(table.kept.columns)), null_equal=True)
    assert table.rows == len(frame)


def test_limits_apply_to_quasi_identifiers():
    frame = pl.DataFrame({"age": [1, 6, 11], "pay": [1, 6, 11]})
    spec = {"widths": [5, 10]}
    table = encode(
        frame,
        [
            ColumnPlan("age", QUASI, spec, limit=("5-9",)),
            ColumnPlan("pay", SENSITIVE, spec, limit=("5-9",)),
        ],
    )
    age, pay = table.attributes[0].hierarchy, table.sensitive[0].hierarchy
    assert [age.leaves[int(code)] for code in table.quasi.wide[:, 0]] == [1, 6, 11]
    assert (
        age.blocks[table.quasi.wide[1, 0]]
        != age.blocks[table.quasi.wide[0, 0]]
        == age.blocks[table.quasi.wide[2, 0]]
    )
    assert pay.levels[-1].names.to_list() == ["*"]


def test_the_two_zeros_and_all_nan_are_one_value_each():
    frame = pl.DataFrame({"x": [0.0, -0.0, math.nan, -math.nan, math.inf, None]})
    table = encode(frame, [ColumnPlan("x", QUASI)])
    assert table.quasi.wide[:, 0].tolist() == [0, 0, 2, 2, 1, 3]
    assert table.attributes[0].hierarchy.levels[0].names.to_list() == ["0.0", "inf", "NaN", None]


def test_all_problems_are_told_at_once():
    frame = pl.DataFrame({"age": ["1", "x"], "zip": ["a", "b"], "gone": [None, None]})
    plan = [
        ColumnPlan("age", QUASI, {"widths": [5]}),
        ColumnPlan("zip", QUASI, {"tree": {"N": ["a"], "S": ["c"]}}),
        ColumnPlan("gone", SENSITIVE),
    ]
    with pytest.raises(DataError) as caught:
        encode(frame, plan)
    lines = str(caught.value).splitlines()
    assert lines[0] == "3 problems with the table"
    assert lines[1].startswith(
        "  column 'age': widths is for numbers, but 1 value of the column is text: 'x'"
    )
    assert lines[2].startswith("  column 'zip': the tree: 1 value of the data is missing: 'b'")
    assert lines[3].startswith("  column 'gone': all values are null")
    with pytest.raises(HierarchyError, match="column 'age': widths"):
        encode(frame, plan[:1])


def test_plans_that_do_not_fit_the_table():
    frame = pl.DataFrame({"age": [1, 2], "zip": ["a", "b"]})
    with pytest.raises(DataError, match=r"no column 'Zip' \(did you mean 'zip'\?\)"):
        encode(frame, [ColumnPlan("Zip", QUASI)])
    with pytest.raises(DataError, match="column 'age' has more than one role: quasi, sensitive"):
        encode(frame, [ColumnPlan("age", QUASI), ColumnPlan("age", SENSITIVE)])
    with pytest.raises(DataError, match="no rows"):
        encode(frame.clear(), [ColumnPlan("age", QUASI)])
    with pytest.raises(HierarchyError, match="column 'zip': no node is called 'c'"):
        encode(frame, [ColumnPlan("zip", QUASI, limit=("c",))])


def test_many_columns_and_many_values():
    wide = pl.DataFrame({f"c{i}": np.arange(20) % (i + 1) for i in range(200)})
    table = encode(wide, [ColumnPlan(name, QUASI) for name in wide.columns])
    assert table.quasi.wide.shape == (20, 200)
    assert np.array_equal(table.quasi.wide, wide.to_numpy())
    many = pl.DataFrame({"id": pl.Series(range(300_000), dtype=pl.Int64).cast(pl.String)})
    table = encode(many, [ColumnPlan("id", QUASI, "auto")])
    assert np.array_equal(np.sort(table.quasi.wide[:, 0]), np.arange(300_000))


@given(st.lists(st.integers(0, 4), max_size=20), st.permutations(range(5)), st.sampled_from([5, 300, 70_000]))
def test_renumbered_in_the_narrowest_type(numbers, code_of, size):
    found = renumber(np.array(numbers, np.uint8), np.array(code_of, np.int32), size)
    assert found.tolist() == [code_of[number] for number in numbers]
    assert found.dtype == {5: np.uint8, 300: np.uint16, 70_000: np.int32}[size]
