"""The linkage attack: both adversaries, on releases of any origin, and what may be said of whom."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.errors import DataError, PolicyError
from shoal.judging.attacks import ATTACKS
from shoal.judging.attacks.linkage import Linkage
from shoal.support.run import Run
from tests.methods.test_k_type import PEOPLE, ROLES, all_matches, fits, generalizations, shown

LINE = pl.DataFrame({"age": [1, 2, 3, 4, 5], "s": list("abcde")})
TWO_TWO = pl.DataFrame({"age": ["[1, 5]", "[2, 3]", "[3, 4]", "[3, 4]", "[1, 5]"], "s": list("abcde")})
LINE_ROLES = {"quasi": ["age"], "sensitive": ["s"], "k": 2}


def test_every_registered_attack_says_what_it_does():
    for name, attack in ATTACKS.items():
        assert attack.name == name
        assert 20 < len(attack.summary) < 120


def test_a_two_two_release_falls_to_whoever_knows_the_members():
    """Person 2 fits three rows, of which only their own is left."""
    some = shoal.attack(TWO_TWO, original=LINE, **LINE_ROLES, adversary="some")
    assert some.holds
    assert some.figures["candidates"]["least"] == 2
    assert "candidates_after_pruning" not in some.figures
    # 1 and 5 fit the two wide rows, 2 those and one more, 3 all five, 4 four of them.
    assert some.chances.tolist() == [1 / 2, 1 / 3, 1 / 5, 1 / 4, 1 / 2]
    members = shoal.attack(TWO_TWO, original=LINE, **LINE_ROLES, adversary="members")
    assert not members.holds
    # The wide rows are those of 1 and 5, so [2, 3] is that of 2, and 3 and 4 share the rest.
    assert members.chances.tolist() == [1 / 2, 1, 1 / 2, 1 / 2, 1 / 2]
    assert members.at_risk == 1
    assert members.most_exposed[0] == 1
    after = members.figures["candidates_after_pruning"]
    assert (after["least"], after["single"], after["below_k"], after["share_below_k"]) == (1, 1, 1, 0.2)
    assert members.success == pytest.approx(3 / 5)
    assert members.baseline == pytest.approx(1 / 5)


@given(data=generalizations(), adversary=st.sampled_from(["some", "members"]), k=st.integers(2, 4))
@settings(max_examples=100)
def test_chances_are_those_of_all_matchings(data, adversary, k):
    table, low, high, owner = data
    found = Linkage(adversary=adversary, k=k).attempt(shown(table, low, high, owner), Run.start(1))
    inside = fits(table, low, high)
    left = (all_matches(inside) if adversary == "members" else inside).sum(axis=1)
    assert found.chances == pytest.approx(np.where(left > 0, 1 / np.maximum(left, 1), 0))
    assert found.at_risk == int(((left > 0) & (left < k)).sum())
    assert found.holds == (found.at_risk == 0)
    assert found.figures["candidates"]["below_k"] == int(
        ((inside.sum(axis=1) > 0) & (inside.sum(axis=1) < k)).sum()
    )


@given(data=generalizations())
@settings(max_examples=50)
def test_the_adversary_is_not_told_whose_row_is_whose(data):
    table, low, high, owner = data
    order = np.random.default_rng(1).permutation(len(owner))
    told = Linkage().attempt(shown(table, low, high, owner), Run.start(1))
    untold = Linkage().attempt(shown(table, low[order], high[order]), Run.start(1))
    assert told.chances.tolist() == untold.chances.tolist()


@pytest.mark.parametrize("method", ["mondrian", "k-k", "global-1-k"])
def test_releases_withstand_what_they_promise(method):
    notion = "k-anonymity" if method == "mondrian" else method
    release = shoal.anonymize(PEOPLE, **ROLES, k=4, notion=notion, method=method).table
    assert shoal.attack(release, original=PEOPLE, **ROLES, k=4, adversary="some").holds
    members = shoal.attack(release, original=PEOPLE, **ROLES, k=4)
    assert members.holds or method == "k-k"


def test_nobody_is_named_but_in_the_private_record():
    found = shoal.attack(TWO_TWO, original=LINE, **LINE_ROLES)
    assert "most_exposed" not in found.summary()
    record = found.record()
    assert "not part of the release" in record["private"]
    assert record["most_exposed"][0] == {"row": 1, "chance": 1.0}
    json.dumps(record)


def test_mistakes_are_explained():
    with pytest.raises(PolicyError, match="did you mean 'members'"):
        shoal.attack(TWO_TWO, original=LINE, **LINE_ROLES, adversary="member")
    with pytest.raises(PolicyError, match="did you mean 'linkage'"):
        shoal.attack(TWO_TWO, original=LINE, **LINE_ROLES, name="linkag")
    with pytest.raises(PolicyError, match="shots: is not an option of the attack linkage"):
        shoal.attack(TWO_TWO, original=LINE, **LINE_ROLES, options={"shots": 2})
    swapped = TWO_TWO.with_columns(age=pl.Series(["[1, 2]"] * 5))
    with pytest.raises(DataError, match="not a generalization"):
        shoal.attack(swapped, original=LINE, **LINE_ROLES)
    odd = TWO_TWO.with_columns(age=pl.Series(["young"] * 5))
    with pytest.raises(DataError, match="hierarchies"):
        shoal.attack(odd, original=LINE, **LINE_ROLES)


@pytest.fixture
def files(tmp_path):
    LINE.write_csv(tmp_path / "data.csv")
    TWO_TWO.write_csv(tmp_path / "release.csv")
    policy = '[columns]\nage = "quasi"\ns = "sensitive"\n[privacy]\nk = 2\nnotion = "k-k"\n'
    (tmp_path / "policy.toml").write_text(policy)
    return tmp_path


def run(folder, *arguments):
    fixed = [folder / "release.csv", "--original", folder / "data.csv", "-p", folder / "policy.toml"]
    return CliRunner().invoke(main, ["attack", *map(str, [*fixed, *arguments])])


def test_command(files):
    some = run(files, "--adversary", "some")
    assert some.exit_code == 0, some.output
    assert "nobody is exposed more than the policy allows" in some.output
    members = run(files, "-o", files / "record.json")
    assert members.exit_code == 5
    assert "1 of 5 people are exposed more than the policy allows" in members.output
    assert "candidates after pruning: least 1," in members.output
    assert json.loads((files / "record.json").read_text())["most_exposed"][0]["row"] == 1
    again = run(files, "-o", files / "record.json")
    assert again.exit_code == 6
    as_json = run(files, "--json", "--set", "privacy.k=3")
    assert json.loads(as_json.output)["at_risk"] == 5
    audit = ["audit", files / "release.csv", "--original", files / "data.csv", "-p", files / "policy.toml"]
    assert CliRunner().invoke(main, list(map(str, audit))).exit_code == 0
    stricter = CliRunner().invoke(main, [*map(str, audit), "--set", "privacy.notion=global-1-k"])
    assert stricter.exit_code == 5


def test_attacks_are_listed():
    assert "linkage" in CliRunner().invoke(main, ["attacks"]).output


def test_without_k_nobody_is_judged_by_candidates():
    original = pl.DataFrame({"age": [1, 2, 3, 4], "s": ["a", "b", "a", "b"]})
    asked = {"original": original, "quasi": ["age"], "sensitive": ["s"]}
    free = shoal.attack(original, **asked, l=2)
    assert free.holds
    assert free.figures["k"] is None
    assert free.figures["candidates"]["single"] == 4
    assert any("the policy has no k" in note for note in free.notes)
    judged = shoal.attack(original, **asked, k=2)
    assert judged.at_risk == 4
    assert not any("the policy has no k" in note for note in judged.notes)
