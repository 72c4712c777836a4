"""delta-presence: the model, MPALM and SPALM, a population in the policy, and permuted releases."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.coding import Context
from shoal.errors import DataError, InfeasibleError, LimitError, PolicyError, ViolationError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.membership.chances import membership
from shoal.judging.membership.presence_chances import presence
from shoal.judging.models.delta_presence import DeltaPresence
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels.presence import class_totals, regions_of_people
from shoal.methods import METHODS
from shoal.methods.presence.mpalm import _Cutting
from shoal.methods.presence.spalm import _Search
from shoal.policy import Policy
from shoal.release.read_published import PublishedColumns, read_published
from shoal.release.render import render
from shoal.support.run import Run
from tests import oracles
from tests.inputs.coded_tables import with_changes
from tests.inputs.strategies import tables
from tests.judging.test_membership import P1

SALARIES = {
    "Clara": 30,
    "Julie": 15,
    "Ada": 30,
    "Sara": 40,
    "Bob": 42,
    "Taylor": 25,
    "Ashley": 45,
    "Amanda": 9,
}
ZIPS = {"tree": {"537*": [5370, 5371, 5372, 5373]}}


@st.composite
def with_population(draw):
    """A small table in which some rows are the private table, and all of them the population."""
    everyone = draw(tables(rows=st.integers(2, 12), columns=st.integers(1, 3)))
    inside = sorted(draw(st.sets(st.integers(0, everyone.rows - 1), min_size=1)))
    return with_changes(
        everyone,
        codes=np.asfortranarray(everyone.quasi.wide[inside]),
        sensitive_codes=np.asfortranarray(everyone.secrets.wide[inside]),
        kept=everyone.kept.whole[inside],
        context=Context(population=everyone.quasi.wide),
    )


def published(table, release):
    """What an outsider reads."""
    rendered = render(table, release)
    shown, unknown = read_published(
        rendered.rows,
        PublishedColumns(table.attributes, table.sensitive, rendered.bucket),
        table.secrets.wide[rendered.owner],
        table.rows - len(rendered.owner),
    )
    assert not unknown
    return replace(shown, layout=shown.layout.with_shuffling(release.layout.shuffling))


bounds = st.tuples(st.sampled_from([0.0, 0.0, 0.2, 0.5]), st.sampled_from([0.5, 0.7, 0.9, 1.0]))


def made(method, table, low, high, *more, seed=1, **options):
    wanted = Requirements(models=(DeltaPresence(low=low, high=high), *more))
    return METHODS[method](**options).anonymize(table, wanted, Run.start(seed))


# --- the model ---------------------------------------------------------------------------------------------------


@given(with_population(), bounds)
def test_the_model_counts_people_in_classes(table, wanted):
    release = METHODS["full-domain"]().anonymize(table, Requirements(models=()), Run.start(1))
    shown = published(table, release)
    lows, highs = shown.cell_ranges
    chances = []
    for person in table.context.population.tolist():
        classes = [
            c
            for c in range(shown.classes)
            if all(lows[c, j] <= v <= highs[c, j] for j, v in enumerate(person))
        ]
        assert len(classes) <= 1
        if not classes:
            chances.append(0.0)
            continue
        low, high = lows[classes[0]], highs[classes[0]]
        within = [
            p
            for p in table.context.population.tolist()
            if all(a <= v <= b for a, v, b in zip(low, p, high, strict=True))
        ]
        chances.append(int(shown.sizes[classes[0]]) / len(within))
    assert presence(shown, table.context.population).chance.tolist() == pytest.approx(chances)
    verdict = DeltaPresence(low=wanted[0], high=wanted[1]).verify(Evidence(shown, table))
    assert verdict.holds == all(wanted[0] - 1e-9 <= c <= wanted[1] + 1e-9 for c in chances)
    assert verdict.reached == pytest.approx([min(chances), max(chances)])


def test_people_in_several_classes_are_looked_at_in_their_union():
    people = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6]})
    table = pl.DataFrame({"age": [1, 3, 4], "s": ["a", "b", "c"]})
    release = pl.DataFrame({"age": ["[1, 3]", "[1, 3]", "[3, 5]"], "s": ["a", "b", "c"]})
    found = shoal.audit(
        release, original=table, population=people, quasi=["age"], sensitive=["s"], presence=[0.0, 0.7]
    )
    # 1, 2: two rows among three people. 4, 5: one among three. 3 fits both: three rows among five people. These are the
    # least chances. In truth 3 is in five of the seven sets of three that do not have both 4 and 5.
    verdict = found.verdicts[0]
    assert verdict.reached[0] == 0.0
    assert verdict.reached[1] >= 5 / 7
    assert not verdict.holds
    assert "several" in verdict.detail
    shown = shoal.attack(
        release, original=table, population=people, quasi=["age"], sensitive=["s"], k=2, name="membership"
    )
    assert shown.chances.tolist() == pytest.approx([2 / 3, 3 / 5, 1 / 3])


@given(with_population())
def test_regions_of_people(table):
    low, high = (
        table.quasi.wide.copy(order="C"),
        np.maximum.accumulate(table.quasi.wide, axis=0).copy(order="C"),
    )
    people = np.ascontiguousarray(table.context.population)
    for one, other in zip(
        regions_of_people(low, high, people),
        oracles.presence.regions_of_people(low, high, people),
        strict=True,
    ):
        assert one.tolist() == other.tolist()


def test_bounds_that_are_proposed_are_feasible():
    """One of three people: 0.3333.. may not be rounded down where it is a highest chance."""
    people = pl.DataFrame({"age": [1, 2, 3], "s": ["x", "y", "z"]})
    wanted = {"population": people, "quasi": ["age"], "sensitive": ["s"], "method": "mpalm"}
    for asked, proposed, feasible in (
        ([0.0, 0.2], "0.3334 or more", [0.0, 0.3334]),
        ([0.5, 1.0], "0.3333 or less", [0.3333, 1.0]),
    ):
        with pytest.raises(InfeasibleError, match=proposed):
            shoal.anonymize(people[:1], presence=asked, **wanted)
        assert shoal.anonymize(people[:1], presence=feasible, **wanted).holds


def test_bounds_are_checked():
    with pytest.raises(PolicyError, match="presence"):
        DeltaPresence(low=0.6, high=0.5)
    with pytest.raises(PolicyError, match="higher bound first"):
        Policy.from_keywords(quasi=["a"], presence=[0.6, 0.5])


# --- MPALM -------------------------------------------------------------------------------------------------------


def example(**options):
    people = pl.DataFrame({"zip": [z for z, _ in P1.values()], "age": [a for _, a in P1.values()]})
    table = pl.DataFrame(
        {
            "zip": [P1[name][0] for name in SALARIES],
            "age": [P1[name][1] for name in SALARIES],
            "salary": list(SALARIES.values()),
        }
    )
    keywords = {"quasi": ["zip", "age"], "sensitive": ["salary"], "hierarchies": {"zip": ZIPS}}
    return shoal.anonymize(table, population=people, **keywords, **options)


def test_mpalm_on_the_worked_example():
    result = example(method="mpalm", presence=[0.1, 0.9])
    classes = result.table.group_by("zip", "age").len().sort("age").rows()
    assert [(str(z), str(a), n) for z, a, n in classes] == [("537*", "25", 5), ("537*", "27", 3)]
    assert result.verdicts[0].reached == pytest.approx([3 / 4, 5 / 6])


def test_weak_k_anonymity_counts_people_of_the_public_table():
    """The classes of the worked example have 5 and 3 rows, and 6 and 4 people of the public table match them."""
    people = pl.DataFrame({"zip": [z for z, _ in P1.values()], "age": [a for _, a in P1.values()]})
    release = example(method="mpalm", presence=[0.1, 0.9]).table
    table = pl.DataFrame([{"zip": P1[n][0], "age": P1[n][1], "salary": s} for n, s in SALARIES.items()])
    given_ = {"quasi": ["zip", "age"], "sensitive": ["salary"], "hierarchies": {"zip": ZIPS}}
    given_ |= {"original": table, "population": people}
    found = {k: shoal.audit(release, **given_, k_map=k).verdicts[0] for k in (4, 5)}
    assert (found[4].holds, found[4].reached) == (True, 4)
    assert not found[5].holds
    assert not shoal.audit(release, **given_, k=4).verdicts[0].holds, "k-anonymity asks for 4 rows"


def test_mpalm_shows_one_of_two_binary_columns():
    people = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    table = people[[1, 2]].with_columns(s=pl.Series(["x", "y"]))
    result = shoal.anonymize(
        table, population=people, quasi=["a", "b"], sensitive=["s"], method="mpalm", presence=[0.5, 0.5]
    )
    shown = [result.table[name].n_unique() for name in ("a", "b")]
    assert sorted(shown) == [1, 2]


@settings(max_examples=150)
@given(with_population(), bounds)
def test_mpalm_never_violates_its_bounds(table, wanted):
    low, high = wanted
    model = DeltaPresence(low=low, high=high)
    if model.infeasible(table) is not None:
        with pytest.raises(LimitError):
            made("mpalm", table, low, high)
        return
    release = made("mpalm", table, low, high)
    assert (release.region_of >= 0).all()
    assert (
        (release.low[release.region_of] <= table.quasi.wide)
        & (table.quasi.wide <= release.high[release.region_of])
    ).all()
    assert model.verify(Evidence(published(table, release), table)).holds
    assert presence(published(table, release), table.context.population).overlapping == 0


@given(with_population(), bounds, st.integers(2, 3))
def test_mpalm_serves_other_models_too(table, wanted, k):
    assume(table.rows >= k and DeltaPresence(low=wanted[0], high=wanted[1]).infeasible(table) is None)
    release = made("mpalm", table, *wanted, KAnonymity(k=k))
    assert np.bincount(release.region_of).min() >= k
    assert (
        DeltaPresence(low=wanted[0], high=wanted[1]).verify(Evidence(published(table, release), table)).holds
    )


def cutting(table, low, high):
    """MPALM half way: what it knows, and the blocks that it begins with."""
    model = DeltaPresence(low=low, high=high)
    assume(model.infeasible(table) is None)
    return _Cutting(table, Requirements(models=(model,)), model)


@settings(max_examples=150)
@given(with_population(), bounds)
def test_mpalm_cuts_one_way_or_the_other(table, wanted):
    work = cutting(table, *wanted)
    fast, cuts = work._cut_at_once(work._blocks())
    work.plain = False
    slow, slow_cuts = work._cut(work._blocks(), Run.start(1))
    assert [box.tolist() for box in fast] == [box.tolist() for box in slow]
    assert cuts == slow_cuts


def specializations(work, box, j):
    """What people of a box show in a column at each level below the box's own node; free ranges show values."""
    tree = work.table.attributes[j].hierarchy
    codes = work.codes[box, j]
    if codes.min() == codes.max():
        return
    if tree.free:
        yield codes
        return
    for level in range(int(tree.level_of(codes.min(keepdims=True), codes.max(keepdims=True))[0])):
        yield tree.low[level, codes]


