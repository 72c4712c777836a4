"""People who fit several classes or buckets, and people who were suppressed: what is said of them is never too kind."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, PolicyError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.membership.presence_chances import presence
from shoal.judging.models.delta_presence import DeltaPresence
from shoal.policy import Policy
from shoal.release import ValueSets
from shoal.release.layout import Buckets
from shoal.release.published import Boxes, Published
from tests.judging.test_presence import with_population


def fillable(rows, fitting):
    """Whether each row can be given a person of its own, one row after the other, moving others where needed."""
    holder = {}

    def place(row, seen):
        for person in fitting[row]:
            if person not in seen:
                seen.add(person)
                if person not in holder or place(holder[person], seen):
                    holder[person] = row
                    return True
        return False

    return all(place(row, set()) for row in rows)


def shown_as(table, class_of, low, high, suppressed=0):
    class_of = np.asarray(class_of, np.int32)
    none = np.zeros((len(class_of), 0), np.int32)
    return Published(table.attributes, (), class_of, none, Boxes(low, high), suppressed)


@st.composite
def overlapping(draw):
    """A population, and rows of it in up to three classes whose cells may be too wide; some are left out."""
    table = draw(with_population())
    suppressed = draw(st.integers(0, min(2, table.rows - 1)))
    rows = table.quasi.wide[suppressed:]
    assigned = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    class_of = np.unique(assigned, return_inverse=True)[1]
    low = np.stack([rows[class_of == c].min(axis=0) for c in range(class_of.max() + 1)])
    high = np.stack([rows[class_of == c].max(axis=0) for c in range(class_of.max() + 1)])
    for c in range(len(low)):
        if draw(st.booleans()):
            other = table.context.population[draw(st.integers(0, len(table.context.population) - 1))]
            low[c], high[c] = np.minimum(low[c], other), np.maximum(high[c], other)
    return table, shown_as(table, class_of, low, high, suppressed)


@settings(max_examples=150, deadline=None)
@given(overlapping())
def test_chances_lie_within_what_is_said(drawn):
    """All sets of people that could be behind the release, one by one."""
    table, shown = drawn
    people, (low, high) = table.context.population, shown.cell_ranges
    found = presence(shown, people)
    fits = [
        {i for i, person in enumerate(people) if ((low[c] <= person) & (person <= high[c])).all()}
        for c in shown.class_of
    ]
    size, everyone = shown.rows, range(len(people))
    kept = [
        own for own in combinations(everyone, size) if fillable(range(size), [f & set(own) for f in fits])
    ]
    sets = {
        tuple(sorted((*own, *more)))
        for own in kept
        for more in combinations(sorted(set(everyone) - set(own)), shown.suppressed)
    }
    for i in everyone:
        share = sum(i in own for own in sets) / len(sets)
        assert found.low[i] - 1e-9 <= share <= found.high[i] + 1e-9
        assert found.certainly_in[i] == (share == 1.0)
        assert found.certainly_out[i] == (share == 0.0)
        if found.exact[i]:
            assert found.chance[i] == pytest.approx(share)
        assert np.isnan(found.chance[i]) or found.low[i] <= found.chance[i] <= found.high[i]


@st.composite
def value_sets(draw):
    """A population, and rows of it in classes that show sets: the values of their rows, and sometimes more."""
    table = draw(with_population())
    suppressed = draw(st.integers(0, min(1, table.rows - 1)))
    rows = table.quasi.wide[suppressed:]
    class_of = np.unique(
        draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))), return_inverse=True
    )[1]
    sets = []
    for c in range(class_of.max() + 1):
        for j in range(rows.shape[1]):
            more = draw(st.sets(st.integers(0, int(table.context.population[:, j].max())), max_size=1))
            sets.append(sorted({int(code) for code in rows[class_of == c, j]} | more))
    start = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    shown = shown_as(
        table,
        class_of,
        np.array([own[0] for own in sets], np.int32).reshape(-1, rows.shape[1]),
        np.array([own[-1] for own in sets], np.int32).reshape(-1, rows.shape[1]),
        suppressed,
    )
    codes = np.array([code for own in sets for code in own], np.int32)
    return table, replace(shown, cells=replace(shown.cells, sets=ValueSets(start, codes))), sets


@settings(max_examples=150, deadline=None)
@given(value_sets())
def test_chances_in_value_sets_lie_within_what_is_said(drawn):
    """A value between two elements of a set is not in it: all sets of people that could be behind the release."""
    table, shown, sets = drawn
    people, width = table.context.population, table.quasi.wide.shape[1]
    found = presence(shown, people)
    fits = [
        {
            i
            for i, person in enumerate(people)
            if all(int(person[j]) in sets[c * width + j] for j in range(width))
        }
        for c in shown.class_of
    ]
    size, everyone = shown.rows, range(len(people))
    kept = [
        own for own in combinations(everyone, size) if fillable(range(size), [f & set(own) for f in fits])
    ]
    behind = {
        tuple(sorted((*own, *more)))
        for own in kept
        for more in combinations(sorted(set(everyone) - set(own)), shown.suppressed)
    }
    for i in everyone:
        share = sum(i in own for own in behind) / len(behind)
        assert found.low[i] - 1e-9 <= share <= found.high[i] + 1e-9
        assert found.certainly_in[i] == (share == 1.0)
        assert found.certainly_out[i] == (share == 0.0)
        if found.exact[i]:
            assert found.chance[i] == pytest.approx(share)


def test_value_sets_from_methods_are_attacked_and_judged():
    people = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6, 7, 8]})
    table = people[[0, 1, 4, 7]]
    given_ = {"original": table, "population": people, "quasi": ["age"]}
    release = pl.DataFrame({"age": [[1, 2], [1, 2], [5, 8], [5, 8]]})
    # By ranges 6 and 7 would match as well; by sets each of the four is certain.
    found = shoal.attack(release, **given_, k=2, name="membership")
    assert found.figures["certainly_in"] == 4
    assert found.figures["certainly_out"] == 4
    assert not shoal.audit(release, **given_, presence=[0.0, 0.9]).verdicts[0].holds
    made = shoal.anonymize(table, quasi=["age"], k=2, method="lexicographic", seed=1)
    assert shoal.attack(made, **given_, k=2, name="membership").figures["certainly_in"] == 4


@pytest.mark.parametrize("method", ["mondrian", "lexicographic", "anatomy"])
def test_a_population_that_a_result_was_not_made_with(method):
    """It has further values, so the codes of the result mean others: the same people must be found by its rows."""
    people = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6, 7, 8], "zip": list("aabbccdd")})
    table = people[[0, 1, 4, 7]].with_columns(ill=pl.Series(list("xyxy")))
    given_ = {"original": table, "population": people, "quasi": ["age", "zip"], "sensitive": ["ill"], "l": 2}
    made = shoal.anonymize(table, quasi=["age", "zip"], sensitive=["ill"], l=2, method=method, seed=1)
    by_result = shoal.attack(made, **given_, method=method, name="membership")
    by_rows = shoal.attack(made.table, second=made.second, **given_, method=method, name="membership")
    assert by_result.chances.tolist() == by_rows.chances.tolist()
    assert (by_result.chances > 0).all()


def nested(own=5):
    people = pl.DataFrame({"age": ["x"] * own + ["y"] * 95})
    table = pl.DataFrame({"age": ["x"] * 5 + ["y"] * 5})
    release = pl.DataFrame({"age": ["x"] * 5 + ["*"] * 5})
    return release, {"original": table, "population": people, "quasi": ["age"]}


def test_a_class_within_another_gives_its_people_away():
    # Five rows say x, and there are five people x: all are in, though as one there would be ten rows for 100 people.
    release, given_ = nested()
    verdict = shoal.audit(release, **given_, presence=[0.0, 0.2]).verdicts[0]
    assert not verdict.holds
    assert verdict.reached[1] == 1.0
    assert "several" in verdict.detail
    found = shoal.attack(release, **given_, k=5, name="membership")
    assert found.figures["certainly_in"] == found.at_risk == 5
    assert found.figures["answers"]["bounded"] == 95


def test_people_of_one_class_are_given_away_by_others_that_have_to_be_elsewhere():
    # The row "2" has to be of the one person aged 2, so that the row "[1, 2]" can only be of the one aged 1.
    release = pl.DataFrame({"age": ["[1, 2]", "2"]})
    people = pl.DataFrame({"age": [1, 2, 3]})
    found = shoal.attack(
        release, original=people[:2], population=people, quasi=["age"], k=2, name="membership"
    )
    assert found.figures["certainly_in"] == 2


def test_bounds_of_a_class_within_another():
    # Six people x for five rows x and five rows *. Sets of ten of the 101 people with at least five x:
    # 6 C(95, 5) with five of them and C(95, 4) with all six, so the chance of each is a little above 5/6.
    release, given_ = nested(own=6)
    found = shoal.audit(release, **given_, presence=[0.0, 0.84]).verdicts[0]
    assert not found.holds
    assert found.reached[1] > 0.835


def test_wide_classes_that_overlap_can_be_within_bounds():
    # 100 people each of 1, 2, 3, and five rows each in [1, 2] and [2, 3]. Of the 200 people of a class at most ten are
    # in, so nobody who fits one has more than 10/200. Whoever is 2 fits both: the 100 like that can stand in, and of
    # these at most ten are in.
    people = pl.DataFrame({"age": [1, 2, 3] * 100})
    table = pl.DataFrame({"age": [1] * 5 + [3] * 5})
    release = pl.DataFrame({"age": ["[1, 2]"] * 5 + ["[2, 3]"] * 5})
    keywords = {"original": table, "population": people, "quasi": ["age"]}
    verdict = shoal.audit(release, **keywords, presence=[0.0, 0.1]).verdicts[0]
    assert verdict.holds
    # In the union of both ten rows are for 300 people: at least 1/30 for the 2, and 5/200 for the others.
    assert verdict.reached[0] == pytest.approx(5 / 200)
    assert 0.05 - 1e-9 <= verdict.reached[1] <= 0.1 + 1e-9


# --- buckets ------------------------------------------------------------------------------------------------------


def sets_behind(people, rows_of, free):
    """All sets of people that can fill all buckets, each with the values that it shows."""
    if not rows_of:
        return {()}
    wanted = [sorted(column) for column in zip(*rows_of[0], strict=True)]
    fit = [i for i in free if all(v in shown for v, shown in zip(people[i], wanted, strict=True))]
    return {
        tuple(sorted((*own, *more)))
        for own in combinations(fit, len(rows_of[0]))
        if [sorted(column) for column in zip(*(people[i] for i in own), strict=True)] == wanted
        for more in sets_behind(people, rows_of[1:], free - set(own))
    }


@settings(max_examples=100, deadline=None)
@given(with_population(), st.lists(st.integers(0, 2), min_size=12, max_size=12), st.integers(0, 2))
def test_chances_in_buckets_lie_within_what_is_said(table, assigned, suppressed):
    suppressed = min(suppressed, len(table.context.population) - table.rows)
    bucket_of = np.unique(assigned[: table.rows], return_inverse=True)[1].astype(np.int32)
    shown = replace(
        shown_as(table, np.arange(table.rows), table.quasi.wide, table.quasi.wide, suppressed),
        layout=Buckets(bucket_of),
    )
    found = presence(shown, table.context.population)
    people = [tuple(person) for person in table.context.population.tolist()]
    rows_of = [
        [tuple(row) for row in table.quasi.wide[bucket_of == b].tolist()] for b in range(bucket_of.max() + 1)
    ]
    sets = sets_behind(people, rows_of, frozenset(range(len(people))))
    others = len(people) - table.rows
    for i in range(len(people)):
        share = sum(i in own for own in sets) / len(sets)
        if suppressed:
            # As many more of the others, whoever these are.
            share += (1 - share) * suppressed / others
        assert found.low[i] - 1e-9 <= share <= found.high[i] + 1e-9
        if found.certainly_in[i]:
            assert share == 1.0
        if found.certainly_out[i]:
            assert share == 0.0
        if found.exact[i]:
            assert found.chance[i] == pytest.approx(share)
        else:
            assert found.bounded[i] or found.undecided[i]


def test_a_bucket_within_another_gives_its_people_away():
    # The first bucket shows (1, 1) twice, and two people are like that; both fit the second bucket as well.
    rows = [(1, 1), (1, 1), (1, 2), (2, 1), (2, 2), (2, 2)]
    people = rows + [(1, 2), (2, 1), (2, 2)] * 40
    table, everyone = (pl.DataFrame(part, schema=["a", "b"], orient="row") for part in (rows, people))
    release = table.with_columns(bucket=pl.Series([0, 0, 1, 1, 1, 1]))
    keywords = {"original": table, "population": everyone, "quasi": ["a", "b"]}
    verdict = shoal.audit(release, **keywords, presence=[0.0, 0.6], method="slice-columns").verdicts[0]
    assert not verdict.holds
    assert verdict.reached[1] == 1.0
    found = shoal.attack(release, **keywords, k=2, name="membership")
    assert found.figures["certainly_in"] == found.at_risk == 2


# --- suppressed rows ----------------------------------------------------------------------------------------------


def test_people_who_were_suppressed_may_be_in_the_table():
    # All ten old people are in the table and are left out; 20 of 50 young ones are shown.
    people = pl.DataFrame({"age": ["young"] * 50 + ["old"] * 10 + ["mid"] * 40})
    table = pl.DataFrame({"age": ["young"] * 20 + ["old"] * 10})
    keywords = {"original": table, "population": people, "quasi": ["age"], "suppression": 0.4}
    verdict = shoal.audit(table[:20], **keywords, presence=[0.0, 0.5]).verdicts[0]
    # The ten may be any of the 50 who fit nothing, 10/50, or young, (20 + 10)/50.
    assert verdict.reached == pytest.approx([0.0, 0.6])
    assert not verdict.holds
    assert "10 suppressed" in verdict.detail
    assert shoal.audit(table[:20], **keywords, presence=[0.0, 0.6]).verdicts[0].holds
    found = shoal.attack(table[:20], **{**keywords, "k": 5}, name="membership")
    assert found.figures["certainly_out"] == 0


def test_suppressing_rows_makes_nothing_feasible():
    people = pl.DataFrame({"age": ["young"] * 50 + ["old"] * 10})
    table = pl.DataFrame({"age": ["young"] * 20 + ["old"] * 10})
    with pytest.raises(InfeasibleError, match="30 of the 60"):
        shoal.anonymize(
            table,
            population=people,
            quasi=["age"],
            k=12,
            presence=[0.0, 0.45],
            suppression=0.4,
            method="full-domain",
        )


@given(overlapping(), st.sampled_from([0.3, 0.5, 0.8]))
def test_nothing_infeasible_is_ever_reached(drawn, high):
    table, shown = drawn
    model = DeltaPresence(low=0.0, high=high)
    if model.infeasible(table, table.rows):
        assert not model.verify(Evidence(shown, table)).holds


# --- relocated rows -----------------------------------------------------------------------------------------------


def test_relocated_rows_are_spoken_of():
    people = pl.DataFrame({"age": ["young"] * 50 + ["old"] * 3 + ["mid"] * 40})
    table = pl.DataFrame({"age": ["young"] * 20 + ["old"] * 3 + ["mid"] * 12})
    keywords = {"quasi": ["age"], "k": 5, "presence": [0.0, 0.5], "relocation": {"budget": 0.2}}
    made = shoal.anonymize(table, population=people, **keywords, method={"name": "relocate", "budget": 0.2})
    (verdict,) = (v for v in made.verdicts if "presence" in v.model)
    # The three old ones are shown as somebody else.
    assert "3 rows were relocated" in verdict.detail
    with pytest.raises(PolicyError, match="relocat"):
        Policy.from_keywords(
            **keywords,
            adversary=["knows-algorithm"],
            method={"name": "relocate", "variant": "randomized"},
        )
