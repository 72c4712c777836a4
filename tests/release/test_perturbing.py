"""Perturbed columns: each way against its definition, what verification finds, and what papers say."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, PolicyError
from shoal.policy.schema import json_schema
from shoal.release.perturbing import PERTURBATIONS
from shoal.release.perturbing.noise import MOST, Noise
from shoal.release.perturbing.pram import Pram
from shoal.release.perturbing.rounding import Rounding
from shoal.release.perturbing.swapping import Swapping

WHOLE = st.lists(st.integers(-50, 50), max_size=20)


def drawn(seed=1):
    return np.random.default_rng(seed)


# --- each way --------------------------------------------------------------------------------------------


@given(WHOLE, st.integers(1, 30))
@settings(max_examples=200, deadline=None)
def test_whole_numbers_are_rounded_to_the_nearest_multiple(values, base):
    """The higher one of two, by fractions."""
    shown = Rounding(amount=base).apply(pl.Series("x", values, dtype=pl.Int64), drawn())
    for value, found in zip(values, shown.to_list(), strict=True):
        assert found % base == 0
        distance = abs(Fraction(value) - found)
        assert distance <= Fraction(base, 2)
        assert distance < Fraction(base, 2) or found > value


def test_fractions_are_rounded_without_dust():
    shown = Rounding(amount=0.1).apply(pl.Series("x", [0.26, 0.349, -0.05, 12.0, np.inf]), drawn())
    assert shown.to_list() == [0.3, 0.3, 0.0, 12.0, np.inf]


def test_a_type_that_cannot_hold_rounded_values_is_refused_without_them():
    with pytest.raises(DataError, match="UInt8") as error:
        Rounding(amount=100).apply(pl.Series("x", [3, 255], dtype=pl.UInt8), drawn())
    assert "255" not in str(error.value)


@given(WHOLE, st.floats(0.01, 3), st.integers(0, 99))
@settings(max_examples=200, deadline=None)
def test_noise_stays_within_its_bound_and_keeps_whole_numbers_whole(values, share, seed):
    own = pl.Series("x", values, dtype=pl.Int64)
    shown = Noise(amount=share).apply(own, drawn(seed))
    assert shown.dtype == pl.Int64
    most = MOST * share * (np.std(values) if values else 0) + 0.5
    assert all(abs(a - b) <= most + 1e-9 for a, b in zip(values, shown.to_list(), strict=True))
    assert Noise(amount=share).judge(own, shown).holds


def test_noise_has_the_deviation_that_analysts_are_told():
    own = pl.Series("x", np.round(drawn(3).lognormal(3, 1, 40_000), 2))
    shown = Noise(amount=0.5).apply(own, drawn(4))
    assert float(shown.mean()) == pytest.approx(float(own.mean()), rel=0.02)
    assert float(shown.var()) / float(own.var()) == pytest.approx(1.25, rel=0.02)
    assert (np.round(shown.to_numpy(), 2) == shown.to_numpy()).all()
    assert "1.25" in Noise(amount=0.5).for_analysts


def test_numbers_too_large_for_noise_are_refused():
    with pytest.raises(DataError, match="too large to add noise to"):
        Noise(amount=0.1).apply(pl.Series("x", [1e300, 1.0]), drawn())


@given(WHOLE, st.sampled_from([0.05, 0.1, 0.3, 1.0]), st.integers(0, 99))
@settings(max_examples=300, deadline=None)
def test_swapping_keeps_all_values_and_moves_none_too_far(values, share, seed):
    """By brute force over all ways to pair equal values: no value moves by more than its share of the ranks."""
    shown = Swapping(amount=share).apply(pl.Series("x", values, dtype=pl.Int64), drawn(seed)).to_list()
    assert sorted(shown) == sorted(values)
    ordered, most = sorted(values), max(1, int(share * len(values) + 1e-9))
    places = {value: [i for i, other in enumerate(ordered) if other == value] for value in ordered}
    for own, found in zip(values, shown, strict=True):
        assert min(abs(a - b) for a in places[own] for b in places[found]) <= most
    assert Swapping(amount=share).judge(*(pl.Series(c, dtype=pl.Int64) for c in (values, shown))).holds


@given(st.lists(st.sampled_from("aab"), min_size=1, max_size=5), st.sampled_from([0.0, 0.25, 0.8]))
@settings(max_examples=60, deadline=None)
def test_the_transition_matrix_is_exact(values, keep):
    """Over all subsets of rows that may be drawn, and all their permutations."""
    names = sorted(set(values))
    chance = {(i, j): Fraction(0) for i in names for j in names}
    rows, kept = range(len(values)), Fraction(keep)
    for many in range(len(values) + 1):
        for chosen in itertools.combinations(rows, many):
            weight = (1 - kept) ** many * kept ** (len(values) - many)
            orders = list(itertools.permutations(chosen))
            for order in orders:
                shown = list(values)
                for place, source in zip(chosen, order, strict=True):
                    shown[place] = values[source]
                for own, found in zip(values, shown, strict=True):
                    chance[own, found] += weight / len(orders)
    counts = [values.count(name) for name in names]
    matrix = Pram(amount=keep).transitions(counts)
    for i, own in enumerate(names):
        for j, found in enumerate(names):
            assert matrix[i][j] == pytest.approx(float(chance[own, found] / counts[i]))
    # Invariant: the expected counts are those of the release.
    assert np.array(counts) @ np.array(matrix) == pytest.approx(np.array(counts))


def test_the_inverse_of_the_matrix_corrects_a_table():
    """Two columns that go together: after PRAM half of it is lost, the correction finds it again."""
    random = drawn(5)
    job = random.choice(["a", "b", "c"], 60_000, p=[0.6, 0.3, 0.1])
    ill = random.random(60_000) < np.where(job == "a", 0.1, 0.6)
    shown = Pram(amount=0.5).apply(pl.Series("job", job), drawn(6))
    assert shown.value_counts().sort("job").equals(pl.Series("job", job).value_counts().sort("job"))
    names = ["a", "b", "c"]
    matrix = np.array(Pram(amount=0.5).transitions([int((job == name).sum()) for name in names]))
    true = np.array([(ill & (job == name)).sum() for name in names])
    seen = np.array([(ill & (shown.to_numpy() == name)).sum() for name in names])
    assert abs(seen - true).max() > 1000
    assert np.linalg.solve(matrix.T, seen) == pytest.approx(true, rel=0.08)


# --- verification ----------------------------------------------------------------------------------------

OWN = pl.Series("x", [10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
TAMPERED = {
    "round": (Rounding(amount=25), [0, 25, 25, 50, 50, 75, 75, 75, 100, 100]),
    "swap": (Swapping(amount=0.2), [40, 20, 30, 10, 50, 60, 70, 80, 90, 100]),
    "pram": (Pram(amount=0.8), [10, 20, 30, 40, 50, 60, 70, 80, 90, 90]),
    "noise": (Noise(amount=0.1), [10, 20, 30, 40, 50, 60, 70, 80, 90, 120]),
}


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_verification_finds_what_the_rule_cannot_make(name):
    """By hand: 60 is nearer to 50 than to 75; 40 and 10 are three ranks apart; there is one 90; the noise of 100 is 20,
    and 4 x 0.1 x 28.7 are 11.5.
    """
    way, shown = TAMPERED[name]
    assert way.judge(OWN, way.apply(OWN, drawn())).holds
    assert not way.judge(OWN, pl.Series("x", shown)).holds


def test_values_are_judged_where_nobody_knows_whose_they_are():
    for name in ("swap", "pram"):
        way = TAMPERED[name][0]
        assert way.judge_without_owners(OWN, OWN.reverse()).holds
        assert not way.judge_without_owners(OWN, pl.Series("x", [10, 10])).holds
    rounding = TAMPERED["round"][0]
    assert rounding.judge_without_owners(OWN, pl.Series("x", [100, 100, 0])).holds
    assert not rounding.judge_without_owners(OWN, pl.Series("x", [100, 100, 100])).holds
    assert TAMPERED["noise"][0].judge_without_owners(OWN, OWN) is None


# --- releases --------------------------------------------------------------------------------------------

WAYS = {"income": {"noise": 0.1}, "rent": {"round": 50}, "day": {"swap": 0.1}, "job": {"pram": 0.7}}


def policy(ways=WAYS, **more):
    columns = {"age": {"role": "quasi"}, "disease": {"role": "sensitive"}, "tag": {"role": "plain"}}
    columns |= {name: {"role": "plain"} for name in ("income", "rent", "day", "job")}
    for name, way in ways.items():
        columns[name] = {**columns[name], "perturb": way}
    return shoal.Policy.from_dict({"columns": columns, "privacy": {"k": 4}, **more})


def frame(rows=200):
    random = drawn(8)
    return pl.DataFrame(
        {
            "tag": np.arange(1000, 1000 + rows),
            "age": random.integers(18, 60, rows),
            "income": np.round(random.lognormal(10, 1, rows), 2),
            "rent": random.integers(300, 2000, rows),
            "day": pl.Series(random.integers(0, 9000, rows)).cast(pl.Int32).cast(pl.Date),
            "job": pl.Series(random.choice(["clerk", "nurse", "cook"], rows)).cast(pl.Categorical),
            "disease": random.choice(["flu", "asthma"], rows),
        }
    ).with_columns(income=pl.when(pl.col("age") == 30).then(None).otherwise("income"))


@pytest.mark.parametrize("name", ["release.csv", "release.parquet"])
def test_a_release_is_written_verified_and_audited(tmp_path, name):
    rows = frame()
    rows.write_parquet(tmp_path / "data.parquet")
    from shoal.pipeline.anonymize import anonymize_file

    made = anonymize_file(
        tmp_path / "data.parquet", policy(), tmp_path / name, record=tmp_path / "record.json"
    )
    assert made.holds
    told = {verdict.model: verdict for verdict in made.verdicts}
    seen = shoal.io.read(tmp_path / name).data.with_columns(pl.col("day").cast(pl.String).str.to_date())
    both = seen.join(rows, on="tag", suffix="_own")
    assert len(both) == len(rows)
    # Counted by hand from the file.
    false = {name: int(both[name].ne_missing(both[f"{name}_own"]).sum()) for name in WAYS}
    assert all(false.values())
    words = {
        "income": f"{false['income']:,} of {rows['income'].count():,} cells are false",
        **{name: f"{false[name]:,} of {len(rows):,} cells are false" for name in ("rent", "day", "job")},
    }
    titles = {name: f"{name} {way.title}" for name, way in policy().perturbations.items()}
    assert {name: told[titles[name]].detail for name in WAYS} == words
    assert both.filter(pl.col("income").is_null() != pl.col("income_own").is_null()).is_empty()
    judged = shoal.audit(tmp_path / name, policy(), original=tmp_path / "data.parquet")
    assert judged.holds, judged.verdicts
    assert any("not judged: whether income" in note for note in judged.notes)
    # Without the permission the same file is not true.
    strict = shoal.audit(tmp_path / name, policy({}), original=tmp_path / "data.parquet")
    assert [verdict.model for verdict in strict.verdicts if not verdict.holds] == ["truthful"]


def test_an_audit_finds_values_that_the_original_does_not_have():
    rows = frame()
    made = shoal.anonymize(rows, policy())
    worse = made.table.with_columns(job=pl.lit("clerk"), rent=pl.col("rent") + 1)
    failing = {
        verdict.model for verdict in shoal.audit(worse, policy(), original=rows).verdicts if not verdict.holds
    }
    assert failing == {"job kept with probability 0.7 (PRAM)", "rent rounded to 50"}


def test_nothing_of_suppressed_rows_is_exchanged():
    """A block of two people is suppressed; their values, which nobody else has, appear nowhere."""
    rows = frame(40).with_columns(town=pl.when(pl.col("tag") < 1002).then(pl.lit("x")).otherwise(pl.lit("y")))
    rows = rows.with_columns(job=pl.when(pl.col("town") == "x").then(pl.lit("SECRET")).otherwise("job"))
    raw = policy({"job": {"pram": 0.0}, "rent": {"swap": 1.0}}).to_dict()
    raw["columns"]["town"] = {"role": "quasi", "limit": 0}
    raw["utility"] = {"suppression": 0.1}
    asked = shoal.Policy.from_dict(raw)
    for seed in range(20):
        made = shoal.anonymize(rows, asked, seed=seed)
        assert made.suppressed == 2
        assert "SECRET" not in made.table["job"]
        assert sorted(made.table["rent"]) == sorted(rows.filter(pl.col("town") == "y")["rent"])


def test_draws_differ_unless_a_seed_is_given():
    rows = frame()
    first, second, again = (
        shoal.anonymize(rows, policy(), seed=seed).table.sort("tag")["income"].to_list() for seed in (1, 2, 1)
    )
    assert first == again != second
    assert shoal.anonymize(rows, policy()).table.sort("tag")["income"].to_list() != first


def test_card_and_codebook_say_what_was_done():
    made = shoal.anonymize(frame(), policy(), seed=1)
    told = {column["name"]: column["published"] for column in made.card["columns"]}
    assert told["rent"] == "perturbed: rounded to 50"
    assert told["job"] == "perturbed: kept with probability 0.7 (PRAM)"
    assert told["disease"] == "as it is"
    book = made.codebook.by_name
    assert "divide it by that" in book["income"].published
    counts = made.table["job"].value_counts().sort("job")["count"].to_list()
    assert book["job"].transitions == tuple(map(tuple, Pram(amount=0.7).transitions(counts)))
    from shoal.documents.codebook.codebook_files import column_markdown

    lines = column_markdown(book["job"], "##")
    assert "Transition matrix:" in lines
    assert "| true \\ shown | clerk | cook | nurse |" in lines
    assert "transitions" in book["job"].summary()
    assert "transitions" not in book["rent"].summary()
    # The verdicts of the card tell no exact distance.
    reached = {one["model"]: one["reached"] for one in made.card["guarantees"]}
    assert reached["day swapped within 10 % of the ranks"] == "at most 0.1"


def test_methods_are_compared_by_what_they_do_to_quasi_identifiers():
    found = shoal.compare(frame(), policy(), methods=["mondrian"], seed=1)
    assert any(trial.withstands for trial in found.trials)


# --- policies --------------------------------------------------------------------------------------------


def problems(change, **more):
    raw = policy({}, **more).to_dict()
    change(raw)
    with pytest.raises(PolicyError) as caught:
        shoal.Policy.from_dict(raw)
    return {problem.path: f"{problem.message} | {problem.hint}" for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"round": 0}, "round must be a base above 0"),
        ({"noise": -1}, "noise must be a share of the standard deviation above 0"),
        ({"swap": 1.5}, "swap must be a share of the ranks"),
        ({"pram": 1}, "pram must be the probability to keep a value"),
        ({"swap": True}, "swap must be a number"),
        ({"swop": 0.1}, "there is no perturbation 'swop'"),
        ({"swap": 0.1, "pram": 0.5}, "must name one perturbation"),
        ("swap", "must name one perturbation"),
    ],
)
def test_wrong_settings(spec, words):
    found = problems(lambda raw: raw["columns"]["rent"].update(perturb=spec))
    assert words in found["columns.rent.perturb"]


def test_what_does_not_go_together():
    def change(raw):
        raw["columns"]["age"]["perturb"] = {"swap": 0.1}
        raw["columns"]["tag"] |= {"role": "identifier", "perturb": {"swap": 0.1}}
        raw["columns"]["disease"]["perturb"] = {"pram": 0.5}
        raw["privacy"]["l"] = 2

    found = problems(change)
    assert "the column is quasi: it is generalized" in found["columns.age.perturb"]
    assert "the column is identifier" in found["columns.tag.perturb"]
    assert "a promise about values that are not true" in found["columns.disease.perturb"]
    found = problems(lambda raw: raw["columns"]["disease"].update(perturb={"round": 5}))
    assert "take one of swap, pram" in found["columns.disease.perturb"]

    def in_buckets(raw):
        raw["columns"]["disease"]["perturb"] = {"pram": 0.5}
        raw["method"] = {"name": "bucketization"}

    assert "within buckets" in problems(in_buckets)["columns.disease.perturb"]


def test_a_sensitive_column_without_models_may_exchange_its_values():
    made = shoal.anonymize(frame(), policy({"disease": {"pram": 0.5}}), seed=1)
    assert made.holds
    assert sorted(made.table["disease"]) == sorted(frame()["disease"])
    assert made.table.sort("tag")["disease"].to_list() != frame()["disease"].to_list()
    assert shoal.audit(made.table, policy({"disease": {"pram": 0.5}}), original=frame()).holds


def test_types_are_checked_before_the_work_all_at_once():
    with pytest.raises(PolicyError) as caught:
        shoal.anonymize(
            frame(), policy({"job": {"swap": 0.1}, "day": {"noise": 0.1}, "rent": {"round": 0.5}})
        )
    assert {problem.path for problem in caught.value.problems} == {
        "columns.job.perturb", "columns.day.perturb", "columns.rent.perturb",
    }  # fmt: skip


def test_a_policy_with_perturbations_reads_back():
    asked = policy()
    assert shoal.Policy.from_toml(asked.to_toml()) == asked
    described = json_schema()["$defs"]["Column"]["properties"]["perturb"]
    assert set(PERTURBATIONS) <= set(str(described).replace("'", " ").split())
    assert {name: kind.name for name, kind in PERTURBATIONS.items()} == {name: name for name in PERTURBATIONS}
    for name, kind in PERTURBATIONS.items():
        assert kind.given(kind.example).title, name


def test_spark_refuses():
    from shoal.engines.spark.unsupported import check_possible

    with pytest.raises(PolicyError, match="perturbed on one machine"):
        check_possible(policy())
