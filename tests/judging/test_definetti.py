"""Learning from buckets: against all assignments, against worked examples, and where there is nothing to learn."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError
from shoal.judging.linking import bucket_learner
from shoal.judging.linking.bucket_learner import Guesses, Pairs, learn, revise
from shoal.judging.models.bucket_members import find_members
from shoal.judging.read_case import Received, read_case
from shoal.kernels.bucket_posterior import share_values
from tests.inputs.samples import CENSUS
from tests.oracles import bucket_learner as oracle
from tests.oracles import bucket_posterior as plain

KNOWN = {"quasi": ["age", "sex"], "sensitive": ["ill"]}
EXAMPLE = pl.DataFrame(
    {
        "age": ["young", "old", "young", "young", "old", "old"],
        "ill": ["acne", "gout", "acne", "flu", "gout", "flu"],
        "bucket": [1, 1, 2, 2, 3, 3],
    }
)


@st.composite
def buckets(draw):
    many = draw(st.integers(1, 3))
    counts = [draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)) for _ in range(many)]
    people = [sum(own) for own in counts]
    shares = draw(st.booleans())
    mass = [draw(st.sampled_from([0.5, 1.0, 1.5])) if shares else 1.0 for _ in range(sum(people))]
    if shares:  # the masses of a bucket add up to its rows
        first = np.cumsum([0, *people])
        for b, total in enumerate(people):
            own = slice(first[b], first[b + 1])
            mass[own] = [one * total / sum(mass[own]) for one in mass[own]]
    size = sum(p * len(own) for p, own in zip(people, counts, strict=True))
    logs = draw(st.lists(st.floats(-6, 0), min_size=size, max_size=size))
    return (
        np.cumsum([0, *people]),
        np.array(mass),
        np.cumsum([0, *map(len, counts)]),
        np.array([one for own in counts for one in own]),
        np.array(logs),
    )


@settings(max_examples=200, deadline=None)
@given(buckets(), st.sampled_from([0, 4096]))
def test_the_posterior_is_that_of_all_assignments(given, most):
    found, expected = np.zeros(len(given[-1])), np.zeros(len(given[-1]))
    share_values(*given, most, found)
    plain.share_values(*given, most, expected)
    assert found == pytest.approx(expected, abs=1e-6)


def test_very_unlikely_pairs_leave_numbers_to_compare():
    """Weights of e^-400 against e^-401: the quotient counts, and both people cannot have the better value."""
    logs = np.array([0.0, -400.0, 0.0, -401.0])
    found = np.zeros(4)
    share_values(np.array([0, 2]), np.ones(2), np.array([0, 2]), np.array([1, 1]), logs, 4096, found)
    assert found == pytest.approx(np.array([0.26894142, 0.73105858, 0.73105858, 0.26894142]), abs=1e-6)


def released(frame, policy):
    """Return what an adversary sees of a release in buckets, and the members of its buckets."""
    case = read_case(Received(shoal.anonymize(frame, policy, seed=1), frame), policy)
    return case, find_members(case.published, case.table)


ROWS = st.lists(
    st.tuples(st.sampled_from(["20", "30", "40"]), st.sampled_from("fm"), st.sampled_from("abcd")),
    min_size=6,
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_beliefs_are_those_of_the_plain_twin(rows):
    frame = pl.DataFrame(rows, schema=["age", "sex", "ill"], orient="row")
    most = frame["ill"].value_counts()["count"].max()
    if most * 2 > len(rows):
        return
    policy = shoal.Policy.from_keywords(**KNOWN, l={"probabilistic": 2}, method="anatomy")
    made = shoal.anonymize(frame, policy, seed=1)
    case = read_case(Received(made, frame), policy)
    members = find_members(case.published, case.table)
    found = learn(members, case.published, 0)
    column = case.table.sensitive[0].hierarchy.leaves.to_list()
    written = []
    for number in sorted(set(made.table["bucket"])):
        people = made.table.filter(bucket=number).select("age", "sex").rows()
        second = made.second.filter(bucket=number)
        values = [v for v, many in second.select("ill", "count").rows() for _ in range(many)]
        written.append((people, values))
    for rounds, mine in ((0, found.before), (bucket_learner.ROUNDS, found.after)):
        expected = {}
        for (people, _), own in zip(written, oracle.learn(written, rounds=rounds), strict=True):
            for person, beliefs in zip(people, own, strict=True):
                for value, share in beliefs.items():
                    expected.setdefault(person, {}).setdefault(value, []).append(share)
        for row, person in enumerate(frame.select("age", "sex").rows()):
            shown = mine.toarray()[members.point_of[row]]
            times = frame.filter(age=person[0], sex=person[1]).height
            for code, value in enumerate(column):
                assert shown[code] == pytest.approx(sum(expected[person].get(value, [])) / times, abs=1e-6)


def test_the_example_of_the_page():
    """In the other buckets the young have acne and the old have gout. So in bucket 1 it is 2/3 x 2/3 : 1/3 x 1/3."""
    rows = EXAMPLE.select("age", "ill")
    policy = shoal.Policy.from_keywords(
        quasi=["age"], sensitive=["ill"], l={"probabilistic": 2}, method="anatomy"
    )
    second = EXAMPLE.select("bucket", "ill").with_columns(count=1)
    case = read_case(Received(EXAMPLE.select("age", "bucket"), rows, second), policy)
    members = find_members(case.published, case.table)
    pairs = Pairs.of(members, case.published, 0)
    names, ages = case.table.sensitive[0].hierarchy.leaves, case.table.attributes[0].hierarchy.leaves
    assert pairs.start.tolist() == [1 / 2] * 12
    for rounds, belief in ((1, 0.8), (5, 0.952)):
        found = {
            (int(members.bucket[m]), ages[int(members.codes[members.point[m], 0])], names[int(v)]): share
            for m, v, share in zip(
                pairs.member, pairs.value, revise(pairs, ordered=False, rounds=rounds), strict=True
            )
        }
        assert found[0, "young", "acne"] == found[0, "old", "gout"] == pytest.approx(belief, abs=5e-4)
        buckets = [
            (EXAMPLE.filter(bucket=b).select("age").rows(), EXAMPLE.filter(bucket=b)["ill"].to_list())
            for b in (1, 2, 3)
        ]
        assert oracle.learn(buckets, rounds=rounds)[0][0]["acne"] == pytest.approx(belief, abs=5e-4)


def test_sensitive_numbers_speak_for_their_neighbours():
    """Salaries that occur once each: nominal values would teach nothing."""
    random = np.random.default_rng(1)
    age = random.integers(20, 60, 600)
    frame = pl.DataFrame({"age": age, "zip": np.arange(600), "pay": age * 1000 + random.permutation(600)})
    policy = shoal.Policy.from_keywords(
        quasi=["age", "zip"], sensitive=["pay"], l={"probabilistic": 3}, method="anatomy"
    )
    found = shoal.attack(shoal.anonymize(frame, policy, seed=1), policy, original=frame, name="definetti")
    assert found.success > found.baseline + 0.05


@pytest.mark.parametrize("method", ["anatomy", "bucketization", "slicing", "slice-columns", "mondrian"])
def test_the_census_teaches(method):
    rule = "slicing" if method == "slicing" else "probabilistic"
    frame = CENSUS.frame(2000)
    policy = CENSUS.policy({"l": {rule: 3}}, {"name": method})
    made = shoal.anonymize(frame, policy, seed=1)
    found = shoal.attack(made, policy, original=frame, name="definetti")
    assert found.success > found.baseline
    assert found.at_risk == 0
    if method == "anatomy":
        assert found.success > 1.2 * found.baseline
    again = shoal.attack(made.table, policy, original=frame, second=made.second, name="definetti")
    assert again.success == pytest.approx(found.success)


@settings(max_examples=30, deadline=None)
@given(ROWS, st.integers(1, 3))
def test_nothing_is_learned_where_all_people_of_a_bucket_look_alike(rows, copies):
    """Quasi-identifiers that are equal within a bucket do not tell its people apart."""
    rows = [(age, sex, ill) for i, (age, sex, _) in enumerate(rows) for ill in "abc"[:copies] + "d"]
    frame = pl.DataFrame(rows, schema=["age", "sex", "ill"], orient="row")
    bucket = frame.select("age", "sex").with_columns(
        bucket=pl.struct("age", "sex").rank("dense").cast(pl.Int64)
    )
    counts = frame.with_columns(bucket["bucket"]).group_by("bucket", "ill").len("count").sort("bucket", "ill")
    policy = shoal.Policy.from_keywords(**KNOWN, l=2, method="anatomy")
    found = shoal.attack(bucket, policy, original=frame, second=counts, name="definetti")
    assert found.success == pytest.approx(found.baseline)


def test_nothing_is_learned_from_one_bucket():
    """All people of the table in one bucket: the values of others do not go with anything."""
    frame = CENSUS.frame(40)
    policy = CENSUS.policy({"l": {"distinct": 2}}, {"name": "bucketization", "k": 40})
    found = shoal.attack(shoal.anonymize(frame, policy, seed=1), policy, original=frame, name="definetti")
    assert found.figures["groups"] == 1
    assert found.success == pytest.approx(found.baseline)


def test_nothing_is_learned_about_values_that_do_not_go_with_quasi_identifiers():
    """Whatever the classifier believes, it is right as often as chance: 1/4, up to four standard errors."""
    random = np.random.default_rng(7)
    rows = 8000
    frame = pl.DataFrame(
        {
            "age": random.integers(20, 60, rows),
            "sex": random.choice(["f", "m"], rows),
            "zip": random.integers(0, 50, rows),
            "ill": random.permutation(np.repeat(["a", "b", "c", "d"], rows // 4)),
        }
    )
    known = {
        "quasi": ["age", "sex", "zip"],
        "sensitive": ["ill"],
        "l": {"probabilistic": 4},
        "method": "anatomy",
    }
    policy = shoal.Policy.from_keywords(**known)
    found = shoal.attack(shoal.anonymize(frame, policy, seed=2), policy, original=frame, name="definetti")
    assert abs(found.success - 1 / 4) < 4 * np.sqrt(3 / 16 / rows)
    case, members = released(frame, policy)
    guesses = Guesses.of(
        learn(members, case.published, 0).after, members.point_of, case.table.secrets.wide[:, 0]
    )
    assert not guesses.find_exposed(0.25 + 0.05).any()


def test_shuffled_and_generalized_buckets_teach_too():
    """Anyone who knows everyone's quasi-identifiers knows who is in which bucket of `permute-generalize`."""
    frame = CENSUS.frame(400).with_columns(member=pl.int_range(400) % 4 > 0)
    policy = CENSUS.policy(
        {"presence": [0.0, 0.95]},
        {"name": "permute-generalize", "k": 20},
        population={"column": "member"},
    )
    made = shoal.anonymize(frame, policy, seed=1)
    found = shoal.attack(made, policy, original=frame, name="definetti")
    assert found.figures["groups"] == made.table["bucket"].n_unique()
    assert 0 < found.success < 1


def test_people_of_several_buckets_are_divided_among_them():
    """Each bucket gets as many people as it has rows, each person a mass of 1."""
    frame = CENSUS.frame(400)
    policy = CENSUS.policy({"l": {"probabilistic": 2}}, {"name": "slice-columns", "strict": False})
    case, members = released(frame, policy)
    sizes = np.bincount(case.published.candidates)
    assert np.bincount(members.bucket, members.mass) == pytest.approx(sizes, abs=1e-3)
    held = np.bincount(members.point, members.mass, len(members.codes))
    assert held == pytest.approx(np.bincount(members.point_of), rel=0.02)


def test_releases_without_true_groups_are_refused():
    frame = CENSUS.frame(200)
    policy = CENSUS.policy({"k": 3}, {"name": "hybrid"})
    with pytest.raises(DataError, match="relocated"):
        shoal.attack(shoal.anonymize(frame, policy, seed=1), policy, original=frame, name="definetti")
    known = {"quasi": list(CENSUS.quasi), "k": 3}
    rows = frame.select(CENSUS.quasi)
    with pytest.raises(DataError, match="no sensitive column"):
        shoal.attack(shoal.anonymize(rows, **known), original=rows, name="definetti", **known)