@settings(max_examples=150)
@given(with_population(), bounds, st.randoms(use_true_random=False))
def test_boxes_of_mpalm_cannot_be_specialized(table, wanted, random):
    """The theorem: whatever a box shows beyond its own node, shuffled or not, takes somebody out of the bounds.

    The people with a value have on average the chance rows / people. A cut that is not allowed has a part with this
    outside the bounds, and so somebody is; values below it only add to what is known.
    """
    low, high = wanted
    work = cutting(table, low, high)
    boxes, _ = work._cut_at_once(work._blocks())
    for box in boxes:
        if not work.rows[box].any():
            continue
        columns = [list(specializations(work, box, j)) for j in range(work.codes.shape[1])]
        open_ = [j for j, levels in enumerate(columns) if levels]
        alone = [{j: level} for j in open_ for level in columns[j]]
        mixed = [{j: random.choice(columns[j]) for j in open_}] if open_ else []
        for shown in alone + mixed:
            values = np.stack([np.unique(v, return_inverse=True)[1] for v in shown.values()], axis=1).astype(
                np.int32
            )
            kinds, kind_of = np.unique(values, axis=0, return_inverse=True)
            counts = [
                np.bincount(values[:, i], work.rows[box]).astype(np.int64) for i in range(values.shape[1])
            ]
            people = np.bincount(kind_of.ravel(), work.people[box]).astype(np.int64)
            found = membership(kinds, people, counts)
            assert found.exact.all()
            assert found.chance.min() < low - 1e-9 or found.chance.max() > high + 1e-9


