"""Generalization limits: every method honours them, and blocks that cannot be served are named."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, LimitError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.feasibility import find_unserved_blocks
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.p_sensitive import PSensitive
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.support.run import Run
from tests.inputs.coded_tables import with_changes
from tests.inputs.strategies import tables

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
    assert published.readable
    found = []
    for j, attribute in enumerate(table.attributes):
        tree = attribute.hierarchy
        low, high = (ends[published.class_of, j] for ends in published.cell_ranges)
        codes = table.quasi.wide[evidence.owner, j]
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
    codes = table.quasi.wide.copy(order="F")
    for j, (attribute, limit) in enumerate(attributes):
        cut = attribute.hierarchy.with_limit(limit)
        # A limit may put codes into a new order.
        codes[:, j] = cut.locate(attribute.hierarchy.leaves)[table.quasi.wide[:, j]]
        attributes[j] = replace(attribute, hierarchy=cut)
    return with_changes(table, attributes=tuple(attributes), codes=codes)


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
    except (InfeasibleError, LimitError):
        # One class per block is what limits permit at most, so a method refuses only where that does not do.
        good, _, dropped = find_unserved_blocks(table, wish)
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
    assert [verdict.holds for verdict in judged.verdicts] == [True, True, True]


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
        assert any("1 block cannot be published, 2 rows in all" in note for note in made.notes)
        assert "California" not in f"{made.notes} {made.card}"  # nobody in the release lives there


def test_names_of_several_columns_stay_in_the_private_record():
    """Three columns of which two have limits: who is alone in a block is not told in messages."""
    rows = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "s": ["1", "2", "1"]})
    asked = {"quasi": ["a", "b"], "sensitive": ["s"], "k": 2, "limits": {"a": 0, "b": 0}}
    with pytest.raises(InfeasibleError) as refused:
        shoal.anonymize(rows, method="p-k", **asked)
    assert "a = y" not in str(refused.value)
    made = shoal.anonymize(rows, method="p-k", suppression=0.34, **asked)
    assert made.notes[0] == "under the generalization limits 1 block cannot be published, 1 row in all"
    assert made.record["suppressed_blocks"] == ["a = y, b = v (1 row)"]
    assert "suppressed_blocks" not in made.card


# --- the verdict ------------------------------------------------------------------------------------------

CITIES = pl.DataFrame(
    {
        "age": [20, 40, 20, 40, 40, 20],
        "city": ["San Diego", "Los Angeles", "Wichita", "Kansas City", "Wichita", "Kansas City"],
        "illness": ["AIDS", "Asthma", "Asthma", "Tuberculosis", "Asthma", "Asthma"],
    }
)
ASKED = {
    "quasi": ["age", "city"], "sensitive": ["illness"], "k": 2, "p": 2,
    "hierarchies": {"city": {"tree": TREE}}, "limits": {"city": ["California", "Midwest"]},
}  # fmt: skip
MM1 = CITIES.sort("age", "illness").with_columns(city=pl.lit("United States"))
"""By age: 2-sensitive 2-anonymous, but the country is above California and above the Midwest."""
MM2 = CITIES.with_columns(
    age=pl.lit("[20, 40]"),
    city=pl.when(pl.col("city").is_in(["San Diego", "Los Angeles"]))
    .then(pl.lit("California"))
    .otherwise(pl.lit("Kansas")),
)


def limit_of(audit):
    return next(verdict for verdict in audit.verdicts if verdict.model == "limit of city")


@pytest.mark.parametrize("original", [CITIES, None], ids=["with original", "alone"])
def test_the_papers_example(original):
    first, second = (shoal.audit(rows, **ASKED, original=original) for rows in (MM1, MM2))
    assert [verdict.holds for verdict in first.verdicts[:2]] == [True, True]
    assert not first.holds
    assert (limit_of(first).holds, limit_of(first).reached) == (False, 6)
    assert second.holds
    assert (limit_of(second).holds, limit_of(second).reached) == (True, 0)


@pytest.mark.parametrize("original", [CITIES, None], ids=["with original", "alone"])
def test_a_node_above_the_limit_is_above_it_even_if_it_covers_no_more(original):
    rows = MM2.with_columns(pl.col("city").replace("California", "West Coast"))
    found = limit_of(shoal.audit(rows, **ASKED, original=original))
    assert (found.holds, found.reached, found.detail) == (False, 2, "2 cells above it")


def test_values_under_no_limit_go_up_to_the_top_among_themselves():
    asked = ASKED | {"limits": {"city": ["California"]}}
    rows = MM2.with_columns(pl.col("city").replace("Kansas", "United States"))
    assert limit_of(shoal.audit(rows, **asked, original=CITIES)).holds
    assert not limit_of(shoal.audit(rows, **ASKED, original=CITIES)).holds


def test_sets_of_values_stay_within_the_limit():
    inside = MM2.with_columns(
        city=pl.when(pl.col("city") == "California")
        .then(pl.lit("{San Diego, Los Angeles}"))
        .otherwise(pl.lit("{Wichita, Kansas City}"))
    )
    across = MM2.with_columns(city=pl.lit("{San Diego, Wichita}"))
    assert limit_of(shoal.audit(inside, **ASKED, original=CITIES)).holds
    assert limit_of(shoal.audit(across, **ASKED, original=CITIES)).reached == 6


def test_an_unknown_cell_is_not_within_the_limit():
    rows = MM2.with_columns(pl.col("city").replace("California", "Atlantis"))
    found = limit_of(shoal.audit(rows, **ASKED, original=CITIES))
    assert (found.holds, found.reached) == (None, None)
    assert "could not be checked: 2 cells" in found.detail


def test_without_the_original_nobody_knows_the_levels_of_intervals():
    rows = pl.DataFrame({"age": [21, 22, 23, 37, 41, 59], "s": ["x", "y", "x", "y", "x", "y"]})
    asked = {"quasi": ["age"], "sensitive": ["s"], "k": 2, "hierarchies": {"age": {"widths": [10, 20]}}}
    asked |= {"limits": {"age": 2}}
    good = shoal.anonymize(rows, **asked)
    assert good.holds
    assert shoal.audit(good.table, **asked, original=rows).holds
    alone = shoal.audit(good.table, **asked).verdicts[-1]
    assert (alone.model, alone.holds) == ("limit of age", None)
    assert "give the original" in alone.detail
    wide = good.table.with_columns(age=pl.lit("*"))
    assert [v.holds for v in shoal.audit(wide, **asked, original=rows).verdicts[:2]] == [True, False]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_release_under_limits_is_verified(name):
    """Whether or not a method heeds limits, what it publishes stays within them, and says so."""
    kind = METHODS[name]
    rows = pl.concat([CITIES] * 4).with_columns(member=pl.lit(True))
    people = pl.concat([rows, rows.with_columns(member=pl.lit(False))])
    asked = {key: ASKED[key] for key in ("quasi", "sensitive", "hierarchies", "limits")} | {"method": name}
    if name in ("bucketization", "slice-columns", "permute-generalize") or kind.can.presence_only:
        asked |= {"presence": [0, 0.9], "population": {"column": "member"}}
        rows = people
    elif name == "slicing":
        asked |= {"l": {"slicing": 1.2}, "plain": ["member"]}
    elif name == "anatomy":
        asked |= {
            "l": {"distinct": 2},
            "method": {"name": name, "partitioner": "mondrian"},
            "plain": ["member"],
        }
    elif name == "ring":
        asked |= {"k": 2, "notion": "probabilistic-k", "plain": ["member"]}
    elif kind.shows.notions:
        asked |= {
            "k": 2,
            "notion": kind.shows.notions[0].name,
            "plain": ["member"],
        }
    else:
        asked |= {"k": 2, "plain": ["member"]}
    if kind.false_cells.how:
        asked |= {
            "relocation": {"budget": 0.5},
            "method": {"name": name} | ({"budget": 0.5} if kind.false_cells.moves_rows else {}),
        }
    made = shoal.anonymize(rows, shoal.Policy.from_keywords(**asked), seed=1)
    assert limit_of(made).holds
    assert "limit of city" in [guarantee["model"] for guarantee in made.card["guarantees"]]
    assert "limit of city" in [verdict["model"] for verdict in made.record["verdicts"]]


def test_a_report_names_the_limit():
    made = shoal.anonymize(CITIES, **ASKED, seed=1)
    assert "limit of city" in shoal.report(made, **ASKED, original=CITIES).html


def test_a_name_above_the_limit_for_some_values_covers_only_the_others():
    data = pl.DataFrame({"c": ["de", "fr", "jp", "cn"] * 2, "s": list("abcabcab")})
    asked = {
        "quasi": ["c"], "sensitive": ["s"], "k": 2, "limits": {"c": ["Europe"]},
        "hierarchies": {"c": {"tree": {"Europe": ["de", "fr"], "Asia": ["jp", "cn"]}}},
    }  # fmt: skip
    hidden = data.with_columns(c=pl.lit("*"))
    found = shoal.audit(hidden, original=data, **asked).verdicts[1]
    assert (found.model, found.holds, found.reached) == ("limit of c", False, 4)
    alone = shoal.audit(hidden, **asked).verdicts[1]
    assert (alone.holds, alone.reached) == (None, None)
    assert "could not be checked" in alone.detail
    shown = data.with_columns(
        c=pl.when(pl.col("c").is_in(["de", "fr"])).then(pl.lit("Europe")).otherwise(pl.lit("*"))
    )
    assert shoal.audit(shown, original=data, **asked).holds
    assert shoal.audit(shown.with_columns(pl.col("c").replace("*", "Asia")), **asked).holds
