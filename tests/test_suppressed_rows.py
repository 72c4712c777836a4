"""Nothing of a suppressed row is published: no name of a node, no category, no byte of a file shows its values."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ShoalError
from shoal.hierarchy import build
from shoal.methods import METHODS
from tests.test_contract_methods import ANSWERS, QUESTIONS

ASKED = {"mpalm": "presence", "spalm": "presence", "permute-generalize": "presence"}
DAYS = [dt.date(1960 + 3 * i, 1 + i % 12, 1 + i) for i in range(20)]
WORDS = ["ada", "bo", "cid", "dot", "eve", "fay", "gus", "hal", "ida", "jo", "kim", "lou", "max", "ned"]
CODES = [f"{a}{b}7" for a in "123" for b in "1234"]
TREE = {"top": {"early": WORDS[:7], "late": WORDS[7:]}}
KINDS = {
    "number": ["none", "auto", {"widths": [10, 20]}, {"cuts": [[30, 50]]}],
    "real": ["none", "auto", {"widths": [2.5, 10]}],
    "word": ["none", "auto", {"mask": "right"}, {"mask": "left", "keep": 1}, {"tree": TREE}],
    "code": ["auto", {"mask": "right", "steps": 2}],
    "day": ["none", "auto", {"dates": ["month", "year"]}],
}


def asked_of(method: str) -> dict:
    """Return requirements that a method can satisfy."""
    answers = ANSWERS[method]
    question = next(name for name in ("sizes", "buckets", "k-1", "presence") if name in answers)
    return dict(QUESTIONS[question][0])


@st.composite
def cases(draw):
    """A table in which one block is too small to publish, a policy, and a method."""
    rows = draw(st.integers(12, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    few = draw(st.integers(1, 2))
    frame = pl.DataFrame(
        {
            "block": ["north"] * (rows - few) + ["rare"] * few,
            "number": random.integers(10, 10 + draw(st.sampled_from([9, 80])), rows),
            "real": random.integers(0, 90, rows) / 8,
            "word": random.choice(WORDS, rows),
            "code": random.choice(CODES, rows),
            "day": random.choice(np.array(DAYS), rows).tolist(),
            "secret": random.choice(["u", "v", "w"], rows),
        }
    )
    if draw(st.booleans()):
        frame = frame.with_columns(pl.when(pl.int_range(rows) % 7 > 0).then("number").alias("number"))
    names = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3, unique=True))
    columns = {name: {"role": "quasi", "hierarchy": draw(st.sampled_from(KINDS[name]))} for name in names}
    columns["block"] = {"role": "quasi", "limit": 0}
    columns["secret"] = {"role": "sensitive"}
    method = draw(st.sampled_from(sorted(set(METHODS) - ASKED.keys())))
    policy = {
        "columns": columns,
        "privacy": asked_of(method),
        "method": {"name": method},
        "utility": {"suppression": 0.4},
    }
    if METHODS[method].relocates:
        policy["privacy"]["relocation"] = {"budget": 0.2, "alpha": 1e-6}
    return frame.select("block", *names, "secret"), policy


@settings(max_examples=300, deadline=None)
@given(cases())
def test_no_name_shows_a_value_that_only_suppressed_rows_have(case):
    frame, raw = case
    policy = shoal.Policy.from_dict(raw)
    try:
        made = shoal.anonymize(frame, policy, seed=1)
    except ShoalError:
        return
    published = frame.filter(pl.Series(made.release.region_of >= 0))
    for name, column in raw["columns"].items():
        if column["role"] != "quasi" or not len(published):
            continue
        cells = made.table[name]
        names = cells.explode() if isinstance(cells.dtype, pl.List) else cells
        texts = set(names.cast(pl.String).drop_nulls())
        own = set(published[name].cast(pl.String).drop_nulls())
        hidden = set(frame[name].cast(pl.String).drop_nulls()) - own
        spec = column.get("hierarchy")
        if spec in (None, "none", "auto"):
            words = {
                word for text in texts for word in re.findall(r"[^\s{}\[\],]+?(?=\.\.|[\s{}\[\],]|$)", text)
            }
            assert not words & hidden, (name, spec, words & hidden)
        if spec != "auto":
            # What the policy makes of the published rows alone has all these names.
            tree = build(published[name], spec)
            known = tree.read(pl.Series(sorted(texts)))[2]
            assert known.all(), (name, spec, texts)
    judged = shoal.audit(made.table, policy, original=frame, second=made.second)
    assert {key: pytest.approx(value) for key, value in made.measures.items()} == judged.measures
    assert judged.losses == {key: pytest.approx(value) for key, value in made.losses.items()}