@settings(max_examples=100)
@given(with_population(), bounds)
def test_cut_boxes(table, wanted):
    seen = []

    def spied(codes, people, rows, order, ends, *rest):
        before = order.copy()
        begin, end, cuts = compiled(codes, people, rows, order, ends, *rest)
        expected = oracles.presence.cut_boxes(codes, people, rows, before, ends, *rest)
        found = [order[a:b].tolist() for a, b in zip(begin, end, strict=True)]
        assert (found, cuts) == expected
        seen.append(cuts)
        return begin, end, cuts

    from shoal.kernels import presence as kernels

    compiled = kernels.cut_boxes
    work = cutting(table, *wanted)
    with mock.patch.object(kernels, "cut_boxes", spied):
        work._cut_at_once(work._blocks())
    assert seen


# --- SPALM -------------------------------------------------------------------------------------------------------


def best_mapping(table, low, high):
    """All mappings, one by one: the least LM among those within the bounds."""
    best = None
    trees = [a.hierarchy for a in table.attributes]
    for levels in product(*(range(len(tree.levels)) for tree in trees)):

        def mapped(rows, levels=levels):
            return [
                tuple(int(t.low[lv][v]) for t, lv, v in zip(trees, levels, row, strict=True)) for row in rows
            ]

        people, rows = mapped(table.context.population.tolist()), mapped(table.quasi.wide.tolist())
        shares = [rows.count(kind) / people.count(kind) for kind in set(people)]
        if all(low - 1e-9 <= share <= high + 1e-9 for share in shares):
            loss = sum(
                a.weight
                * int(a.hierarchy.high[lv][v] - a.hierarchy.low[lv][v])
                / max(a.hierarchy.size - 1, 1)
                for row in table.quasi.wide.tolist()
                for a, lv, v in zip(table.attributes, levels, row, strict=True)
            )
            best = loss if best is None else min(best, loss)
    return best


