"""Learned l-diversity: if a policy names the adversary, the attack verifies it, and nothing is written if it fails."""

from __future__ import annotations

import pytest

import shoal
from shoal.errors import PolicyError, ViolationError
from tests.inputs.samples import CENSUS

ADVERSARY = "learns-from-release"


def policy(l, method, **more):  # noqa: E741
    return CENSUS.policy({"l": l, "adversary": ADVERSARY}, {"name": method, **more})


def test_anatomy_fails_where_the_attack_gets_through():
    """Without the requirement the same buckets are written, and the attack judges nobody."""
    frame = CENSUS.frame(2000)
    plain = CENSUS.policy({"l": {"probabilistic": 5}}, {"name": "anatomy"})
    made = shoal.anonymize(frame, plain, seed=1)
    assert all(verdict.holds for verdict in made.verdicts)
    free = shoal.attack(made, plain, original=frame, name="definetti")
    assert free.at_risk == 0
    asked = policy({"learned": 5}, "anatomy")
    found = shoal.attack(made, asked, original=frame, name="definetti")
    assert found.at_risk > 0
    assert not found.notes
    verdict = shoal.audit(made, asked, original=frame).verdicts[0]
    assert verdict.holds is False
    assert verdict.reached < 5
    assert f"{found.at_risk:,} of 2,000 people are guessed right too often" in verdict.detail
    assert f"{found.success:.1%} of the guesses are right" in verdict.detail
    with pytest.raises(ViolationError, match="learned 5-diversity"):
        shoal.anonymize(frame, asked, seed=1)


def test_a_release_that_teaches_nothing_passes():
    """The whole table in one class."""
    frame = CENSUS.frame(60)
    made = shoal.anonymize(frame, CENSUS.policy({"k": 60}, {"name": "mondrian"}), seed=1)
    verdict = shoal.audit(made, policy({"learned": 2}, "mondrian"), original=frame).verdicts[0]
    assert verdict.holds
    assert verdict.model == "learned 2-diversity of salary"


def test_a_class_of_one_value_fails_however_small():
    """Four people are too few for an interval, but the value is certain."""
    frame = CENSUS.frame(60).with_columns(salary=CENSUS.frame(60)["salary"].min())
    made = shoal.anonymize(frame, CENSUS.policy({"k": 3}, {"name": "mondrian"}), seed=1)
    assert shoal.audit(made, policy({"learned": 2}, "mondrian"), original=frame).verdicts[0].holds is False


def test_what_cannot_be_checked_is_not_said_to_hold():
    frame = CENSUS.frame(300)
    made = shoal.anonymize(frame, CENSUS.policy({"l": {"probabilistic": 2}}, {"name": "mondrian"}), seed=1)
    verdict = shoal.audit(made.table, policy({"learned": 2}, "mondrian")).verdicts[0]
    assert verdict.holds is None
    assert "give it" in verdict.detail


def test_a_policy_must_say_how_much_and_with_a_method_that_shows_true_groups():
    with pytest.raises(PolicyError, match=r"l = \{ learned = 3 \}"):
        CENSUS.policy({"l": {"probabilistic": 2}, "adversary": ADVERSARY}, {"name": "mondrian"})
    with pytest.raises(PolicyError, match=r"l = \{ learned = 3 \}"):
        CENSUS.policy({"k": 2, "adversary": ADVERSARY}, {"name": "mondrian"})
    with pytest.raises(PolicyError, match="nobody can tell who is in which class"):
        CENSUS.policy({"k": 2, "l": {"learned": 2}}, {"name": "hybrid"})
