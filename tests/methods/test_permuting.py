"""Permuting methods, and the membership attack on whole releases."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, LimitError, PolicyError
from shoal.judging.attacks.membership import Membership
from shoal.judging.linking.evidence import Evidence
from shoal.judging.membership.presence_chances import presence
from shoal.judging.models.delta_presence import DeltaPresence
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.permuting.shuffled_buckets import shuffle_within
from shoal.methods.presence.bucket_mappings import BucketMappings
from shoal.release import closures
from shoal.release.record import card_markdown
from shoal.release.render import render
from shoal.support.run import Run
from tests.judging.test_membership import P1, P2, enumerated
from tests.judging.test_presence import SALARIES, example, published, with_population

PERMUTING = ["bucketization", "slice-columns"]


def permuted(name, table, seed=1, models=(), **options):
    return METHODS[name](**{"k": 2, **options}).anonymize(table, Requirements(models=models), Run.start(seed))


@given(with_population(), st.sampled_from(PERMUTING), st.integers(0, 5))
def test_buckets_show_the_values_of_their_rows(table, name, seed):
    assume(table.rows >= 2)
    release = permuted(name, table, seed)
    rows = render(table, release).rows
    truth = table.kept.whole.select(a.name for a in table.sensitive).with_columns(
        **{a.name: a.hierarchy.leaves.gather(table.quasi.wide[:, j]) for j, a in enumerate(table.attributes)}
    )
    assert np.bincount(release.layout.bucket_of).min() >= 2
    for bucket in range(int(release.layout.bucket_of.max()) + 1):
        inside = np.flatnonzero(release.layout.bucket_of == bucket)
        for column in truth.columns:
            assert Counter(rows[column][inside].to_list()) == Counter(truth[column][inside].to_list())
    if name == "bucketization":
        quasi = [a.name for a in table.attributes]
        assert rows.select(quasi).rows() == truth.select(quasi).rows()


def test_shuffles_are_even():
    # Three rows in one bucket have six orders; each should come about equally often.
    random = np.random.default_rng(1)
    seen = Counter(tuple(shuffle_within(np.zeros(3, np.int32), random).tolist()) for _ in range(6000))
    assert len(seen) == 6
    assert min(seen.values()) > 850
    alone = shuffle_within(np.array([-1, 0, -1, 1], np.int32), random)
    assert alone.tolist() == [0, 1, 2, 3]


@settings(max_examples=60)
@given(with_population(), st.sampled_from(PERMUTING))
def test_chances_are_those_of_enumeration_in_each_bucket(table, name):
    assume(table.rows >= 2)
    release = permuted(name, table)
    shown = published(table, release)
    found = presence(shown, table.context.population)
    assume(found.overlapping == 0)
    people = [tuple(p) for p in table.context.population.tolist()]
    for bucket in range(int(release.layout.bucket_of.max()) + 1):
        own = [tuple(r) for r in table.quasi.wide[release.layout.bucket_of == bucket].tolist()]
        if name == "bucketization":
            could_be = [i for i, p in enumerate(people) if p in own]
            kinds = [(own.index(people[i]),) for i in could_be]
        else:
            values = [{row[j] for row in own} for j in range(len(own[0]))]
            could_be = [
                i for i, p in enumerate(people) if all(v in s for v, s in zip(p, values, strict=True))
            ]
            kinds = [people[i] for i in could_be]
        left, private = list(range(len(could_be))), []
        for row in own:
            at = next(i for i in left if people[could_be[i]] == row)
            left.remove(at)
            private.append(at)
        expected, _ = enumerated(kinds, private)
        assert found.chance[could_be].tolist() == pytest.approx([float(e) for e in expected])


def frames():
    people = pl.DataFrame({"zip": [z for z, _ in P2.values()], "age": [a for _, a in P2.values()]})
    inside = [0, 2, 3, 5]
    return people, people[inside].with_columns(salary=pl.Series([15, 40, 42, 50]))


def test_slicing_the_second_example_gives_the_first_bucket_away():
    people, table = frames()
    release = pl.DataFrame(
        {
            "zip": [5371, 5370, 5376, 5372],
            "age": [21, 27, 32, 39],
            "salary": [40, 15, 42, 50],
            "bucket": [0, 0, 1, 1],
        }
    )
    found = shoal.attack(
        release,
        original=table,
        population=people,
        name="membership",
        quasi=["zip", "age"],
        sensitive=["salary"],
        k=2,
        method="slice-columns",
    )
    # Julie, Sara: certain. James, Barbara: 5372 and 32 are James's alone, 39 is Barbara's alone.
    assert found.figures["certainly_in"] == 4
    assert found.figures["certainly_out"] == 2
    assert found.success == 1.0
    assert found.baseline == pytest.approx(4 / 6)
    assert not found.holds
    assert found.summary()["estimated"] == 0


def test_the_attack_reads_what_the_method_made():
    people, table = frames()
    keywords = {"quasi": ["zip", "age"], "sensitive": ["salary"], "l": 2}
    result = shoal.anonymize(table, **keywords, method={"name": "slice-columns", "k": 2}, seed=3)
    assert result.verdicts[0].holds
    found = shoal.attack(result.table, original=table, population=people, name="membership", **keywords)
    assert found.figures["exact"] == len(people)
    plain = shoal.anonymize(table, **keywords, method={"name": "bucketization", "k": 2}, seed=3)
    found = shoal.attack(
        plain.table, original=table, population=people, name="membership", adversary="rows", **keywords
    )
    assert found.figures["certainly_in"] == 4


def test_permute_generalize_on_the_worked_example():
    result = example(method={"name": "permute-generalize", "k": 4}, presence=[0.1, 0.9], seed=1)
    assert set(result.table["zip"].cast(pl.String)) == {"537*"}
    assert Counter(result.table["age"].to_list()) == {25: 5, 27: 3}
    assert result.table["bucket"].n_unique() == 1
    assert result.verdicts[0].reached == pytest.approx([3 / 4, 5 / 6])
    assert sorted(result.table["salary"]) == sorted(SALARIES.values())


@pytest.mark.parametrize("options", [{"k": 2}, {"k": 4, "partitioner": "people"}])
def test_permute_generalize_shows_both_binary_columns(options):
    people = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    table = people[[1, 2]].with_columns(s=pl.Series(["x", "y"]))
    result = shoal.anonymize(
        table,
        population=people,
        quasi=["a", "b"],
        sensitive=["s"],
        method={"name": "permute-generalize", **options},
        presence=[0.5, 0.5],
    )
    assert [sorted(result.table[name]) for name in ("a", "b")] == [[0, 1], [0, 1]]


def test_a_value_set_of_a_number_and_null_becomes_a_range_that_can_be_published():
    people = pl.DataFrame({"a": [0, 0, 0, 0, 0, 0, 1, 1, 1, None]})
    result = shoal.anonymize(
        pl.DataFrame({"a": [1, None], "s": ["x", "y"]}),
        population=people,
        quasi=["a"],
        sensitive=["s"],
        method={"name": "permute-generalize", "partitioner": "hilbert", "k": 2},
        presence=[0.0, 0.5],
    )
    assert result.table["a"].to_list() == ["*", "*"]


@settings(max_examples=60)
@given(
    with_population(),
    st.tuples(st.sampled_from([0.0, 0.0, 0.2]), st.sampled_from([0.5, 0.8, 0.9])),
    st.sampled_from(["boxes", "people", "mondrian", "hilbert", "lexicographic", "agglomerative", "mpalm"]),
)
def test_permute_generalize_takes_mappings_that_presence_allows(table, bounds, partitioner):
    assume(table.rows >= 2)
    model = DeltaPresence(low=bounds[0], high=bounds[1])
    try:
        release = permuted("permute-generalize", table, models=(model,), partitioner=partitioner)
    except LimitError:
        return
    shown = published(table, release)
    assert model.verify(Evidence(shown, table)).holds
    if partitioner in ("boxes", "people"):
        # Nobody fits two buckets, so each bucket could be chosen by itself.
        assert presence(shown, table.context.population).overlapping == 0


@settings(max_examples=150)
@given(
    with_population(),
    st.tuples(st.sampled_from([0.0, 0.0, 0.2]), st.sampled_from([0.5, 0.8, 0.9])),
    st.sampled_from([1, 1, 2, 3]),
)
def test_boxes_of_mpalm_can_always_be_shuffled(table, bounds, k):
    """A box that mpalm publishes is within the bounds as it is, so the most general mapping of the bucket is."""
    model = DeltaPresence(low=bounds[0], high=bounds[1])
    sizes = (KAnonymity(k=k),) if k > 1 else ()
    try:
        METHODS["mpalm"]().anonymize(table, Requirements(models=(model, *sizes)), Run.start(1))
    except LimitError:
        return
    release = permuted("permute-generalize", table, models=(model,), partitioner="mpalm", k=k)
    assert model.verify(Evidence(published(table, release), table)).holds


@settings(max_examples=60)
@given(with_population(), st.sampled_from([0.5, 0.8, 0.9]))
def test_permute_generalize_takes_the_first_mapping_in_every_box(table, high):
    """Every mapping with a smaller sum of levels makes somebody too certain, by enumeration of all sets."""
    assume(table.rows >= 2)
    model = DeltaPresence(low=0.0, high=high)
    try:
        release = permuted("permute-generalize", table, models=(model,))
    except LimitError:
        return
    trees = [attribute.hierarchy for attribute in table.attributes]
    low, high_ = closures(table, release.layout.bucket_of, int(release.layout.bucket_of.max()) + 1)
    for bucket in range(len(low)):
        rows = np.flatnonzero(release.layout.bucket_of == bucket)
        everyone = table.context.population
        people = everyone[((everyone >= low[bucket]) & (everyone <= high_[bucket])).all(axis=1)]
        heights = [
            int(low[bucket, j] < high_[bucket, j]) if tree.free
            else int(tree.level_of(low[bucket, j : j + 1], high_[bucket, j : j + 1])[0])
            for j, tree in enumerate(trees)
        ]  # fmt: skip

        def shown(codes, mapping, place=bucket):
            return [
                tuple(
                    (int(low[place, j]) if level else c) if trees[j].free else int(trees[j].low[level, c])
                    for j, (c, level) in enumerate(zip(row, mapping, strict=True))
                )
                for row in codes.tolist()
            ]

        taken = [tuple(map(int, release.low[row])) for row in rows]
        for mapping in sorted(product(*(range(h + 1) for h in heights)), key=lambda m: (sum(m), m)):
            kinds, own, private = shown(people, mapping), shown(table.quasi.wide[rows], mapping), []
            for kind in own:
                private.append(next(i for i, k in enumerate(kinds) if k == kind and i not in private))
            expected, _ = enumerated(kinds, private)
            if max(expected) <= model.high:
                assert own == taken
                break


def test_boxes_of_mpalm_gain_nothing_by_permuting_in_the_worked_example():
    # MPALM makes one box per age of the worked example. Shuffled exact zips make people certain in both.
    ages = {25: ["Clara", "Julie", "Taylor", "Ashley", "Amanda"], 27: ["Ada", "Sara", "Bob"]}
    for age, inside in ages.items():
        names = [name for name, (_, own) in P1.items() if own == age]
        expected, _ = enumerated([(P1[name][0],) for name in names], [names.index(name) for name in inside])
        assert max(expected) == 1


@settings(max_examples=200)
@given(with_population(), st.sampled_from([0.0, 0.2, 0.4]), st.sampled_from([0.5, 0.7, 0.9]))
def test_no_box_of_mpalm_can_be_shown_more_precisely_by_shuffling(table, low, high):
    """The theorem of the thesis: with the boxes of MPALM as buckets, permutation gains nothing."""
    model = DeltaPresence(low=low, high=high)
    try:
        release = METHODS["mpalm"]().anonymize(table, Requirements(models=(model,)), Run.start(1))
    except LimitError:
        return
    for box in range(len(release.low)):
        own = release.low[box], release.high[box]
        everyone = table.context.population
        people = everyone[((everyone >= own[0]) & (everyone <= own[1])).all(axis=1)]
        rows = table.quasi.wide[release.region_of == box]
        mappings = BucketMappings(table, rows, people, *own, model)
        assert list(mappings.first_allowed(10**6)) == mappings.heights()


def test_what_the_attack_refuses():
    people, table = frames()
    keywords = {"quasi": ["zip", "age"], "sensitive": ["salary"], "k": 2}
    with pytest.raises(DataError, match="no population is known"):
        shoal.attack(table, original=table, name="membership", **keywords)
    with pytest.raises(PolicyError, match="adversary"):
        Membership(adversary="nobody")
    with pytest.raises(PolicyError, match="each quasi-identifier once"):
        shoal.attack(
            table,
            original=table,
            population=people,
            name="membership",
            options={"together": (("zip",),)},
            **keywords,
        )
    with pytest.raises(PolicyError, match=r"method\.k"):
        METHODS["slice-columns"](k=1)


def test_estimates_are_told():
    people, table = frames()
    # No counting is allowed at all.
    everyone = pl.concat([people, people, people])
    release = table.with_columns(bucket=pl.lit(0))
    found = shoal.attack(
        release,
        original=table,
        population=everyone,
        name="membership",
        options={"limit": 0, "seconds": 0.5},
        seed=1,
        method="slice-columns",
        quasi=["zip", "age"],
        sensitive=["salary"],
        k=2,
    )
    assert found.figures["exact"] + found.figures["estimated"] == len(everyone)
    assert bool(found.figures["estimated"]) == any("estimates" in note for note in found.notes)


def test_a_release_without_buckets_is_judged_by_its_classes():
    people, table = frames()
    release = table.with_columns(zip=pl.lit("*"), age=pl.lit("*"))
    found = shoal.attack(
        release,
        original=table,
        population=people,
        name="membership",
        quasi=["zip", "age"],
        sensitive=["salary"],
        k=2,
    )
    assert found.success == pytest.approx(4 / 6)
    assert found.holds


def test_buckets_of_different_levels_that_meet_are_undecided_not_guessed():
    people = pl.DataFrame({"a": ["x", "x", "x", "y", "z"]})
    table = pl.DataFrame({"a": ["x", "x", "y", "z"], "s": [1, 2, 3, 4]})
    release = table.with_columns(a=pl.Series(["x", "x", "*", "*"]), bucket=pl.Series([0, 0, 1, 1]))
    keywords = {"quasi": ["a"], "sensitive": ["s"], "method": "slice-columns"}
    keywords["record"] = {
        "policy": "[method]\nname = 'slice-columns'", "method": "slice-columns", "seed": None, "input": {"rows": 4}
    }  # fmt: skip
    found = shoal.attack(release, original=table, population=people, name="membership", k=2, **keywords)
    # Whoever is x fits both buckets. y and z fit the second alone, but are not two of five people for it: two x have to
    # be in the first. In four of the five sets of four with two x or more there is y, and z as often.
    assert found.figures["estimated"] == 5
    assert any("could not decide" in note for note in found.notes)
    judged = shoal.audit(release, original=table, population=people, presence=[0.0, 0.9], **keywords)
    assert not judged.verdicts[0].holds
    assert judged.verdicts[0].reached == [0.0, 1.0]


@pytest.mark.parametrize("method", ["anatomy", "bucketization", "slicing", "slice-columns"])
def test_k_is_refused_before_the_work_where_quasi_identifiers_stay_exact(method):
    table = pl.DataFrame({"age": list(range(20, 36)), "sex": ["f", "m"] * 8, "s": ["a", "b", "c", "d"] * 4})
    roles = {"quasi": ["age", "sex"], "sensitive": ["s"], "l": 2, "method": method}
    with pytest.raises(PolicyError, match=r"exact quasi-identifiers.*remove k .*mondrian"):
        shoal.anonymize(table, k=4, **roles)
    assert len(shoal.anonymize(table, **roles).table) == 16


def test_k_is_kept_by_exact_values_where_the_table_keeps_it():
    table = pl.DataFrame({"sex": ["f", "m"] * 8, "s": ["a", "a", "b", "b"] * 4})
    made = shoal.anonymize(table, quasi=["sex"], sensitive=["s"], k=8, l=2, method="bucketization")
    assert made.holds


# --- what is said of buckets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    ["bucketization", "slice-columns", "slicing", "anatomy", {"name": "permute-generalize", "k": 4}],
)
def test_cards_and_audits_speak_of_buckets(method):
    rows = pl.DataFrame(
        {"x": [i % 7 for i in range(40)], "y": [i % 5 for i in range(40)], "s": [i % 8 for i in range(40)]}
    )
    asked = {"quasi": ["x", "y"], "sensitive": ["s"], "method": method, "l": {"distinct": 2}}
    more = {}
    if method == {"name": "permute-generalize", "k": 4}:
        asked |= {"presence": (0.0, 0.9), "l": None}
        more["population"] = pl.concat([rows] * 2)
    made = shoal.anonymize(rows, **asked, **more)
    buckets = made.table["bucket"].n_unique()
    assert made.buckets == made.summary()["buckets"] == made.card["buckets"] == buckets
    card = card_markdown(made.card)
    assert f"40 rows are published in {buckets} bucket" in card
    assert "within which columns were shuffled against each other" in card
    assert "identical quasi-identifiers" not in card
    tables = {"second": made.second} if made.second is not None else {}
    report = shoal.audit(made.table, original=rows, **tables, **asked, **more)
    assert report.buckets == report.summary()["buckets"] == buckets


def test_classes_are_no_buckets():
    rows = pl.DataFrame({"x": [1, 1, 2, 2], "bucket": [1, 2, 3, 4]})
    made = shoal.anonymize(rows, quasi=["x"], plain=["bucket"], k=2)
    assert made.buckets is None
    assert "buckets" not in made.summary()
    assert "2 classes of rows with identical quasi-identifiers" in card_markdown(made.card)


@pytest.mark.parametrize("method", ["bucketization", "anatomy", "slice-columns"])
def test_buckets_are_not_named_like_an_identifier(method):
    """A dropped column called `bucket` would seem to be published."""
    frame = pl.DataFrame(
        {"bucket": ["Ann", "Bob", "Cem", "Dan"], "age": [1, 2, 3, 4], "ill": ["flu", "cold", "flu", "cold"]}
    )
    policy = {"identifier": ["bucket"], "quasi": ["age"], "sensitive": ["ill"], "l": 2, "method": method}
    made = shoal.anonymize(frame, **policy)
    assert made.table.columns[-1] == "bucket_"
    judged = shoal.audit(made.table, second=made.second, original=frame, record=made.record, **policy)
    assert judged.holds


def test_who_matches_one_bucket_may_be_too_certain_because_others_match_several():
    """Buckets {v0, v1} and {v2, v4}: only v4 lies outside the first, so it is certainly in the second."""
    people = ["v0", "v0", "v0", "v1", "v2", "v4"]
    tree = {"low": ["v0", "v1", "v2", "v3"], "high": ["v4", "v5", "v6"]}
    made = shoal.anonymize(
        pl.DataFrame({"q": ["v0", "v1", "v2", "v4"]}),
        quasi=["q"],
        hierarchies={"q": {"tree": tree}},
        presence=[0.0, 0.8],
        population=pl.DataFrame({"q": people}),
        method={"name": "permute-generalize", "partitioner": "mondrian", "k": 2},
    )
    assert made.holds