@settings(max_examples=150)
@given(with_population(), bounds)
def test_spalm_is_the_best_of_all_mappings(table, wanted):
    expected = best_mapping(table, *wanted)
    if expected is None:
        with pytest.raises(LimitError):
            made("spalm", table, *wanted)
        return
    release = made("spalm", table, *wanted)
    loss = sum(
        a.weight
        * float((release.high[release.region_of, j] - release.low[release.region_of, j]).sum())
        / max(a.hierarchy.size - 1, 1)
        for j, a in enumerate(table.attributes)
    )
    assert loss == pytest.approx(expected)
    assert (
        DeltaPresence(low=wanted[0], high=wanted[1]).verify(Evidence(published(table, release), table)).holds
    )


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4), st.integers(0, 3)), min_size=1))
def test_class_totals(entries):
    keys, people, rows = (np.array(column, np.int64) for column in zip(*entries, strict=True))
    found = class_totals(keys * 10**17, people, rows)
    assert tuple(part.tolist() for part in found) == oracles.presence.class_totals(keys, people, rows)


@given(with_population(), bounds)
def test_spalm_groups_one_way_or_the_other(table, wanted):
    """With too many combinations for one integer, classes are numbered instead."""
    model = DeltaPresence(low=wanted[0], high=wanted[1])
    one, other = (_Search(table, Requirements(models=(model,)), model) for _ in range(2))
    assert one.strides is not None
    other.strides = None
    for levels in product(*(range(len(a.hierarchy.levels)) for a in table.attributes)):
        assert one._holds(np.array(levels)) == other._holds(np.array(levels))


def test_spalm_on_the_worked_example():
    result = example(method="spalm", presence=[0.1, 0.9])
    assert sorted({(str(z), str(a)) for z, a, _ in result.table.rows()}) == [("537*", "25"), ("537*", "27")]


# --- the population in the policy ---------------------------------------------------------------------------------


def test_a_population_in_a_file_or_in_a_column_is_the_same(tmp_path):
    people = pl.DataFrame(
        {
            "zip": [z for z, _ in P1.values()],
            "age": [a for _, a in P1.values()],
            "salary": [SALARIES.get(name, 0) for name in P1],
            "member": [name in SALARIES for name in P1],
        }
    )
    people.write_csv(tmp_path / "all.csv")
    people.filter("member").drop("member").write_csv(tmp_path / "table.csv")
    text = """
[columns]
zip = "quasi"
age = "quasi"
salary = "sensitive"
[privacy]
presence = [0.1, 0.9]
[method]
name = "mpalm"
[population]
"""
    one = Policy.from_toml(text + 'file = "all.csv"', tmp_path)
    two = Policy.from_toml(text + 'column = "member"', tmp_path)
    assert Policy.from_toml(two.to_toml(), tmp_path) == two
    first = shoal.anonymize(tmp_path / "table.csv", one, seed=1).table
    second = shoal.anonymize(tmp_path / "all.csv", two, seed=1).table
    assert first.columns == ["zip", "age", "salary"]
    assert first.sort("salary", "age").rows() == second.sort("salary", "age").rows()
    audit = shoal.audit(second, two, original=tmp_path / "all.csv")
    assert audit.verdicts[0].holds


