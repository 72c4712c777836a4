"""delta-presence: the model, MPALM and SPALM, a population in the policy, and permuted releases."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, InfeasibleError, PolicyError, ViolationError
from shoal.kernels.presence import regions_of_people
from shoal.methods import METHODS
from shoal.models.delta_presence import DeltaPresence
from shoal.models.k_anonymity import KAnonymity
from shoal.policy import Policy
from shoal.presence import presence
from shoal.publish import read_published, render
from shoal.requirements import Requirements
from shoal.run import Run
from tests import naive
from tests.strategies import tables
from tests.test_membership import P1

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
    return replace(
        everyone,
        codes=np.asfortranarray(everyone.codes[inside]),
        sensitive_codes=np.asfortranarray(everyone.sensitive_codes[inside]),
        kept=everyone.kept[inside],
        population=everyone.codes,
    )


def published(table, release):
    """What an outsider reads."""
    rendered = render(table, release)
    shown, unknown = read_published(
        rendered.rows,
        table.attributes,
        table.sensitive,
        table.sensitive_codes[rendered.owner],
        owner=rendered.owner,
        suppressed=table.rows - len(rendered.owner),
        bucket=rendered.bucket,
    )
    assert not unknown
    return replace(shown, together=release.together)


bounds = st.tuples(st.sampled_from([0.0, 0.0, 0.2, 0.5]), st.sampled_from([0.5, 0.7, 0.9, 1.0]))


def made(method, table, low, high, *more, seed=1, **options):
    wanted = Requirements(models=(DeltaPresence(low=low, high=high), *more))
    return METHODS[method](**options).anonymize(table, wanted, Run.start(seed))


# --- the model ---------------------------------------------------------------------------------------------------


@given(with_population(), bounds)
def test_the_model_counts_people_in_classes(table, wanted):
    release = METHODS["full-domain"]().anonymize(table, Requirements(models=()), Run.start(1))
    shown = published(table, release)
    chances = []
    for person in table.population.tolist():
        classes = [
            c
            for c in range(shown.classes)
            if all(shown.low[c, j] <= v <= shown.high[c, j] for j, v in enumerate(person))
        ]
        assert len(classes) <= 1
        if not classes:
            chances.append(0.0)
            continue
        low, high = shown.low[classes[0]], shown.high[classes[0]]
        within = [
            p
            for p in table.population.tolist()
            if all(a <= v <= b for a, v, b in zip(low, p, high, strict=True))
        ]
        chances.append(int(shown.sizes[classes[0]]) / len(within))
    assert presence(shown, table.population).chance.tolist() == pytest.approx(chances)
    verdict = DeltaPresence(low=wanted[0], high=wanted[1]).verify(shown, table)
    assert verdict.holds == all(wanted[0] - 1e-9 <= c <= wanted[1] + 1e-9 for c in chances)
    assert verdict.reached == pytest.approx([min(chances), max(chances)])


def test_people_in_several_classes_are_looked_at_in_their_union():
    people = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6]})
    table = pl.DataFrame({"age": [1, 3, 4], "s": ["a", "b", "c"]})
    release = pl.DataFrame({"age": ["[1, 3]", "[1, 3]", "[3, 5]"], "s": ["a", "b", "c"]})
    found = shoal.audit(
        release, original=table, population=people, quasi=["age"], sensitive=["s"], presence=[0.0, 0.7]
    )
    # 1, 2: two rows among three people. 4, 5: one among three. 3 fits both: three rows among five people.
    assert found.verdicts[0].reached == pytest.approx([0.0, 2 / 3])
    assert "several" in found.verdicts[0].detail


@given(with_population())
def test_regions_of_people(table):
    low, high = table.codes.copy(order="C"), np.maximum.accumulate(table.codes, axis=0).copy(order="C")
    people = np.ascontiguousarray(table.population)
    for one, other in zip(
        regions_of_people(low, high, people), naive.regions_of_people(low, high, people), strict=True
    ):
        assert one.tolist() == other.tolist()


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
        with pytest.raises(InfeasibleError):
            made("mpalm", table, low, high)
        return
    release = made("mpalm", table, low, high)
    assert (release.region_of >= 0).all()
    assert (
        (release.low[release.region_of] <= table.codes) & (table.codes <= release.high[release.region_of])
    ).all()
    assert model.verify(published(table, release), table).holds
    assert presence(published(table, release), table.population).overlapping == 0


@given(with_population(), bounds, st.integers(2, 3))
def test_mpalm_serves_other_models_too(table, wanted, k):
    assume(table.rows >= k and DeltaPresence(low=wanted[0], high=wanted[1]).infeasible(table) is None)
    release = made("mpalm", table, *wanted, KAnonymity(k=k))
    assert np.bincount(release.region_of).min() >= k
    assert DeltaPresence(low=wanted[0], high=wanted[1]).verify(published(table, release), table).holds


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

        people, rows = mapped(table.population.tolist()), mapped(table.codes.tolist())
        shares = [rows.count(kind) / people.count(kind) for kind in set(people)]
        if all(low - 1e-9 <= share <= high + 1e-9 for share in shares):
            loss = sum(
                a.weight
                * int(a.hierarchy.high[lv][v] - a.hierarchy.low[lv][v])
                / max(a.hierarchy.size - 1, 1)
                for row in table.codes.tolist()
                for a, lv, v in zip(table.attributes, levels, row, strict=True)
            )
            best = loss if best is None else min(best, loss)
    return best


@settings(max_examples=150)
@given(with_population(), bounds)
def test_spalm_is_the_best_of_all_mappings(table, wanted):
    expected = best_mapping(table, *wanted)
    if expected is None:
        with pytest.raises(InfeasibleError):
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
    assert DeltaPresence(low=wanted[0], high=wanted[1]).verify(published(table, release), table).holds


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
    with pytest.raises(PolicyError, match="file or a column"):
        Policy.from_keywords(**keywords, population={})
    with pytest.raises(PolicyError, match="no file"):
        Policy.from_keywords(**keywords, population={"file": "nowhere.csv"}, base=tmp_path)
    with pytest.raises(PolicyError, match="cannot be quasi"):
        Policy.from_keywords(**keywords, population={"column": "a"})
    people = pl.DataFrame({"a": [1, 2, 3]})
    with pytest.raises(PolicyError, match="needs bounds on presence"):
        shoal.anonymize(table, population=people, quasi=["a"], sensitive=["s"], method="mpalm", k=2)


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
