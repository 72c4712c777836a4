"""Presence for an adversary who knows the method: what reruns of MPALM and SPALM show, and drawn cuts, which show no
more than their counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.population import encode_both
from shoal.coding.roles import QUASI
from shoal.errors import DataError, LimitError, PolicyError
from shoal.judging.attacks import membership_rerun
from shoal.judging.linking.evidence import Evidence
from shoal.judging.membership.presence_chances import presence
from shoal.judging.models.delta_presence import DeltaPresence
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.presence.drawn_cuts import CutChooser
from shoal.methods.presence.mpalm import MPALM, _Cutting
from shoal.policy import Policy
from shoal.support.run import Run
from tests.judging.test_presence import bounds, published, with_population
from tests.oracles.drawn_cuts import chances_of_all, count_outcomes, list_releases
from tests.oracles.presence_rerun import all_releases, chances_of, count_exposed

EIGHT = pl.DataFrame({"age": [20, 23, 25, 31, 33, 40, 41, 47]})
THREE = pl.DataFrame({"age": [20, 31, 40]})
ASKED = {"quasi": ["age"], "presence": [0.0, 0.7], "population": EIGHT, "k": 2}
NINES = [
    pl.DataFrame({"age": [21, 22, 25, 28, 31, 36, 38, 44, 47]}),
    pl.DataFrame({"age": [21, 21, 25, 28, 31, 36, 38, 44, 47], "zip": [70, 71, 70, 72, 73, 71, 70, 72, 73]}),
    pl.DataFrame({"age": [20, 24, 24, 30, 33, 35, 41, 42, 49], "zip": [70, 70, 71, 71, 72, 72, 73, 73, 70]}),
]
TREES = {"age": {"widths": [5, 10, 20]}, "zip": {"tree": {"a": [70, 71], "b": [72, 73]}}}


def plans_of(population, hierarchies=None):
    known = {name: TREES[name] for name in population.columns} if hierarchies else {}
    return Policy.from_keywords(quasi=population.columns, hierarchies=known, k=2).plans(population.columns)


def asked(low, high, k=0):
    return Requirements(models=(*((KAnonymity(k=k),) if k else ()), DeltaPresence(low=low, high=high)))


def publisher(population, method, wish, hierarchies=False):
    """Return what publishes a table of some people: the cells of each row, or None."""
    plans = plans_of(population, hierarchies)

    def publish(inside):
        table = encode_both(population[list(inside)], population, plans)
        try:
            made = method.anonymize(table, wish, Run.start(1))
        except LimitError:
            return None
        cells = np.concatenate([made.low, made.high], axis=1)[made.region_of]
        return [tuple(row) for row in cells.tolist()]

    return publish


def test_whoever_reruns_mpalm_knows_who_is_at_the_ends():
    """Population 20, 23, 25, 31, 33, 40, 41, 47; table 20, 31, 40; bounds 0 and 0.7; k = 2. By hand: the release is
    [20, 40] three times. 41 and 47 were cut off because nobody there is in. A narrower box would have been cheaper, so
    20 and 40 are in, and the third row is one of four people's."""
    made = shoal.anonymize(THREE, method="mpalm", **ASKED)
    assert made.table["age"].to_list() == ["[20, 40]"] * 3
    assert made.verdicts[-1].reached == [0.0, 0.5]
    known = {"name": "membership", "original": THREE, "method": "mpalm", **ASKED}
    believed = shoal.attack(made.table, **known)
    assert believed.holds
    assert believed.success == 0.5
    found = shoal.attack(made.table, adversary="knows-algorithm", **known)
    assert found.chances.tolist() == [1.0, 0.25, 1.0]
    assert (found.figures["tables_tried"], found.figures["tables_that_fit"]) == (20, 4)
    assert found.at_risk == 2


def test_how_many_tables_mpalm_exposes_and_drawn_cuts_do_not():
    exposed = count_exposed(8, 3, publisher(EIGHT, MPALM(), asked(0, 0.7, 2)), Fraction(7, 10))
    assert exposed == (8, 10, 36, 56)
    releases = all_drawn_releases(EIGHT, 3, asked(0, 0.7, 2))
    assert max(max(own) for own in releases.values()) <= 0.7


