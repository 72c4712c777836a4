"""Numbers, texts and lists of numpy, pandas and polars are as good as Python's, in every public function."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.apps.samples import sample
from shoal.policy.python_values import python_values

FRAME = pl.DataFrame({"age": [20, 21, 22, 23] * 3, "sex": ["f", "m"] * 6, "s": ["a", "b", "c"] * 4})
ROLES = {"quasi": ["age", "sex"], "sensitive": ["s"]}
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, np.intp]


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers(kind):
    policy = shoal.Policy.from_keywords(
        **ROLES, k=kind(3), l=kind(2), p={"s": kind(2)}, limits={"age": kind(1)}
    )
    assert policy == shoal.Policy.from_keywords(**ROLES, k=3, l=2, p={"s": 2}, limits={"age": 1})
    assert type(policy.privacy.k) is int
    found = shoal.anonymize(FRAME, **ROLES, k=kind(3), seed=kind(1))
    assert found.table.equals(shoal.anonymize(FRAME, **ROLES, k=3, seed=1).table)
    for part in (found.record, found.card, found.summary()):
        json.dumps(part)
    assert shoal.Policy.from_dict({"columns": {"age": "quasi"}, "privacy": {"k": kind(3)}}).privacy.k == 3
    assert shoal.Policy(columns={"age": {"role": "quasi"}}, privacy={"k": kind(3)}).privacy.k == 3


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floats(kind):
    given_as = {"suppression": 0.25, "t": {"equal": 0.5}, "weights": {"age": 2.0}, "alpha": 0.75}
    turned = {
        "suppression": kind(0.25),
        "t": {"equal": kind(0.5)},
        "weights": {"age": kind(2)},
        "alpha": kind(0.75),
    }
    policy = shoal.Policy.from_keywords(**ROLES, k=2, **turned)
    assert policy == shoal.Policy.from_keywords(**ROLES, k=2, **given_as)
    assert policy.to_toml() == shoal.Policy.from_keywords(**ROLES, k=2, **given_as).to_toml()


def test_booleans_texts_and_lists():
    expected = shoal.Policy.from_keywords(
        **ROLES, k=2, method={"name": "mondrian", "strict": False}, measure="gcp", data={"header": False},
        hierarchies={"age": {"widths": [2, 4]}, "sex": {"tree": {"x": ["f", "m"]}}},
    )  # fmt: skip
    for listed in (np.array, pd.Index, pd.Series, pl.Series, tuple):
        policy = shoal.Policy.from_keywords(
            quasi=listed(["age", "sex"]), sensitive=np.str_("s"), k=np.int64(2), measure=np.str_("gcp"),
            method={"name": np.str_("mondrian"), "strict": np.False_}, data={"header": np.bool_(False)},
            hierarchies={"age": {"widths": listed([2, 4])}, "sex": {"tree": {"x": listed(["f", "m"])}}},
        )  # fmt: skip
        assert policy.to_toml() == expected.to_toml()


def test_what_is_not_an_integer_is_still_refused():
    for wrong in (np.float64(2.5), np.bool_(True), np.array([2, 3]), np.str_("2")):
        with pytest.raises(shoal.PolicyError, match=r"privacy\.k"):
            shoal.Policy.from_keywords(**ROLES, k=wrong)
        with pytest.raises(shoal.PolicyError, match="seed"):
            shoal.anonymize(FRAME, **ROLES, k=2, seed=wrong)


def test_every_public_function(tmp_path):
    policy = shoal.Policy.from_keywords(**ROLES, k=np.int64(2))
    made = shoal.anonymize(FRAME, policy)
    assert shoal.audit(made.table, policy, original=FRAME, measures=np.array(["gcp"])).holds
    found = shoal.attack(made, policy, original=FRAME, name=np.str_("linkage"), options={"k": np.int64(2)},
                         seed=np.uint8(1))  # fmt: skip
    json.dumps(found.record())
    assert shoal.explain(FRAME, policy, seconds=np.float32(1), seed=np.int64(1)).feasible
    compared = shoal.compare(FRAME, policy, ks=np.array([2, 3]), methods=np.array(["forest"]), jobs=np.int64(1),
                             seconds=np.float64(60), seed=np.int64(1), folder=tmp_path)  # fmt: skip
    assert compared.ks == (2, 3)
    json.dumps(compared.to_json())
    nodes = pl.DataFrame({"id": range(6), "age": [20, 20, 20, 30, 30, 30]})
    edges = pl.DataFrame({"a": range(5), "b": range(1, 6)})
    network = shoal.anonymize_network(nodes, edges, quasi=["age"], identifier=["id"], k=np.int64(3), id=np.str_("id"),
                                      alpha=np.float32(0.5), samples=np.int64(1), seed=np.int64(1))  # fmt: skip
    for part in (network.record, network.card, network.summary()):
        json.dumps(part)
    assert sample(np.str_("patients"), np.int64(20), np.int64(1)).equals(sample("patients", 20, 1))


def test_columns_that_are_not_called_by_text():
    frame = pd.DataFrame({7: [1, 1, 2, 2], "s": ["x", "y", "x", "y"]})
    found = shoal.anonymize(frame, quasi=[7], sensitive=["s"], hierarchies={7: {"widths": [2]}}, k=2)
    assert found.table.columns.tolist() == frame.columns.tolist()
    assert found.table[7].dtype == frame[7].dtype


texts = st.text(st.characters(exclude_characters="\0"))  # numpy drops it at the end of a text
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner) | st.tuples(inner, inner),
)


@given(values)
def test_python_values_stay_as_they_are(value):
    assert python_values(value) == value


@given(values)
def test_no_value_of_numpy_is_left(value):
    def numpied(one):
        if isinstance(one, dict):
            return {np.str_(key): numpied(inner) for key, inner in one.items()}
        if isinstance(one, list | tuple):
            return type(one)(numpied(inner) for inner in one)
        return one if one is None else np.array(one)[()]

    def types(one):
        if isinstance(one, dict):
            return {type(key) for key in one}.union(*map(types, one.values()))
        return set().union(*map(types, one)) if isinstance(one, list | tuple) else {type(one)}

    turned = python_values(numpied(value))
    assert turned == value
    assert types(turned) <= {type(None), bool, int, float, str}
