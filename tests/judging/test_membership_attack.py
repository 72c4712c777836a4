"""The membership attack on whole releases: the union rule, indicators, and what it says on the command line."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.judging.membership.presence_chances import presence
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.release import Release
from shoal.release.layout import ProposedBuckets
from shoal.support.run import Run
from tests.judging.test_membership import P1, P2
from tests.judging.test_presence import SALARIES, published, with_population


def permuted(name, table):
    return METHODS[name](k=2).anonymize(table, Requirements(models=()), Run.start(1))


def frames():
    """The second example: a population, and the table of four of its people."""
    people = pl.DataFrame({"zip": [z for z, _ in P2.values()], "age": [a for _, a in P2.values()]})
    return people, people[[0, 2, 3, 5]].with_columns(salary=pl.Series([15, 40, 42, 50]))


def recorded(method: str, rows: int) -> dict:
    """What a run record says about how a release of this many rows was made."""
    return {
        "policy": f'[method]\nname = "{method}"\n',
        "method": method,
        "seed": None,
        "input": {"rows": rows},
    }


# --- overlapping buckets ------------------------------------------------------------------------------------------


def test_overlapping_slices_give_sara_away():
    # The first example, sliced by a relaxed Mondrian into zip | age and salary: 5371 is in both buckets.
    people = pl.DataFrame({"zip": [z for z, _ in P1.values()], "age": [a for _, a in P1.values()]})
    table = pl.DataFrame(
        {
            "zip": [P1[name][0] for name in SALARIES],
            "age": [P1[name][1] for name in SALARIES],
            "salary": list(SALARIES.values()),
        }
    )
    release = pl.DataFrame(
        {
            "zip": [5370, 5370, 5370, 5371, 5371, 5372, 5372, 5373],
            "age": [27, 27, 25, 25, 25, 25, 25, 27],
            "salary": [40, 30, 15, 30, 9, 25, 45, 42],
            "bucket": [0, 0, 0, 0, 1, 1, 1, 1],
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
    chances = dict(zip(SALARIES, found.chances.tolist(), strict=True))
    # Sara and Bob fit both buckets; in their union two rows show 5371, which nobody else has.
    assert chances["Sara"] == chances["Bob"] == 1.0
    assert any("2 people match several" in note for note in found.notes)
    # The others fit one bucket each, and are looked at among those who fit it.
    names = list(P1)
    for inside, shown in ((("5370", "5371"), release[:4]), (("5371", "5372", "5373"), release[4:])):
        fitting = [name for name in names if str(P1[name][0]) in inside]
        wanted = [sorted(shown["zip"].to_list()), sorted(shown["age"].to_list())]
        sets = [
            own
            for own in combinations(fitting, 4)
            if [sorted(P1[name][j] for name in own) for j in range(2)] == wanted
        ]
        for name in fitting:
            if name in SALARIES and P1[name][0] != 5371:
                assert chances[name] == pytest.approx(sum(name in own for own in sets) / len(sets))


@settings(max_examples=200)
@given(with_population(), st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_the_union_rule_by_definition(table, assigned):
    """Buckets as they come: people who fit several are looked at among all who fit any of these, unless more is proven
    of them; that this is true is held against all sets of people elsewhere.
    """
    _, bucket_of = np.unique(assigned[: table.rows], return_inverse=True)
    own = np.arange(table.rows, dtype=np.int32)
    columns = len(table.attributes) + len(table.sensitive)
    buckets = ProposedBuckets(bucket_of.astype(np.int32), np.repeat(own[:, None], columns, axis=1))
    release = Release(own, table.quasi.wide, table.quasi.wide, layout=buckets)
    found = presence(published(table, release), table.context.population)
    people = [tuple(person) for person in table.context.population.tolist()]
    rows = [
        [tuple(table.quasi.wide[i]) for i in np.flatnonzero(bucket_of == b)]
        for b in range(bucket_of.max() + 1)
    ]
    fits = [
        [
            b
            for b, own in enumerate(rows)
            if all(value in {row[j] for row in own} for j, value in enumerate(person))
        ]
        for person in people
    ]
    for i, buckets in enumerate(fits):
        if not buckets:
            assert found.chance[i] == 0
            continue
        if len(np.unique(bucket_of)) > 1 and (found.certainly_in[i] or found.certainly_out[i]):
            continue
        among = [n for n, own in enumerate(fits) if set(own) & set(buckets)]
        shown = [row for b in buckets for row in rows[b]]
        wanted = [sorted(column) for column in zip(*shown, strict=True)]
        sets = [
            chosen
            for chosen in combinations(among, len(shown))
            if [sorted(column) for column in zip(*(people[n] for n in chosen), strict=True)] == wanted
        ]
        assert found.chance[i] == pytest.approx(sum(i in chosen for chosen in sets) / len(sets))


def test_who_fits_joined_buckets_but_none_of_them_is_in_none():
    people = pl.DataFrame({"a": [0, 1, 2, 2, 0, 1, 2], "b": [0, 1, 2, 2, 1, 2, 0]})
    table = people[:4].with_columns(s=pl.Series([1, 2, 3, 4]))
    release = table.with_columns(bucket=pl.Series([0, 1, 0, 1]))
    asked = {"quasi": ["a", "b"], "sensitive": ["s"], "k": 2, "method": "slice-columns"}
    found = shoal.attack(release, original=table, population=people, name="membership", **asked)
    # (2, 2) fits both buckets. Together they show 0, 1, 2, 2 in both columns. Of those who fit one of them only (0, 0)
    # has a = 0, then only (1, 1) is left for b = 1, so both (2, 2) are in. With (0, 1), who fits neither bucket, there
    # would be (0, 1), (1, 2), (2, 0) and one (2, 2) too.
    assert found.chances[2:].tolist() == [1.0, 1.0]


# --- indicators ---------------------------------------------------------------------------------------------------


def second_example():
    people, table = frames()
    release = pl.DataFrame(
        {
            "zip": [5371, 5370, 5376, 5372],
            "age": [21, 27, 32, 39],
            "salary": [40, 15, 42, 50],
            "bucket": [0, 0, 1, 1],
        }
    )
    keywords = {"quasi": ["zip", "age"], "sensitive": ["salary"], "k": 2, "method": "slice-columns"}
    return shoal.attack(release, original=table, population=people, name="membership", **keywords)


def test_the_product_formula_is_far_from_the_truth_on_the_second_example():
    # He et al.: 1/2 of the zips times 1/2 of the ages say 1/4 for everybody who fits; in truth Julie, Sara, James and
    # Barbara are certain, and Ada, who fits too, is certainly not in. Mary fits nothing, and the formula says so.
    found = second_example()
    said = found.figures["indicators"]["product_formula"]
    assert (said["average"], said["highest"]) == (0.25, 0.25)
    assert said["off_by_at_most"] == 0.75
    assert said["off_by_on_average"] == pytest.approx((4 * 0.75 + 0.25 + 0) / 6)
    assert any("guarantee nothing" in note for note in found.notes)


def test_fake_tuples_on_the_second_example():
    # Li et al.: each bucket's two zips and two ages make four combinations, two of them real. Of the population only
    # Ada is a fake; she matches one bucket, as everybody in the table does: "protected", though all four are certain.
    said = second_example().figures["indicators"]
    assert said["fake_tuples"] == 4
    assert said["matching_buckets"] == {"members": 1.0, "fakes": 1.0}


@given(with_population())
def test_indicators_by_definition(table):
    assume(table.rows >= 2)
    release = permuted("slice-columns", table)
    shown = published(table, release)
    found = presence(shown, table.context.population).indicators
    everyone, rows = table.context.population.tolist(), table.quasi.wide.tolist()
    bucket_of = release.layout.bucket_of
    buckets = [[rows[i] for i in np.flatnonzero(bucket_of == b)] for b in range(bucket_of.max() + 1)]
    values = [[{row[j] for row in own} for j in range(len(rows[0]))] for own in buckets]
    for person, product, matching in zip(everyone, found.product, found.matching, strict=True):
        fits = [b for b, own in enumerate(values) if all(v in s for v, s in zip(person, own, strict=True))]
        assert matching == len(fits)
        shares = [
            math.prod(sum(row[j] == v for row in buckets[b]) / len(buckets[b]) for j, v in enumerate(person))
            for b in fits
        ]
        assert product == pytest.approx(max(shares, default=0.0))
    assert found.combinations == sum(math.prod(len(s) for s in own) for own in values)


def test_releases_without_buckets_have_no_indicators():
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
    assert "indicators" not in found.figures


# --- the command line ---------------------------------------------------------------------------------------------


def test_the_command_line_says_who_got_which_answer(tmp_path):
    people, table = frames()
    people.write_csv(tmp_path / "people.csv")
    table.write_csv(tmp_path / "table.csv")
    pl.DataFrame(
        {
            "zip": [5371, 5370, 5376, 5372],
            "age": [21, 27, 32, 39],
            "salary": [40, 15, 42, 50],
            "bucket": [0, 0, 1, 1],
        }
    ).write_csv(tmp_path / "release.csv")
    (tmp_path / "policy.toml").write_text(
        '[columns]\nzip = "quasi"\nage = "quasi"\nsalary = "sensitive"\n[privacy]\nl = 2\n'
        '[method]\nname = "slice-columns"\n'
    )
    arguments = ["attack", str(tmp_path / "release.csv"), "--original", str(tmp_path / "table.csv")]
    arguments += ["-p", str(tmp_path / "policy.toml"), "--name", "membership"]
    arguments += ["--population", str(tmp_path / "people.csv"), "--limit", "1000", "--seconds", "0.5"]
    found = CliRunner().invoke(main, [*arguments, "--json"])
    assert found.exit_code == 5, found.output
    summary = json.loads(found.stdout)
    assert summary["answers"] == {
        "certainly_in": 4,
        "certainly_out": 2,
        "exact_chance": 0,
        "estimated": 0,
        "bounded": 0,
        "not_certain": 0,
        "undecided": 0,
    }
    words = CliRunner().invoke(main, arguments)
    assert words.exit_code == 5
    assert "answers: certainly in 4, certainly out 2" in words.stdout
    wrong = CliRunner().invoke(main, [*arguments, "--name", "linkage"])
    assert wrong.exit_code != 0
    assert "limit" in wrong.output


def test_everybody_got_one_kind_of_answer():
    random = np.random.default_rng(1)
    people = pl.DataFrame({name: random.integers(0, 4, 80) for name in "abc"})
    table = people[:40].with_columns(s=pl.Series(["x", "y"] * 20))
    keywords = {"quasi": ["a", "b", "c"], "sensitive": ["s"], "k": 2, "seed": 1, "method": "slice-columns"}
    release = table.with_columns(pl.col(c).shuffle(seed=j) for j, c in enumerate("abcs")).with_columns(
        bucket=pl.lit(0)
    )
    found = shoal.attack(
        release,
        original=table,
        population=people,
        name="membership",
        options={"limit": 10, "seconds": 0.5},
        record=recorded("slice-columns", 40),
        **keywords,
    )
    answers = found.figures["answers"]
    assert sum(answers.values()) == 80
    assert (
        answers["estimated"] + answers["undecided"] + answers["not_certain"] == found.figures["estimated"] > 0
    )
    # How many could be estimated depends on the time; whoever was, is told of the interval.
    assert any("95 %" in note for note in found.notes) == bool(answers["estimated"])


@pytest.mark.parametrize("adversary", ["method", "columns", "rows"])
def test_without_buckets_nothing_is_said_about_shuffling(adversary):
    people, table = frames()
    keywords = {
        "quasi": ["zip", "age"],
        "sensitive": ["salary"],
        "population": people,
        "presence": [0.0, 0.9],
    }
    made = shoal.anonymize(table, method="mpalm", **keywords)
    found = shoal.attack(made, original=table, name="membership", adversary=adversary, **keywords)
    assert found.adversary == "knows everybody in the population"