@pytest.mark.parametrize(("number", "hierarchies"), [(0, False), (1, False), (2, True)])
@pytest.mark.parametrize("name", ["mpalm", "spalm"])
def test_the_attack_computes_what_all_tables_say(name, number, hierarchies):
    population, wish, method = NINES[number], asked(0, 0.7), METHODS[name]()
    plans = plans_of(population, hierarchies)
    releases = all_releases(9, 3, publisher(population, method, wish, hierarchies))
    some = list(releases.items())[::3]
    for _, tables in some:
        table = encode_both(population[list(tables[0])], population, plans)
        evidence = Evidence.of_release(table, method.anonymize(table, wish, Run.start(1)))
        found = membership_rerun.rerun_presence(evidence, method, wish, Run.start(1))
        expected = chances_of(tables, 9)
        # People with equal values are alike.
        assert found.chances[found.place] == pytest.approx([float(one) for one in expected])
        distinct = found.fitting
        assert 1 <= distinct <= len(tables)


def test_what_spalm_leaves():
    """Nothing with free ranges: a column shows all or nothing. With trees, that no finer level was allowed tells."""
    found = {}
    for hierarchies in (False, True):
        sums = np.zeros(4, int)
        for population in NINES:
            publish = publisher(population, METHODS["spalm"](), asked(0, 0.7), hierarchies)
            sums += count_exposed(9, 3, publish, Fraction(7, 10))
        found[hierarchies] = sums.tolist()
    assert found[False][0] == 0
    assert found[True][0] > 0


def all_drawn_releases(population, size, wish, hierarchies=False):
    """Return each release of MPALM with drawn cuts, as (tuples, rows) of its boxes, with everybody's chance."""
    plans = plans_of(population, hierarchies)
    (model,) = [one for one in wish.models if isinstance(one, DeltaPresence)]

    def releases_of(inside):
        table = encode_both(population[list(inside)], population, plans)
        work = _Cutting(table, wish, model, drawn=True)
        chooser, rows = work.chooser, work.rows.astype(np.int64)

        def choose(box):
            cut = chooser.choose(np.array(box), int(rows[list(box)].sum()))
            return cut, 0.0 if cut is None else cut.declined

        def split(box, cut):
            return [tuple(side.tolist()) for side in chooser.split(np.array(box), cut)]

        def rows_in(box):
            return int(rows[list(box)].sum())

        def allows(box):
            return bool(chooser.allows(np.array([rows_in(box)]), int(work.people[list(box)].sum()))[0])

        try:
            (block,) = work._blocks()
        except LimitError:
            return
        for release, chance in list_releases(tuple(block.tolist()), rows_in, choose, split, allows):
            yield tuple(sorted(release)), chance

    return chances_of_all(len(population), size, releases_of)


@pytest.mark.parametrize("wanted", [(0.0, 0.7), (0.2, 0.8)])
@pytest.mark.parametrize(
    ("number", "hierarchies", "k"), [(0, False, 0), (1, True, 0), (2, True, 0), (2, False, 2)]
)
def test_drawn_cuts_keep_everybody_within_the_bounds_whoever_knows_them(number, hierarchies, k, wanted):
    """All tables, all releases: brute force. And what the method says of its release is what brute force finds."""
    population, (low, high), wish = NINES[number], wanted, asked(*wanted, k)
    releases = all_drawn_releases(population, 3, wish, hierarchies)
    assert releases
    for chances in releases.values():
        assert low - 1e-9 <= min(chances)
        assert max(chances) <= high + 1e-9
    plans, method = plans_of(population, hierarchies), MPALM(drawn=True)
    for seed, inside in enumerate(([0, 1, 2], [0, 4, 8], [2, 3, 7], [5, 6, 8], [1, 3, 5])):
        table = encode_both(population[inside], population, plans)
        try:
            made = method.anonymize(table, wish, Run.start(seed))
        except LimitError:
            continue
        known = method.find_presence(table, wish, Evidence.of_release(table, made).published)
        assert known is not None
        work = _Cutting(table, wish, DeltaPresence(low=low, high=high), drawn=True)
        shown = {
            tuple(
                np.flatnonzero(
                    (work.codes >= made.low[r]).all(axis=1) & (work.codes <= made.high[r]).all(axis=1)
                )
            )
            for r in set(made.region_of.tolist())
        }
        keys = [key for key in releases if {box for box, _ in key} == shown]
        (key,) = [own for own in keys if dict(own) == {box: int(work.rows[list(box)].sum()) for box in shown}]
        person = [
            int(np.flatnonzero((work.codes == own).all(axis=1))[0])
            for own in table.context.population.tolist()
        ]
        assert known[person] == pytest.approx(releases[key], abs=1e-6)


