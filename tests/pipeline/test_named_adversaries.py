"""A policy that names adversaries is tried by them, when a release is made and when it is audited."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.errors import ViolationError
from shoal.judging.attacks import ATTACKS
from shoal.judging.attacks.linkage import Linkage
from shoal.pipeline.named_adversaries import try_adversaries

AGES = {"quasi": ["age"], "hierarchies": {"age": {"widths": [2, 10]}}}
PEOPLE = pl.DataFrame({"age": [0, 1, 2, 3, 4, 5, 6, 7]})


def linkage_verdicts(found):
    return [verdict for verdict in found.verdicts if verdict.model.endswith("attack linkage")]


@pytest.mark.parametrize(("k", "holds", "at_risk"), [(2, True, 0), (3, False, 8)])
def test_people_exactly_at_their_limit_are_not_at_risk(k, holds, at_risk):
    """By hand: everybody matches the two rows of their pair."""
    made = shoal.anonymize(PEOPLE, **AGES, k=2, method="mondrian")
    assert made.table["age"].value_counts()["count"].to_list() == [2] * 4
    found = shoal.audit(made.table, **AGES, k=k, adversary="knows-members", original=PEOPLE)
    (verdict,) = linkage_verdicts(found)
    assert (verdict.required, verdict.reached, verdict.holds) == (0, at_risk, holds)
    assert found.holds == holds


def test_an_attack_that_gets_further_than_the_models_say_stops_the_release(monkeypatch):
    """The models hold; the attack is made to see fewer rows than there are."""
    real = Linkage._exposure

    def halved(self, before, after, rows=None):
        return real(self, before, after // 2, rows)

    monkeypatch.setattr(Linkage, "_exposure", halved)
    message = r"people at risk by knows-members, attack linkage: required 0, reached 8 \(8 of 8 people .* take another"
    with pytest.raises(ViolationError, match=message):
        shoal.anonymize(PEOPLE, **AGES, k=2, adversary="knows-members", method="mondrian")
    assert shoal.anonymize(PEOPLE, **AGES, k=2, method="mondrian").holds


def test_the_result_and_its_record_name_the_attacks_that_were_tried():
    made = shoal.anonymize(PEOPLE, **AGES, k=2, adversary=["knows-some", "knows-members"], method="mondrian")
    told = [verdict["model"] for verdict in made.record["verdicts"]]
    assert told[-3:] == [
        "people at risk by knows-some, attack linkage",
        "people at risk by knows-some, attack few-known",
        "people at risk by knows-members, attack linkage",
    ]
    assert made.record["verdicts"][-1]["reached"] == 0


def test_what_could_not_be_tried_is_told_and_no_failure():
    made = shoal.anonymize(PEOPLE, **AGES, k=2, adversary="knows-members", method="mondrian")
    found = shoal.audit(made.table, **AGES, k=2, adversary="knows-members")
    assert found.holds
    assert any(
        "not tried: the attacks of knows-members; they need the original" in note for note in found.notes
    )
    asked = {**AGES, "k": 3, "adversary": "knows-algorithm", "method": "ring"}
    rings = shoal.anonymize(PEOPLE, **asked)
    found = shoal.audit(rings.table, **asked, original=PEOPLE)
    assert found.holds
    assert any(
        "attack algorithm-aware by knows-algorithm; whose row is whose" in note for note in found.notes
    )


def test_policies_without_adversaries_are_not_attacked(monkeypatch):
    def fail(*_):
        raise AssertionError

    for name in ATTACKS:
        monkeypatch.setattr(ATTACKS[name], "attempt", fail)
    assert shoal.anonymize(PEOPLE, **AGES, k=2, method="mondrian").holds


def test_nothing_is_tried_on_rows_that_are_elsewhere(monkeypatch):
    class Elsewhere:
        rows_known = False

    class Case:
        policy = shoal.Policy.from_keywords(**AGES, k=2, adversary="knows-members")
        table = Elsewhere()

    found = try_adversaries(Case())
    assert found.verdicts == ()
    assert "the rows are on the cluster" in found.notes[0]


@pytest.mark.parametrize(("people", "times"), [(8, 40), (30, 15)])
def test_small_rings_that_were_drawn_are_not_taken_for_rotated_ones(people, times):
    """Of eight people a random assignment often looks like a rotation; at most one in 10,000 such releases may fail."""
    ages = pl.DataFrame({"age": list(range(people))})
    for _ in range(times):
        made = shoal.anonymize(ages, quasi=["age"], k=3, adversary="knows-algorithm", method="ring")
        assert made.holds
