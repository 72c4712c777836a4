"""Refinement: what coarsened cells were, if only rows of small groups were coarsened."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, PolicyError
from shoal.judging.attacks import ATTACKS
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.refining_cells import Cells, refine
from tests.inputs.samples import CENSUS
from tests.oracles import refinement as oracle

TOWNS = {"*": {"north": ["Bonn", "Kiel"], "south": ["Trier", "Ulm"]}}
SEXES = {"*": ["f", "m"]}
TREES = [
    [
        {"f": "f", "m": "m"},
        {"f": "*", "m": "*"},
    ],
    [
        {town: town for town in ("Bonn", "Kiel", "Trier", "Ulm")},
        {"Bonn": "north", "Kiel": "north", "Trier": "south", "Ulm": "south"},
        dict.fromkeys(("Bonn", "Kiel", "Trier", "Ulm"), "*"),
    ],
]
STATES = [(0, 0), (0, 1), (0, 2), (1, 2)]
"""Each is coarser than those before it, as the rounds of a local recoding."""


def policy(k, **more):
    columns = {
        "sex": {"role": "quasi", "hierarchy": {"tree": SEXES}},
        "town": {"role": "quasi", "hierarchy": {"tree": TOWNS}},
    }
    return shoal.Policy.from_dict({"columns": columns, "privacy": {"k": k}, **more})


def released(classes):
    """Return the rows of a release, and the class of each."""
    rows = [cells for _, cells, count in classes for _ in range(count)]
    return pl.DataFrame({"sex": [row[0] for row in rows], "town": [row[1] for row in rows]})


def attacked(rows, classes, k):
    original = pl.DataFrame({"sex": [row[0] for row in rows], "town": [row[1] for row in rows]})
    return shoal.attack(released(classes), policy(k), original=original, name="refinement")


def test_the_example_of_the_page():
    """Two women of (f, *): neither is from Bonn or Ulm, whose women are published, and not both are from one town."""
    rows = [("f", "Bonn")] * 2 + [("f", "Ulm")] * 2 + [("f", "Kiel"), ("f", "Trier")]
    classes, left = oracle.recode(rows, TREES, 2, [(0, 0), (0, 2)])
    assert not left
    found = attacked(rows, classes, 2)
    assert found.success == 1 / 2
    assert found.baseline == 0
    assert found.figures["coarse_rows"] == found.figures["coarse_cells"] == 2
    assert found.figures["ruled_out"] == 2 / 4
    assert found.figures["rows_beyond_k"] == 0
    assert found.at_risk == 0


PEOPLE = st.lists(
    st.tuples(st.sampled_from("fm"), st.sampled_from(["Bonn", "Kiel", "Trier", "Ulm"])),
    min_size=4,
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(PEOPLE, st.integers(2, 3))
def test_what_is_ruled_out_and_assigned_is_what_the_plain_twin_finds(rows, k):
    classes, left = oracle.recode(rows, TREES, k, STATES)
    kept = [row for row in rows if row not in left] if left else rows
    if len({state for state, _, _ in classes}) < 2:
        return
    cells = cells_of(kept, classes, k)
    # A node of two levels may be read as either: the twin gets the levels that were read.
    read = [
        (tuple(int(level) for level in cells.state[i]), names_of(cells, i), int(cells.sizes[i]))
        for i in range(len(cells.sizes))
    ]
    assert {(state, shown): count for state, shown, count in read} == {
        (state, shown): count for state, shown, count in classes
    }
    if not any(some != every for _, some, every in oracle.possible(read, TREES)):
        with pytest.raises(DataError, match="no class lies inside"):
            refine(cells, k - 1)
        return
    refined = refine(cells, k - 1)
    mine = refined.combinations
    allowed = {one[:2]: (some, every) for one, some, every in oracle.possible(read, TREES)}
    for place, number in enumerate(mine.classes):
        own = mine.of == place
        every = {leaf_names(cells, code) for code in mine.codes[own]}
        some = {leaf_names(cells, code) for code in mine.codes[own & ~refined.excluded]}
        assert (some, every) == allowed[read[number][:2]]
        assert np.isclose(refined.rows[own].sum(), read[number][2])
    best = oracle.likeliest(read, TREES, k)
    assert best is not None, "the true rows are an assignment"
    assert refined.beyond == pytest.approx(0, abs=1e-7)
    reached = float((refined.rows * np.log(mine.weights)).sum())
    assert reached >= best - 1e-6


def cells_of(rows, classes, k):
    """Read the rows of the classes as the attack does."""
    kept = {}
    kind = ATTACKS["refinement"]

    def attempt(self, evidence: Evidence, run):
        kept["cells"] = Cells.read(evidence.published)
        raise DataError("read")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "attempt", attempt)
        with pytest.raises(DataError, match="read"):
            attacked(rows, classes, k)
    return kept["cells"]


def names_of(cells, number):
    found = []
    for j, attribute in enumerate(cells.attributes):
        leaf = attribute.hierarchy.leaves[int(cells.low[number, j])]
        found.append(TREES[j][cells.state[number, j]][leaf])
    return tuple(found)


def leaf_names(cells, codes):
    return tuple(
        TREES[j][cells.finest[j]][attribute.hierarchy.leaves[int(codes[j])]]
        for j, attribute in enumerate(cells.attributes)
    )


@pytest.mark.parametrize("k", [2, 5, 10])
def test_suppressed_cells_of_full_domain_are_guessed_better_than_blindly(k):
    frame = CENSUS.frame(3000)
    made_with = CENSUS.policy(
        {"k": k}, {"name": "full-domain"}, utility={"suppression": 0.02, "suppress": "cells"}
    )
    made = shoal.anonymize(frame, made_with, seed=1)
    found = shoal.attack(made, made_with, original=frame, name="refinement")
    assert found.figures["coarse_cells"] > 30
    assert found.success > found.baseline
    assert len(found.chances) == 3000
    from_rows = shoal.attack(made.table, made_with, original=frame, name="refinement")
    assert from_rows.success == found.success


def test_one_state_for_all_rows_teaches_nothing():
    frame = CENSUS.frame(300)
    made_with = CENSUS.policy({"k": 3}, {"name": "full-domain"}, utility={"suppression": 0.05})
    made = shoal.anonymize(frame, made_with, seed=1)
    with pytest.raises(DataError, match="no class lies inside"):
        shoal.attack(made, made_with, original=frame, name="refinement")


def test_ranges_that_are_no_nodes_are_refused():
    frame = pl.DataFrame({"age": list(range(20, 40)), "town": ["Ulm", "Bonn"] * 10})
    known = {"quasi": ["age", "town"], "k": 3}
    made = shoal.anonymize(frame, **known, method="mondrian", seed=1)
    with pytest.raises(DataError, match="mondrian does not coarsen row by row"):
        shoal.attack(made, original=frame, name="refinement", **known)
    with pytest.raises(DataError, match="not nodes of its hierarchy"):
        shoal.attack(made.table, original=frame, name="refinement", **known)


def test_a_release_of_other_people_is_refused():
    rows = [("f", "Bonn")] * 2 + [("f", "Ulm")] * 2 + [("f", "Kiel"), ("f", "Trier")]
    classes, _ = oracle.recode(rows, TREES, 2, [(0, 0), (0, 2)])
    with pytest.raises((DataError, PolicyError)):
        attacked([*rows[1:], ("m", "Bonn")], classes, 2)
