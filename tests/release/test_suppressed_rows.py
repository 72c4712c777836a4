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
from shoal.coding.hierarchy import build
from shoal.errors import InfeasibleError, LimitError
from shoal.methods import METHODS
from shoal.policy.method_options import option_types
from shoal.release.value_sets import read_cells
from tests.methods.test_contract_methods import ANSWERS, QUESTIONS

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


ASKABLE = ("sizes", "buckets", "k-1", "presence")
"""Questions about tables like these. A method that answers none of them shows no names (microaggregation)."""


def asked_of(method: str) -> dict:
    """Return requirements that a method can satisfy."""
    question = next(name for name in ASKABLE if name in ANSWERS[method])
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
    if draw(st.booleans()) and columns[names[0]]["hierarchy"] != "none":
        columns[names[0]]["limit"] = 1
    columns["block"] = {"role": "quasi", "limit": 0}
    columns["secret"] = {"role": "sensitive"}
    askable = {name for name in METHODS if ANSWERS[name] & set(ASKABLE)}
    method = draw(st.sampled_from(sorted(askable - ASKED.keys())))
    policy = {
        "columns": columns,
        "privacy": asked_of(method),
        "method": {"name": method},
        "utility": {"suppression": 0.4},
    }
    if METHODS[method].false_cells.how:
        tested = "alpha" in option_types(METHODS[method])
        policy["privacy"]["relocation"] = {"budget": 0.2, "alpha": 1e-6} if tested else {"budget": 1.0}
    return frame.select("block", *names, "secret"), policy


@settings(max_examples=300, deadline=None)
@given(cases())
def test_no_name_shows_a_value_that_only_suppressed_rows_have(case):
    frame, raw = case
    policy = shoal.Policy.from_dict(raw)
    try:
        made = shoal.anonymize(frame, policy, seed=1)
    except (InfeasibleError, LimitError):
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


# --- each kind of name ---------------------------------------------------------------------------------------


def named(values, spec, published, level=None):
    """Return the names of all nodes of a level (or of the level below the root) that published values make."""
    tree = build(pl.Series(values), spec)
    seen = np.zeros(tree.size, np.bool_)
    seen[tree.locate(pl.Series(published, dtype=tree.leaves.dtype))] = True
    at = tree.height - 1 if level is None else level
    starts = tree.levels[at].starts
    shown = tree.names(starts, tree.high[at, starts], at, seen)
    kept = [bool(seen[low : high + 1].any()) for low, high in zip(starts, tree.high[at, starts], strict=True)]
    number, cells = read_cells(shown, tree)
    low, high, known = cells.low[number], cells.high[number], cells.known[number]
    # What a name means covers all published values of the node, and no value of another node.
    for place, start in enumerate(starts):
        own = np.flatnonzero(seen[start : tree.high[at, start] + 1]) + start
        if len(own):
            assert known[place]
            assert low[place] <= own[0] <= own[-1] <= high[place]
            assert start <= low[place] <= high[place] <= tree.high[at, start]
    return shown.filter(pl.Series(kept)).to_list()


def test_intervals_end_at_published_values():
    ages = [20, 24, 31, 33, 35, 47, 107, 108]
    assert named(ages, "auto", ages) == ["[20, 24]", "[31, 35]", "[47, 108]"]
    assert named(ages, "auto", [20, 31, 33, 47, 107]) == ["20", "[31, 33]", "[47, 107]"]


def test_lists_and_spans_name_published_values_only():
    towns = ["Aa", "Bb", "Cc", "Dd", "Ee", "Ff", "Gg", "ZZTOWN"]
    assert named(towns, "auto", towns) == ["{Aa, Bb}", "{Cc, Dd, Ee}", "{Ff, Gg, ZZTOWN}"]
    assert named(towns, "auto", towns[:-1]) == ["{Aa, Bb}", "{Cc, Dd, Ee}", "{Ff, Gg}"]
    many = [f"w{number:02}" for number in range(48)]
    # A list means its values; others between them, which no published row has, do not matter.
    assert named(many, "auto", [many[0], many[1], many[2], many[13], many[15]]) == [
        "{w00, w01, w02}",
        "{w13, w15}",
    ]