def test_what_can_be_wrong_with_a_population(tmp_path):
    table = pl.DataFrame({"a": [1, 2], "s": ["x", "y"]})
    keywords = {"quasi": ["a"], "sensitive": ["s"], "method": "mpalm", "presence": [0.0, 0.9]}
    with pytest.raises(PolicyError, match="needs to know the population"):
        shoal.anonymize(table, **keywords)
    with pytest.raises(DataError, match="no column 'a'"):
        shoal.anonymize(table, population=pl.DataFrame({"b": [1]}), **keywords)
    with pytest.raises(DataError, match="1 of 2 rows"):
        shoal.anonymize(table, population=pl.DataFrame({"a": [1, 3]}), **keywords)
    with pytest.raises(InfeasibleError, match="2 of the 2"):
        shoal.anonymize(table, population=table, **keywords)
    with pytest.raises(PolicyError, match="a file, a column or a size"):
        Policy.from_keywords(**keywords, population={})
    with pytest.raises(PolicyError, match="no file"):
        Policy.from_keywords(**keywords, population={"file": "nowhere.csv"}, base=tmp_path)
    with pytest.raises(PolicyError, match="cannot be quasi"):
        Policy.from_keywords(**keywords, population={"column": "a"})
    people = pl.DataFrame({"a": [1, 2, 3]})
    with pytest.raises(PolicyError, match="needs bounds on presence"):
        shoal.anonymize(table, population=people, quasi=["a"], sensitive=["s"], method="mpalm", k=2)


@pytest.mark.parametrize(
    ("line", "method", "shown"),
    [
        ("", "mpalm", {"*": 9}),
        ("", "spalm", {"*": 9}),
        (";South;*", "mpalm", {"Oslo": 2, "Bern": 2, "South": 5}),
        (";South;*", "spalm", {"North": 4, "South": 5}),
    ],
)
def test_an_empty_cell_hides_among_its_siblings(tmp_path, line, method, shown):
    """Half of each city is in the table, and the one person without a city: under the top she would be certain."""
    lines = ["Oslo;North;*", "Bern;North;*", "Rome;South;*", "Lima;South;*", line]
    (tmp_path / "city.csv").write_text("\n".join(lines))
    cities = [entry.split(";")[0] for entry in lines[:4]]
    asked = {
        "columns": {"city": {"role": "quasi", "hierarchy": "city.csv"}},
        "privacy": {"presence": [0.0, 0.6]},
        "method": {"name": method},
    }
    table, people = (pl.DataFrame({"city": [*(cities * many), None]}) for many in (2, 4))
    result = shoal.anonymize(table, Policy.from_dict(asked, tmp_path), population=people)
    assert dict(result.table["city"].value_counts().iter_rows()) == shown


def test_other_methods_are_held_to_presence_as_well():
    people = pl.DataFrame({"a": [1, 2, 3, 4, 5, 6]})
    table = pl.DataFrame({"a": [1, 2, 5, 6], "s": ["x", "y", "x", "z"]})
    with pytest.raises(ViolationError, match="presence"):
        shoal.anonymize(
            table,
            population=people,
            quasi=["a"],
            sensitive=["s"],
            k=2,
            presence=[0.0, 0.9],
            method="mondrian",
        )


def test_a_block_that_limits_leave_too_small_is_named_with_all_that_it_fails():
    everybody = pl.DataFrame({"city": ["a"] * 12 + ["b"] * 8})
    table = pl.DataFrame({"city": ["a"] * 6 + ["b"] * 3})
    asked = {"quasi": ["city"], "limits": {"city": 0}, "presence": [0.0, 0.9]}
    method = {"name": "permute-generalize", "k": 5}
    with pytest.raises(LimitError, match=r"a block of 3 of 8 people, .* \(0, 1\)-presence, 5-anonymity"):
        shoal.anonymize(table, population=everybody, method=method, **asked)
