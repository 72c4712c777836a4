"""Generalization limits: every method honours them, and blocks that cannot be served are named."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError
from shoal.linking.evidence import Evidence
from shoal.methods import METHODS
from shoal.models.feasibility import unserved
from shoal.models.k_anonymity import KAnonymity
from shoal.models.p_sensitive import PSensitive
from shoal.models.requirements import Requirements
from shoal.run import Run
from tests.strategies import tables

CLASSES = [
    name
    for name in ("mondrian", "full-domain", "incognito", "p-k", "greedy-p-k", "enhanced-p-k")
    if name in METHODS
]
"""Methods that publish classes and take any group model."""

TREE = {"United States": {"West Coast": {"California": ["San Diego", "Los Angeles"]}, "Midwest": {
    "Kansas": ["Wichita", "Kansas City"], "Nebraska": ["Lincoln"]}}}  # fmt: skip


def shown(table, release):
    """What an outsider reads from the rendered rows."""
    return Evidence.of_release(table, release)


def crossings(table, evidence):
    """Cells that show more than the highest permitted node of their row, column by column."""
    published = evidence.published
    assert published.low is not None
    assert published.high is not None
    found = []
    for j, attribute in enumerate(table.attributes):
        tree = attribute.hierarchy
        low, high = published.low[published.class_of, j], published.high[published.class_of, j]
        codes = table.codes[evidence.owner, j]
        found.append(int(((low < tree.low[-1, codes]) | (high > tree.high[-1, codes])).sum()))
    return found


@st.composite
def limited_tables(draw):
    """Tables in which some columns have a level, or some nodes, as limit."""
    table = draw(tables(rows=st.integers(2, 14), columns=st.integers(1, 3), sensitive=st.just(1), free=False))
    attributes = []
    for attribute in table.attributes:
        tree = attribute.hierarchy
        limit: int | list[str] = draw(st.integers(0, tree.height))
        if draw(st.booleans()):
            nodes = [name for level in tree.levels for name in level.names]
            limit = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True))
        attributes.append((attribute, limit))
    codes = table.codes.copy(order="F")
    for j, (attribute, limit) in enumerate(attributes):
        cut = attribute.hierarchy.limited(limit)
        # A limit may put codes into a new order.
        codes[:, j] = cut.locate(attribute.hierarchy.leaves)[table.codes[:, j]]
        attributes[j] = replace(attribute, hierarchy=cut)
    return replace(table, attributes=tuple(attributes), codes=codes)


@pytest.mark.parametrize("name", CLASSES)
@settings(max_examples=60)
@given(
    table=limited_tables(),
    k=st.integers(2, 3),
    p=st.none() | st.just(2),
    suppression=st.sampled_from([0.0, 0.5]),
)
def test_no_class_reaches_across_blocks(name, table, k, p, suppression):
    models = (KAnonymity(k=k), *([PSensitive(p=p)] if p else []))
    wish = Requirements(models=models, suppression=suppression)
    try:
        release = METHODS[name]().anonymize(table, wish, Run.start(1))
    except InfeasibleError:
        # One class per block is what limits permit at most, so a method refuses only where that does not do.
        good, _, dropped = unserved(table, wish)
        assert dropped > wish.suppressible(table.rows) or not good.any()
        return
    evidence = shown(table, release)
    assert crossings(table, evidence) == [0] * len(table.attributes)
    for region in range(release.region_of.max(initial=-1) + 1):
        assert len(set(table.block_of[release.region_of == region].tolist())) <= 1
    for model in models:
        assert model.verify(evidence).holds
    assert evidence.published.suppressed <= wish.suppressible(table.rows)


def test_the_worked_example():
    """Age alone would need the whole country; within the limits there are California and Kansas."""
    rows = pl.DataFrame(
        {
            "age": [20, 40, 20, 40, 40, 20],
            "city": ["San Diego", "Los Angeles", "Wichita", "Kansas City", "Wichita", "Kansas City"],
            "illness": ["AIDS", "Asthma", "Asthma", "Tuberculosis", "Asthma", "Asthma"],
        }
    )
    asked = {"quasi": ["age", "city"], "sensitive": ["illness"], "k": 2, "p": 2}
    asked |= {"hierarchies": {"city": {"tree": TREE}}, "limits": {"city": ["California", "Midwest"]}}
    for name in CLASSES:
        made = shoal.anonymize(rows, method=name, **asked)
        assert all(verdict.holds for verdict in made.verdicts)
        seen = dict(made.table.group_by("city").agg(pl.col("illness").sort()).iter_rows())
        assert set(seen) <= {"California", "Kansas", "Midwest", "Kansas City", "Wichita"}
        assert seen["California"] == ["AIDS", "Asthma"]
        assert set(made.table.filter(pl.col("city") == "California")["age"]) <= {"[20, 40]", "*"}
    country = rows.with_columns(city=pl.lit("United States"))
    judged = shoal.audit(country, **{**asked, "limits": {}}, original=rows)
    assert [verdict.holds for verdict in judged.verdicts] == [True, True]


def test_a_block_that_may_be_suppressed_is_listed():
    rows = pl.DataFrame(
        {
            "city": ["San Diego", "Los Angeles", "Wichita", "Kansas City", "Wichita", "Kansas City"],
            "illness": ["AIDS", "AIDS", "Asthma", "Tuberculosis", "Asthma", "Asthma"],
        }
    )
    asked = {"quasi": ["city"], "sensitive": ["illness"], "k": 2, "p": 2}
    asked |= {"hierarchies": {"city": {"tree": TREE}}, "limits": {"city": ["California", "Midwest"]}}
    with pytest.raises(InfeasibleError, match=r"city = California \(2 rows\)"):
        shoal.anonymize(rows, **asked)
    for name in CLASSES:
        made = shoal.anonymize(rows, method=name, suppression=0.34, **asked)
        assert made.suppressed == 2
        assert any("city = California (2 rows)" in note for note in made.notes)
        assert "California" not in str(made.card)


def test_names_of_several_columns_stay_in_the_private_record():
    """Three columns of which two have limits: who is alone in a block is not told in messages."""
    rows = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "s": ["1", "2", "1"]})
    asked = {"quasi": ["a", "b"], "sensitive": ["s"], "k": 2, "limits": {"a": 0, "b": 0}}
    with pytest.raises(InfeasibleError) as refused:
        shoal.anonymize(rows, method="p-k", **asked)
    assert "a = y" not in str(refused.value)
    made = shoal.anonymize(rows, method="p-k", suppression=0.34, **asked)
    assert made.notes[0] == (
        "under the generalization limits 1 block cannot be published, 1 row in all: "
        "a combination of a and b (1 row)"
    )
    assert made.record["suppressed_blocks"] == ["a = y, b = v (1 row)"]
    assert "suppressed_blocks" not in made.card