@settings(max_examples=150)
@given(with_population(), bounds, st.integers(0, 3))
def test_releases_of_drawn_cuts_say_how_sure_anybody_can_be(table, wanted, k):
    low, high = wanted
    model, wish, method = (
        DeltaPresence(low=low, high=high),
        asked(low, high, k if k > 1 else 0),
        MPALM(drawn=True),
    )
    try:
        made = method.anonymize(table, wish, Run.start(k))
    except LimitError:
        return
    shown = published(table, made)
    assert model.verify(Evidence(shown, table)).holds
    assert presence(shown, table.context.population).overlapping == 0
    if k > 1:
        assert shown.sizes.min() >= k
    chances = method.find_presence(table, wish, shown)
    assert chances is not None
    assert low - 1e-9 <= chances.min()
    assert chances.max() <= high + 1e-9


@settings(max_examples=100)
@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=4), st.integers(1, 10), st.sampled_from([1, 2]), bounds
)
def test_outcomes_of_a_cut_are_those_of_all_sets(people, rows, k, wanted):
    rows = min(rows, sum(people))
    chooser = object.__new__(CutChooser)
    chooser.model, chooser.k = DeltaPresence(low=wanted[0], high=wanted[1]), k
    most = sum(people) + 1
    chooser.log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    allowed, expected = chooser._outcomes(np.array(people), rows)

    def allows(own, many):
        slack = 1e-9 * many
        return wanted[0] * many - slack <= own <= wanted[1] * many + slack and (own == 0 or own >= k)

    right, counts = count_outcomes(people, rows, allows)
    assert allowed == pytest.approx(float(right), abs=1e-9)
    assert expected == pytest.approx([float(own) for own in counts], abs=1e-9)


def test_policies_that_name_knows_algorithm_ask_for_drawn_cuts():
    names = ["knows-algorithm", "unsure-of-membership"]
    for name in ("mpalm", "spalm", "mondrian", "full-domain"):
        with pytest.raises(PolicyError, match=r"not proven to hide who is in the table .*mpalm with .*drawn"):
            shoal.anonymize(THREE, **ASKED, adversary=names, method=name)
    made = shoal.anonymize(THREE, **ASKED, adversary=names, method={"name": "mpalm", "drawn": True})
    tried = [verdict.model for verdict in made.verdicts if verdict.model.endswith("attack membership")]
    assert len(tried) == 2
    assert made.holds
    with pytest.raises(
        PolicyError, match=r"drawn = true is proven only for bounds on presence and k, not for .*diversity"
    ):
        shoal.anonymize(
            THREE.with_columns(s=pl.Series(["x", "y", "z"])),
            **ASKED,
            sensitive=["s"],
            l=2,
            method={"name": "mpalm", "drawn": True},
        )


def test_an_audit_with_the_adversary_fails_for_a_release_of_plain_mpalm():
    """The policy of the audit says that cuts were drawn, and the release shows that they were not, or who is in."""
    made = shoal.anonymize(THREE, method="mpalm", **ASKED)
    names = {
        "adversary": ["knows-algorithm", "unsure-of-membership"],
        "method": {"name": "mpalm", "drawn": True},
    }
    found = shoal.audit(made.table, original=THREE, **ASKED, **names)
    (note,) = [note for note in found.notes if "attack membership by knows-algorithm" in note]
    assert "does not make such a release" in note


def test_reruns_refuse_what_they_cannot_decide():
    many = pl.DataFrame({"age": list(range(60))})
    inside = many[::3]
    plans = [ColumnPlan("age", QUASI)]
    table = encode_both(inside, many, plans)
    method, wish = METHODS["mpalm"](), asked(0, 0.9)
    evidence = Evidence.of_release(table, METHODS["spalm"]().anonymize(table, wish, Run.start(1)))
    with pytest.raises(DataError, match="Shoal cannot reproduce the release"):
        membership_rerun.rerun_presence(evidence, method, wish, Run.start(1))
    with pytest.raises(DataError, match="more than 20,000 tables"):
        membership_rerun.rerun_presence(evidence, METHODS["spalm"](), wish, Run.start(1))
    with pytest.raises(DataError, match="the method that made the release is not known"):
        membership_rerun.rerun_presence(evidence, None, wish, Run.start(1))
    left = replace(evidence, published=replace(evidence.published, suppressed=1))
    with pytest.raises(DataError, match="rows were suppressed"):
        membership_rerun.rerun_presence(left, METHODS["spalm"](), wish, Run.start(1))
    assert encode(inside, plans).context.population is None
