"""Ranges on a grid: labels name its lines, never values; they are read back; and what divides a cell is found."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.coding.hierarchy import build
from shoal.coding.hierarchy.kinds.grid import Grid
from shoal.errors import DataError, HierarchyError, PolicyError

WHOLE = st.lists(st.integers(-60, 60), min_size=2, max_size=30, unique=True)
REAL = st.lists(st.integers(-240, 240).map(lambda n: n / 4), min_size=2, max_size=30, unique=True)
STEPS = st.tuples(st.sampled_from([1, 2, 5, 7, 0.5, 2.5]), st.sampled_from([0, 3, -0.5]))


@given(WHOLE | REAL, STEPS, st.data())
def test_labels_are_lines_around_all_values_and_are_read_back(values, step, data):
    grid, origin = step
    tree = build(pl.Series("a", values), {"grid": grid, "origin": origin})
    codes = tree.locate(pl.Series("a", sorted(values)))
    ends = data.draw(st.tuples(*[st.sampled_from(range(len(codes)))] * 2))
    low, high = tree.lift(*(np.array([codes[at]], np.int32) for at in sorted(ends)))
    (name,) = tree.names(low, high, seen=np.ones(tree.size, np.bool_))
    if name == "*":
        return
    first, last = (sorted(values)[at] for at in sorted(ends))
    wanted = [
        origin + grid * math.floor((first - origin) / grid),
        origin + grid * (math.floor((last - origin) / grid) + 1),
    ]
    if all(isinstance(one, int) for one in (*values, grid, origin)):
        a, b = wanted[0], wanted[1] - 1
        assert name == (str(a) if a == b else f"{a} to {b}" if a < 0 else f"{a}-{b}")
    else:
        assert name == f"[{float(wanted[0])}, {float(wanted[1])})"
    again = tree.read(pl.Series("names", [name]))
    assert [one.tolist() for one in again] == [low.tolist(), high.tolist(), [True]]
    assert Grid(grid=grid, origin=origin).tells_more(name) is False


@pytest.mark.parametrize(
    ("label", "more"),
    [("20-24", False), ("20-34", False), ("*", False), ("21-24", True), ("20-23", True), ("22", True),
     ("[20, 24]", False), ("[20.0, 25.0)", False), ("[20.0, 24.0)", True), ("young", None)],
)  # fmt: skip
def test_labels_that_divide_a_cell(label, more):
    assert Grid(grid=5).tells_more(label) is more


@pytest.mark.parametrize("method", ["mondrian", "hilbert", "lexicographic", "agglomerative"])
@pytest.mark.parametrize("reals", [False, True])
def test_releases_name_no_value(method, reals):
    """Each end is a line of the grid, whatever the rows are; without a grid, each end is a value of a row."""
    random = np.random.default_rng(4)
    ages = random.integers(20, 90, 300)
    frame = pl.DataFrame(
        {"age": ages + random.random(300).round(3) if reals else ages, "zip": random.integers(0, 9, 300)}
    )
    show = {"show": "ranges"} if method in ("hilbert", "lexicographic") else {}
    made_with = shoal.Policy.from_dict(
        {
            "columns": {
                "age": {"role": "quasi", "hierarchy": {"grid": 4, "origin": 2}},
                "zip": {"role": "quasi", "hierarchy": {"grid": 3}},
            },
            "privacy": {"k": 3},
            "method": {"name": method, **show},
        }
    )
    made = shoal.anonymize(frame, made_with, seed=1)
    assert all(verdict.holds for verdict in made.verdicts)
    for text in made.table["age"].cast(pl.String).unique():
        if text == "*":
            continue
        low, high = (float(one) for one in (text[1:-1].split(", ") if reals else text.split("-")))
        assert (low - 2) % 4 == 0
        assert (high + (0 if reals else 1) - 2) % 4 == 0
    assert all(verdict.holds for verdict in shoal.audit(made.table, made_with, original=frame).verdicts)
    with pytest.raises(DataError, match="no cell of the release names a value"):
        shoal.attack(made.table, made_with, original=frame, name="singling-out")


def test_finer_labels_of_other_tools_are_found():
    frame = pl.DataFrame({"age": [20, 21, 23, 24, 31, 33]})
    known = {"quasi": ["age"], "k": 2, "hierarchies": {"age": {"grid": 5}}}
    verdicts = shoal.audit(
        pl.DataFrame({"age": ["20-22"] * 2 + ["20-24"] * 2 + ["30-34"] * 2}), **known
    ).verdicts
    finer = next(verdict for verdict in verdicts if verdict.model == "hidden values of age")
    assert finer.holds is False
    made = shoal.anonymize(frame, **known, method="mondrian", seed=1)
    assert sorted(made.table["age"]) == ["20-24"] * 4 + ["30-34"] * 2


def test_what_is_no_grid_is_refused():
    for wrong in ({"grid": 0}, {"grid": -5}, {"grid": "5"}, {"grid": 5, "step": 2}):
        with pytest.raises(PolicyError):
            shoal.Policy.from_keywords(quasi=["age"], k=2, hierarchies={"age": wrong})
    with pytest.raises(HierarchyError, match="finite"):
        build(pl.Series("a", [1.0, math.inf]), {"grid": 5})
    with pytest.raises(HierarchyError, match="numbers"):
        build(pl.Series("a", ["x", "y"]), {"grid": 5})