def test_stars_are_as_many_as_the_longest_published_value_needs():
    codes = ["123", "124", "2345", "1234567"]
    assert named(codes, {"mask": "right"}, codes, 5) == ["12*****", "23*****"]
    assert named(codes, {"mask": "right"}, codes[:-1], 5) == ["12**", "23**"]
    assert named(codes, {"mask": "right"}, codes[:2], 5) == ["12*"]
    assert named(codes, {"mask": "left"}, codes[:2], 5) == ["*23", "*24"]
    # All values that are left have three characters, and the node keeps three: nothing is masked.
    assert named(codes, {"mask": "right"}, codes[:2], 4) == ["123", "124"]


@pytest.mark.parametrize(
    "texts",
    [["a", "b..c", "a..b", "c", "d", "e..", "..f", "g"], ["a, b", "a", "b", "b, c", "c", "d, e", "d", "e"]],
)
def test_odd_texts_are_read_as_all_that_they_may_mean(texts):
    tree = build(pl.Series(texts), "auto")
    seen = np.ones(tree.size, np.bool_)
    seen[-1] = False
    for level in range(1, tree.height + 1):
        starts = tree.levels[level].starts
        ends = tree.high[level, starts]
        low, high, known = tree.read(tree.names(starts, ends, level, seen))
        inside = tree.narrow_to_seen(starts, ends, seen)
        assert known.all()
        assert (low <= inside[0]).all()
        assert (high >= inside[1]).all()


@pytest.mark.parametrize("missing", [[None], [float("nan")], [None, float("nan")]])
def test_only_the_root_covers_missing_values_and_the_top_of_a_tree(missing):
    tree = {"tree": {"numbers": {"low": ["1.0", "2.0"], "high": ["3.0"]}}}
    hierarchy = build(pl.Series([1.0, 2.0, 3.0, *missing]), tree)
    assert hierarchy.levels[-1].names.to_list() == ["*"]
    assert hierarchy.levels[-2].names.to_list()[0] == "numbers"
    assert len(hierarchy.levels[-2].names) == 1 + len(missing)
    seen = np.arange(hierarchy.size) < 3
    top = np.zeros(1, np.int32), np.full(1, hierarchy.size - 1, np.int32)
    assert hierarchy.names(*top, hierarchy.height).to_list() == ["*"]
    # Without missing values in published rows nothing tells that there are some.
    assert hierarchy.names(*top, hierarchy.height, seen).to_list() == ["numbers"]
    assert [int(ends[0]) for ends in hierarchy.narrow_to_seen(*top, seen)] == [0, 2]
    assert build(pl.Series([1.0, 2.0, 3.0]), tree).levels[-1].names.to_list() == ["numbers"]


def test_a_tree_in_which_the_policy_places_null_keeps_it_there():
    from shoal.coding.hierarchy import from_csv

    hierarchy = from_csv(pl.Series(["a", None]), "a;letters;all\n;none;all\n")
    assert hierarchy.levels[-1].names.to_list() == ["all"]


@pytest.mark.parametrize("spec", ["none", "auto", {"mask": "right"}, {"tree": {"top": ["x"]}}])
def test_a_star_means_the_whole_domain_even_of_one_value(spec):
    low, high, known = build(pl.Series(["x"]), spec).read(pl.Series(["*", "x", "y"]))
    assert known.tolist() == [True, True, False]
    assert low.tolist() == [0, 0, 0]
    assert high.tolist() == [0, 0, 0]


@pytest.mark.parametrize("limit", [0, 1, ["[20, 24]"]])
def test_a_limit_keeps_the_rule(limit):
    ages = [20, 24, 31, 33, 35, 47, 107, 108]
    tree = build(pl.Series(ages), "auto").with_limit(limit)
    published = [20, 31, 33, 47, 107]
    seen = tree.leaves.is_in(published).to_numpy()
    for level in range(len(tree.levels)):
        starts = tree.levels[level].starts
        ends = tree.high[level, starts]
        wide = starts < ends
        names = tree.names(starts[wide], ends[wide], level, seen)
        words = {int(word) for name in names for word in re.findall(r"\d+", name)}
        assert words <= set(published)


# --- where else names are made and read ----------------------------------------------------------------------


