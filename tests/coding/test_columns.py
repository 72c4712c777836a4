"""Columns stay narrow until somebody asks for the matrix."""

import numpy as np
import polars as pl
import pytest

from shoal import Policy, io
from shoal.policy.encode_table import encode_with_population

ROWS = pl.DataFrame({"age": list(range(40)) * 5, "zip": ["a", "b"] * 100, "ill": ["x", "y", "z", "w"] * 50})
KEYS = {
    "none": {},
    "population size": {"population": {"size": 1000}},
    "predict": {"utility": {"predict": "ill"}},
    "regression": {"utility": {"regression": {"outcome": "age", "on": ["zip"]}}},
    "workload": {"utility": {"workload": "queries.toml"}},
}


def coded(more, folder="."):
    columns = {
        "age": {"role": "quasi"}, "zip": {"role": "quasi"}, "ill": {"role": "sensitive"}
    }  # fmt: skip
    policy = Policy.from_dict({"privacy": {"k": 2}, "columns": columns, **more}, base=folder)
    return encode_with_population(io.read(ROWS), policy)


@pytest.mark.parametrize("key", KEYS)
def test_no_key_of_a_policy_widens_a_table(key, tmp_path):
    (tmp_path / "queries.toml").write_text("[[query]]\nwhere = { age = { from = 3, to = 20 } }\n")
    table = coded(KEYS[key], tmp_path)
    assert [codes.dtype for codes in table.quasi.narrow] == [np.uint8, np.uint8]
    for one in (table, table.with_context(earlier=object()), table.part(np.arange(50))):
        repr(one)
        assert "wide" not in vars(one.quasi)
        assert "wide" not in vars(one.secrets)


def test_some_rows_and_some_columns():
    quasi = coded({}).quasi
    rows = np.array([7, 3, 3])
    assert np.array_equal(quasi.take(rows).wide, quasi.wide[rows])
    assert np.array_equal(quasi.take(np.arange(quasi.rows) < 9).wide, quasi.wide[:9])
    assert np.array_equal(quasi.select([1]).wide, quasi.wide[:, 1:])
    assert quasi.wide.flags.f_contiguous