def test_the_values_of_the_population_are_public():
    frame = pl.DataFrame({"age": [20, 21, 22, 23, 30, 31, 32, 33, 90], "in": [True] * 8 + [False]})
    policy = {
        "columns": {"age": {"role": "quasi", "hierarchy": "auto"}},
        "privacy": {"k": 2},
        "population": {"column": "in"},
        "method": {"name": "full-domain"},
    }
    made = shoal.anonymize(frame, shoal.Policy.from_dict(policy), seed=1)
    # A name without 90 would tell that the person of 90 is not in the table.
    assert "[32, 90]" in made.table["age"].to_list()


def test_a_network_names_no_value_of_a_suppressed_node():
    ages = [20, 21, 22, 23, 30, 31, 32, 33, 107]
    nodes = pl.DataFrame({"id": list("abcdefghi"), "age": ages, "site": ["x"] * 8 + ["y"]})
    edges = pl.DataFrame({"s": list("abcdefgh"), "t": list("bcdefghi")})
    columns = {"id": {"role": "identifier"}, "age": {"role": "quasi", "hierarchy": "auto"}}
    columns["site"] = {"role": "quasi", "limit": 0}
    policy = {"columns": columns, "privacy": {"k": 2}, "utility": {"suppression": 0.2}}
    made = shoal.anonymize_network(nodes, edges, shoal.Policy.from_dict(policy), alpha=1.0, seed=1)
    assert made.nodes["nodes"].sum() == 8
    assert not any("107" in name for name in made.nodes["age"])


def test_an_adversary_who_knows_the_method_recognises_its_names():
    random = np.random.default_rng(1)
    rows = 80
    frame = pl.DataFrame(
        {
            "block": ["north"] * (rows - 1) + ["rare"],
            "age": [*random.integers(20, 70, rows - 1).tolist(), 107],
            "town": [*random.choice(WORDS, rows - 1).tolist(), "zztown"],
            "secret": random.choice(["u", "v", "w"], rows),
        }
    )
    columns = {name: {"role": "quasi", "hierarchy": "auto"} for name in ("age", "town")}
    columns |= {"block": {"role": "quasi", "limit": 0}, "secret": {"role": "sensitive"}}
    policy = shoal.Policy.from_dict(
        {
            "columns": columns,
            "privacy": {"k": 3, "notion": "probabilistic-k"},
            "method": {"name": "ring", "show": "ranges"},
            "utility": {"suppression": 0.1},
        }
    )
    made = shoal.anonymize(frame, policy, seed=1)
    assert made.suppressed == 1
    assert not any("107" in str(name) for name in made.table["age"])
    found = shoal.attack(made, policy, original=frame, name="algorithm-aware", seed=1)
    assert found.figures["cells_recognised"] > 0.9


def test_times_that_differ_by_less_than_a_second_have_different_names():
    times = pl.Series([dt.time(1, 2, 3), dt.time(1, 2, 3, 5000), dt.time(1, 2, 3, 5), dt.time(5)])
    tree = build(times, "none")
    assert tree.levels[0].names.to_list() == ["01:02:03", "01:02:03.000005", "01:02:03.005", "05:00:00"]
    low, high, known = tree.read(pl.Series(["[01:02:03, 01:02:03.005]", "01:02:03.005000"]))
    assert (low.tolist(), high.tolist(), known.all()) == ([0, 2], [2, 2], True)


@pytest.mark.parametrize(
    ("spec", "real", "whole"),
    [
        ({"widths": [5]}, ["[20.0, 25.0)", "[30.0, 35.0)"], ["20-24", "30-34"]),
        ({"cuts": [[25, 32]]}, ["<25.0", "[25.0, 32.0)"], ["<25", "25-31"]),
    ],
)
def test_intervals_of_texts_are_those_of_the_published_numbers(spec, real, whole):
    texts = ["20", "024", "31", "30.5"]
    assert named(texts, spec, texts, 1) == real
    assert named(texts, spec, texts[:-1], 1) == whole


def test_an_interval_that_is_called_like_a_value_means_all_its_values():
    assert named(["20", "020", "20.5", "7"], {"widths": [1]}, ["20", "020", "7"], 1) == ["7", "20"]
